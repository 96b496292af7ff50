"""`submit`, and stopping a call from another thread or after a time."""

from __future__ import annotations

import threading
import time

import multiscalar as ms
import numpy as np
import pytest
from multiscalar.errors import CancelledError, LengthError

from tests.fieldcases import field_case
from tests.patience import PATIENCE_S

CURVE = ms.curve("bn254")


@field_case("MI-20")
def test_submit(field_case: str) -> None:
    """Many calls at once over shared bases; inputs are dropped or overwritten once a future is done."""
    points = CURVE.known_points(300)
    bases = ms.Bases(points)
    futures = []
    for i in range(50):
        scalars = CURVE.random_scalars(30 * (i % 10) + 1, seed=i)
        futures.append((bases.submit(scalars.data, threads=1), CURVE.expected_sum(points, scalars)))
    for future, expected in futures:
        assert future.result(timeout=PATIENCE_S) == expected
    buffer = CURVE.random_scalars(300).data.copy()
    expected = CURVE.expected_sum(points, buffer)
    future = bases.submit(buffer)
    assert future.result(timeout=PATIENCE_S) == expected
    buffer[:] = 0
    assert future.result() == expected
    with pytest.raises(LengthError):
        bases.submit(np.zeros((301, 4), dtype=np.uint64)).result(timeout=PATIENCE_S)


def test_submit_keeps_the_settings_of_its_caller() -> None:
    with ms.using(isa="scalar", threads=1):
        bases = ms.Bases(CURVE.known_points(400), backend="cpu")
        future = bases.submit(CURVE.random_scalars(400))
    run = future.result(timeout=PATIENCE_S).run
    assert (run.isa, run.threads) == ("scalar", 1)


@field_case("MI-56")
def test_stop(field_case: str) -> None:
    curve, n = CURVE, 1 << 20
    known = curve.known_points(1 << 10)
    points = np.tile(known.data, (n >> 10, 1, 1))
    scalars = np.tile(curve.random_scalars(1 << 10).data, (n >> 10, 1))
    bases = ms.Bases(points, curve=curve, check="none", backend="cpu")
    asked: list[float] = []

    def stop() -> bool:
        asked.append(time.monotonic())
        return len(asked) == 3

    with pytest.raises(CancelledError):
        bases.msm(scalars, threads=1, stop=stop)
    assert len(asked) == 3
    event = threading.Event()
    future = bases.submit(scalars, threads=1, stop=event.is_set)
    event.set()
    with pytest.raises(CancelledError):
        future.result(timeout=PATIENCE_S)
    with pytest.raises(ZeroDivisionError):
        bases.msm(scalars, threads=1, stop=lambda: bool(1 // 0))
    few = scalars[:50]
    assert bases.msm(few, stop=lambda: True) == curve.expected_sum(known, few), "a short call never asks"
