"""Where one path overtakes another: crossings of two cost curves, each with a bootstrap interval.

Curves are medians, piecewise linear in (log n, log t). A crossing is a sign change of log(t_a / t_b) between two
measured sizes; there may be none or several. The interval comes from resampling every size's samples (5 to 95 %).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .stats import bootstrap_medians

__all__ = ["Crossing", "crossings"]

_RESAMPLES = 500
_BAND = (5, 95)

Series = Mapping[int, Sequence[float]]


@dataclass(frozen=True)
class Crossing:
    """At about `n` terms the faster side changes; `after` names the side that wins above it."""

    n: float
    low: float
    high: float
    after: str


def crossings(a: Series, b: Series, names: tuple[str, str] = ("a", "b")) -> list[Crossing]:
    """Crossings of series a and b (size -> times) over the sizes they share, in rising n."""
    sizes = sorted(n for n in a.keys() & b.keys() if n > 0 and len(a[n]) and len(b[n]))
    if len(sizes) < 2:
        return []
    logs = np.log(np.array(sizes, dtype=np.float64))
    middle = np.array([np.log(np.median(a[n]) / np.median(b[n])) for n in sizes])
    draws = np.array(
        [
            np.log(
                bootstrap_medians(a[n], resamples=_RESAMPLES, seed=2 * i + 1)
                / bootstrap_medians(b[n], resamples=_RESAMPLES, seed=2 * i + 2)
            )
            for i, n in enumerate(sizes)
        ]
    ).T
    found = []
    for at, rising in _zeros(logs, middle):
        near = [_nearest(logs, draw, at, rising) for draw in draws]
        around = [x for x in near if x is not None] or [at]
        low, high = np.percentile(np.exp(around), _BAND)
        n = float(np.exp(at))
        found.append(Crossing(n, min(float(low), n), max(float(high), n), names[1] if rising else names[0]))
    return found


def _zeros(x: NDArray[np.float64], y: NDArray[np.float64]) -> list[tuple[float, bool]]:
    """(where, whether the sign goes from minus to plus) of the sign changes of a piecewise linear function."""
    out = []
    for i in range(len(x) - 1):
        left, right = y[i], y[i + 1]
        if (left < 0) != (right < 0):
            out.append((float(x[i] + (x[i + 1] - x[i]) * left / (left - right)), bool(right >= 0)))
    return out


def _nearest(x: NDArray[np.float64], y: NDArray[np.float64], at: float, rising: bool) -> float | None:
    same = [where for where, up in _zeros(x, y) if up is rising]
    return min(same, key=lambda where: abs(where - at), default=None)
