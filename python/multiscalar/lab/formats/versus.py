"""The second story's table: CPU against GPU by size, with who is faster and by how much.

Degree  Size       CPU Time   GPU Time   Result 2^20    1,048,576  100.00 ms  7.35 s     73x CPU faster
"""

from __future__ import annotations

from collections.abc import Sequence

from ..rows import Row
from ..status import Status
from .table import align
from .units import ratio_text, time_text

__all__ = ["to_versus"]

_NAMES = {"cpu": "CPU", "cuda": "GPU"}


def to_versus(rows: Sequence[Row], a: str, b: str) -> str:
    """One line a size; `a` and `b` are paths. A path that has no time shows its status instead."""
    name_a, name_b = _NAMES.get(a, a), _NAMES.get(b, b)
    lines = []
    for case, pair in _pairs(rows).items():
        left, right = pair.get(a), pair.get(b)
        n = case[0]
        degree = f"2^{n.bit_length() - 1}" if n and n & (n - 1) == 0 else "-"
        lines.append((degree, f"{n:,}", _cell(left), _cell(right), _result(left, right, name_a, name_b)))
    header = ("Degree", "Size", f"{name_a} Time", f"{name_b} Time", "Result")
    return align(header, lines, frozenset({"Degree", "Result"}))


def _pairs(rows: Sequence[Row]) -> dict[tuple[int, str], dict[str, Row]]:
    pairs: dict[tuple[int, str], dict[str, Row]] = {}
    for row in rows:
        pairs.setdefault((row.size, repr(sorted(row.labels.items(), key=str))), {})[row.path] = row
    return pairs


def _cell(row: Row | None) -> str:
    if row is None:
        return "-"
    return time_text(row.median_us) or str(row.status)


def _result(left: Row | None, right: Row | None, name_a: str, name_b: str) -> str:
    if left is None or right is None or left.median_us is None or right.median_us is None:
        bad = next((row for row in (left, right) if row is not None and row.status is not Status.OK), None)
        return f"not compared: {bad.path} {bad.note}" if bad else "not compared"
    ratio = right.median_us / left.median_us
    if 0.97 < ratio < 1.03:
        return "the same within 3%"
    return f"{ratio_text(ratio)} {name_a} faster" if ratio > 1 else f"{ratio_text(1 / ratio)} {name_b} faster"
