"""Points and scalars that come with the call, on the shim: one submission, in parts, in any order of the copies."""

from __future__ import annotations

import ctypes
from typing import Any

import multiscalar as ms
import numpy as np
import pytest
from multiscalar.cuda import chunks, compiled, once, overlap, running, staging, whole
from multiscalar.cuda.lane import ANSWERS
from multiscalar.cuda.plan import Plan
from multiscalar.cuda.shape import CurveShape, DeviceShape, Shape

from tests.cuda.held import goes_on_with_less, held_back
from tests.cuda.test_host_inputs import OnDevice, inputs, per_call

N = 157  # of which parts are made: the last one is not a multiple of anything
CUTS = [33, 50, 74]


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few kilobytes go the way of gigabytes: in parts, each in chunks through several slots."""
    monkeypatch.setattr(running, "IN_PLACE_BYTES", 1 << 10)
    monkeypatch.setattr(once, "POINTS_AT_ONCE_BYTES", 1 << 10)
    monkeypatch.setattr(chunks, "FIRST_BYTES", 2 << 10)
    monkeypatch.setattr(chunks, "MOST_BYTES", 4 << 10)
    monkeypatch.setattr(staging, "SLOT_BYTES", 3 << 10)
    monkeypatch.setattr(staging, "PIECE_BYTES", 1 << 10)
    monkeypatch.setattr(staging, "PIN_MATTERS", 1)
    monkeypatch.setattr(once, "parts", lambda shape, *_: CUTS if shape.n == N else [shape.n])


def pinned(runtime: Any, array: np.ndarray) -> np.ndarray:
    made = runtime.pinned(array.nbytes).view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


@pytest.mark.parametrize("n", [2**16, 2**20, 2**24, 2**24 - 12345, 3 * 2**23 + 1])
@pytest.mark.parametrize("curve", [CurveShape("bn254", 8, 254, 128), CurveShape("bls12-377", 12, 253, 127)])
@pytest.mark.parametrize("link", [overlap.LINK_BYTES_PER_US, overlap.RING_BYTES_PER_US, 3e3])
def test_parts_are_all_of_it(curve: CurveShape, n: int, link: float) -> None:
    terms = overlap.parts(Shape(curve=curve, n=n), DeviceShape(132), None, 8 * curve.limbs + 32, link)
    assert sum(terms) == n
    assert all(some % 128 == 0 for some in terms[:-1])
    assert 1 <= len(terms) <= ANSWERS
    if link == overlap.LINK_BYTES_PER_US:
        assert terms[0] <= terms[-1]
    if n == 2**16 or n >= 2**24 - 12345:
        assert (len(terms) == 1) == (n == 2**16), "one part where there is little to hide"


@pytest.mark.parametrize("count", [1, 31, 1000, 2**15, 2**15 + 1, 2**24 - 1])
@pytest.mark.parametrize("first", [True, False])
def test_runs_of_points_are_all_of_them(count: int, first: bool) -> None:
    made = chunks.runs(count, 96, first)
    assert [start for start, _ in made] == [0, *np.cumsum([some for _, some in made])[:-1]]
    assert sum(some for _, some in made) == count
    assert min(some for _, some in made) >= min(count, chunks.FIRST_BYTES // 96)


EAGER = pytest.mark.parametrize("eager", [False, True])


@pytest.mark.parametrize(
    ("name", "locked", "eager"),  # a table of both forms, and points that become records in place
    [("bn254", False, False), ("bn254", True, True), ("bn254", False, True), ("bls12-381", True, False),
     ("bls12-381", False, True)],
)  # fmt: skip
def test_in_parts(shim: Any, in_parts: None, name: str, locked: bool, eager: bool) -> None:
    runtime = shim(eager_copies=eager)
    curve = ms.curve(name)
    for seed in (1, 2, 3) if name == "bn254" else (1, 2):  # submitted, captured, replayed
        points, scalars = curve.known_points(N, seed=seed), curve.random_scalars(N, seed=seed + 9)
        arrays = [pinned(runtime, one.data) if locked else one.data for one in (points, scalars)]
        result = ms.msm(*arrays, curve=name, backend="cuda")
        assert result == curve.expected_sum(points, scalars)
        assert result.run.n == N
        assert result.run.evidence["parts"] == len(CUTS)
        assert result.run.copied_bytes == points.data.nbytes + scalars.data.nbytes
        assert {"copy", "digits", "accumulate", "combine"} <= set(result.run.phases_ns)
        assert sum(result.run.phases_ns.values()) <= result.run.wall_ns


@EAGER
def test_what_is_repeated_allocates_nothing(shim: Any, in_parts: None, eager: bool) -> None:
    runtime = shim(eager_copies=eager)
    points, scalars, _ = inputs("bn254", N)
    arrays = [pinned(runtime, one.data) for one in (points, scalars)]
    asked = per_call(runtime, lambda: ms.msm(*arrays, curve="bn254", backend="cuda"))
    assert asked.pop("replay") == len(CUTS)
    copies = asked.pop("copy_in")
    order = 1  # the second stream begins where the first one is
    marks = 3 * len(CUTS)  # a part begins, sorts, has sorted
    assert asked == {"record": copies + marks + order, "wait": copies + order, "launch": copies + len(CUTS)}


def test_few_terms_are_a_copy_two_graphs_and_a_wait(shim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = shim()
    points, scalars, expected = inputs("bls12-381", 50)
    asked = per_call(runtime, lambda: ms.msm(points, scalars, backend="cuda"), after=5)
    # Digits and the sort; beside them the points, which are waited for; their conversion and all the rest.
    assert asked == {"replay": 2, "copy_in": 1, "record": 1, "wait": 1}
    monkeypatch.setattr(whole, "RUNS_BEFORE", 1 << 30)
    asked = per_call(runtime, lambda: ms.msm(points[:49], scalars[:49], backend="cuda"))
    # In parts: digits and the sort; beside them points and their conversion, which is waited for; all the rest.
    assert asked == {"record": 4, "launch": 3, "copy_in": 1, "wait": 1, "replay": 1}
    other = ms.curve("bls12-381").random_scalars(50, seed=5)
    assert ms.msm(points, other, backend="cuda") == ms.curve("bls12-381").expected_sum(points, other)
    assert ms.msm(points, scalars, backend="cuda") == expected


def test_a_small_call_from_page_locked_memory_is_read_as_it_lies(shim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "PIN_MATTERS", 1)
    runtime = shim()
    points, scalars, expected = inputs("bn254", 50)
    arrays = [pinned(runtime, one.data) for one in (points, scalars)]
    assert ms.msm(*arrays, curve="bn254", backend="cuda") == expected
    slots = len(runtime._pinned)
    lane = compiled.kernels(points.curve).lane
    monkeypatch.setattr(ctypes, "memmove", lambda *_: pytest.fail("copied by the host"))
    assert lane.staging.as_it_lies(arrays[0]) == arrays[0].ctypes.data
    assert len(runtime._pinned) == slots


def test_an_interrupt_while_plans_are_dropped_leaves_none_that_is_closed(
    shim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = shim()
    points, scalars, expected = inputs("bls12-377", 20)
    assert ms.msm(points, scalars, backend="cuda") == expected
    lane, drop, dropped = compiled.kernels(points.curve).lane, runtime.drop_event, 0

    def interrupted(event: Any) -> None:
        nonlocal dropped
        dropped += 1
        if dropped == 4:
            raise KeyboardInterrupt
        drop(event)

    monkeypatch.setattr(runtime, "drop_event", interrupted)
    with pytest.raises(KeyboardInterrupt):
        lane.release()
    for _ in range(3):
        assert ms.msm(points, scalars, backend="cuda") == expected


def test_memory_that_was_pageable_is_asked_about_again_after_some_calls(
    shim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "PIN_MATTERS", 1)
    monkeypatch.setattr(staging, "BELIEVED_CALLS", 3)
    monkeypatch.setattr(staging, "MOST_BELIEVED", 4)
    runtime, asked, pageable = shim(), [], True
    points, scalars, expected = inputs("bn254", 50)
    arrays = [pinned(runtime, one.data) for one in (points, scalars)]

    def is_pinned(place: int) -> bool:
        asked.append(place)
        return not pageable

    monkeypatch.setattr(runtime, "is_pinned", is_pinned)
    for _ in range(4):
        assert ms.msm(*arrays, curve="bn254", backend="cuda") == expected
    assert sorted(asked) == sorted(array.ctypes.data for array in arrays)
    pageable = False
    lane = compiled.kernels(points.curve).lane
    assert lane.staging.as_it_lies(arrays[0]) == arrays[0].ctypes.data
    assert ms.msm(*arrays, curve="bn254", backend="cuda") == expected
    pageable = True
    for k in range(20):
        lane.staging.as_it_lies(scalars.data[k:])
    assert len(lane.staging._pageable) <= 4


@pytest.mark.parametrize("kind", ["few", "parts"])
def test_a_bad_operand_is_named_and_the_next_call_is_right(shim: Any, request: Any, kind: str) -> None:
    if kind == "parts":
        request.getfixturevalue("in_parts")
    shim()
    curve = ms.curve("bn254")
    points, scalars, expected = inputs("bn254", N)
    off, high = points.data.copy(), scalars.data.copy()
    off[N - 2, 1, 0] ^= 1
    high[N - 3] = 2**64 - 1
    outside = points.data.copy()
    outside[N - 5, 0] = 2**64 - 1
    for _ in range(2):
        with pytest.raises(ms.errors.NotOnCurveError) as refused:
            ms.msm(off, high, curve=curve, backend="cuda")
        assert refused.value.index == N - 2
        with pytest.raises(ms.errors.ScalarRangeError) as range_:
            ms.msm(points, high, backend="cuda")
        assert range_.value.index == N - 3
        with pytest.raises(ms.errors.CoordinateRangeError) as coordinate:
            ms.msm(outside, scalars, curve=curve, check="none", backend="cuda")
        assert coordinate.value.index == N - 5
        assert ms.msm(points, scalars, backend="cuda") == expected
    ms.msm(off, scalars, curve=curve, check="none", backend="cuda")  # nobody asked


def test_every_point_is_checked_for_the_subgroup_where_that_is_asked(shim: Any, in_parts: None) -> None:
    shim()
    curve = ms.curve("bls12-377")
    points, scalars, expected = inputs("bls12-377", N)
    assert ms.msm(points.data, scalars, curve=curve, check="subgroup", backend="cuda") == expected
    wrong = points.data.copy()
    wrong[N - 1] = 0
    wrong[N - 1, 0] = curve.points([(curve.p - 1, 0)], check="curve").data[0, 0]  # of order two: -1 + b = 0
    with pytest.raises(ms.errors.NotInSubgroupError) as refused:
        ms.msm(wrong, scalars, curve=curve, check="subgroup", backend="cuda")
    assert refused.value.index == N - 1
    for call in (ms.msm, lambda points, _, **options: ms.Bases(points, **options)):
        with pytest.raises(ms.errors.NotInSubgroupError) as refused:
            call(OnDevice(wrong), scalars, curve=curve, check="subgroup", backend="cuda")
        assert refused.value.index == N - 1
    assert ms.msm(OnDevice(points.data), scalars, curve=curve, check="subgroup", backend="cuda") == expected
    bn254 = ms.curve("bn254")
    points, scalars, expected = inputs("bn254", N)
    assert ms.msm(points.data, scalars, curve=bn254, check="subgroup", backend="cuda") == expected
    off = points.data.copy()
    off[N - 1, 1, 0] ^= 1
    with pytest.raises(ms.errors.NotOnCurveError):
        ms.msm(off, scalars, curve=bn254, check="subgroup", backend="cuda")


@EAGER
def test_an_interrupt_between_parts_leaves_nothing_behind(
    shim: Any, in_parts: None, monkeypatch: pytest.MonkeyPatch, eager: bool
) -> None:
    shim(eager_copies=eager)
    points, scalars, expected = inputs("bn254", N)
    high = scalars.data.copy()
    high[3] = 2**64 - 1
    for after in range(len(CUTS)):
        submitted = 0
        submit = once._Call._submit

        def interrupted(*arguments: Any, submit: Any = submit, after: int = after) -> Any:
            nonlocal submitted
            if submitted == after:
                raise KeyboardInterrupt
            submitted += 1
            return submit(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(once._Call, "_submit", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ms.msm(points, high, backend="cuda")
        assert ms.msm(points, scalars, backend="cuda") == expected


def test_a_second_interrupt_while_the_first_one_is_seen_to(
    shim: Any, in_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C pressed twice: what the first one left under way, a bad scalar seen among it, is nobody's next call."""
    runtime = shim()
    points, scalars, expected = inputs("bn254", N)
    high = scalars.data.copy()
    high[3] = 2**64 - 1
    bases, prepared = ms.Bases(points, backend="cuda"), lambda: ms.Bases(points, backend="cuda").msm(scalars)

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    for again in (lambda: ms.msm(points, scalars, backend="cuda"), lambda: bases.msm(scalars), prepared):
        with monkeypatch.context() as patch:
            patch.setattr(Plan, "finish", interrupted)
            patch.setattr(runtime, "synchronize", interrupted)
            with pytest.raises(KeyboardInterrupt):
                ms.msm(points, high, backend="cuda")
        assert again() == expected


def test_memory_held_back_means_window_groups_then_pieces_then_an_error(
    shim: Any, in_parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(once, "SMALLEST_PART", 100)
    runtime = shim(capacity=1 << 24)
    n = 301
    points, scalars, expected = inputs("bn254", n)
    lane = compiled.kernels(points.curve).lane
    full = goes_on_with_less(
        runtime, lane, lambda: ms.msm(points, scalars, backend="cuda"), expected, [(3 / 4, 1), (1 / 5, 2)]
    )
    with held_back(runtime, 50_000, smallest=1 << 10):
        with pytest.raises(ms.errors.OutOfMemoryError) as caught:
            ms.msm(points, scalars, backend="cuda")
        assert caught.value.need
        assert caught.value.free is not None
    off, high = points.data.copy(), scalars.data.copy()
    off[n - 1, 1, 0] ^= 1
    high[0] = 2**64 - 1
    for vector in (scalars.data, high):  # a bad point comes before a bad scalar, in whichever half it is
        lane.release()
        with (
            held_back(runtime, full // 5, smallest=1 << 10),
            pytest.raises(ms.errors.NotOnCurveError) as refused,
        ):
            ms.msm(off, vector, curve="bn254", backend="cuda")
        assert refused.value.index == n - 1
    high[n - 1] = 2**64 - 1
    lane.release()
    with (
        held_back(runtime, full // 5, smallest=1 << 10),
        pytest.raises(ms.errors.ScalarRangeError) as range_,
    ):
        ms.msm(points, OnDevice(high), backend="cuda")
    assert range_.value.index == 0
    assert ms.msm(points, scalars, backend="cuda") == expected


@EAGER
def test_operands_on_either_side(shim: Any, in_parts: None, eager: bool) -> None:
    shim(eager_copies=eager)
    curve = ms.curve("bn254")
    points, scalars, expected = inputs("bn254", N)
    apart = np.zeros(scalars.data.nbytes + 8, np.uint8)  # where the kernels cannot read it in place
    apart[8:] = scalars.data.view(np.uint8).reshape(-1)
    sides = [
        (OnDevice(points.data), scalars),
        (points, OnDevice(scalars.data)),
        (points, OnDevice(apart[8:].view(np.uint64).reshape(-1, 4))),
        (OnDevice(points.data), OnDevice(scalars.data)),
    ]
    for left, right in sides:
        for _ in range(2):
            assert ms.msm(left, right, curve=curve, backend="cuda") == expected
    high = scalars.data.copy()
    high[N - 1] = 2**64 - 1
    with pytest.raises(ms.errors.ScalarRangeError) as range_:
        ms.msm(points, OnDevice(high), curve=curve, backend="cuda")
    assert range_.value.index == N - 1


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.uint64])
def test_narrow_scalars_montgomery_points_and_prefixes(shim: Any, in_parts: None, dtype: Any) -> None:
    shim()
    curve = ms.curve("bn254")
    points = curve.known_points(N + 5, seed=3)
    scalars = np.random.default_rng(5).integers(0, 2 if dtype is np.bool_ else 200, N).astype(dtype)
    expected = curve.expected_sum(points[:N], scalars)
    for _ in range(2):
        assert ms.msm(points, scalars, backend="cuda") == expected
        assert ms.msm(points.to_form("montgomery"), scalars, backend="cuda") == expected
        assert ms.msm(points, scalars[:0], backend="cuda").is_infinity


def test_points_at_infinity_and_a_forced_window(shim: Any, in_parts: None) -> None:
    shim()
    curve = ms.curve("bls12-377")
    points, scalars, _ = inputs("bls12-377", N)
    some = points.data.copy()
    some[::3] = 0
    rest = np.ones(N, bool)
    rest[::3] = False
    expected = ms.msm(some[rest], scalars.data[rest], curve=curve, backend="cpu")
    for window in (None, 5):
        result = ms.msm(some, scalars, curve=curve, window=window, backend="cuda")
        assert result == expected
        assert result.run.evidence.get("parts", 1) == (1 if window else len(CUTS))


def test_a_batch_over_points_that_come_with_it(shim: Any, in_parts: None) -> None:
    shim()
    curve = ms.curve("bn254")
    points = curve.known_points(N, seed=1)
    vectors = [curve.random_scalars(n, seed=n) for n in (N, 7, 0, N - 1)]
    expected = [curve.expected_sum(points[: len(v)], v) for v in vectors]
    assert ms.msm(points, vectors, backend="cuda") == expected
    assert ms.msm(points, vectors[0], backend="cuda") == expected[0]
