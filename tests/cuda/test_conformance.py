"""The conformance suite of the CPU, on the simulated device: whole plans at small n."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.conftest import Engine, curve, known, multiples  # noqa: F401 fixtures of the suite
from tests.conformance.test_batches import *  # noqa: F403
from tests.conformance.test_points import *  # noqa: F403
from tests.conformance.test_scalars import *  # noqa: F403
from tests.conformance.test_sizes import *  # noqa: F403


@pytest.fixture
def backend(shim: Callable[..., Any]) -> Engine:
    """`backend="cuda"` on the simulated device."""
    shim()
    return Engine("cuda", most=600)
