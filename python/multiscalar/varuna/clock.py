"""Where the time of a proof goes: msm, ntt, hashing, and the rest.

Phases never nest, so they add up; what none of them covers is the rest. Cost when nobody measures: one look-up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..engine.run import RunInfo


@dataclass
class Phases:
    """Nanoseconds by phase, and in all."""

    by_name: dict[str, int] = field(default_factory=dict)
    total: int = 0
    backends: dict[str, int] = field(default_factory=dict)  # multiplications by where they ran
    launches: int = 0  # kernels they launched

    @property
    def rest(self) -> int:
        """What no phase covers."""
        return self.total - sum(self.by_name.values())


_current: ContextVar[Phases | None] = ContextVar("multiscalar_varuna_phases", default=None)


@contextmanager
def measured() -> Iterator[Phases]:
    """Collects the phases of what runs inside, in this thread."""
    phases = Phases()
    token = _current.set(phases)
    start = time.perf_counter_ns()
    try:
        yield phases
    finally:
        phases.total = time.perf_counter_ns() - start
        _current.reset(token)


@contextmanager
def phase(name: str) -> Iterator[None]:
    """Counts what runs inside as `name`."""
    phases = _current.get()
    if phases is None:
        yield
        return
    start = time.perf_counter_ns()
    try:
        yield
    finally:
        phases.by_name[name] = phases.by_name.get(name, 0) + time.perf_counter_ns() - start


def ran(run: RunInfo | None) -> None:
    """Counts a multiplication by where it ran."""
    phases = _current.get()
    if phases is not None and run is not None:
        phases.backends[run.backend] = phases.backends.get(run.backend, 0) + 1
        phases.launches += run.launches
