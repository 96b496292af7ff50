"""Host memory to device memory at the speed of the link.

The device can only fetch from page-locked memory. A few scalars are copied into a page-locked slot that kernels read in
place: one pass over the link, no copy engine to start and to wait for. The calling thread fills it alone: it copies 24
GB/s of what its caches hold, and others would take longer to wake. The points of a small call have a slot beside it,
from which they are sent at once: helpers wake and fill it while the scalars are copied and sorted. More go through two
large slots in turns: the native core fills one with all threads (one copies about 12 GB/s from memory, the link takes
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
POINTS_AT_ONCE_BYTES: Final = 1 << 20  # points of one sum that the host copies while the scalars are sorted
SLOT_BYTES: Final = 16 << 20  # long enough on the link for the other one to be begun
SLOTS: Final = 2
PIECE_BYTES: Final = 4 << 20  # sent at once, at most: enough for the link's full rate
PIECES: Final = 8  # of what is less than so many of these: the last piece is on its way when nothing is left to copy
LINE_BYTES: Final = 64  # of a cache: what is written past it is best whole
LEAST_PIECE_BYTES: Final = 1 << 20  # sending one takes the host some microseconds
PIN_MATTERS: Final = 256 << 10  # below this asking costs as much as staging
BELIEVED_CALLS: Final = 100  # times that memory is taken for pageable, before the driver is asked again
MOST_BELIEVED: Final = 256  # addresses


class Piece(NamedTuple):
    """Bytes `low` .. `high` of `rows` arrays, number `first` and those after it, on their way to `target` and after."""

    target: int
    first: int
    rows: int
    low: int
    high: int


class Coming(NamedTuple):
    """Data that will lie at `address` once `copy` is finished; until then others copy and the caller is free."""

    address: int
    copy: _core.Ahead

    def arrived(self) -> int:
        """The address, now that all of it is there."""
        self.copy.finish()
        return self.address


def cut(piece: Piece, stride: int, total: int) -> list[Piece]:
    """The same in pieces for a call that sends `total` bytes; `stride` bytes are from row to row."""
    return _cut(piece, stride, min(PIECE_BYTES, max(LEAST_PIECE_BYTES, total // PIECES // LINE_BYTES * LINE_BYTES)))


def _cut(piece: Piece, stride: int, size: int) -> list[Piece]:
    """Pieces of at most `size` bytes."""
    target, first, rows, low, high = piece
    if rows > 1 and stride > size:
        ones = (Piece(target + k * stride, first + k, 1, low, high) for k in range(rows))
        return [part for one in ones for part in _cut(one, stride, size)]
    if rows > 1:
        most = size // stride
        return [Piece(target + k * stride, first + k, min(most, rows - k), low, high) for k in range(0, rows, most)]
    starts = range(low, max(high, low + 1), size)
    return [Piece(target + start - low, first, 1, start, min(high, start + size)) for start in starts]


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
        self._coming: list[_core.Ahead] = []  # copies of a call that were begun
        self._pageable: dict[int, int] = {}  # by address, how often it is believed yet

    def small(self, rows: list[Array], stride: int) -> int:
        """Arrays in page-locked memory, `stride` bytes apart; its address.

        Good until the next call of this method; the device reads it meanwhile.
        """
        if len(rows) == 1:
            return self.as_it_lies(rows[0]) or self.hold(rows[0])
        place = self.small_slot()
        assert self._small is not None
        _core.gather(self._small, rows, stride, 1)
        return place

    def hold(self, array: Array) -> int:
        """One array in the slot, wherever it lies itself."""
        place = self.small_slot()
        ctypes.memmove(place, address(array), array.nbytes)
        return place

    def small_slot(self) -> int:
        """Where `small` puts what it copies."""
        if self._small is None:
            self._small = self._runtime.pinned(IN_PLACE_BYTES)
            self._small_address = address(self._small)
        return self._small_address

    def as_it_lies(self, source: Array) -> int:
        """Its address, if that is page-locked memory where a kernel can read it, else 0."""
        if source.nbytes < PIN_MATTERS:
            return 0
        place = address(source)
        return place if place % ALIGNMENT == 0 and self._seems_pinned(place) else 0

    def _seems_pinned(self, place: int) -> bool:
        """Whether small memory is page-locked. Where it was not, that is believed for some calls: asking the driver
        takes as long as copying 100 KB, and memory that was page-locked since is copied without harm.
        """
        left = self._pageable.get(place, 0)
        if left:
            self._pageable[place] = left - 1
            return False
        if self._runtime.is_pinned(place):
            return True
        if len(self._pageable) >= MOST_BELIEVED:
            self._pageable.clear()
        self._pageable[place] = BELIEVED_CALLS
        return False

    def points(self, source: Array) -> Coming:
        """The points of a call on their way to page-locked memory beside its scalars; good until the next call."""
        if self._points is None:
            self._points = self._runtime.pinned(POINTS_AT_ONCE_BYTES)
            self._points_address = address(self._points)
        copy = _core.ahead(self._points, source)
        self._coming.append(copy)
        return Coming(self._points_address, copy)

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
        """All of a call is on its way: the next one begins with the slot that is in the caches."""
        self._turn = 0
        self._coming.clear()

    def abandon(self) -> None:
        """After a call that broke off: nobody writes to a slot any more, whoever still holds what was begun."""
        while self._coming:
            self._coming[-1].finish()
            self._coming.pop()

    def is_pinned(self, source: Array) -> bool:
        """Whether the device can fetch this array as it lies; asked each time: a wrong no is dear for a large one."""
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
