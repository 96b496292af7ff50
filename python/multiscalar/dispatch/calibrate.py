"""Measure the cost curves of this machine, find where the GPU wins, and judge the result on sizes off the grid.

1. Octave grid upward, CPU and GPU in turn (ABBA), so that a drift of the machine falls on both sides. A side that is
   more than four times behind for two octaves is not measured further up or, going down, at all.
2. Bisect each change of sides in log n until the bracket is an eighth of an octave or the intervals overlap.
3. Measure hold-out sizes (odd, between the octaves): the regret of the choices there, median, p95 and worst. They are
   taken far apart first, so that any number of them covers the range.

What was not attested, or has a hold-out p95 regret above 10 %, is not saved unless forced, and then marked unstable.
Cost: as much time as the budget, three fifths of it for the curves; what would overrun it is left out, and said so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import log2
from typing import Final, Protocol

import numpy as np

from .model import BRACKET, DEAD_ZONE, Boundary, CostCurve, boundaries, regret, side_of, wobble
from .profile import Series

FAR_BEHIND: Final = 4.0
REGRET_LIMIT: Final = 0.10
MIN_SAMPLES: Final = 5
MAX_SAMPLES: Final = 15
CURVES_SHARE: Final = 0.6  # of the budget; the rest is for the hold-out
GRID_ROLE: Final = "grid"
HOLD_OUT: Final = "hold-out"
SIDES: Final = ("cpu", "cuda")


class NotAttested(Exception):
    """A subject did not run where it was asked to, or gave a wrong result: nothing of it may be used."""


class NotMeasured(Exception):
    """A size cannot be had here, for lack of memory for instance: the curve ends below it."""


class Meter(Protocol):
    """Times one checked and attested call after another, in microseconds."""

    def open(self, series: Series, n: int, role: str) -> Callable[[], float]:
        """Prepare inputs and a warmed-up call; every call of the result is one timed sample.

        `role` says what the samples are for: the grid, or the hold-out. Errors: `NotAttested`, `NotMeasured`.
        """


@dataclass
class Outcome:
    """What one pair of series gave."""

    series: Series
    cpu: CostCurve
    gpu: CostCurve | None
    found: list[Boundary] = field(default_factory=list)
    hold_out: dict[int, float] = field(default_factory=dict)
    wobble: float = 0.0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def stable(self) -> bool:
        """Whether this may be saved without being forced."""
        return not self.problems

    def regrets(self) -> tuple[float, float, float]:
        """Median, p95 and worst regret over the hold-out sizes; zeros without any."""
        values = list(self.hold_out.values()) or [0.0]
        return float(np.median(values)), float(np.percentile(values, 95)), max(values)


@dataclass(frozen=True)
class Grid:
    """Sizes to measure: octaves from `low` to `high`, `hold_out` sizes between them."""

    low: int = 1 << 6
    high: int = 1 << 20
    hold_out: int = 12

    def octaves(self) -> list[int]:
        first, last = round(log2(self.low)), round(log2(self.high))
        return [1 << k for k in range(first, last + 1)]

    def off_grid(self, most: int) -> list[int]:
        """Odd sizes up to `most`, evenly in log n, none a power of two; in an order that covers the range early."""
        low, high = log2(self.low), log2(min(self.high, most))
        steps = [low + (high - low) * (k + 0.5) / self.hold_out for k in range(self.hold_out)]
        sizes = sorted({round(2**x) | 1 for x in steps})
        return [sizes[k] for k in _far_apart(len(sizes))]


def _far_apart(count: int) -> list[int]:
    """0 .. count - 1, by reversed bits: 0, half, quarter, three quarters, ..."""
    bits = max(1, (count - 1).bit_length())
    turned = (int(f"{k:0{bits}b}"[::-1], 2) for k in range(1 << bits))
    return [k for k in turned if k < count]


@dataclass
class _Run:
    """The state of one calibration: what was measured, and the time left."""

    meter: Meter
    series: Series
    deadline: float
    progress: Callable[[str], None]
    role: str = GRID_ROLE
    samples: dict[str, dict[int, list[float]]] = field(default_factory=lambda: {"cpu": {}, "cuda": {}})

    def time_left(self) -> float:
        return self.deadline - time.monotonic()

    def measure(self, n: int, backends: Sequence[str]) -> None:
        """Samples of the backends at n, in ABBA order; at least MIN_SAMPLES, more while they are cheap."""
        calls = {name: self.meter.open(replace(self.series, backend=name), n, self.role) for name in backends}
        taken: dict[str, list[float]] = {name: [] for name in backends}
        started, share = time.monotonic(), max(0.05, self.time_left() / 40)
        order = list(backends)
        while True:
            for name in order:
                taken[name].append(calls[name]())
            order.reverse()
            count = len(taken[order[0]])
            if count >= MAX_SAMPLES or (count >= MIN_SAMPLES and time.monotonic() - started > share):
                break
        for name, values in taken.items():
            self.samples[name].setdefault(n, []).extend(values)
        medians = ", ".join(f"{name} {np.median(values):,.0f} us" for name, values in taken.items())
        self.progress(f"{self.series.curve} {self.series.scope} n = {n:,}: {medians}")

    def curve(self, backend: str) -> CostCurve:
        return CostCurve({n: tuple(values) for n, values in self.samples[backend].items()})


def calibrate(
    meter: Meter,
    series: Series,
    *,
    grid: Grid,
    budget_s: float,
    gpu: bool,
    progress: Callable[[str], None] = lambda text: None,
) -> Outcome:
    """Calibrate one kind of call; `series.backend` is ignored. Errors: `NotAttested`; `NotMeasured` at the first n."""
    started = time.monotonic()
    run = _Run(meter, series, started + budget_s * (CURVES_SHARE if gpu else 1), progress)
    problems, notes = _octaves(run, grid, gpu)
    if not gpu:
        return Outcome(series, run.curve("cpu"), None, problems=problems, notes=notes)
    _bisect(run)
    cpu, gpu_curve = run.curve("cpu"), run.curve("cuda")
    outcome = Outcome(series, cpu, gpu_curve, problems=problems, notes=notes)
    held = _hold_out(run, outcome, grid, started + budget_s)
    outcome.hold_out = {n: regret(pair[SIDES.index(side_of(cpu, gpu_curve, n))], min(pair)) for n, pair in held.items()}
    outcome.wobble = wobble(cpu, gpu_curve, held)
    outcome.found = boundaries(cpu, gpu_curve, wobble=outcome.wobble)
    _, p95, _ = outcome.regrets()
    if p95 > REGRET_LIMIT:
        outcome.problems.append(f"p95 regret on hold-out sizes is {p95:.1%}, more than {REGRET_LIMIT:.0%}")
    return outcome


def _octaves(run: _Run, grid: Grid, gpu: bool) -> tuple[list[str], list[str]]:
    """The grid, upward; a side far behind for two octaves is dropped. Problems and notes."""
    behind = 0
    for n in grid.octaves():
        names = [*(["cpu"] if behind < 2 else []), *(["cuda"] if gpu else [])]
        if run.time_left() < 0 and len(run.samples["cpu"]) >= 2:
            return [f"the time budget ended before n = {n:,}"] if len(names) == 2 else [], []
        try:
            run.measure(n, names)
        except NotMeasured as error:
            if not run.samples["cpu"]:
                raise
            return [], [f"n = {n:,} and above were not measured: {error}"]
        if len(names) == 2:
            cpu, cuda = (float(np.median(run.samples[name][n])) for name in names)
            behind = behind + 1 if cpu > FAR_BEHIND * cuda else 0
    return [], []


def _bisect(run: _Run) -> None:
    """Narrow each bracket in which the sides change."""
    for _ in range(16):
        bracket = next((pair for pair in _brackets(run) if log2(pair[1] / pair[0]) > BRACKET), None)
        if bracket is None or run.time_left() < 0:
            return
        low, high = bracket
        middle = round((low * high) ** 0.5)
        if middle in (low, high):
            return
        run.measure(middle, ("cpu", "cuda"))
        if _overlap(run, middle):
            return


def _brackets(run: _Run) -> list[tuple[int, int]]:
    """Neighbouring sizes measured on both sides between which the choice changes."""
    both = sorted(run.samples["cpu"].keys() & run.samples["cuda"].keys())
    ahead = [np.median(run.samples["cuda"][n]) * (1 + DEAD_ZONE) < np.median(run.samples["cpu"][n]) for n in both]
    return [(both[k], both[k + 1]) for k in range(len(both) - 1) if ahead[k] != ahead[k + 1]]


def _overlap(run: _Run, n: int) -> bool:
    """Whether the quartiles of the two sides overlap: more bisection would follow noise."""
    (a, b), (c, d) = (np.percentile(run.samples[name][n], (25, 75)) for name in ("cpu", "cuda"))
    return bool(a <= d and c <= b)


def _hold_out(run: _Run, outcome: Outcome, grid: Grid, deadline: float) -> dict[int, tuple[float, float]]:
    """Medians (cpu, gpu) at sizes that had no part in the fit."""
    sizes = grid.off_grid(max(run.samples["cpu"]))  # further up the CPU is far behind
    held: dict[int, tuple[float, float]] = {}
    for n in sizes:
        judge = _Run(run.meter, run.series, deadline, run.progress, HOLD_OUT)
        if judge.time_left() < 0:
            outcome.notes.append(f"{len(held)} of {len(sizes)} hold-out sizes fit into the time budget")
            break
        judge.measure(n, SIDES)
        cpu, gpu = (float(np.median(judge.samples[name][n])) for name in SIDES)
        held[n] = cpu, gpu
    return held
