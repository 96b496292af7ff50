"""What the table and the Markdown share: rows grouped by the labels they have in common, ranked within a
size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..rows import Row
from ..sizes import size_text
from ..status import Status
from .units import ratio_text, time_text

__all__ = ["HEADER", "cells", "groups", "title"]

HEADER = ("size", "path", "median", "±", "cpu", "min … max", "of best", "status")
_TITLE = ("curve", "group", "scope", "shape", "inputs", "threads", "isa", "batch", "precompute")


def title(row: Row) -> str:
    """The labels that all rows of a group share, in words; defaults that say nothing are left out."""
    words = []
    for name in _TITLE:
        value = row.labels.get(name)
        if value is None:
            if name == "threads":
                words.append("all threads")
            continue
        if (name, value) in {("isa", "auto"), ("batch", 1), ("shape", "uniform")}:
            continue
        match name:
            case "threads":
                words.append(f"{value} thread{'' if value == 1 else 's'}")
            case "batch":
                words.append(f"batch of {value}")
            case "precompute":
                words.append(f"precompute {value}")
            case "inputs":
                words.append(f"{value} points")
            case "shape":
                words.append(f"{value} scalars")
            case _:
                words.append(str(value))
    return ", ".join(words)


def groups(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Rows of equal title together, in order of first appearance, sorted by size within."""
    by_title: dict[str, list[Row]] = {}
    for row in rows:
        by_title.setdefault(title(row), []).append(row)
    for name, members in by_title.items():
        yield name, sorted(members, key=lambda row: row.size)


def cells(row: Row, group: Sequence[Row]) -> tuple[str, ...]:
    """One row as text. "of best" compares with the fastest ok row of the same size."""
    status = str(row.status) if not row.note or row.status is Status.OK else f"{row.status}: {row.note}"
    if row.wall is None:
        return (size_text(row.size), row.path, "", "", "", "", "", status)
    best = min(r.wall.median.value for r in group if r.wall and r.size == row.size)
    if row.status is Status.OK and row.note:
        status = f"ok ({row.note})"
    return (
        size_text(row.size),
        row.path,
        time_text(row.median_us),
        f"{row.wall.median.relative_width:.1%}",
        time_text(row.cpu_us),
        f"{time_text(row.wall.minimum)} … {time_text(row.wall.maximum)}",
        ratio_text(row.wall.median.value / best),
        status,
    )
