"""Crossovers and regret as a table, from records of calibrations (`msm calibrate --record`, `benchmarks/lab.py`).

python tools/regret_table.py results/dispatch/simulated-a.jsonl
"""

from __future__ import annotations

from pathlib import Path

from multiscalar.lab.calibration import HEADER, judged, regret_rows
from multiscalar.lab.record import read_record
from tables import NoTableError, show


def table(paths: list[str]) -> str:
    """Markdown: a row for each curve and scope."""
    rows = regret_rows(judged(read_record([Path(path) for path in paths])))
    if not rows:
        raise NoTableError(f"{', '.join(paths)}: no calibration of CPU and GPU in it")
    lines = ["| " + " | ".join(HEADER) + " |", "|---|---|---|---|---:|---:|---:|---:|---:|"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


if __name__ == "__main__":
    show(__doc__, table)
