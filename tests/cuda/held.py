"""Device memory held back, so that calls have to do with what is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from multiscalar.errors import OutOfMemoryError

SMALLEST = 64 << 10


@contextmanager
def held_back(runtime: Any, left: int, smallest: int = SMALLEST) -> Iterator[None]:
    """All but `left` bytes are taken inside the block: in one piece if it can be had, else in as many as it takes."""
    blocks, piece = [], runtime.free_memory()
    try:
        while (piece := min(piece, runtime.free_memory() - left)) >= smallest:
            try:
                blocks.append(runtime.allocate(piece))
            except OutOfMemoryError:
                piece //= 2
        yield
    finally:
        for block in blocks:
            runtime.free(block)


def goes_on_with_less(
    runtime: Any, lane: Any, call: Callable[[], Any], expected: Any, cases: list[tuple[float, int]]
) -> int:
    """With a share of its scratch left `call` is right, in more launches and so many parts. Returns all of it."""
    roomy = call()
    full: int = lane.scratch_bytes
    for share, parts in cases:
        lane.release()
        with held_back(runtime, int(share * full), smallest=1 << 10):
            result = call()
            assert result == expected
            assert result.run.launches > roomy.run.launches
            assert result.run.evidence.get("parts", 1) == parts
            lane.release()
    return full
