"""What the tables in the pages need of lab records: a clock over the samples of a cell, as one figure.

The records are read as they lie, without the package: a table can be made where it is not installed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from tables import NoTableError

Key = TypeVar("Key", bound=Hashable)


def figures(
    paths: list[str],
    clock: str,
    key: Callable[[str, dict[str, Any]], Key | None],
    take: Callable[[list[int]], float] = median,
) -> dict[Key, float]:
    """`take` of `clock` ("wall_ns" or "cpu_ns"), in ns, for each `key(path, labels)` that is not None.

    Cells with the same key are taken together; warm-ups and samples without that clock are left out. Errors:
    `NoTableError` for a file that is no record, or where nothing is left.
    """
    samples: dict[Key, list[int]] = defaultdict(list)
    for path in paths:
        cells: dict[str, Key | None] = {}
        for entry in entries(path):
            if entry["kind"] == "cell":
                cells[entry["cell"]] = key(entry["path"], entry["labels"])
            elif entry["kind"] == "sample" and entry.get(clock) and not entry.get("warmup"):
                cell = cells[entry["cell"]]
                if cell is not None:
                    samples[cell].append(entry[clock])
    if not samples:
        raise NoTableError(f"{', '.join(paths)}: no samples for this table")
    return {cell: take(values) for cell, values in samples.items()}


def entries(path: str) -> Iterator[dict[str, Any]]:
    """The lines of a record."""
    for number, line in enumerate(Path(path).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict) or "kind" not in entry:
            raise NoTableError(f"{path}, line {number}: not a line of a lab record")
        yield entry


def power(n: int) -> str:
    """2^k where that is shorter."""
    return f"2^{n.bit_length() - 1}" if n >= 1024 and n & (n - 1) == 0 else str(n)
