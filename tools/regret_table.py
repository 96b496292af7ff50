"""Crossovers and regret as a table, from records of calibrations (`msm calibrate --record`, `benchmarks/lab.py`).

python tools/regret_table.py results/dispatch/simulated-a.jsonl
"""

from __future__ import annotations

import sys
from pathlib import Path

from multiscalar.lab.calibration import HEADER, judged, regret_rows
from multiscalar.lab.record import read_record


def main(paths: list[str]) -> None:
    print("| " + " | ".join(HEADER) + " |\n|---|---|---|---|---:|---:|---:|---:|---:|")
    for row in regret_rows(judged(read_record([Path(path) for path in paths]))):
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
