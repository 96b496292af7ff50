"""CSV: one line a row, starting `size,path,median_us,status`; the reason comes last, quoted."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from ..rows import Row

__all__ = ["COLUMNS", "to_csv"]

COLUMNS = (
    "size",
    "path",
    "median_us",
    "status",
    "cpu_us",
    "low_us",
    "high_us",
    "min_us",
    "max_us",
    "mad_us",
    "samples",
    "outliers",
    "copy_us",
    "device_us",
    "curve",
    "group",
    "scope",
    "shape",
    "inputs",
    "batch",
    "precompute",
    "threads",
    "isa",
    "seed",
    "note",
)


def _us(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def to_csv(rows: Sequence[Row]) -> str:
    """Header and rows; a time is empty unless the status is `ok`. All times in microseconds.

    Where threads and instruction set were left open, they are those that were used, if the subject tells them.
    """
    out = io.StringIO()
    plain = csv.writer(out, lineterminator="")
    quoted = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
    out.write(",".join(COLUMNS) + "\n")
    for row in rows:
        plain.writerow(_cells(row))
        out.write(",")
        quoted.writerow([row.note])
    return out.getvalue()


def _cells(row: Row) -> list[str]:
    wall = row.wall
    figures = (
        [""] * 7
        if wall is None
        else [
            _us(wall.median.low),
            _us(wall.median.high),
            _us(wall.minimum),
            _us(wall.maximum),
            _us(wall.mad),
            str(wall.count),
            str(sum(wall.outliers.values())),
        ]
    )
    asked = [row.labels.get(name) for name in ("curve", "group", "scope", "shape", "inputs", "batch", "precompute")]
    labels = [*asked, row.ran("threads"), row.ran("isa"), row.labels.get("seed")]
    return [
        str(row.size),
        row.path,
        _us(row.median_us),
        str(row.status),
        _us(row.cpu_us),
        *figures,
        _us(row.copy_us),
        _us(row.device_us),
        *("" if value is None else str(value) for value in labels),
    ]
