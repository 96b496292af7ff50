"""What the table and the Markdown share: rows in groups of common labels, ranked within a size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..rows import Row
from ..sizes import size_text
from ..status import Status
from .units import ratio_text, time_text

__all__ = ["HEADER", "cells", "groups", "title"]

HEADER = ("size", "path", "median", "±", "of best", "cpu", "of best", "min … max", "status")
_TITLE = ("workload", "curve", "group", "scope", "shape", "inputs", "threads", "isa", "batch", "precompute", "role")


def title(row: Row) -> str:
    """The labels that all rows of a group share, in words; defaults that say nothing are left out."""
    words = []
    for name in _TITLE:
        value = row.labels.get(name)
        if value is None:
            if name == "threads":
                words.append("all threads")
            continue
        if (name, value) in {("isa", "auto"), ("batch", 1), ("shape", "uniform"), ("role", "grid")}:
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
    """One row as text. "of best" compares the column before it with the least of the same size."""
    status = str(row.status) if not row.note or row.status is Status.OK else f"{row.status}: {row.note}"
    if row.wall is None:
        return (size_text(row.size), row.path, *[""] * (len(HEADER) - 3), status)
    if row.status is Status.OK and row.note:
        status = f"ok ({row.note})"
    timed = [r for r in group if r.wall and r.size == row.size]
    return (
        size_text(row.size),
        row.path,
        time_text(row.median_us),
        f"{row.wall.median.relative_width:.1%}",
        _of_best(row.median_us, [r.median_us for r in timed]),
        time_text(row.cpu_us),
        _of_best(row.cpu_us, [r.cpu_us for r in timed]),
        f"{time_text(row.wall.minimum)} … {time_text(row.wall.maximum)}",
        status,
    )


def _of_best(value: float | None, all_values: Sequence[float | None]) -> str:
    known = [other for other in all_values if other]
    return ratio_text(value / min(known)) if value and known else ""
