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

N = 1 << 22
LATEST = 5.0  # seconds; a loaded machine is no fault. The 300 ms of the contract are measured by benchmarks.


@pytest.fixture(scope="module")
def large() -> tuple[ms.Bases, np.ndarray, ms.PointArray]:
    """2^22 terms made of 2^12 points, so that making them takes no time."""
    curve = ms.curve("bn254")
    known = curve.known_points(1 << 12)
    points = np.tile(known.data, (N >> 12, 1, 1))
    scalars = np.tile(curve.random_scalars(1 << 12).data, (N >> 12, 1))
    return ms.Bases(points, curve=curve, check="none", assume_subgroup=True), scalars, known


def interrupt_after(seconds: float) -> None:
    threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT)).start()


@field_case("MI-56")
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c(field_case: str, large: tuple[ms.Bases, np.ndarray, ms.PointArray], threads: int) -> None:
    bases, scalars, known = large
    interrupt_after(0.1)  # 2^22 terms take seconds on any machine
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        bases.msm(scalars, threads=threads)
    assert time.monotonic() - started < LATEST
    few = scalars[:100]
    assert bases.msm(few) == ms.curve("bn254").expected_sum(known, few)


@field_case("MI-56")
def test_a_signal_handler_that_returns(field_case: str, large: tuple[ms.Bases, np.ndarray, ms.PointArray]) -> None:
    """A handler that raises nothing runs during the call, and the call goes on to the right answer."""
    bases, scalars, known = large
    part = scalars[: 1 << 18]
    seen: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: seen.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        found = bases.msm(part, threads=1)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    curve = ms.curve("bn254")
    once = curve.expected_sum(known, scalars[: 1 << 12])
    assert found == (1 << 6) * once
    assert seen == [signal.SIGALRM]


def test_other_threads_run_meanwhile(large: tuple[ms.Bases, np.ndarray, ms.PointArray]) -> None:
    """The GIL is released: Python code goes on in another thread during a call."""
    bases, scalars, _ = large
    ticks, stop = [], threading.Event()

    def tick() -> None:
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    started = time.monotonic()
    bases.msm(scalars[: 1 << 18], threads=1)
    ended = time.monotonic()
    stop.set()
    thread.join()
    assert sum(started < at < ended for at in ticks) >= 5


@pytest.mark.parametrize("long", [False, True])
def test_a_panic_is_an_error(long: bool, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InternalError, match=r"provoked \(.*lib\.rs:\d+\).*report"), translated(ms.curve("bn254")):
        _core.provoke_panic(long)
    assert capfd.readouterr().err == "", "a panic prints nothing"
    assert ms.msm([(1, 2)], [1], curve="bn254") == ms.curve("bn254").generator
