"""A device made of host memory behind the protocol of `multiscalar.cuda.runtime`: whole plans run without a GPU.

Every kernel is the package's own text, compiled as C++ by the shim. Work is done at once when it is submitted, so
order is trivially kept; a capture records the calls and a replay makes them again.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from driver import aligned
from multiscalar.cuda.shape import SHARED_BYTES
from multiscalar.cuda.steps import Launch, Ref
from multiscalar.errors import OutOfMemoryError

_one_at_a_time = threading.Lock()  # the fibres of the shim are one set for the process


@dataclass
class Mark:
    """An event: when it was passed."""

    at_us: float = 0.0


@dataclass
class ShimRuntime:
    """`capacity` bytes of "device" memory; `log` counts what a plan must not do in a repeated call."""

    capacity: int = 1 << 40
    used: int = 0
    log: dict[str, int] = field(default_factory=dict)
    _memory: dict[int, np.ndarray] = field(default_factory=dict)
    _recording: list[Callable[[], None]] | None = None

    def _note(self, what: str) -> None:
        self.log[what] = self.log.get(what, 0) + 1

    def _do(self, work: Callable[[], None]) -> None:
        if self._recording is None:
            work()
        else:
            self._recording.append(work)

    def load(self, code: bytes) -> Mapping[str, Any]:
        raise AssertionError("the shim's kernels are a shared library")

    def allocate(self, size: int) -> int:
        self._note("allocate")
        if self.used + size > self.capacity:
            free = self.capacity - self.used
            raise OutOfMemoryError(f"{size:,} bytes are needed, {free:,} are free", need=size, free=free)
        block = aligned(max(size, 16))
        pointer = int(block.ctypes.data)
        self._memory[pointer] = block
        self.used += size
        return pointer

    def free(self, pointer: int) -> None:
        self._note("free")
        self.used -= self._memory.pop(pointer).size

    def pinned(self, size: int) -> np.ndarray:
        self._note("pinned")
        return aligned(size)

    def is_pinned(self, pointer: int) -> bool:
        return False

    def free_memory(self) -> int:
        return self.capacity - self.used

    def stream(self) -> Any:
        self._note("stream")
        return "stream"

    def foreign_stream(self, handle: int) -> Any:
        return handle

    def event(self) -> Mark:
        self._note("event")
        return Mark()

    def drop_event(self, event: Mark) -> None:
        event.at_us = float("nan")

    def copy_in(self, target: int, source: int, size: int, stream: Any) -> None:
        self._do(lambda: ctypes.memmove(target, source, size) and None)

    copy_out = copy_within = copy_in

    def fill(self, target: int, value: int, size: int, stream: Any) -> None:
        self._do(lambda: ctypes.memset(target, value, size) and None)

    def bind(self, module: Mapping[str, Any], launch: Launch, address: Callable[[Ref], int]) -> Callable[[Any], None]:
        assert launch.shared <= SHARED_BYTES, f"{launch.kernel}: {launch.shared} bytes of shared memory"
        words = [0 if a is None else address(a) if isinstance(a, Ref) else a for a in launch.arguments]
        array = (ctypes.c_uint64 * len(words))(*words)
        run = module["shim_launch"]

        def work() -> None:
            with _one_at_a_time:
                code = run(launch.kernel.encode(), *launch.grid, launch.block, array)
            assert code == 0, f"{launch.kernel}: {'no such kernel' if code == 1 else 'deadlock'}"

        return lambda stream: self._do(work)

    def record(self, event: Mark, stream: Any, in_graph: bool = False) -> None:
        self._do(lambda: setattr(event, "at_us", time.perf_counter() * 1e6))

    def wait(self, stream: Any, event: Mark) -> None:
        return

    def wait_host(self, event: Mark) -> None:
        return

    def synchronize(self, stream: Any) -> None:
        return

    def elapsed_us(self, start: Mark, stop: Mark) -> float:
        return stop.at_us - start.at_us

    def capture(self, work: Callable[[Any], None], stream: Any) -> Any:
        self._note("capture")
        self._recording = steps = []
        try:
            work(stream)
        finally:
            self._recording = None
        return steps

    def replay(self, graph: Any, stream: Any) -> None:
        self._note("replay")
        for step in graph:
            step()

    def drop_graph(self, graph: Any) -> None:
        graph.clear()

    def current(self) -> AbstractContextManager[None]:
        return nullcontext()
