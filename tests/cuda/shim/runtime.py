"""A device made of host memory behind the protocol of `multiscalar.cuda.runtime`: whole plans run without a GPU.

Every kernel is the package's own text, compiled as C++ by the shim. Streams are queues that run as late as order
allows: when the host waits, or when a stream that is run waits for an event of theirs. So work that ought to wait for
something and does not finds the old contents. With `eager_copies` the second stream, the one for copies, runs as early
as it can instead: what it overwrites too early shows.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from driver import SEED, aligned, order_seed, require_launchable
from multiscalar.cuda.steps import Launch, Ref
from multiscalar.errors import DeviceError, OutOfMemoryError

_one_at_a_time = threading.Lock()  # the fibres of the shim are one set for the process
Work = Callable[[], None]


class Stream:
    """Work in order."""

    def __init__(self, eager: bool = False) -> None:
        self.queue: deque[Work] = deque()
        self.eager = eager

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        while self.queue and not until():
            self.queue.popleft()()

    def add(self, work: Work) -> None:
        self.queue.append(work)
        if self.eager:
            self.run()


@dataclass
class Passage:
    """One recording of an event."""

    stream: Stream
    at_us: float | None = None

    def wait(self) -> None:
        self.stream.run(until=lambda: self.at_us is not None)
        assert self.at_us is not None, "an event that nobody will ever pass"

    def happen(self) -> None:
        self.at_us = time.perf_counter() * 1e6


@dataclass
class Mark:
    """An event: its last recording."""

    last: Passage | None = None


Graph = list[tuple[Stream, Work | Mark]]


@cache
def words_type(count: int) -> type[ctypes.Array[ctypes.c_uint64]]:
    """An array of so many words; made for each launch anew, it would be a cycle for the garbage collector."""
    return ctypes.c_uint64 * count


class Bound:
    """A launch of a kernel of the shim."""

    def __init__(self, runtime: ShimRuntime, run: Any, launch: Launch, address: Callable[[Ref], int]) -> None:
        self._runtime, self._run, self._launch = runtime, run, launch
        self._words = [0 if a is None else address(a) if isinstance(a, Ref) else a for a in launch.arguments]

    def __call__(self, stream: Stream, early: bool = False) -> None:
        require_launchable(self._launch)
        launch, array = self._launch, words_type(len(self._words))(*self._words)
        seed = order_seed(self._runtime.seed, launch)

        def work() -> None:
            with _one_at_a_time:
                code = self._run(launch.kernel.encode(), *launch.grid, launch.block, launch.shared, seed, array)
            assert code == 0, f"{launch.kernel}: {'no such kernel' if code == 1 else 'deadlock'}"

        if early:
            self._runtime.note_early()
        self._runtime.submit(stream, work, "launch")

    def move(self, buffer: str, base: int) -> None:
        for k, argument in enumerate(self._launch.arguments):
            if isinstance(argument, Ref) and argument.buffer == buffer:
                self._words[k] = base + argument.offset


@dataclass
class ShimRuntime:
    """`capacity` bytes of "device" memory; `log` counts what the host asks for, replayed graphs as one thing."""

    capacity: int = 1 << 40
    eager_copies: bool = False
    early: bool = True
    refuses_early: bool = False
    seed: int = SEED  # draws the order of threads and blocks
    used: int = 0
    log: dict[str, int] = field(default_factory=dict)
    _memory: dict[int, np.ndarray] = field(default_factory=dict)
    _pinned: list[np.ndarray] = field(default_factory=list)  # kept: other arrays must not come to lie where one was
    _recording: Graph | None = None
    _after: str = ""  # what the capture has last on its way

    def _note(self, what: str) -> None:
        self.log[what] = self.log.get(what, 0) + 1

    def submit(self, stream: Stream, work: Work, what: str) -> None:
        if self._recording is not None:
            self._recording.append((stream, work))
            self._after = what
            return
        self._note(what)
        stream.add(work)

    def load(self, code: bytes) -> Mapping[str, Any]:
        raise AssertionError("the shim's kernels are a shared library")

    def allocate(self, size: int) -> int:
        assert self._recording is None, "a capture is spoilt by it"
        self._note("allocate")
        if self.used + size > self.capacity:
            free = self.capacity - self.used
            raise OutOfMemoryError(f"{size:,} bytes are needed, {free:,} are free", need=size, free=free)
        block = aligned(max(size, 16))
        pointer = int(block.ctypes.data)
        self._memory[pointer] = block
        self.used += block.size
        return pointer

    def free(self, pointer: int) -> None:
        assert self._recording is None, "a capture is spoilt by it"
        self._note("free")
        self.used -= self._memory.pop(pointer).size

    def pinned(self, size: int) -> np.ndarray:
        self._note("pinned")
        array = aligned(size)
        self._pinned.append(array)
        return array

    def is_pinned(self, pointer: int) -> bool:
        return any(0 <= pointer - array.ctypes.data < array.size for array in self._pinned)

    def free_memory(self) -> int:
        return self.capacity - self.used

    def stream(self) -> Stream:
        self._note("stream")
        return Stream(eager=self.eager_copies and self.log["stream"] == 2)

    def foreign_stream(self, handle: int) -> Stream:
        return Stream()

    def event(self) -> Mark:
        self._note("event")
        return Mark()

    def drop_event(self, event: Mark) -> None:
        event.last = None

    def copy_in(self, target: int, source: int, size: int, stream: Stream) -> None:
        self._copy(target, source, size, stream, "copy_in")

    def copy_out(self, target: int, source: int, size: int, stream: Stream) -> None:
        self._copy(target, source, size, stream, "copy_out")

    def copy_within(self, target: int, source: int, size: int, stream: Stream) -> None:
        self._copy(target, source, size, stream, "copy_within")

    def _copy(self, target: int, source: int, size: int, stream: Stream, what: str) -> None:
        self.submit(stream, lambda: ctypes.memmove(target, source, size) and None, what)

    def fill(self, target: int, value: int, size: int, stream: Stream) -> None:
        self.submit(stream, lambda: ctypes.memset(target, value, size) and None, "fill")

    def bind(self, module: Mapping[str, Any], launch: Launch, address: Callable[[Ref], int]) -> Bound:
        return Bound(self, module["shim_launch"], launch, address)

    def note_early(self) -> None:
        if self.refuses_early:
            raise DeviceError("the GPU failed with CUDA_ERROR_NOT_SUPPORTED in cuLaunchKernelEx")
        assert self._after == "launch", "only a launch right after a launch may be early"
        self._note("early")

    def record(self, event: Mark, stream: Stream, in_graph: bool = False) -> None:
        if self._recording is not None:
            assert in_graph
            self._recording.append((stream, event))
            return
        assert not in_graph
        event.last = Passage(stream)
        self.submit(stream, event.last.happen, "record")

    def wait(self, stream: Stream, event: Mark) -> None:
        assert self._recording is None
        if event.last is not None:
            self.submit(stream, event.last.wait, "wait")

    def wait_host(self, event: Mark) -> None:
        if event.last is not None:
            event.last.wait()

    def synchronize(self, stream: Stream) -> None:
        stream.run()

    def elapsed_ns(self, marks: Sequence[Mark]) -> list[int]:
        last = [mark.last for mark in marks if mark.last is not None]
        assert len(last) == len(marks), "never recorded"
        times = [passage.at_us for passage in last if passage.at_us is not None]
        if len(times) < len(last):
            raise DeviceError("the GPU failed with CUDA_ERROR_NOT_READY in cuEventElapsedTime")
        return [round(1000 * (stop - start)) for start, stop in pairwise(times)]

    def capture(self, work: Callable[[Any], None], stream: Stream) -> Graph:
        self._note("capture")
        self._after = ""
        self._recording = steps = []
        try:
            work(stream)
        finally:
            self._recording = None
        return steps

    def replay(self, graph: Graph, stream: Stream) -> None:
        self._note("replay")
        for _, step in graph:
            if isinstance(step, Mark):
                step.last = Passage(stream)  # from now on nobody can ask when it was passed before
                stream.add(step.last.happen)
            else:
                stream.add(step)

    def drop_graph(self, graph: Graph) -> None:
        graph.clear()

    def current(self) -> AbstractContextManager[None]:
        return nullcontext()
