"""Host memory to device memory at the speed of the link.

The device can only fetch from page-locked memory. A few scalars, and the points of a small call, are copied into a
page-locked slot that kernels read in place: one pass over the link, no copy engine to start and to wait for. More go
through a ring of larger slots: the native core fills one with all threads (one copies about 12 GB/s, the link takes 55)
while the previous ones are on their way. Arrays that are page-locked already are read or fetched as they lie.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .operand import ALIGNMENT, Array, address
from .runtime import Bytes, Runtime

IN_PLACE_BYTES: Final = 256 << 10  # up to here a kernel reads the host's memory sooner than a copy would end
POINTS_IN_PLACE_BYTES: Final = 1 << 20  # the same for points of one sum, which the host copies while digits are made
SLOT_BYTES: Final = 8 << 20  # large enough for the link's full rate and to keep all threads busy
SLOTS: Final = 4
PIN_MATTERS: Final = 256 << 10  # below this asking costs as much as staging
ALONE_BYTES: Final = 128 << 10  # up to here nobody is woken to help


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
        self._slots: list[tuple[Bytes, Any]] = []
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

    def carry(self, target: int, rows: Sequence[NDArray[np.uint8]], stride: int, stream: Any) -> None:
        """Copy `rows[k]` (flat bytes, pageable) to `target + k * stride`, in order on `stream`.

        When this returns, the rows have been read.
        """
        per_slot = max(1, SLOT_BYTES // stride)
        for first in range(0, len(rows), per_slot):
            some, place = rows[first : first + per_slot], target + first * stride
            if len(some) > 1 or some[0].size <= SLOT_BYTES:
                self._send(place, list(some), stride, stream)
                continue
            for start in range(0, some[0].size, SLOT_BYTES):
                piece = some[0][start : start + SLOT_BYTES]
                self._send(place + start, [piece], piece.size, stream)

    def _send(self, target: int, rows: list[NDArray[np.uint8]], stride: int, stream: Any) -> None:
        """Through the next slot of the ring."""
        size = stride * (len(rows) - 1) + rows[-1].size
        if not size:
            return
        if self._turn == len(self._slots):
            self._slots.append((self._runtime.pinned(SLOT_BYTES), self._runtime.event()))
        slot, free = self._slots[self._turn]
        self._turn = (self._turn + 1) % SLOTS
        self._runtime.wait_host(free)  # an event that was never recorded counts as past
        _core.gather(slot[:size], rows, max(stride, 1), 0)
        self._runtime.copy_in(target, int(slot.ctypes.data), size, stream)
        self._runtime.record(free, stream)
