"""Markdown: a heading and a table per group of rows."""

from __future__ import annotations

from collections.abc import Sequence

from ..rows import Row
from .layout import HEADER, cells, groups

__all__ = ["to_markdown"]


def _line(values: Sequence[str]) -> str:
    return "| " + " | ".join(value.replace("|", "\\|").replace("\n", " ") for value in values) + " |"


def to_markdown(rows: Sequence[Row]) -> str:
    """Tables in GitHub's Markdown."""
    parts = []
    for name, members in groups(rows):
        table = [_line(HEADER), "|" + "---:|---|" + "---:|" * 6 + "---|"]
        table += [_line(cells(row, members)) for row in members]
        parts.append(f"**{name}**\n\n" + "\n".join(table) + "\n")
    return "\n".join(parts) or "no rows\n"
