"""Pageable arrays on their way to the device: every byte once, in order, whatever the order of copies and fillings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from multiscalar import _core
from multiscalar.cuda import staging
from multiscalar.cuda.staging import Piece, Staging, cut
from runtime import ShimRuntime

SLOT, PIECE = 3000, 1000


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "SLOT_BYTES", SLOT)
    monkeypatch.setattr(staging, "PIECE_BYTES", PIECE)


def arrays(*sizes: int) -> list[Any]:
    generator = np.random.default_rng(sum(sizes))
    return [generator.integers(0, 256, size, dtype=np.uint8) for size in sizes]


@pytest.mark.parametrize(
    ("rows", "low", "high", "stride"),
    [
        (1, 0, 0, 0),
        (1, 0, 1, 0),
        (1, 500, 1500, 0),
        (1, 700, 5703, 0),
        (7, 0, 300, 300),
        (2, 0, 2500, 2500),
        (9, 0, 999, 1000),
    ],
)
def test_pieces_cover_every_byte_once(small: None, rows: int, low: int, high: int, stride: int) -> None:
    pieces = cut(Piece(64, 3, rows, low, high), stride, rows * high)
    found = [
        (piece.first + k, byte, piece.target + k * stride + byte - piece.low)
        for piece in pieces
        for k in range(piece.rows)
        for byte in range(piece.low, piece.high)
    ]
    assert found == [(3 + k, byte, 64 + k * stride + byte - low) for k in range(rows) for byte in range(low, high)]
    assert pieces
    assert all((piece.rows - 1) * stride + piece.high - piece.low <= PIECE for piece in pieces)


@pytest.mark.parametrize(
    ("total", "pieces"), [(1, 1), (1 << 20, 1), (3 << 20, 3), (8 << 20, 8), (20 << 20, 8), (128 << 20, 32)]
)
def test_a_call_is_sent_in_some_pieces_that_are_neither_tiny_nor_large(total: int, pieces: int) -> None:
    assert len(cut(Piece(0, 0, 1, 0, total), 0, total)) == pieces


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize(
    ("sizes", "stride"),
    [((17,), 0), ((12_345,), 0), ((300,) * 40, 300), ((300, 0, 299, 1) * 7, 304), ((2500, 7) * 3, 2500)],
)
def test_what_is_carried_arrives(small: None, sizes: tuple[int, ...], stride: int, eager: bool) -> None:
    runtime = ShimRuntime(eager_copies=eager)
    runtime.stream()
    stream, way = runtime.stream(), Staging(runtime)
    for call in range(3):  # slots are used again
        rows, room = arrays(*(max(0, size - call) for size in sizes)), max(sizes) * len(sizes) + 16
        target = runtime.allocate(room)
        pieces = cut(Piece(target, 0, len(rows), 0, max(sizes)), stride, sum(sizes))
        sent: list[int] = []
        way.carry(rows, pieces, stride, stream, sent.append)
        assert sent == list(range(len(pieces)))
        for row in rows:
            row[...] = 0xEE  # they have been read
        runtime.synchronize(stream)
        way.rewind()
        for k, row in enumerate(arrays(*(max(0, size - call) for size in sizes))):
            assert bytes(runtime._memory[target][k * stride : k * stride + row.size]) == row.tobytes()


@pytest.mark.parametrize("bad", range(13))
def test_what_is_raised_on_the_way_ends_it_and_the_next_call_is_right(small: None, bad: int) -> None:
    runtime = ShimRuntime()
    stream, way = runtime.stream(), Staging(runtime)
    (row,) = arrays(12_345)
    target = runtime.allocate(row.size)
    pieces = cut(Piece(target, 0, 1, 0, row.size), 0, row.size)
    sent: list[int] = []

    def interrupted(k: int) -> None:
        sent.append(k)
        if k == bad:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        way.carry([row], pieces, 0, stream, interrupted)
    assert sent == list(range(bad + 1))
    runtime.synchronize(stream)
    way.carry([row], pieces, 0, stream)
    runtime.synchronize(stream)
    assert bytes(runtime._memory[target][: row.size]) == row.tobytes()


def test_the_core_takes_arrays_of_any_type_and_refuses_others() -> None:
    target, said = np.zeros(64, np.uint8), list[int]()
    rows = [np.arange(4, dtype=np.uint64).reshape(2, 2), np.array([True, False])]
    _core.fill(target, rows, [(0, 0, 2, 0, 32), (50, 0, 1, 8, 16)], 40, 2, said.append)
    assert said == [0, 1]
    assert bytes(target) == rows[0].tobytes() + bytes(8) + rows[1].tobytes() + bytes(8) + rows[0].tobytes()[
        8:16
    ] + bytes(6)
    with pytest.raises(_core.Failure):
        _core.fill(target, [np.zeros((4, 4))[:, ::2]], [(0, 0, 1, 0, 8)], 0, 1, said.append)
    with pytest.raises(_core.Failure):
        _core.fill(target[::2], rows, [(0, 0, 1, 0, 8)], 0, 1, said.append)


@pytest.mark.parametrize("size", [0, 8, 1 << 16, (1 << 16) + 8, 300_008, 1 << 20])
def test_what_is_copied_ahead_is_there_when_it_is_finished(size: int) -> None:
    source = np.random.default_rng(size).integers(0, 256, size, np.uint8).view(np.uint64)
    target = np.full((1 << 20) + 1, 0xEE, np.uint8)
    for _ in range(20):
        copy = _core.ahead(target, source)
        copy.finish()
        copy.finish()  # once more is nothing
        assert target[:size].tobytes() == source.tobytes()
        assert (target[size:] == 0xEE).all()
        target[:] = 0xEE
        del copy


def test_a_copy_ahead_that_nobody_finishes_ends_with_its_object() -> None:
    source, target = np.ones(1 << 20, np.uint8), np.zeros(1 << 20, np.uint8)
    for _ in range(50):
        copy = _core.ahead(target, source)
        del copy
        target[:] = 0
        assert not target.any(), "nobody writes any more"


def test_a_copy_ahead_refuses_what_does_not_fit() -> None:
    with pytest.raises(_core.Failure, match="do not fit"):
        _core.ahead(np.zeros(7, np.uint8), np.zeros(8, np.uint8))
    with pytest.raises(_core.Failure, match="C-contiguous"):
        _core.ahead(np.zeros(64, np.uint8), np.zeros((4, 4))[:, ::2])
