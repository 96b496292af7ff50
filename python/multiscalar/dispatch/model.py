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

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Objective = Literal["median", "p95"]
Samples = Sequence[float]

DEAD_ZONE: Final = 0.03
BAND: Final = (5.0, 95.0)
RESAMPLES: Final = 200
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
    def _lines(self) -> dict[str, tuple[list[float], list[float]]]:
        return {objective: self._line(quantile) for objective, quantile in _QUANTILES.items()}

    def _line(self, quantile: float) -> tuple[list[float], list[float]]:
        values = [float(np.percentile(self.samples[n], quantile)) for n in self.sizes]
        return [log(n) for n in self.sizes], monotone([log(value) for value in values])

    def at(self, n: int, objective: Objective = "median") -> float:
        """Predicted microseconds at n."""
        xs, ys = self._lines[objective]
        return exp(interpolate(xs, ys, log(max(n, 1))))

    def predict(self, n: int, objective: Objective = "median") -> Prediction:
        """The prediction at n with its interval, from resampled samples."""
        draws = [exp(interpolate(xs, ys, log(max(n, 1)))) for xs, ys in self.resampled(objective)]
        low, high = np.percentile(draws, BAND)
        value = self.at(n, objective)
        outside = not self.sizes[0] <= n <= self.sizes[-1]
        return Prediction(value, min(float(low), value), max(float(high), value), outside)

    def resampled(self, objective: Objective = "median", seed: int = 5090) -> list[tuple[list[float], list[float]]]:
        """The curve's line for each of RESAMPLES bootstrap draws."""
        rng, quantile = np.random.default_rng(seed), _QUANTILES[objective]
        rows: list[NDArray[np.float64]] = []
        for n in self.sizes:
            values = np.asarray(self.samples[n], np.float64)
            picks = rng.integers(0, values.size, (RESAMPLES, values.size))
            rows.append(np.log(np.percentile(values[picks], quantile, axis=1)))
        xs = [log(n) for n in self.sizes]
        return [(xs, monotone([float(row[k]) for row in rows])) for k in range(RESAMPLES)]

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


def interpolate(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """Piecewise linear; beyond the ends the last slope, kept between 0 and 1."""
    if len(xs) == 1:
        return ys[0]
    k = min(max(bisect_left(xs, x), 1), len(xs) - 1)
    slope = (ys[k] - ys[k - 1]) / (xs[k] - xs[k - 1])
    if x < xs[0] or x > xs[-1]:
        slope = min(max(slope, 0.0), 1.0)
    base = k if x > xs[-1] else k - 1
    return ys[base] + slope * (x - xs[base])


@dataclass(frozen=True)
class Boundary:
    """Above `n` terms `after` is taken; the crossing lies in low .. high with 90 % confidence."""

    n: int
    after: str
    low: float
    high: float


def boundaries(cpu: CostCurve, gpu: CostCurve, objective: Objective = "median") -> list[Boundary]:
    """Where the choice changes, in rising n, starting from `side_of` the smallest size."""
    grid = _grid(cpu, gpu)
    middle = _advantage(cpu._lines[objective], gpu._lines[objective], grid)
    found = _changes(grid, middle)
    if not found:
        return []
    pairs = zip(cpu.resampled(objective), gpu.resampled(objective, seed=5091), strict=True)
    draws = [_changes(grid, _advantage(a, b, grid)) for a, b in pairs]
    result = []
    for at, after in found:
        near = [min((x for x, side in draw if side == after), key=lambda x: abs(x - at), default=at) for draw in draws]
        low, high = np.exp(np.percentile(near, BAND))
        n = round(exp(at))
        result.append(Boundary(n, after, min(float(low), n), max(float(high), n)))
    return result


def side_of(cpu: CostCurve, gpu: CostCurve, n: int, objective: Objective = "median") -> str:
    """The side to take at n: the GPU only where it is ahead by more than the dead zone."""
    return "cuda" if gpu.at(n, objective) * (1 + DEAD_ZONE) < cpu.at(n, objective) else "cpu"


def regret(chosen: float, best: float) -> float:
    """Time of what was chosen over the best there was, minus one."""
    return chosen / best - 1


def _grid(cpu: CostCurve, gpu: CostCurve) -> NDArray[np.float64]:
    low = max(1, min(cpu.sizes[0], gpu.sizes[0]))
    high = max(cpu.sizes[-1], gpu.sizes[-1])
    steps = max(2, round(GRID * log(high / low, 2)) + 1)
    return np.linspace(log(low), log(high), steps)


Line = tuple[Sequence[float], Sequence[float]]


def _advantage(cpu: Line, gpu: Line, grid: NDArray[np.float64]) -> list[float]:
    """log(cpu / gpu) less the dead zone: positive where the GPU is taken."""
    return [interpolate(*cpu, float(x)) - interpolate(*gpu, float(x)) - log(1 + DEAD_ZONE) for x in grid]


def _changes(grid: NDArray[np.float64], ahead: Sequence[float]) -> list[tuple[float, str]]:
    """(log n, side after) at each change of sign, placed linearly between grid points."""
    found = []
    for k in range(len(ahead) - 1):
        left, right = ahead[k], ahead[k + 1]
        if (left > 0) != (right > 0):
            at = float(grid[k]) + (float(grid[k + 1]) - float(grid[k])) * left / (left - right)
            found.append((at, "cuda" if right > 0 else "cpu"))
    return found
