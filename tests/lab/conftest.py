"""The lab's fixture: subjects run on one case, and the record gathered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
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
