"""What the lab and the dispatch cost, as a table, from the records that `benchmarks/lab.py` writes.

    python tools/lab_cost.py results/lab/overhead.jsonl results/lab/telemetry.jsonl results/lab/decision.jsonl

Between samples: the time from one sample's start to the start of the 64th after it, less the samples' own, over 64: a
turn with all that goes with it; the median over turns, so that what else the machine does counts in few of them.
Telemetry: the median of the ratios with the sampler over without, samples paired in the order they were taken, so that
a drift of the machine falls on both. Decision: the median sample over the decisions in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np
from multiscalar.lab.record import Cell, Measurements, read_record
from tables import NoTableError, show

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
    by_path = {cell.path: cell for cell in cells}
    if {"cpu", "cpu+telemetry"} <= by_path.keys():
        for clock, name in (("cpu_ns", "CPU"), ("wall_ns", "wall")):
            yield telemetry(by_path["cpu"].times(clock), by_path["cpu+telemetry"].times(clock), name)


def telemetry(without: list[int], beside: list[int], name: str) -> Line:
    """The median ratio of the pairs, with the 95 % interval of the bootstrap."""
    if not without or len(without) != len(beside):
        raise NoTableError(f"{len(without)} samples without telemetry and {len(beside)} with it are no pairs")
    ratios = np.array(beside) / np.array(without) - 1
    draws = np.median(np.random.default_rng(5090).choice(ratios, (4000, len(ratios))), axis=1)
    low, high = np.percentile(draws, (2.5, 97.5))
    told = f"{np.median(ratios):+.2%} [{low:+.2%}, {high:+.2%}]"
    return f"telemetry: {name} time of an MSM with it over without, {len(ratios)} pairs", told, "+1 %"


def between(cell: Cell) -> float:
    """Microseconds outside the calls, a sample."""
    starts, walls = [line["at_ns"] for line in cell.samples], cell.times()
    blocks = range(0, len(starts) - TURN, TURN)
    if not blocks:
        raise NoTableError(f"{len(starts)} samples of an empty subject, more than {TURN} are needed")
    outside = [starts[k + TURN] - starts[k] - sum(walls[k : k + TURN]) for k in blocks]
    return float(median(outside)) / TURN / 1e3


def table(paths: list[str]) -> str:
    """Markdown: a row a figure."""
    rows = []
    for path in paths:
        found = list(lines(read_record([Path(path)])))
        if not found:
            raise NoTableError(f"{path}: no record of benchmarks/lab.py")
        rows += found
    return "\n".join(
        ["| what | measured | bound |", "|---|---:|---:|", *("| " + " | ".join(row) + " |" for row in rows)]
    )


if __name__ == "__main__":
    show(__doc__, table)
