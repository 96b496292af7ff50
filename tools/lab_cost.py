"""What the lab and the dispatch cost, as a table, from the records that `benchmarks/lab.py` writes.

    python tools/lab_cost.py results/lab/overhead.jsonl results/lab/telemetry.jsonl results/lab/decision.jsonl

Between samples: the time from one sample's start to the start of the 64th after it, less the samples' own, over 64: a
turn with all that goes with it; the median over turns, so that what else the machine does counts in few of them.
Telemetry: median CPU time with the sampler over without, samples paired in the order they were taken; the interval is
of the bootstrap. Decision: the median sample over the decisions in it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from multiscalar.lab.compare import compare_paths
from multiscalar.lab.record import Cell, Measurements, read_record

Line = tuple[str, str, str]
TURN = 64  # samples


def lines(measurements: Measurements) -> Iterator[Line]:
    """Figures of one record."""
    cells = list(measurements.cells.values())
    for cell in cells:
        match cell.labels.get("workload"):
            case "nothing":
                yield "lab, between two samples", f"{between(cell):.1f} us", "20 us"
            case "decisions":
                us = median(cell.times()) / 1e3 / cell.labels["n"]
                yield f"a decision of auto, {cell.labels['curve']}", f"{us:.2f} us", "3 us"
    if any(cell.path == "cpu+telemetry" for cell in cells):
        for clock, name in (("cpu_ns", "CPU"), ("wall_ns", "wall")):
            (pair,) = compare_paths(measurements, "cpu", "cpu+telemetry", clock=clock).pairs
            ratio, count = pair.ratio, min(len(cell.samples) for cell in cells)
            told = f"{ratio.value - 1:+.2%} [{ratio.low - 1:+.2%}, {ratio.high - 1:+.2%}]"
            yield f"telemetry, {name} time of an MSM with it over without, {count} pairs", told, "1 %"


def between(cell: Cell) -> float:
    """Microseconds outside the calls, a sample."""
    starts, walls = [line["at_ns"] for line in cell.samples], cell.times()
    blocks = range(0, len(starts) - TURN, TURN)
    outside = [starts[k + TURN] - starts[k] - sum(walls[k : k + TURN]) for k in blocks]
    return float(median(outside)) / TURN / 1e3


def main(paths: list[str]) -> None:
    print("| what | measured | bound |\n|---|---:|---:|")
    for path in paths:
        for line in lines(read_record([Path(path)])):
            print("| " + " | ".join(line) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
