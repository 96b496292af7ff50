"""Device memory held back, so that calls have to do with what is left."""

from __future__ import annotations

from collections.abc import Iterator
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
