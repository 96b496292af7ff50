"""A CSV file as a Markdown table.

python tools/csv_table.py results/h200/pipe.csv
"""

from __future__ import annotations

import csv
from pathlib import Path

from tables import NoTableError, show


def table(path: Path) -> str:
    """The header, then the rows; underscores of the header become blanks."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file)) or [[]]
    if not rows or {len(row) for row in rows} - {len(header)}:
        raise NoTableError(f"{path}: not a CSV file of a header and rows as long as it")
    lines = [[name.replace("_", " ") for name in header], ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    show(__doc__, lambda files: table(Path(files[0])), files=1)
