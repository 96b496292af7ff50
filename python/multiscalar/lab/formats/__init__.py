"""Formats of a record: each a pure function from rows or cells to text.

`render` is the one entrance; the names are the words of `--format`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from ..record import Measurements
from ..rows import rows
from .csv import to_csv
from .json import to_json
from .markdown import to_markdown
from .runs import to_runs
from .table import to_table

__all__ = ["Format", "render"]


class Format(StrEnum):
    """Words of `--format`."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"
    MARKDOWN = "markdown"
    RUNS = "runs"


_MAKERS: dict[Format, Callable[[Measurements], str]] = {
    Format.TABLE: lambda m: to_table(rows(m)),
    Format.CSV: lambda m: to_csv(rows(m)),
    Format.JSON: to_json,
    Format.MARKDOWN: lambda m: to_markdown(rows(m)),
    Format.RUNS: to_runs,
}


def render(measurements: Measurements, form: Format) -> str:
    """The text of a record in one format, ending in a newline."""
    return _MAKERS[form](measurements)
