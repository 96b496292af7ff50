"""Host memory to device memory at the speed of the link.

The device can only fetch from page-locked memory. A few scalars, and the points of a small call, are copied into a
page-locked slot that kernels read in place: one pass over the link, no copy engine to start and to wait for. More go
through two large slots in turns: the native core fills one with all threads (one copies about 12 GB/s, the link takes
55), and each piece of it is sent as soon as it is complete, while the next ones are being filled. Arrays that are
page-locked already are read or fetched as they lie.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .operand import ALIGNMENT, Array, address
from .runtime import Bytes, Runtime

IN_PLACE_BYTES: Final = 256 << 10  # up to here a kernel reads the host's memory sooner than a copy would end
POINTS_IN_PLACE_BYTES: Final = 1 << 20  # the same for points of one sum, which the host copies while digits are made
SLOT_BYTES: Final = 16 << 20  # long enough on the link for the other one to be begun
SLOTS: Final = 2
PIECE_BYTES: Final = 4 << 20  # sent at once: enough for the link's full rate
PIN_MATTERS: Final = 256 << 10  # below this asking costs as much as staging
ALONE_BYTES: Final = 128 << 10  # up to here nobody is woken to help


class Piece(NamedTuple):
    """Bytes `low` .. `high` of `rows` arrays, number `first` and those after it, on their way to `target` and after."""

    target: int
    first: int
    rows: int
    low: int
    high: int


def cut(piece: Piece, stride: int) -> list[Piece]:
    """The same in pieces that are not too large; `stride` bytes are from row to row."""
    target, first, rows, low, high = piece
    if rows > 1 and stride > PIECE_BYTES:
        return [one for k in range(rows) for one in cut(Piece(target + k * stride, first + k, 1, low, high), stride)]
    if rows > 1:
        most = PIECE_BYTES // stride
        return [Piece(target + k * stride, first + k, min(most, rows - k), low, high) for k in range(0, rows, most)]
    ends = range(low, max(high, low + 1), PIECE_BYTES)
    return [Piece(target + start - low, first, 1, start, min(high, start + PIECE_BYTES)) for start in ends]


class Staging:
    """The page-locked slots of one lane. Calls on one object must not overlap; the lane sees to that."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._small: Bytes | None = None
        self._small_address = 0
        self._points: Bytes | None = None
        self._points_address = 0
        self._lengths: Bytes | None = None
        self._rows: Bytes | None = None
        self._slots: list[tuple[Bytes, int, Any]] = []  # with their addresses, and the event that one is free again
        self._turn = 0

    def small(self, rows: list[Array], stride: int) -> int:
        """Arrays in page-locked memory, `stride` bytes apart; its address.

        Good until the next call of this method; the device reads it meanwhile.
        """
        if self._small is None:
            self._small = self._runtime.pinned(IN_PLACE_BYTES)
            self._small_address = int(self._small.ctypes.data)
        if len(rows) == 1:
            return self._readable(rows[0], self._small, self._small_address)
        _core.gather(self._small, rows, stride, 1)
        return self._small_address

    def points(self, source: Array) -> int:
        """The same for the points of a call, beside its scalars."""
        if self._points is None:
            self._points = self._runtime.pinned(POINTS_IN_PLACE_BYTES)
            self._points_address = int(self._points.ctypes.data)
        return self._readable(source, self._points, self._points_address)

    def _readable(self, source: Array, slot: Bytes, slot_address: int) -> int:
        """Where a kernel can read `source`: as it lies, if that is page-locked memory, else copied to `slot`."""
        place, size = address(source), source.nbytes
        if size >= PIN_MATTERS and place % ALIGNMENT == 0 and self._runtime.is_pinned(place):
            return place
        if size > ALONE_BYTES:
            _core.gather(slot[:size], [source], size, 0)
        else:
            ctypes.memmove(slot_address, place, size)
        return slot_address

    def lengths(self, values: NDArray[np.uint32]) -> int:
        """The same for the lengths of the vectors of a batch."""
        self._lengths = self._kept(self._lengths, values.view(np.uint8))
        return int(self._lengths.ctypes.data)

    def rows(self, pointers: list[int]) -> int:
        """The same for the addresses of the vectors of a batch."""
        self._rows = self._kept(self._rows, np.array(pointers, np.uint64).view(np.uint8))
        return int(self._rows.ctypes.data)

    def _kept(self, slot: Bytes | None, values: NDArray[np.uint8]) -> Bytes:
        """`values` at the start of `slot`, or of a larger one."""
        if slot is None or slot.size < values.size:
            slot = self._runtime.pinned(max(4096, 2 * values.size))
        slot[: values.size] = values
        return slot

    def rewind(self) -> None:
        """Nothing is under way any more: the next call begins with the slot that is in the caches."""
        self._turn = 0

    def is_pinned(self, source: Array) -> bool:
        """Whether the device can fetch this array as it lies."""
        return source.nbytes >= PIN_MATTERS and self._runtime.is_pinned(address(source))

    def carry(
        self,
        arrays: list[Array],
        pieces: Sequence[Piece],
        stride: int,
        stream: Any,
        sent: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Copy `pieces` of pageable arrays in order on `stream`, where rows lie `stride` bytes apart; `sent(k)` is
        called when piece k is on its way. When this returns, the arrays have been read.
        """
        start = 0
        while start < len(pieces):
            offsets, end = [0], start
            while end < len(pieces) and (size := offsets[-1] + _size(pieces[end], arrays, stride)) <= SLOT_BYTES:
                offsets.append(size)
                end += 1
            assert end > start, "a piece is larger than a slot"
            self._fill(arrays, pieces[start:end], offsets, stride, stream, lambda k, before=start: sent(before + k))  # type: ignore[misc]
            start = end

    def _fill(
        self,
        arrays: list[Array],
        pieces: Sequence[Piece],
        offsets: list[int],
        stride: int,
        stream: Any,
        sent: Callable[[int], None],
    ) -> None:
        """Pieces that fit into it through the next slot, each from its offset on."""
        if self._turn == len(self._slots):
            fresh = self._runtime.pinned(SLOT_BYTES)
            self._slots.append((fresh, address(fresh), self._runtime.event()))
        slot, place, free = self._slots[self._turn]
        self._turn = (self._turn + 1) % SLOTS
        copy_in = self._runtime.copy_in

        def filled(k: int) -> None:
            copy_in(pieces[k].target, place + offsets[k], offsets[k + 1] - offsets[k], stream)
            sent(k)

        self._runtime.wait_host(free)  # an event that was never recorded counts as past
        wanted = [(offset, *piece[1:]) for offset, piece in zip(offsets, pieces, strict=False)]
        _core.fill(slot, arrays, wanted, stride, 0, filled)
        self._runtime.record(free, stream)


def _size(piece: Piece, arrays: list[Array], stride: int) -> int:
    """Bytes of a piece as it is sent, up to the end of its last row."""
    last = min(piece.high, arrays[piece.first + piece.rows - 1].nbytes) - piece.low
    return (piece.rows - 1) * stride + max(0, last)
