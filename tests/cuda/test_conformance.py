"""The conformance suite of the CPU, on the simulated device: whole plans, small n, one curve of each limb count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import multiscalar as ms
import pytest

from tests.conformance.conftest import Engine, known, multiples  # noqa: F401 fixtures of the suite
from tests.conformance.test_batches import *  # noqa: F403
from tests.conformance.test_points import *  # noqa: F403
from tests.conformance.test_scalars import *  # noqa: F403
from tests.conformance.test_sizes import *  # noqa: F403


@pytest.fixture
def backend(shim: Callable[..., Any]) -> Engine:
    """`backend="cuda"` on the simulated device, where a term costs about a millisecond."""
    shim()
    return Engine("cuda", most=70)


@pytest.fixture(params=["bn254", "bls12-377"])
def curve(request: pytest.FixtureRequest) -> ms.Curve:
    """Four limbs and six."""
    return ms.curve(request.param)
