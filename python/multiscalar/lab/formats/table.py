"""The terminal's table: plain aligned text, readable in a pipe; colour is the command line's affair."""

from __future__ import annotations

from collections.abc import Sequence

from ..rows import Row
from .layout import HEADER, cells, groups

__all__ = ["align", "to_table"]

_LEFT = frozenset({"path", "status"})


def align(header: Sequence[str], lines: Sequence[Sequence[str]], left: frozenset[str] = _LEFT) -> str:
    """Columns as wide as their widest entry; figures right-aligned, names left."""
    widths = [max(len(line[i]) for line in (header, *lines)) for i in range(len(header))]

    def row(values: Sequence[str]) -> str:
        return "  ".join(
            value.ljust(width) if name in left else value.rjust(width)
            for value, width, name in zip(values, widths, header, strict=True)
        ).rstrip()

    return "\n".join([row(header), *(row(line) for line in lines)]) + "\n"


def to_table(rows: Sequence[Row]) -> str:
    """A titled block per group."""
    blocks = [f"{name}\n" + align(HEADER, [cells(row, members) for row in members]) for name, members in groups(rows)]
    return "\n".join(blocks) or "no rows\n"
