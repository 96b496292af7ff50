"""The cuda backend as a whole, through the public API, on the shim: results, memory, repetition, errors."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any

import multiscalar as ms
import numpy as np
import pytest
from multiscalar.cuda import bases as cuda_bases
from multiscalar.cuda import compiled

from tests.cuda.held import goes_on_with_less, held_back
from tests.cuda.test_host_inputs import OnDevice

CURVES = ["bn254", "bls12-377", "bls12-381"]


def inputs(name: str, n: int, shape: str = "uniform") -> tuple[Any, Any, ms.Point]:
    curve = ms.curve(name)
    points, scalars = curve.known_points(n, seed=n + 1), curve.random_scalars(n, seed=n + 2, shape=shape)
    return points, scalars, curve.expected_sum(points, scalars)


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("n", [0, 1, 2, 31, 33, 237])
def test_one_shot(shim: Any, name: str, n: int) -> None:
    shim()
    points, scalars, expected = inputs(name, n)
    result = ms.msm(points, scalars, backend="cuda")
    assert result == expected
    assert result.run.backend == "cuda"
    assert result.run.n == n


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.uint16, np.uint32, np.uint64])
def test_narrow_scalars(shim: Any, dtype: Any) -> None:
    shim()
    curve = ms.curve("bn254")
    points = curve.known_points(57, seed=3)
    scalars = (
        np.random.default_rng(5).integers(0, 2, 57).astype(dtype)
        if dtype is np.bool_
        else np.random.default_rng(5).integers(0, np.iinfo(dtype).max, 57, dtype=dtype, endpoint=True)
    )
    assert ms.msm(points, scalars, backend="cuda") == curve.expected_sum(points, scalars)


@pytest.mark.parametrize("path", ["grouped", "sorted", "pairs"])
def test_every_path_by_name(shim: Any, path: str) -> None:
    shim()
    points, scalars, expected = inputs("bls12-377", 150)
    result = ms.Bases(points, backend="cuda").msm(scalars, path=path)
    assert result == expected
    assert result.run.path == path


def test_an_unknown_path_is_refused(shim: Any) -> None:
    shim()
    points, scalars, _ = inputs("bn254", 5)
    with pytest.raises(ms.errors.OptionError, match="grouped, sorted, pairs"):
        ms.Bases(points, backend="cuda").msm(scalars, path="fastest")


def test_montgomery_operands(shim: Any) -> None:
    shim()
    curve = ms.curve("bls12-377")
    points, scalars, expected = inputs("bls12-377", 45)
    shifted = curve.scalars([s * (1 << 256) % curve.r for s in scalars]).data
    assert ms.msm(points.to_form("montgomery"), shifted, scalar_form="montgomery", backend="cuda") == expected


def test_a_repeated_call_allocates_nothing_and_replays_a_graph(shim: Any) -> None:
    runtime = shim()
    points, scalars, expected = inputs("bn254", 64)
    bases = ms.Bases(points, backend="cuda")
    for _ in range(5):
        assert bases.msm(scalars) == expected
    before = dict(runtime.log)
    for _ in range(3):
        assert bases.msm(scalars) == expected
    after = dict(runtime.log)
    assert after.pop("replay") == before.pop("replay") + 3
    assert after == before


@pytest.mark.parametrize("device", ["early", "old", "refuses"])
def test_early_launches(shim: Any, monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    """In a graph each launch after a launch is early (the shim refuses any other); an old device has none of them, and
    a driver that refuses them is asked once.
    """
    original = cuda_bases.tune
    monkeypatch.setattr(cuda_bases, "tune", lambda *a, **k: replace(original(*a, **k), slice=2, grouped=False))
    runtime = shim()
    runtime.early, runtime.refuses_early = device != "old", device == "refuses"
    for n in (70, 71):
        points, scalars, expected = inputs("bn254", n)
        bases = ms.Bases(points, backend="cuda")
        for _ in range(3):
            result = bases.msm(scalars)
            assert result == expected
            assert set(result.run.phases_ns) >= {"digits", "sort", "accumulate", "reduce", "combine"}
    assert runtime.early == (device == "early")
    assert runtime.log["capture"] == (5 if device == "refuses" else 4)  # two of each plan, in turns
    launches = runtime.log.get("early", 0)
    assert launches >= 12 if device == "early" else launches == 0


def test_no_room_for_a_graph_or_for_the_driver(shim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver allocates behind our back: graphs, and local memory at a first launch."""
    runtime = shim()
    points, scalars, expected = inputs("bn254", 40)
    bases = ms.Bases(points, backend="cuda")
    assert bases.msm(scalars) == expected

    def refuse(*_: object) -> None:
        raise ms.errors.OutOfMemoryError("the GPU is out of memory (of the driver's own)")

    with monkeypatch.context() as patch:
        patch.setattr(runtime, "capture", refuse)
        for _ in range(2):
            assert bases.msm(scalars) == expected
    with monkeypatch.context() as patch:
        patch.setattr(runtime, "record", refuse)
        with pytest.raises(ms.errors.OutOfMemoryError, match="scratch") as caught:
            bases.msm(scalars)
        assert caught.value.need
        assert caught.value.free
    for _ in range(2):
        assert bases.msm(scalars) == expected


def test_one_table_serves_any_length(shim: Any) -> None:
    shim()
    points, scalars, _ = inputs("bls12-381", 100)
    bases = ms.Bases(points, backend="cuda")
    curve = ms.curve("bls12-381")
    for n in (100, 1, 0, 99, 64, 100):
        assert bases.msm(scalars[:n]) == curve.expected_sum(points[:n], scalars[:n])


@pytest.mark.parametrize("precompute", [2, 3, 8, "auto", "1MiB"])
def test_precomputed_tables(shim: Any, precompute: Any) -> None:
    shim(capacity=1 << 28)
    points, scalars, expected = inputs("bn254", 50)
    bases = ms.Bases(points, backend="cuda", precompute=precompute)
    assert bases.msm(scalars) == expected
    assert bases.msm(scalars[:7]) == ms.curve("bn254").expected_sum(points[:7], scalars[:7])


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.uint16, np.uint32, np.uint64])
def test_narrow_scalars_over_a_precomputed_table(shim: Any, dtype: Any) -> None:
    """Its parts are as far apart as windows of full scalars make them: narrow ones use the first part alone."""
    shim()
    points, scalars, expected = inputs("bn254", 300)
    some = (
        np.random.default_rng(7)
        .integers(0, 2 if dtype is np.bool_ else np.iinfo(dtype).max, 300, np.uint64)
        .astype(dtype)
    )
    right = ms.curve("bn254").expected_sum(points, some)
    for precompute in (2, 11):
        bases = ms.Bases(points, backend="cuda", precompute=precompute)
        narrow, full = bases.msm([some, scalars])
        assert (narrow, full) == (right, expected)
        assert [one.run.evidence["factor"] for one in (narrow, full)] == [1, precompute]


def test_batches(shim: Any) -> None:
    shim()
    curve = ms.curve("bn254")
    points = curve.known_points(40, seed=1)
    vectors = [curve.random_scalars(n, seed=n) for n in (40, 7, 0, 40, 1)]
    expected = [curve.expected_sum(points[: len(v)], v) for v in vectors]
    assert ms.Bases(points, backend="cuda").msm(vectors) == expected


def test_a_call_leaves_nothing_to_the_garbage_collector(shim: Any) -> None:
    """A collection in the middle of a call is a call that takes longer than the others."""
    shim()
    curve = ms.curve("bn254")
    points, vectors = curve.known_points(9, seed=1), [curve.random_scalars(9, seed=k) for k in range(3)]
    bases = ms.Bases(points, backend="cuda")
    calls = (
        lambda: bases.msm(vectors),
        lambda: bases.msm(vectors[0].data),
        lambda: ms.msm(points, vectors[0], backend="cuda"),
    )
    for call in calls:
        results = [call() for _ in range(3)]
    gc.collect()
    gc.disable()
    try:
        for call in calls:
            results = [call() for _ in range(3)]
        assert gc.collect() == 0
    finally:
        gc.enable()
    assert results[0] == results[2]


def test_batches_over_own_bases(shim: Any) -> None:
    shim()
    curve = ms.curve("bn254")
    points = curve.known_points(36, seed=1)
    for lengths in ([12, 12, 12], [20, 15, 1]):
        vectors = [curve.random_scalars(n, seed=n) for n in lengths]
        starts = np.cumsum([0, *lengths])
        expected = [curve.expected_sum(points[starts[k] : starts[k + 1]], vectors[k]) for k in range(len(lengths))]
        assert ms.Bases(points, backend="cuda").msm(vectors, own_bases=True) == expected


def test_bad_input_is_named_and_the_next_call_is_right(shim: Any) -> None:
    shim()
    curve = ms.curve("bls12-377")
    points, scalars, expected = inputs("bls12-377", 20)
    bases = ms.Bases(points, backend="cuda")
    bad = scalars.data.copy()
    bad[13] = np.frombuffer((curve.r + 5).to_bytes(32, "little"), np.uint64)
    with pytest.raises(ms.errors.ScalarRangeError, match="13") as caught:
        bases.msm(bad)
    assert caught.value.index == 13
    reduced = bases.msm(bad, reduce=True)
    assert reduced == curve.expected_sum(points, [s % curve.r for s in [*scalars[:13], 5, *scalars[14:]]])
    assert bases.msm(scalars) == expected
    off = points.data.copy()
    off[7, 1, 0] ^= 1
    with pytest.raises(ms.errors.NotOnCurveError) as refused:
        ms.Bases(off, curve=curve, backend="cuda")
    assert refused.value.index == 7


def test_memory_held_back_means_window_groups_then_parts_then_an_error(shim: Any) -> None:
    """The sequence of tests/cuda/native/programs.py, small."""
    runtime = shim(capacity=1 << 24)
    points, scalars, expected = inputs("bn254", 1030)
    bases = ms.Bases(points, backend="cuda")
    lane = compiled.kernels(points.curve).lane
    goes_on_with_less(runtime, lane, lambda: bases.msm(scalars), expected, [(1 / 2, 1), (1 / 6, 2)])
    with held_back(runtime, 100_000, smallest=1 << 10):
        with pytest.raises(ms.errors.OutOfMemoryError) as caught:
            ms.msm(points, scalars, backend="cuda")
        assert caught.value.need
        assert caught.value.free is not None
    assert bases.msm(scalars) == expected
    before = runtime.used
    assert ms.msm(points, scalars, backend="cuda") == expected
    assert runtime.used <= before + 2 * bases.nbytes


@pytest.mark.parametrize("vectors", [1, 2])
def test_a_bad_scalar_of_a_half_is_named_by_its_place_in_its_vector(shim: Any, vectors: int) -> None:
    runtime, n = shim(capacity=1 << 24), 1030
    points, scalars, _ = inputs("bn254", n)
    high = scalars.data.copy()
    high[n - 3] = 2**64 - 1
    bases = ms.Bases(np.concatenate([points.data] * vectors), curve="bn254", backend="cuda")
    lane = compiled.kernels(points.curve).lane
    batch = [*[OnDevice(scalars.data)] * (vectors - 1), OnDevice(high)]
    bases.msm([*batch[:-1], OnDevice(scalars.data)], own_bases=True)
    full = lane.scratch_bytes
    lane.release()
    with held_back(runtime, full // (6 * vectors), smallest=1 << 10):
        parts = bases.msm([*batch[:-1], OnDevice(scalars.data)], own_bases=True)[-1].run.evidence["parts"]
        with pytest.raises(ms.errors.ScalarRangeError) as range_:
            bases.msm(batch, own_bases=True)
        lane.release()
    assert parts == 2
    assert range_.value.index == n - 3


def test_over_two_devices(shim: Any) -> None:
    shim(ordinal=0)
    shim(ordinal=1)
    points, scalars, expected = inputs("bn254", 101)
    bases = ms.Bases(points, backend="cuda", devices=[0, 1])
    assert bases.msm(scalars) == expected
    assert bases.msm(scalars[:3]) == ms.curve("bn254").expected_sum(points[:3], scalars[:3])
    high, off = scalars.data.copy(), points.data.copy()
    high[99] = 2**64 - 1
    with pytest.raises(ms.errors.ScalarRangeError) as range_:
        bases.msm(high)
    assert range_.value.index == 99
    off[98, 1, 0] ^= 1
    with pytest.raises(ms.errors.NotOnCurveError) as refused:
        ms.msm(off, scalars, curve="bn254", backend="cuda", devices=[0, 1])
    assert refused.value.index == 98
    assert bases.msm(scalars) == expected
