"""Carries built peers to a machine that cannot build them: a folder that serves there as the cache.

`pack(FOLDER)` here; on the other machine `MULTISCALAR_CACHE_DIR=FOLDER`, or copy its content into the user's cache.
Each program goes with the facts of its build and the CPU features it may use: a machine that lacks one of them does not
take it, and says which. A program built for this very CPU may need more than another has; one built for a level
(`cpu`) needs the level. GPU peers hold their CUDA runtime; they need a driver and glibc only.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from .build import FACTS, carried_folder, find_built
from .cpu import NATIVE
from .registry import PeerSpec

__all__ = ["pack"]


def pack(specs: Iterable[PeerSpec], folder: Path, cpu: str = NATIVE) -> list[Path]:
    """Copy what is built of these peers for `cpu` into `folder`; the programs' new paths. Errors: `OSError`."""
    carried = []
    for spec in specs:
        for recipe in (recipe.built_for(cpu) for recipe in spec.recipes):
            found = find_built(spec, recipe)
            if found is None or recipe.sources is None:
                continue
            target = carried_folder(spec, recipe, folder / "peers")
            target.mkdir(parents=True, exist_ok=True)
            program = Path(found.command[0])
            shutil.copy2(program, target / program.name)
            facts = {**found.facts, "carried": True}
            facts.setdefault("cpu_flags", sorted(recipe.needs()))
            (target / FACTS).write_text(json.dumps(facts, indent=1) + "\n")
            carried.append(target / program.name)
    return carried
