"""Verdicts: is B faster than A? FASTER, SLOWER, SAME or AMBIGUOUS, with an interval.

The ratio of medians B/A decides by its bootstrap interval against a practical threshold; the lower quartiles must
lean the same way, since a burst of a busy machine moves a median but hardly the quick half of the samples. What
neither proves a difference nor sameness is AMBIGUOUS. By `auto`, CPU subjects of one thread are judged by CPU time,
which a busy machine hardly touches, and everything else by wall time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from .record import Cell, Measurements
from .stats import Interval, ratio_interval
from .status import Status

__all__ = ["Comparison", "Pair", "Verdict", "compare_paths", "compare_records", "judge"]

THRESHOLD = 0.03
_LEAST_SAMPLES = 3


class Verdict(StrEnum):
    """What the samples say of B against A."""

    FASTER = "FASTER"
    SLOWER = "SLOWER"
    SAME = "SAME"
    AMBIGUOUS = "AMBIGUOUS"


@dataclass(frozen=True)
class Pair:
    """One compared pair; `ratio` is time B over time A."""

    labels: dict[str, Any]
    name: str
    a_us: float
    b_us: float
    ratio: Interval
    verdict: Verdict
    clock: str = "wall_ns"


@dataclass(frozen=True)
class Comparison:
    """All pairs, what had no partner, and what makes the two sides unlike."""

    pairs: list[Pair]
    alone: list[str]
    warnings: list[str]
    gates: bool = True

    @property
    def exit_code(self) -> int:
        """1 if anything became slower between two records, else 0: a gate for CI. Paths of one record gate nothing."""
        return int(self.gates and any(pair.verdict is Verdict.SLOWER for pair in self.pairs))


def judge(a: Sequence[float], b: Sequence[float], threshold: float = THRESHOLD) -> tuple[Verdict, Interval]:
    """Verdict on B against A from their samples."""
    ratio = ratio_interval(b, a)
    if min(len(a), len(b)) < _LEAST_SAMPLES:
        return Verdict.AMBIGUOUS, ratio
    quick = float(np.percentile(b, 25) / np.percentile(a, 25))
    if ratio.high < 1 - threshold and quick < 1 - threshold / 2:
        return Verdict.FASTER, ratio
    if ratio.low > 1 + threshold and quick > 1 + threshold / 2:
        return Verdict.SLOWER, ratio
    if 1 - 2 * threshold < ratio.low and ratio.high < 1 + 2 * threshold:
        return Verdict.SAME, ratio
    return Verdict.AMBIGUOUS, ratio


def _clock(asked: str, a: Cell, b: Cell) -> str:
    """`auto` by what the two cells are. Wall time where a cell tells no CPU time, or none that its clock could see."""
    cells = (a, b)
    told = all(times and min(times) > 0 for times in (cell.times("cpu_ns") for cell in cells))
    serial = all(cell.place == "cpu" and cell.labels.get("threads") == 1 for cell in cells)
    return "cpu_ns" if told and (asked == "cpu_ns" or (asked == "auto" and serial)) else "wall_ns"


def _usable(cell: Cell) -> bool:
    return cell.status is Status.OK and bool(cell.samples)


def _pair(name: str, a: Cell, b: Cell, threshold: float, clock: str) -> Pair:
    clock = _clock(clock, a, b)
    times_a, times_b = a.times(clock), b.times(clock)
    verdict, ratio = judge(times_a, times_b, threshold)
    return Pair(a.labels, name, float(np.median(times_a)) / 1e3, float(np.median(times_b)) / 1e3, ratio, verdict, clock)


def compare_records(
    a: Measurements, b: Measurements, *, threshold: float = THRESHOLD, clock: str = "auto"
) -> Comparison:
    """Cells that both records have, paired by labels and path."""
    pairs, alone = [], []
    for cell_id in dict.fromkeys([*a.cells, *b.cells]):
        left, right = a.cells.get(cell_id), b.cells.get(cell_id)
        present = left or right
        assert present is not None
        name = f"{present.labels.get('curve', '')} n={present.labels['n']} {present.path}"
        if left is None or right is None or not (_usable(left) and _usable(right)):
            side = "B" if left is None else "A" if right is None else "neither as ok"
            alone.append(f"{name}: only in {side}" if side in "AB" else f"{name}: not ok in both")
        else:
            pairs.append(_pair(present.path, left, right, threshold, clock))
    return Comparison(pairs, alone, _unlike(a, b))


def compare_paths(
    measurements: Measurements, a: str, b: str, *, threshold: float = THRESHOLD, clock: str = "auto"
) -> Comparison:
    """Path b against path a in one record, case by case."""
    by_case: dict[str, dict[str, Cell]] = {}
    for cell in measurements.cells.values():
        by_case.setdefault(repr(sorted(cell.labels.items(), key=str)), {})[cell.path] = cell
    pairs, alone = [], []
    for cells in by_case.values():
        if a in cells and b in cells and _usable(cells[a]) and _usable(cells[b]):
            pairs.append(_pair(f"{b} against {a}", cells[a], cells[b], threshold, clock))
        else:
            shown = ", ".join(f"{path} {cells[path].status}" for path in (a, b) if path in cells)
            alone.append(f"n={next(iter(cells.values())).labels['n']}: {shown or 'neither path'}")
    return Comparison(pairs, alone, [], gates=False)


def _unlike(a: Measurements, b: Measurements) -> list[str]:
    """Machine facts that differ: the ratio then speaks of them too."""
    if not (a.runs and b.runs):
        return []
    left, right = a.runs[-1], b.runs[-1]
    facts = [("machine", "cpu", "model"), ("machine", "cpu", "usable_cpus"), ("machine", "gpu", "name"),
             ("machine", "gpu", "driver"), ("versions", "numpy")]  # fmt: skip
    out = []
    for path in facts:
        values = [_dig(side, path) for side in (left, right)]
        if values[0] != values[1]:
            out.append(f"{' '.join(path[1:])} differs: {values[0]} against {values[1]}")
    return out


def _dig(tree: Any, path: Sequence[str]) -> Any:
    for name in path:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree
