"""Warm-up: at least so many calls, then until the clock stands still, within a bound; all of it recorded.

A GPU idles at a fifth of its busy clock and climbs over hundreds of milliseconds; a CPU's boost moves too. The
plateau is looked for in the best signal at hand: the SM clock for a subject on the GPU where NVML answers, or else the
calls' own time. A virtual machine has no frequency to read, and needs none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .subject import Sample, Subject

__all__ = ["ClockReading", "Warmup", "WarmupReport", "warm"]

ClockReading = Callable[[], float | None]

_SPAN = 3  # readings that must agree
_TOLERANCE = 0.05  # spread that still counts as standing still


@dataclass(frozen=True)
class Warmup:
    """`minimum` calls; with `plateau`, more until the clock stands still or `limit_s` seconds have passed."""

    minimum: int = 1
    plateau: bool = False
    limit_s: float = 3.0


@dataclass(frozen=True)
class WarmupReport:
    """What the warm-up did. `plateau` is None when it was not looked for."""

    calls: int
    seconds: float
    plateau: bool | None
    signal: str
    readings: tuple[float, ...] = field(default=())


def _still(readings: Sequence[float]) -> bool:
    last = readings[-_SPAN:]
    return len(last) == _SPAN and max(last) - min(last) <= _TOLERANCE * max(last)


def warm(subject: Subject, policy: Warmup, clock: ClockReading | None = None) -> tuple[list[Sample], WarmupReport]:
    """Warm `subject`; returns the calls made (checked by the caller like any other) and the report."""
    start = time.perf_counter()
    samples: list[Sample] = []
    readings: list[float] = []
    signal = "none" if not policy.plateau else "call-time" if clock is None else "clock"
    while len(samples) < policy.minimum or (policy.plateau and not _still(readings)):
        if len(samples) >= policy.minimum and time.perf_counter() - start > policy.limit_s:
            break
        taken = subject.take(1, 0)
        samples.extend(taken)
        reading = clock() if clock is not None else None
        readings.append(reading if reading is not None else float(taken[-1].wall_ns))
        if clock is not None and reading is None:
            clock, signal, readings = None, "call-time", [float(s.wall_ns) for s in samples]
    seconds = time.perf_counter() - start
    reached = _still(readings) if policy.plateau else None
    return samples, WarmupReport(len(samples), seconds, reached, signal, tuple(readings[-12:]))
