"""Cost curves of machines that are not here: the two stories' as reported, and a modelled CPU with a GPU.

Story 1 (RTX 5090, 16 threads): medians of 21 calls from the report, spread of a few percent. Story 2 (RTX 4090, 64
cores): the GPU takes 20 ms or 6 to 9 s at random at 2^20.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import log2

import numpy as np
from multiscalar.dispatch.model import CostCurve
from multiscalar.dispatch.profile import Machine, Profile, Series

STORY_1_MS = {
    1024: (5.811, 19.422),
    1025: (7.992, 16.263),
    2048: (7.379, 22.902),
    4096: (10.820, 19.476),
    8192: (13.770, 20.857),
    16384: (26.557, 25.219),
    65536: (75.416, 34.897),
}
# 64 cores against ICICLE v3 when slow, and its fast mode seen at other times.
STORY_2_CPU_MS = {1 << 18: 29.0, 1 << 19: 66.0, 1 << 20: 100.0}
STORY_2_SLOW_MS = {1 << 18: 2790.0, 1 << 19: 3830.0, 1 << 20: 7350.0}
STORY_2_FAST_MS = {1 << 18: 12.0, 1 << 19: 16.0, 1 << 20: 20.0}


def spread(ms: float, seed: int, count: int = 21, share: float = 0.02) -> tuple[float, ...]:
    """Samples in microseconds around a median."""
    return tuple(float(x) for x in ms * 1e3 * np.random.default_rng(seed).normal(1, share, count))


def story_1() -> tuple[CostCurve, CostCurve]:
    cpu = {n: spread(pair[0], n) for n, pair in STORY_1_MS.items()}
    gpu = {n: spread(pair[1], n + 1) for n, pair in STORY_1_MS.items()}
    return CostCurve(cpu), CostCurve(gpu)


def story_2() -> tuple[CostCurve, CostCurve]:
    """Fast in two calls of three, so that the median alone would choose the GPU."""
    cpu = {n: spread(ms, n) for n, ms in STORY_2_CPU_MS.items()}
    gpu = {n: spread(STORY_2_FAST_MS[n], n, 14) + spread(STORY_2_SLOW_MS[n], n + 1, 7) for n in STORY_2_CPU_MS}
    return CostCurve(cpu), CostCurve(gpu)


def profile_of(curves: tuple[CostCurve, CostCurve], machine: Machine, curve: str = "bls12-377") -> Profile:
    cpu, gpu = curves
    series = {Series(curve, "cpu"): cpu, Series(curve, "cuda"): gpu}
    return Profile(machine=machine, measured_at="2026-11-30T00:00:00+00:00", curves=series, origin="a test")


# Costs in us like those of a server's CPU and card: (CPU fixed, CPU a term, GPU fixed, GPU a term) by curve and scope.
KINDS = {
    ("bn254", "end-to-end"): (150, 0.55, 900, 0.030),
    ("bn254", "resident-bases"): (60, 0.35, 300, 0.008),
    ("bn254", "resident"): (60, 0.35, 250, 0.004),
    ("bls12-377", "end-to-end"): (170, 0.95, 1000, 0.045),
    ("bls12-377", "resident-bases"): (70, 0.65, 330, 0.010),
    ("bls12-377", "resident"): (70, 0.65, 280, 0.006),
    ("bls12-381", "end-to-end"): (170, 0.90, 1000, 0.045),
    ("bls12-381", "resident-bases"): (70, 0.60, 330, 0.010),
    ("bls12-381", "resident"): (70, 0.60, 280, 0.006),
}


def modelled(curve: str, scope: str, noise: float, seed: int = 1) -> Modelled:
    """The machine of KINDS for one kind of call."""
    return Modelled(*KINDS[curve, scope], noise=noise, seed=seed)


@dataclass
class Modelled:
    """A `calibrate.Meter` on formulas: a CPU with window steps, a GPU with a fixed cost, noise on both."""

    cpu_fixed_us: float = 60.0
    cpu_per_term_us: float = 0.9
    gpu_fixed_us: float = 420.0
    gpu_per_term_us: float = 0.006
    noise: float = 0.02
    seed: int = 1
    taken: list[tuple[str, int]] = field(default_factory=list)

    def truth(self, backend: str, n: int) -> float:
        """The right time in microseconds."""
        if backend == "cuda":
            return self.gpu_fixed_us + self.gpu_per_term_us * n + 14 * log2(n)
        window = max(3, round(log2(n) * 0.8))
        return self.cpu_fixed_us + self.cpu_per_term_us * (n + 2 ** (window - 1)) * 16 / window

    def open(self, series: Series, n: int, role: str) -> Callable[[], float]:
        rng = np.random.default_rng((self.seed, n, len(series.backend)))

        def sample() -> float:
            self.taken.append((series.backend, n))
            return self.truth(series.backend, n) * float(rng.lognormal(0, self.noise))

        return sample
