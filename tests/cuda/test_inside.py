"""A call inside another one of its thread, from a signal handler or a finalizer, on the shim: refused, not mixed up."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable
from typing import Any

import multiscalar as ms
import numpy as np
import pytest
from multiscalar.cuda import compiled
from multiscalar.cuda.lane import Lane
from multiscalar.cuda.plan import Plan
from multiscalar.cuda.staging import Staging
from multiscalar.errors import DeviceError

from tests.cuda.test_host_inputs import inputs

CURVE = ms.curve("bn254")
N = 21


def calls(seed: int) -> tuple[list[Callable[[], ms.Point]], ms.Point]:
    """One sum by raw arrays, and over prepared bases."""
    points, scalars = CURVE.known_points(N, seed=seed), CURVE.random_scalars(N, seed=seed + 1)
    bases = ms.Bases(points, backend="cuda")
    raw = [lambda: ms.msm(points.data, scalars.data, curve=CURVE, backend="cuda"), lambda: bases.msm(scalars.data)]
    return raw, CURVE.expected_sum(points, scalars)


@pytest.mark.parametrize("step", [(Staging, "small_slot"), (Plan, "times"), (Lane, "read"), (Lane, "wait")])
def test_a_call_inside_a_call_is_refused(shim: Any, monkeypatch: pytest.MonkeyPatch, step: tuple[Any, str]) -> None:
    shim()
    usual, expected = calls(1)
    others, wanted = calls(7)
    others.append(lambda: ms.Bases(CURVE.known_points(N, seed=7), backend="cuda").msm(CURVE.random_scalars(N, seed=8)))
    work, refused = getattr(*step), 0

    def handled(*arguments: Any, **words: Any) -> Any:
        nonlocal refused
        result = work(*arguments, **words)
        for other in others:
            with pytest.raises(DeviceError, match="in the middle of another call"):
                other()
            refused += 1
        return result

    for one in usual:
        for _ in range(4):
            with monkeypatch.context() as patched:
                patched.setattr(*step, handled)
                assert one() == expected
            assert all(other() == wanted for other in others)
            assert one() == expected
    assert refused >= 4 * len(others)


def test_a_signal_handler_that_multiplies(shim: Any) -> None:
    shim()
    (usual, _), expected = calls(1)
    (other, _), wanted = calls(7)
    told: list[str] = []

    def handler(*_: Any) -> None:
        try:
            assert other() == wanted
            told.append("right")
        except DeviceError:
            told.append("refused")

    before = signal.signal(signal.SIGALRM, handler)
    try:
        for k in range(60):
            signal.setitimer(signal.ITIMER_REAL, 1e-4 + 1e-4 * k)
            assert usual() == expected
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert "refused" in told


def test_tables_that_go_while_a_graph_is_made_are_freed_later(shim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = shim()
    points, scalars, expected = inputs("bn254", N)
    held = [ms.Bases(CURVE.known_points(n, seed=n), backend="cuda") for n in (33, 20)]
    capture, during = runtime.capture, 0

    def captured(work: Any, stream: Any) -> Any:
        def all_of_it(there: Any) -> None:
            nonlocal during
            work(there)
            during += len(held)
            held.clear()
            gc.collect()  # frees nothing now: the shim refuses that in a capture

        return capture(all_of_it, stream)

    monkeypatch.setattr(runtime, "capture", captured)
    for _ in range(5):
        assert ms.msm(points, scalars, backend="cuda") == expected
    assert during == 2
    assert not compiled.kernels(CURVE).lane._given


def test_a_call_that_ended_without_saying_so_is_none(shim: Any) -> None:
    shim()
    usual, expected = calls(1)
    lane = compiled.kernels(CURVE).lane

    def gone() -> Any:
        return sys._getframe()

    for one in usual:
        lane._caller = gone()
        assert one() == expected
        assert lane._caller is None


def test_nothing_is_kept_of_a_call_under_way(shim: Any) -> None:
    shim()
    usual, expected = calls(1)
    lane = compiled.kernels(CURVE).lane
    bad = np.full((N, 4), 2**64 - 1, np.uint64)
    for one in usual:
        assert one() == expected
        assert lane._caller is None
    with pytest.raises(ms.errors.ScalarRangeError):
        ms.msm(CURVE.known_points(N, seed=1), bad, backend="cuda")
    assert lane._caller is None
