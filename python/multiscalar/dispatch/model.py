"""Cost curves and what follows from two of them: which side to take at each size, and how sure that is.

A curve keeps the samples measured at each size n. Its prediction is piecewise linear in (log n, log t) through the
medians, made monotone first (a larger sum never costs less: pad with zero terms), so that a user can check it with a
ruler. Monotone means the isotonic projection by pool-adjacent-violators with equal weights (Barlow and others,
"Statistical inference under order restrictions", 1972). Outside the measured range the last slope goes on, kept
between 0 and 1 (no faster than constant, no slower than linear), and the prediction says so.

The decision is a list of boundaries, not one threshold: curves may cross twice. Inside a dead zone of 3 % the CPU is
taken: it needs no device memory and no context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Objective = Literal["median", "p95"]
Samples = Sequence[float]
Array = NDArray[np.float64]

DEAD_ZONE: Final = 0.03
BAND: Final = (5.0, 95.0)
RESAMPLES: Final = 200
BRACKET: Final = 1 / 8  # octaves to which a calibration narrows a change of sides
AGREE: Final = 95.0  # of 100 other calibrations find a boundary inside its band
APART: Final = 1.96 * 2**0.5  # standard deviations within which two results lie from each other, 95 of 100 times
NEAREST: Final = 15  # hold-out sizes that tell of a crossing
GRID: Final = 64  # steps an octave in the search for crossings
_QUANTILES: Final = {"median": 50.0, "p95": 95.0}


@dataclass(frozen=True)
class Prediction:
    """Microseconds with a 90 % bootstrap interval; `extrapolated` outside the measured sizes."""

    us: float
    low: float
    high: float
    extrapolated: bool


@dataclass(frozen=True)
class CostCurve:
    """Samples in microseconds by size. Sizes are at least 1; every size has at least one sample."""

    samples: Mapping[int, Samples]

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        return tuple(sorted(self.samples))

    @cached_property
    def _xs(self) -> Array:
        return np.log(np.array(self.sizes, np.float64))

    @cached_property
    def _lines(self) -> dict[str, Array]:
        """log t at the sizes, monotone, by objective; worked out when asked for."""
        return {}

    def _line(self, objective: Objective) -> Array:
        line = self._lines.get(objective)
        if line is None:
            quantile = _QUANTILES[objective]
            values = [float(np.percentile(self.samples[n], quantile)) for n in self.sizes]
            line = self._lines[objective] = np.array(monotone([log(value) for value in values]))
        return line

    def at(self, n: int, objective: Objective = "median") -> float:
        """Predicted microseconds at n."""
        return float(np.exp(self._on(np.array([log(max(n, 1))]), self._line(objective))[0]))

    def predict(self, n: int, objective: Objective = "median") -> Prediction:
        """The prediction at n with its interval, from resampled samples."""
        draws = np.exp(self._on(np.array([log(max(n, 1))]), self._resampled(objective)))
        low, high = np.percentile(draws, BAND)
        value = self.at(n, objective)
        outside = not self.sizes[0] <= n <= self.sizes[-1]
        return Prediction(value, min(float(low), value), max(float(high), value), outside)

    def _on(self, grid: Array, lines: Array) -> Array:
        """Lines through this curve's sizes (the last axis of `lines`) at the points of `grid`."""
        return interpolate(self._xs, lines, grid)

    def _resampled(self, objective: Objective = "median", seed: int = 5090) -> Array:
        """Bootstrap draws of the line: [RESAMPLES, sizes]."""
        rng, quantile = np.random.default_rng(seed), _QUANTILES[objective]
        columns = []
        for n in self.sizes:
            values = np.asarray(self.samples[n], np.float64)
            picks = rng.integers(0, values.size, (RESAMPLES, values.size))
            columns.append(np.log(np.percentile(values[picks], quantile, axis=1)))
        return np.array([monotone(row) for row in np.stack(columns, axis=1).tolist()])

    def violations(self, least: float = 0.05) -> list[tuple[int, int, float]]:
        """Neighbours whose medians fall by more than `least`: (n, next n, fall). A sign of a mistuned window."""
        medians = [float(np.median(self.samples[n])) for n in self.sizes]
        pairs = zip(zip(self.sizes, medians, strict=True), zip(self.sizes[1:], medians[1:], strict=True), strict=False)
        return [(a, b, 1 - later / now) for (a, now), (b, later) in pairs if later < (1 - least) * now]


def monotone(values: Sequence[float]) -> list[float]:
    """The nearest non-decreasing sequence (least squares), by pooling adjacent violators."""
    pools: list[tuple[float, int]] = []
    for value in values:
        pools.append((value, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (left, m), (right, k) = pools[-2], pools[-1]
            pools[-2:] = [((left * m + right * k) / (m + k), m + k)]
    return [value for value, count in pools for _ in range(count)]


def interpolate(xs: Array, ys: Array, at: Array) -> Array:
    """Piecewise linear through (xs, ys), for one line or many (the last axis); beyond the ends the last slope goes on,
    kept between 0 and 1.
    """
    if len(xs) == 1:
        return np.broadcast_to(ys[..., :1], (*ys.shape[:-1], len(at)))
    k = np.clip(np.searchsorted(xs, at), 1, len(xs) - 1)
    slope = (ys[..., k] - ys[..., k - 1]) / (xs[k] - xs[k - 1])
    slope = np.where((at < xs[0]) | (at > xs[-1]), np.clip(slope, 0.0, 1.0), slope)
    base = np.where(at > xs[-1], k, k - 1)
    return np.asarray(ys[..., base] + slope * (at - xs[base]))


@dataclass(frozen=True)
class Boundary:
    """Above `n` terms `after` is taken; another calibration of this machine finds low .. high, 95 of 100 times."""

    n: int
    after: str
    low: float
    high: float


def crossings(cpu: CostCurve, gpu: CostCurve, objective: Objective = "median") -> list[tuple[int, str]]:
    """(n, side above n) where the choice changes, in rising n, starting from `side_of` the smallest size."""
    grid = _grid(cpu, gpu)
    ahead = _advantage(cpu._on(grid, cpu._line(objective)), gpu._on(grid, gpu._line(objective)))
    return [(round(exp(at)), after) for at, after in _changes(grid, ahead)]


def boundaries(cpu: CostCurve, gpu: CostCurve, objective: Objective = "median", wobble: float = 0.0) -> list[Boundary]:
    """The crossings with their bands, by bootstrap and by `wobble`: some 30 ms."""
    found = crossings(cpu, gpu, objective)
    if not found:
        return []
    grid = _grid(cpu, gpu)
    ahead = _advantage(cpu._on(grid, cpu._line(objective)), gpu._on(grid, gpu._line(objective)))
    draws = cpu._on(grid, cpu._resampled(objective)), gpu._on(grid, gpu._resampled(objective, seed=5091))
    changes = [_changes(grid, row) for row in _advantage(*draws)]
    result = []
    for n, after in found:
        near = [
            min((x for x, side in draw if side == after), key=lambda x: abs(x - log(n)), default=log(n))
            for draw in changes
        ]
        reach = max(_apart(np.array(near)), APART * wobble / _slope(grid, ahead, log(n)), BRACKET / 2 * log(2))
        result.append(Boundary(n, after, n * exp(-reach), n * exp(reach)))
    return result


def _apart(draws: Array) -> float:
    """How far two calibrations differ, 95 of 100 times: as two bootstrap draws, not as one from the middle."""
    return float(np.percentile(np.abs(np.subtract.outer(draws, draws)), AGREE))


def _slope(grid: Array, ahead: Array, at: float) -> float:
    """Change of log(cpu / gpu) over log n around a crossing: the flatter, the less certain is where it is."""
    low, high = np.interp([at - log(2) / 2, at + log(2) / 2], grid, ahead)
    return max(abs(float(high - low)) / log(2), 0.05)


def wobble(cpu: CostCurve, gpu: CostCurve, held: Mapping[int, tuple[float, float]]) -> float:
    """How far log(cpu / gpu), measured at other times than the curves, lies from what they predict: one standard
    deviation, robust. `held`: medians (cpu, gpu) by size; the fifteen nearest a crossing count. 0 without any.

    Samples taken in a row differ less than those of another minute: the bootstrap sees the first only.
    """
    at = [log(n) for n, _ in crossings(cpu, gpu)]
    if not at or not held:
        return 0.0
    near = sorted(held, key=lambda n: min(abs(log(n) - x) for x in at))[:NEAREST]
    apart = [log(held[n][0] / held[n][1]) - log(cpu.at(n) / gpu.at(n)) for n in near]
    return 1.4826 * float(np.median(np.abs(apart)))


def side_of(cpu: CostCurve, gpu: CostCurve, n: int, objective: Objective = "median") -> str:
    """The side to take at n: the GPU only where it is ahead by more than the dead zone."""
    return "cuda" if gpu.at(n, objective) * (1 + DEAD_ZONE) < cpu.at(n, objective) else "cpu"


def regret(chosen: float, best: float) -> float:
    """Time of what was chosen over the best there was, minus one."""
    return chosen / best - 1


def _grid(cpu: CostCurve, gpu: CostCurve) -> Array:
    low = max(1, min(cpu.sizes[0], gpu.sizes[0]))
    high = max(cpu.sizes[-1], gpu.sizes[-1])
    steps = max(2, round(GRID * log(high / low, 2)) + 1)
    return np.linspace(log(low), log(high), steps)


def _advantage(cpu: Array, gpu: Array) -> Array:
    """log(cpu / gpu) less the dead zone: positive where the GPU is taken."""
    return cpu - gpu - log(1 + DEAD_ZONE)


def _changes(grid: Array, ahead: Array) -> list[tuple[float, str]]:
    """(log n, side after) at each change of sign, placed linearly between grid points."""
    found = []
    for k in np.flatnonzero((ahead[:-1] > 0) != (ahead[1:] > 0)):
        left, right = float(ahead[k]), float(ahead[k + 1])
        at = float(grid[k]) + float(grid[k + 1] - grid[k]) * left / (left - right)
        found.append((at, "cuda" if right > 0 else "cpu"))
    return found
