"""What a record of `msm calibrate` says: per curve and scope the crossovers, and the regret on sizes off the grid.

Worked out from the samples again, by the dispatch's own model: cells of the role "grid" are the fit, those of the role
"hold-out" judge it. Nothing is taken from what the calibration printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..dispatch.calibrate import GRID_ROLE, HOLD_OUT, SIDES
from ..dispatch.model import Boundary, CostCurve, boundaries, regret, side_of, wobble
from .record import Cell, Measurements
from .status import Status
from .subject import Scope

__all__ = ["HEADER", "Judged", "judged", "regret_rows"]

HEADER = ("curve", "scope", "against", "crossover", "step there", "hold-out sizes", "median regret", "p95", "worst")

Times = dict[int, list[float]]


@dataclass(frozen=True)
class Judged:
    """One kind of call: the boundaries of its fit, and the regret by hold-out size. `against` is the GPU's path.

    `steps`: of each boundary the larger time over the smaller one, both sides measured, at the size nearest to it:
    what a call's time changes by where `auto` changes sides.
    """

    curve: str
    scope: str
    against: str
    found: Sequence[Boundary]
    regrets: Mapping[int, float]
    steps: Sequence[float] = ()

    def figures(self) -> tuple[float, float, float]:
        """Median, p95 and worst regret; needs a hold-out size."""
        values = list(self.regrets.values())
        return float(np.median(values)), float(np.percentile(values, 95)), max(values)


@dataclass
class _Kind:
    """Times in us by role, path, size."""

    times: dict[tuple[str, str], Times] = field(default_factory=dict)


def judged(measurements: Measurements) -> list[Judged]:
    """Every kind of call that was calibrated on both sides, in order; empty for other records."""
    kinds: dict[str, _Kind] = {}
    labels: dict[str, Mapping[str, Any]] = {}
    for cell in _calibrated(measurements):
        kind = str({key: value for key, value in cell.labels.items() if key not in ("n", "role")})
        labels.setdefault(kind, cell.labels)
        by_size = kinds.setdefault(kind, _Kind()).times.setdefault((str(cell.labels["role"]), cell.path), {})
        by_size.setdefault(cell.labels["n"], []).extend(ns / 1e3 for ns in cell.times())
    return [one for name, kind in kinds.items() for one in _judge(kind, labels[name])]


def _calibrated(measurements: Measurements) -> Iterator[Cell]:
    for cell in measurements.cells.values():
        role, scope, n = (cell.labels.get(name) for name in ("role", "scope", "n"))
        if role and n and cell.samples and cell.status is Status.OK and scope != Scope.FIRST_CALL:
            yield cell


def _judge(kind: _Kind, labels: Mapping[str, Any]) -> Iterator[Judged]:
    cpu = kind.times.get((GRID_ROLE, "cpu"))
    for role, path in kind.times:
        if cpu is None or role != GRID_ROLE or path == "cpu":
            continue
        fit = CostCurve(cpu), CostCurve(kind.times[role, path])
        held = _on_both(kind, path, HOLD_OUT)
        regrets = {n: regret(pair[SIDES.index(side_of(*fit, n))], min(pair)) for n, pair in held.items()}
        found = boundaries(*fit, wobble=wobble(*fit, held))
        curve, scope = (str(labels.get(name) or "") for name in ("curve", "scope"))
        yield Judged(curve, scope, path, found, regrets, _steps(found, _on_both(kind, path, GRID_ROLE) | held))


def _on_both(kind: _Kind, path: str, role: str) -> dict[int, tuple[float, float]]:
    """Medians on the CPU and on the other side, by the sizes that both have."""
    here, there = (kind.times.get((role, name), {}) for name in ("cpu", path))
    return {n: (float(np.median(here[n])), float(np.median(there[n]))) for n in sorted(there.keys() & here.keys())}


def _steps(found: Sequence[Boundary], measured: Mapping[int, tuple[float, float]]) -> list[float]:
    nearest = [min(measured, key=lambda n: abs(np.log(n / one.n)), default=0) for one in found]
    return [max(measured[n]) / min(measured[n]) for n in nearest if n]


def regret_rows(found: Sequence[Judged]) -> list[tuple[str, ...]]:
    """The table's lines, under HEADER."""
    return [(one.curve, one.scope, one.against, _crossovers(one), _told(one.steps), *_figures(one)) for one in found]


def _told(steps: Sequence[float]) -> str:
    return "; ".join(f"{step:.3f}" for step in steps)


def _crossovers(one: Judged) -> str:
    told = [f"{b.n:,} [{b.low:,.0f}, {b.high:,.0f}]" for b in one.found]
    return "; ".join(told) or "none in the measured range"


def _figures(one: Judged) -> tuple[str, ...]:
    return (str(len(one.regrets)), *(f"{value:.1%}" for value in one.figures())) if one.regrets else ("0", "", "", "")
