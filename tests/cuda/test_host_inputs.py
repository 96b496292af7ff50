"""How scalars come to the device, on the shim: in place, in chunks beside the work, as a batch; any order of copies."""

from __future__ import annotations

from typing import Any

import multiscalar as ms
import numpy as np
import pytest
from multiscalar.cuda import bases as cuda_bases
from multiscalar.cuda import chunks, overlap, running, staging, work
from multiscalar.cuda.shape import CurveShape, Shape

CURVE_SHAPE = CurveShape("bn254", 8, 254, 128)


class OnDevice:
    """Host memory that says it is the shim's device memory."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "typestr": array.dtype.str,
            "data": (array.ctypes.data, False),
            "stream": 1,
            "version": 3,
        }


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs of a few kilobytes go the way of large ones."""
    monkeypatch.setattr(running, "IN_PLACE_BYTES", 1 << 10)
    monkeypatch.setattr(chunks, "FIRST_BYTES", 4 << 10)
    monkeypatch.setattr(chunks, "MOST_BYTES", 8 << 10)
    monkeypatch.setattr(staging, "SLOT_BYTES", 3 << 10)
    monkeypatch.setattr(staging, "PIECE_BYTES", 1 << 10)
    monkeypatch.setattr(staging, "PIN_MATTERS", 1)


def inputs(name: str, n: int) -> tuple[Any, Any, ms.Point]:
    curve = ms.curve(name)
    points, scalars = curve.known_points(n, seed=n + 1), curve.random_scalars(n, seed=n + 2)
    return points, scalars, curve.expected_sum(points, scalars)


@pytest.mark.parametrize("n", [1, 128, 129, 2**15, 2**15 + 1, 2**20, 3_000_001])
@pytest.mark.parametrize("width", [1, 32])
def test_chunks_cover_every_term_once(n: int, width: int) -> None:
    made = chunks.chunks(Shape(curve=CURVE_SHAPE, n=n, scalar_bytes=width), 128)
    ends = [chunk.first + chunk.terms for chunk in made]
    fresh = [(end - chunk.fresh, end) for end, chunk in zip(ends, made, strict=True)]
    assert [low for low, _ in fresh] == [0, *ends[:-1]]
    assert ends[-1] == n
    for chunk in made:
        assert chunk.first >= 0
        assert chunk.terms % 128 == 0 or len(made) == 1


@pytest.mark.parametrize("batch", [2, 64, 1000])
def test_chunks_of_a_batch_are_whole_rows(batch: int) -> None:
    made = chunks.chunks(Shape(curve=CURVE_SHAPE, n=4096, batch=batch), 128)
    assert [chunk.first_row for chunk in made] == list(np.cumsum([0, *(chunk.rows for chunk in made)])[:-1])
    assert sum(chunk.rows for chunk in made) == batch
    assert {(chunk.first, chunk.terms, chunk.fresh) for chunk in made} == {(0, 4096, 4096)}


@pytest.mark.parametrize(
    ("n", "pinned", "eager"), [(256, False, False), (270, False, False), (270, False, True), (270, True, False)]
)
def test_one_vector_in_chunks(shim: Any, small_chunks: None, n: int, pinned: bool, eager: bool) -> None:
    runtime = shim(eager_copies=eager)
    curve = ms.curve("bn254")
    points, scalars, expected = inputs("bn254", n)
    bases = ms.Bases(points, backend="cuda")
    data = scalars.data
    if pinned:
        data = runtime.pinned(scalars.data.nbytes).view(np.uint64).reshape(-1, 4)
        data[:] = scalars.data
    for _ in range(2):
        result = bases.msm(data)
        assert result == expected
        assert result.run is not None
        assert {"copy", "digits"} <= set(result.run.phases_ns)
        assert result.run.copied_bytes == 32 * n
    other = curve.random_scalars(n, seed=77)
    assert bases.msm(other) == curve.expected_sum(points, other), "a replay reads the scalars of its own call"
    bad = scalars.data.copy()
    bad[-1] = 2**64 - 1
    with pytest.raises(ms.errors.ScalarRangeError) as caught:
        bases.msm(bad)
    assert caught.value.index == n - 1
    assert bases.msm(data) == expected


@pytest.mark.parametrize("eager", [False, True])
def test_a_first_part_hides_the_way_of_the_second(
    shim: Any, small_chunks: None, monkeypatch: pytest.MonkeyPatch, eager: bool
) -> None:
    monkeypatch.setattr(cuda_bases, "first_part", lambda shape, *_: shape.n // 3)
    runtime = shim(eager_copies=eager)
    points, scalars, expected = inputs("bn254", 200)
    bases = ms.Bases(points, backend="cuda")
    for _ in range(2):
        result = bases.msm(scalars)
        assert result == expected
        assert result.run.evidence["parts"] == 2
        assert result.run.n == 200
    before = runtime.log["replay"]
    assert bases.msm(scalars[:150]) == ms.curve("bn254").expected_sum(points[:150], scalars[:150])
    assert bases.msm(scalars) == expected
    assert runtime.log["replay"] == before + 2


def test_the_first_part_is_chosen_where_copying_takes_a_good_share() -> None:
    from multiscalar.cuda.shape import DeviceShape

    small, large = (Shape(curve=CURVE_SHAPE, n=n) for n in (1 << 20, 1 << 24))
    assert overlap.first_part(small, DeviceShape(132), 0, None) == 0
    assert 0 < overlap.first_part(large, DeviceShape(132), 0, None) <= 1 << 22


def per_call(runtime: Any, call: Any, after: int = 2) -> dict[str, int]:
    """What a call asks of the device `after` so many of its kind."""
    for _ in range(after):
        call()
    before = dict(runtime.log)
    call()
    return {what: count - before.get(what, 0) for what, count in runtime.log.items() if count > before.get(what, 0)}


def test_a_batch_is_one_graph_and_few_copies(shim: Any, small_chunks: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "FIRST_BYTES", 1 << 10)
    runtime = shim()
    curve = ms.curve("bn254")
    points = curve.known_points(20, seed=1)
    bases = ms.Bases(points, backend="cuda")
    vectors = [curve.random_scalars(20, seed=k) for k in range(4)]  # 640 bytes each: chunks of one and three rows
    expected = [curve.expected_sum(points, vector) for vector in vectors]
    asked = per_call(runtime, lambda: bases.msm(vectors))
    assert bases.msm(vectors) == expected
    assert asked.pop("record") == 1 + 2 + 1, "the beginning, the chunks, the slot"
    assert asked == {"copy_in": 4, "launch": 2, "wait": 2, "replay": 1}, "a piece is one row"


def test_a_small_batch_is_read_in_place(shim: Any) -> None:
    runtime = shim()
    curve = ms.curve("bn254")
    points = curve.known_points(9, seed=1)
    bases = ms.Bases(points, backend="cuda")
    for lengths in ([9] * 3, [9, 7, 0]):
        vectors = [curve.random_scalars(n, seed=n) for n in lengths]
        asked = per_call(runtime, lambda vectors=vectors: bases.msm(vectors), after=5)
        uneven = {"copy_in": 1, "record": 1, "launch": 1} if len(set(lengths)) > 1 else {}
        assert asked == {"replay": 1, **uneven}, "all of it is one graph, unless lengths are sent"
        assert bases.msm(vectors) == [curve.expected_sum(points[: len(v)], v) for v in vectors]


@pytest.mark.parametrize("eager", [False, True])
def test_unequal_lengths_and_own_bases_in_chunks(shim: Any, small_chunks: None, eager: bool) -> None:
    shim(eager_copies=eager)
    curve = ms.curve("bls12-377")
    points = curve.known_points(60, seed=1)
    bases = ms.Bases(points, backend="cuda")
    vectors = [curve.random_scalars(n, seed=n) for n in (33, 1, 0, 32)]
    for _ in range(2):
        assert bases.msm(vectors) == [curve.expected_sum(points[: len(v)], v) for v in vectors]
    own = [curve.random_scalars(20, seed=n) for n in range(3)]
    for _ in range(2):
        sums = bases.msm(own, own_bases=True)
        assert sums == [curve.expected_sum(points[20 * k : 20 * k + 20], own[k]) for k in range(3)]


def test_vectors_of_very_different_lengths_do_not_pad_each_other(shim: Any) -> None:
    from multiscalar.cuda.work import works

    shim()
    curve = ms.curve("bn254")
    lengths = [3000, 5, 1 << 14, 1000, 0]
    vectors = [curve.scalars(np.ones(n, np.uint8)) for n in lengths]
    found = [sorted(len(vector) for vector in work.vectors) for work in works(vectors, False)]
    assert sorted(found) == [[0, 5, 1000], [3000], [1 << 14]]


def test_device_vectors_of_a_batch_are_read_where_they_lie(shim: Any) -> None:
    runtime = shim()
    curve = ms.curve("bn254")
    points = curve.known_points(8, seed=1)
    bases = ms.Bases(points, backend="cuda")
    together = np.concatenate([curve.random_scalars(8, seed=k).data for k in range(2)])
    apart = [OnDevice(placed(together[8 * k : 8 * k + 8], 0)) for k in (1, 0)]
    beside = [OnDevice(together[8 * k : 8 * k + 8]) for k in range(2)]
    assert "copy_within" not in per_call(runtime, lambda: bases.msm(beside))
    assert "copy_within" not in per_call(runtime, lambda: bases.msm(apart))
    expected = [curve.expected_sum(points, one.array) for one in beside]
    assert bases.msm(beside) == expected
    assert bases.msm(apart) == expected[::-1]
    assert bases.msm(beside)[0].run.copied_bytes == 0
    shorter = [beside[0], OnDevice(together[8:13])]  # behind it lies what is not ours to read
    assert "copy_within" not in per_call(runtime, lambda: bases.msm(shorter))
    assert bases.msm(shorter) == [expected[0], curve.expected_sum(points[:5], together[8:13])]
    crooked = [apart[0], OnDevice(placed(together[:8], 8))]  # kernels read 16 bytes at a time
    assert per_call(runtime, lambda: bases.msm(crooked))["copy_within"] == 2
    assert bases.msm(crooked) == expected[::-1]


def placed(rows: Any, offset: int) -> Any:
    """A copy whose address is `offset` above a multiple of 16."""
    room = np.empty(rows.nbytes + 32, np.uint8)
    start = -room.ctypes.data % 16 + offset
    copy = room[start : start + rows.nbytes].view(rows.dtype).reshape(rows.shape)
    copy[...] = rows
    return copy


@pytest.mark.parametrize("eager", [False, True])
def test_points_in_chunks(shim: Any, small_chunks: None, monkeypatch: pytest.MonkeyPatch, eager: bool) -> None:
    from multiscalar.cuda import table

    monkeypatch.setattr(table, "IN_PLACE_BYTES", 1 << 10)
    monkeypatch.setattr(table, "CHUNK_BYTES", 64 * 40)
    shim(eager_copies=eager)
    points, scalars, expected = inputs("bn254", 150)
    for _ in range(2):
        assert ms.Bases(points, backend="cuda").msm(scalars) == expected
    off = points.data.copy()
    off[140, 1, 0] ^= 1
    with pytest.raises(ms.errors.NotOnCurveError) as refused:
        ms.Bases(off, curve="bn254", backend="cuda")
    assert refused.value.index == 140


@pytest.mark.parametrize("eager", [False, True])
def test_an_interrupt_while_points_come_leaves_nothing_under_way(
    shim: Any, small_chunks: None, monkeypatch: pytest.MonkeyPatch, eager: bool
) -> None:
    """What is still to convert would mark a bad point in scratch, where the next call has its scalars by then."""
    from multiscalar.cuda import compiled, table

    monkeypatch.setattr(table, "IN_PLACE_BYTES", 1 << 10)
    monkeypatch.setattr(table, "CHUNK_BYTES", 64 * 40)
    shim(eager_copies=eager)
    points, scalars, expected = inputs("bn254", 150)
    lane = compiled.kernels(points.curve).lane
    bases = ms.Bases(points, backend="cuda")
    convert, off = table.Table._convert, points.data.copy()
    off[1, 1, 0] ^= 1

    def interrupted(self: Any, lane: Any, places: Any, first: int, *rest: Any) -> None:
        if first:
            raise KeyboardInterrupt
        convert(self, lane, places, first, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(table.Table, "_convert", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ms.Bases(off, curve="bn254", backend="cuda")
    assert not any(stream.queue for stream in (lane.stream, lane.copies))
    assert bases.msm(scalars) == expected
    assert ms.Bases(points, backend="cuda").msm(scalars) == expected


@pytest.mark.parametrize("place", [OnDevice, np.asarray])
def test_a_bad_scalar_is_named_by_its_index_in_the_call(shim: Any, monkeypatch: pytest.MonkeyPatch, place: Any) -> None:
    shim()
    points, scalars, _ = inputs("bn254", 80)
    bases = ms.Bases(points, backend="cuda")
    run = cuda_bases.DeviceBases._run

    def short(self: Any, work: Any, options: Any) -> Any:
        if work.n > 40:
            raise ms.errors.OutOfMemoryError("not for more than 40 terms", need=41, free=40)
        return run(self, work, options)

    monkeypatch.setattr(work, "SMALLEST_PART", 41)
    monkeypatch.setattr(cuda_bases.DeviceBases, "_run", short)
    high = scalars.data.copy()
    high[77] = 2**64 - 1
    with pytest.raises(ms.errors.ScalarRangeError) as refused:
        bases.msm(place(high))
    assert refused.value.index == 77
