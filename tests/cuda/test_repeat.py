"""One-shot calls like the last one, on the shim: nothing is looked for again; whatever differs goes the other way."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import multiscalar as ms
import numpy as np
import pytest
from multiscalar.cuda import compiled, course, once, repeat, staging
from multiscalar.cuda.lane import Lane
from multiscalar.cuda.plan import Plan
from multiscalar.cuda.repeat import Repeat
from multiscalar.errors import NotOnCurveError, OutOfMemoryError, ScalarRangeError

from tests.cuda.test_once import EAGER, pinned

CURVE = ms.curve("bn254")
N = 21
Case = tuple[np.ndarray, np.ndarray, ms.Point]


def case(n: int = N, seed: int = 1, curve: ms.Curve = CURVE) -> Case:
    points, scalars = curve.known_points(n, seed=seed), curve.random_scalars(n, seed=seed + 1)
    return points.data.copy(), scalars.data.copy(), curve.expected_sum(points, scalars)


def call(points: Any, scalars: Any, **words: Any) -> ms.Point:
    return ms.msm(points, scalars, **{"curve": CURVE, "backend": "cuda", **words})  # type: ignore[no-any-return]


@pytest.fixture
def repeats(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each call that came to `Repeat`, whether it went this way."""
    went: list[bool] = []
    ordinary = Repeat.sum

    def noted(self: Repeat, *arguments: Any) -> Any:
        result = ordinary(self, *arguments)
        went.append(result is not None)
        return result

    monkeypatch.setattr(Repeat, "sum", noted)
    return went


def warm(one: Case, **words: Any) -> None:
    for _ in range(4):
        assert call(*one[:2], **words) == one[2]


@EAGER
def test_contents_are_read_each_time(shim: Any, repeats: list[bool], monkeypatch: Any, eager: bool) -> None:
    shim(eager_copies=eager)
    cases = [case(seed=seed) for seed in range(1, 6)]
    warm(cases[0])
    repeats.clear()
    with monkeypatch.context() as patched:
        patched.setattr(once, "_Call", lambda *_: pytest.fail("looked at again"))
        for points, scalars, expected in cases:
            result = call(points, scalars)
            assert result == expected
            assert result.run.n == N
            assert result.run.copied_bytes == points.nbytes + scalars.nbytes
            assert sum(result.run.phases_ns.values()) <= result.run.wall_ns
            assert {"copy", "digits", "sort", "accumulate", "reduce", "combine"} <= set(result.run.phases_ns)
    assert repeats == [True] * len(cases)
    points, scalars, _ = cases[0]
    points[...], scalars[...] = cases[1][:2]
    assert call(points, scalars) == cases[1][2]


@EAGER
def test_whatever_differs_goes_the_other_way(shim: Any, repeats: list[bool], eager: bool) -> None:
    shim(eager_copies=eager)
    curve, small = ms.curve("bls12-377"), ms.curve("bn254")  # of which one has a cofactor
    usual, other = case(curve=curve), case(seed=8, curve=curve)
    short, strange = case(N - 1, seed=3, curve=curve), case(seed=4, curve=small)
    montgomery = curve.points(other[0], check="none").to_form("montgomery").data
    few = np.arange(N, dtype=np.uint8)
    sum_of_few = curve.expected_sum(curve.known_points(N, seed=8), few)

    def ask(points: Any, scalars: Any, **words: Any) -> ms.Point:
        return call(points, scalars, **{"curve": curve, **words})

    warm(usual, curve=curve)
    different = [
        lambda: ask(*short[:2]) == short[2],
        lambda: ask(*strange[:2], curve=small) == strange[2],
        lambda: ask(montgomery, other[1], form="montgomery") == other[2],
        lambda: ask(other[0], few) == sum_of_few,
        lambda: ask(*other[:2], check="none") == other[2],
        lambda: ask(*other[:2], assume_subgroup=True) == other[2],
        lambda: ask(*other[:2], check="subgroup") == other[2],
        lambda: ask(*other[:2], window=5) == other[2],
        lambda: ask(*other[:2], path="sorted") == other[2],
        lambda: ms.Bases(other[0], curve=curve, backend="cuda").msm(other[1]) == other[2],
    ]  # fmt: skip
    for k, one in enumerate(different):
        for _ in range(2):
            repeats.clear()
            assert one()
            assert True not in repeats, k
            assert ask(*usual[:2]) == usual[2]
        for _ in range(3):
            assert one()
        assert ask(*other[:2]) == other[2]
        warm(usual, curve=curve)
    repeats.clear()
    assert ask(*usual[:2]) == usual[2]
    assert repeats == [True]


def test_page_locked_arrays_are_read_as_they_lie(
    shim: Any, repeats: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "PIN_MATTERS", 1)
    runtime = shim()
    usual, other = case(), case(seed=8)
    warm(usual)
    locked = [pinned(runtime, array) for array in other[:2]]
    for points, scalars in ((locked[0], other[1]), (other[0], locked[1]), locked):
        for _ in range(6):
            repeats.clear()
            assert call(points, scalars) == other[2]
            assert True not in repeats
        assert call(*usual[:2]) == usual[2]


@pytest.mark.parametrize("name", ["bn254", "bls12-377"])
def test_bad_operands_are_named_and_the_next_call_is_right(shim: Any, repeats: list[bool], name: str) -> None:
    shim()
    curve = ms.curve(name)
    points, scalars, expected = case(curve=curve)
    off, high = points.copy(), scalars.copy()
    off[N - 2, 1, 0] ^= np.uint64(1)
    high[N - 3] = np.uint64(2**64 - 1)
    warm((points, scalars, expected), curve=curve)
    for _ in range(2):
        repeats.clear()
        with pytest.raises(NotOnCurveError) as refused:
            call(off, high, curve=curve)
        assert refused.value.index == N - 2
        with pytest.raises(ScalarRangeError) as range_:
            call(points, high, curve=curve)
        assert range_.value.index == N - 3
        assert repeats == [False] * 2
        assert call(points, scalars, curve=curve) == expected


def test_scalars_that_are_to_be_reduced(shim: Any, repeats: list[bool]) -> None:
    shim()
    points, scalars, expected = case()
    numbers = [int(one) + CURVE.r for one in CURVE.scalars(scalars)]
    above = np.array([[number >> 64 * k & 2**64 - 1 for k in range(4)] for number in numbers], np.uint64)
    warm((points, above, expected), reduce=True)
    repeats.clear()
    assert call(points, above, reduce=True) == expected
    assert repeats == [True]


STEPS = (
    (staging.Staging, "points"), (Lane, "known"), (staging.Staging, "hold"), (Plan, "again"), (course, "bring"),
    (repeat, "bring"), (staging.Coming, "arrived"), (Lane, "wait"), (Lane, "read"), (Plan, "times"),
)  # fmt: skip


@EAGER
@pytest.mark.parametrize(("owner", "step"), STEPS, ids=lambda part: getattr(part, "__name__", part))
def test_a_call_that_breaks_off_leaves_nothing_behind(
    shim: Any, monkeypatch: pytest.MonkeyPatch, owner: Any, step: str, eager: bool
) -> None:
    shim(eager_copies=eager)
    usual, other = case(), case(seed=8)
    warm(usual)
    kept = [call(*usual[:2]) for _ in range(2)]
    lane, held, broke = compiled.kernels(CURVE).lane, [], False
    work = getattr(owner, step)
    for late in (False, True):

        def interrupt(*arguments: Any, late: bool = late, **words: Any) -> Any:
            if late:
                work(*arguments, **words)
            raise KeyboardInterrupt

        with monkeypatch.context() as broken:
            broken.setattr(owner, step, interrupt)
            try:
                call(*usual[:2])
            except KeyboardInterrupt as caught:
                held.append(caught)  # with its frames
                broke = True
        assert lane.staging._coming == []
        assert call(*other[:2]) == other[2]
        assert call(*usual[:2]) == usual[2]
    assert broke is (owner is not course)
    assert all(sum(one.run.phases_ns.values()) > 0 for one in kept)


def test_without_room_for_graphs_it_goes_the_other_way(
    shim: Any, repeats: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = shim()
    usual = case()
    warm(usual)
    replay, left = runtime.replay, 2

    def short(*arguments: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0:
            raise OutOfMemoryError("the GPU is out of memory (cuGraphLaunch)")
        replay(*arguments)

    monkeypatch.setattr(runtime, "replay", short)
    repeats.clear()
    assert call(*usual[:2]) == usual[2]
    assert repeats == [False]
    assert call(*usual[:2]) == usual[2]


def test_plans_that_went_and_memory_given_back(shim: Any, repeats: list[bool]) -> None:
    runtime = shim()
    usual = case()
    warm(usual)
    lane = compiled.kernels(CURVE).lane
    with lane.lock:
        lane.release()
    repeats.clear()
    assert call(*usual[:2]) == usual[2]
    assert True not in repeats
    warm(usual)
    table = lane.take(1 << 10)
    lane._given.append((table, 65 << 20))  # given back while a call was under way
    used = runtime.used
    assert call(*usual[:2]) == usual[2]
    assert runtime.used < used, "the next call sees to it"
    assert call(*usual[:2]) == usual[2]


def test_nobody_keeps_the_arrays(shim: Any) -> None:
    shim()
    points, scalars, expected = case()
    gone = [weakref.ref(points), weakref.ref(scalars)]
    warm((points, scalars, expected))
    del points, scalars
    gc.collect()
    assert [one() for one in gone] == [None, None]


def test_threads_with_arrays_of_their_own(shim: Any) -> None:
    shim()
    wrong: list[int] = []

    def work(seed: int) -> None:
        one = case(N - seed % 2, seed=seed)
        wrong.extend(seed for _ in range(12) if call(*one[:2]) != one[2])

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
