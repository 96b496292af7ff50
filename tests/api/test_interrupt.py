"""Ctrl-C during a long call, panics in the core: the caller gets an ordinary exception and everything stays usable."""

from __future__ import annotations

import os
import signal
import threading
import time

import multiscalar as ms
import numpy as np
import pytest
from multiscalar import _core
from multiscalar.errors import InternalError
from multiscalar.failures import translated

from tests.fieldcases import field_case
from tests.patience import PATIENCE_S

N = 1 << 20  # many looks for signals on any machine
CURVE = ms.curve("bn254")


@pytest.fixture(scope="module")
def large() -> tuple[ms.Bases, np.ndarray, ms.PointArray]:
    """2^20 terms made of 2^12 points, so that making them takes no time."""
    known = CURVE.known_points(1 << 12)
    points = np.tile(known.data, (N >> 12, 1, 1))
    scalars = np.tile(CURVE.random_scalars(1 << 12).data, (N >> 12, 1))
    bases = ms.Bases(points, curve=CURVE, check="none", assume_subgroup=True, backend="cpu")
    return bases, scalars, known


class Signal:
    """Sends a signal to this process from a thread of its own, once the call is under way.

    Made for `stop=`: the call's first look lets the thread go, and later looks wait until the signal is sent. So it
    arrives during the call however late the thread runs, and never outside, where it would end the whole test run.
    """

    def __init__(self, number: signal.Signals) -> None:
        self._number = number
        self._under_way, self._sent = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def _send(self) -> None:
        if self._under_way.wait(PATIENCE_S):
            os.kill(os.getpid(), self._number)
            self._sent.set()

    def __call__(self) -> bool:
        if self._under_way.is_set():
            assert self._sent.wait(PATIENCE_S)
        self._under_way.set()
        return False


@field_case("MI-56")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c(field_case: str, large: tuple[ms.Bases, np.ndarray, ms.PointArray], threads: int) -> None:
    bases, scalars, known = large
    with pytest.raises(KeyboardInterrupt):
        bases.msm(scalars, threads=threads, stop=Signal(signal.SIGINT))
    few = scalars[:100]
    assert bases.msm(few) == CURVE.expected_sum(known, few)


@field_case("MI-56")
def test_a_signal_handler_that_returns(field_case: str, large: tuple[ms.Bases, np.ndarray, ms.PointArray]) -> None:
    """A handler that raises nothing runs during the call, and the call goes on to the right answer."""
    bases, scalars, known = large
    seen: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    try:
        found = bases.msm(scalars, threads=1, stop=Signal(signal.SIGUSR1))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert found == (N >> 12) * CURVE.expected_sum(known, scalars[: 1 << 12])
    assert seen == [signal.SIGUSR1]


def test_other_threads_run_meanwhile(large: tuple[ms.Bases, np.ndarray, ms.PointArray]) -> None:
    """The GIL is released: Python code goes on in another thread during a call."""
    bases, scalars, _ = large
    ticks, stop = [], threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    def during_a_call() -> int:
        started = time.monotonic()
        bases.msm(scalars, threads=1)
        ended = time.monotonic()
        return sum(started < at < ended for at in ticks)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        assert any(during_a_call() >= 5 for _ in range(50)), "a stalled machine may hold up some, not all"
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("long", [False, True])
def test_a_panic_is_an_error(long: bool, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InternalError, match=r"provoked \(.*lib\.rs:\d+\).*report"), translated(CURVE):
        _core.provoke_panic(long)
    assert capfd.readouterr().err == "", "a panic prints nothing"
    assert ms.msm([(1, 2)], [1], curve="bn254") == CURVE.generator


def test_conversions_end_in_the_middle() -> None:
    """What a signal handler raises ends a conversion before all is written; afterwards it would be too late to see."""
    values = np.tile(CURVE.known_points(1 << 10).data, (1 << 10, 1, 1))

    class Enough(Exception):
        pass

    def enough(number: int, frame: object) -> None:
        raise Enough

    def cut_short() -> bool:
        out = np.zeros_like(values)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.005)
            _core.convert(CURVE.name, values, True, out)
            time.sleep(60)  # the conversion was faster than the signal, which ends this sleep
        except Enough:
            return not out[-1].any()
        return False

    before = signal.signal(signal.SIGALRM, enough)
    try:
        assert any(cut_short() for _ in range(50)), "a stalled machine may finish some, not all"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
