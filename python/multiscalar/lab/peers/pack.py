"""Carries built peers to a machine that cannot build them: a folder that serves there as the cache.

`pack(FOLDER)` here; on the other machine `MULTISCALAR_CACHE_DIR=FOLDER`, or copy its content into the user's cache.
Each program goes with the facts of its build and, where it was compiled for this very CPU, the CPU features it may use:
a machine that lacks one of them does not take it. GPU peers hold their CUDA runtime; they need a driver and glibc only.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from .build import FACTS, carried_folder, find_built
from .recipes import cpu_flags
from .registry import PeerSpec

__all__ = ["pack"]


def pack(specs: Iterable[PeerSpec], folder: Path) -> list[Path]:
    """Copy what is built of these peers into `folder`; returns the programs' new paths. Errors: `OSError`."""
    carried = []
    for spec in specs:
        for recipe in filter(None, (spec.recipe, spec.serial)):
            found = find_built(spec, recipe)
            if found is None or recipe.sources is None:
                continue
            target = carried_folder(spec, recipe, folder / "peers")
            target.mkdir(parents=True, exist_ok=True)
            program = Path(found.command[0])
            shutil.copy2(program, target / program.name)
            native = "native" in str(found.facts.get("RUSTFLAGS", "")) or "GOAMD64" in found.facts
            needs = found.facts.get("cpu_flags", sorted(cpu_flags()) if native else [])
            facts = {**found.facts, "carried": True, "cpu_flags": needs}
            (target / FACTS).write_text(json.dumps(facts, indent=1) + "\n")
            carried.append(target / program.name)
    return carried
