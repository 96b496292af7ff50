"""Compile every curve for every architecture and keep what each kernel takes: no GPU needed, results cached by digest.

    python tests/cuda/matrix.py sm_75 sm_90        the table of these architectures

The cache is outside the clone: a run that changes no kernel compiles nothing. Run under CUDA 12's compiler, in an
environment of its own, by the same command.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from multiscalar.cuda import sources
from multiscalar.cuda.compiled import cache_folder
from multiscalar.cuda.program import Unit, compiler
from multiscalar.cuda.resources import Resources, measure

CURVES = ("bn254", "bls12-377", "bls12-381")
ARCHITECTURES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")
Table = dict[str, Resources]


def resources(curve: str, arch: str) -> Table:
    """What each kernel of `curve` takes on `arch`; compiled only if this source was not before."""
    work = Unit(sources.kernel_source(curve.replace("-", "_")), curve, arch)
    kept = cache_folder().parent / "compile-matrix" / f"{work.digest()}.json"
    found = load(kept)
    if found is None:
        _, found = measure(work)
        store(kept, found)
    return found


def load(kept: Path) -> Table | None:
    """What an earlier run kept; None where it kept nothing that can be read."""
    try:
        return {name: Resources(**row) for name, row in json.loads(kept.read_text()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return None


def store(kept: Path, found: Table) -> None:
    """Keep it for the next run, whole or not at all: others write here at the same time. Without a cache: nothing."""
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=kept.parent, delete=False) as part:
            part.write(json.dumps({name: asdict(row) for name, row in found.items()}))
        os.replace(part.name, kept)
    except OSError as error:
        print(f"not kept: {error}", file=sys.stderr)


def matrix(architectures: tuple[str, ...], curves: tuple[str, ...] = CURVES) -> dict[tuple[str, str], Table]:
    """All of them, two at a time: the compiler runs outside the interpreter lock."""
    cells = [(curve, arch) for arch in architectures for curve in curves]
    with ThreadPoolExecutor(2) as pool:
        return dict(zip(cells, pool.map(lambda cell: resources(*cell), cells), strict=True))


def table(cells: dict[tuple[str, str], Table]) -> str:
    """Markdown: registers, and bytes of stack and spills where there are any, by kernel and architecture."""
    architectures = sorted({arch for _, arch in cells}, key=lambda arch: int(arch[3:]))
    lines = ["| curve | kernel | " + " | ".join(architectures) + " |", "|---" * (2 + len(architectures)) + "|"]
    for curve in dict.fromkeys(curve for curve, _ in cells):
        for kernel in cells[curve, architectures[0]]:
            rows = [cells[curve, arch][kernel] for arch in architectures]
            words = [
                f"{row.registers} ({row.stack} B, {row.spill_stores} spilled)" if row.stack else f"{row.registers}"
                for row in rows
            ]
            lines.append(f"| {curve} | {kernel} | " + " | ".join(words) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(f"registers a thread (stack, bytes spilled), {compiler()}\n")
    print(table(matrix(tuple(sys.argv[1:]) or ARCHITECTURES)))
