"""The lab's fixtures: subjects run on one case and the record gathered; a clock that no other program disturbs."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from multiscalar.lab import warmup
from multiscalar.lab.record import Measurements, Record, gather
from multiscalar.lab.runner import Runner
from multiscalar.lab.stopping import Stopping
from multiscalar.lab.subject import Case
from multiscalar.lab.warmup import Warmup

from .fakes import Fake, plain_case


@pytest.fixture
def run() -> Callable[..., Measurements]:
    """Run subjects on one case and gather the record."""

    def go(
        *subjects: Fake,
        case: Case | None = None,
        repeats: int = 7,
        record: Record | None = None,
        stopping: Stopping | None = None,
        **options: Any,
    ) -> Measurements:
        kept = record or Record()
        kept.append("run", schema=1, run="t", started="now", seed=1, machine={}, versions={})
        runner = Runner(kept, seed=1, warmup=Warmup(1), stopping=stopping or Stopping(repeats), **options)
        runner.run(case or plain_case(), subjects)
        return gather(kept.lines)

    return go


@pytest.fixture
def steady_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the limits of the warm-up, a millisecond passes with each look at the clock."""
    ticks = itertools.count()
    monkeypatch.setattr(warmup, "time", SimpleNamespace(perf_counter=lambda: next(ticks) / 1000))
