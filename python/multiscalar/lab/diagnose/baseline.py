"""What a fast sample looks like: the yardstick of every rule.

The fast mode is the samples within 15 % of the tenth percentile (first calls left out). Where a whole trace is slow
the caller gives `expected_ns` from a sibling run; else the trace is measured against itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from .trace import Joined

__all__ = ["SLOW", "Baseline", "baseline"]

# A sample is slow beyond this factor of the fast mode; busy machines jitter by less.
SLOW = 1.15


@dataclass(frozen=True)
class Baseline:
    """Medians over the fast samples; None where no fast sample tells."""

    wall_ns: float
    cpu_ns: float | None
    copy_ns: float | None
    device_ns: float | None
    sm_mhz: float | None
    cpu_mhz: float | None
    gpu_util: float | None
    memory_swing: float | None
    fast: Sequence[Joined]

    @property
    def compute_ns(self) -> float:
        """Time that a clock can stretch: the device's own, else all but the copies.

        Of long calls only the busy share counts; NVML averages over up to a second, so short ones are taken whole.
        """
        if self.device_ns is not None:
            return self.device_ns
        rest = self.wall_ns - (self.copy_ns or 0)
        return rest * self.gpu_util / 100 if self.gpu_util is not None and rest > 1e9 else rest

    def is_slow(self, wall_ns: float) -> bool:
        """Whether a sample's wall time is out of the fast mode."""
        return wall_ns > SLOW * self.wall_ns


def _middle(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def baseline(joined: Sequence[Joined], expected_ns: float | None = None) -> Baseline:
    """The yardstick from a trace's samples."""
    steady = [j for j in joined if not j.sample.first] or list(joined)
    walls = np.array([j.sample.wall_ns for j in steady], dtype=np.float64)
    mode = float(np.percentile(walls, 10, method="lower"))
    fast = [j for j in steady if j.sample.wall_ns <= SLOW * mode]

    def of(read: Callable[[Joined], float | None]) -> float | None:
        return _middle([read(j) for j in fast])

    wall = median(j.sample.wall_ns for j in fast)
    if expected_ns is not None and expected_ns < wall / SLOW:
        return Baseline(expected_ns, None, None, None, None, None, None, None, [])
    return Baseline(
        wall_ns=float(wall),
        cpu_ns=of(lambda j: j.sample.cpu_ns),
        copy_ns=of(lambda j: j.sample.copy_ns),
        device_ns=of(lambda j: j.sample.device_ns),
        sm_mhz=of(lambda j: j.number("sm_mhz")),
        cpu_mhz=of(lambda j: j.number("host_cpu_mhz")),
        gpu_util=of(lambda j: j.busy),
        memory_swing=of(lambda j: j.spread.get("mem_used")),
        fast=fast,
    )
