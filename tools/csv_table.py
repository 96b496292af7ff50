"""A CSV file as a Markdown table.

python tools/csv_table.py results/h200/pipe.csv
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path


def table(path: Path) -> str:
    """The header, then the rows; underscores of the header become blanks."""
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    lines = [[name.replace("_", " ") for name in header], ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
