"""Host memory to device memory at the speed of the link.

The device can only fetch from page-locked memory. One core copies about 12 GB/s into it, the link takes 55, so a
large pageable array is carried by several threads: each takes the next piece, fills one of its own two page-locked
slots and submits that slot, and fills the other one meanwhile. Small arrays go through one slot; arrays that are
page-locked already are fetched as they lie.
"""

from __future__ import annotations

import ctypes
import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .operand import Operand
from .runtime import Bytes, Runtime

PIECE_BYTES = 2 << 20  # large enough for the link's full rate, small enough to stay in a core's cache
SMALL_BYTES = 4 << 20  # below this one thread is done before others have started
SMALL_SLOT_BYTES = 16 << 20  # for all small arrays of one call together
SMALL_PIECE_BYTES = 256 << 10  # submitted while the next piece is filled
MAX_THREADS = 8


class Staging:
    """The page-locked slots and threads of one lane. Calls on one object must not overlap; the lane sees to that."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._small: Bytes | None = None
        self._slots: list[tuple[Bytes, Any]] = []
        self._threads = max(1, min(MAX_THREADS, os.cpu_count() or 1))
        self._pool: ThreadPoolExecutor | None = None

    def upload(self, target: int, source: Operand, stream: Any, *, pinned: bool, small_offset: int = 0) -> int:
        """Copy `source` from the host to `target`, in order on `stream`; returns `small_offset` past what was used.

        Several small uploads of one call share the small slot, one after the other: pass on the returned offset.
        When this returns, a pageable source has been read; a pinned one has been read when the stream gets there.
        """
        if pinned:
            self._runtime.copy_in(target, source.pointer, source.size, stream)
            return small_offset
        if source.size <= SMALL_BYTES and small_offset + source.size <= SMALL_SLOT_BYTES:
            if self._small is None:
                self._small = self._runtime.pinned(SMALL_SLOT_BYTES)
            place = int(self._small.ctypes.data) + small_offset
            for start in range(0, source.size, SMALL_PIECE_BYTES):
                size = min(SMALL_PIECE_BYTES, source.size - start)
                ctypes.memmove(place + start, source.pointer + start, size)
                self._runtime.copy_in(target + start, place + start, size, stream)
            return small_offset + -(-source.size // 64) * 64
        self._carry(target, source, stream)
        return small_offset

    def _carry(self, target: int, source: Operand, stream: Any) -> None:
        """All threads take pieces from one counter until none is left."""
        while len(self._slots) < 2 * self._threads:
            self._slots.append((self._runtime.pinned(PIECE_BYTES), self._runtime.event()))
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="multiscalar-staging")
        pieces = -(-source.size // PIECE_BYTES)
        ticket = itertools.count()  # next() on a counter is atomic under the interpreter lock

        def worker(index: int) -> None:
            with self._runtime.current():
                for turn in itertools.count():
                    piece = next(ticket)
                    if piece >= pieces:
                        return
                    slot, free = self._slots[2 * index + turn % 2]
                    self._runtime.wait_host(free)  # an event that was never recorded counts as past
                    start = piece * PIECE_BYTES
                    size = min(PIECE_BYTES, source.size - start)
                    ctypes.memmove(slot.ctypes.data, source.pointer + start, size)
                    self._runtime.copy_in(target + start, slot.ctypes.data, size, stream)
                    self._runtime.record(free, stream)

        for done in [self._pool.submit(worker, index) for index in range(self._threads)]:
            done.result()
