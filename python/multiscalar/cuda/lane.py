"""A lane: one stream with the memory, the page-locked buffers and the plans of the calls that go through it.

Scratch is one allocation that only grows, and every plan lies in it, so a repeated call allocates nothing. When it
grows, the plans bound to the old place go. Calls through one lane come one after the other: a GPU that is busy with
one sum gains nothing from a second one beside it, and batches are there for many small ones.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Container, Hashable, Mapping
from typing import NamedTuple

from .plan import Plan
from .runtime import Bytes, Module, Runtime
from .staging import Staging
from .steps import Layout, Ref

MAX_PLANS = 64  # a plan is some kilobytes on the host and a graph on the device


class Planned(NamedTuple):
    """A plan and where its buffers lie."""

    plan: Plan
    places: dict[str, int]


class Lane:
    """Hold `lock` around everything below."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.lock = threading.RLock()
        self.stream = runtime.stream()
        self.staging = Staging(runtime)
        self._base = 0
        self._size = 0
        self._plans: OrderedDict[Hashable, Planned] = OrderedDict()
        self._answer: Bytes | None = None

    @property
    def scratch_bytes(self) -> int:
        """Device memory that this lane holds."""
        return self._size

    def known(self, key: Hashable) -> Planned | None:
        """The plan under `key`, if this lane still has it."""
        found = self._plans.get(key)
        if found is not None:
            self._plans.move_to_end(key)
        return found

    def add(self, key: Hashable, module: Module, layout: Layout, outside: dict[str, int]) -> Planned:
        """Place `layout` in scratch and keep its plan under `key`.

        `outside` gives the addresses of buffers that are not scratch; `key` has to tell them apart.
        """
        places = {**self.place(layout.buffers, outside), **outside}

        def address(ref: Ref) -> int:
            return places[ref.buffer] + ref.offset

        planned = Planned(Plan(self.runtime, module, layout, address), places)
        self._plans[key] = planned
        if len(self._plans) > MAX_PLANS:
            _, oldest = self._plans.popitem(last=False)
            oldest.plan.close()
        return planned

    def place(self, buffers: Mapping[str, int], outside: Container[str] = ()) -> dict[str, int]:
        """Addresses in scratch for every buffer (name to bytes) that is not outside, one after the other."""
        offsets, total = {}, 0
        for name, size in buffers.items():
            if name not in outside:
                offsets[name] = total
                total += -(-size // 256) * 256
        self.reserve(total)
        return {name: self._base + offset for name, offset in offsets.items()}

    def follow(self, producer: int | None) -> None:
        """Let what comes next on this lane's stream wait for what the caller's stream `producer` holds now."""
        if producer is None:
            return
        mark = self.runtime.event()
        self.runtime.record(mark, self.runtime.foreign_stream(producer))
        self.runtime.wait(self.stream, mark)
        self.runtime.drop_event(mark)

    def reserve(self, size: int) -> None:
        """Make scratch at least `size` bytes. On failure nothing is held, and the next call starts afresh."""
        if size <= self._size:
            return
        self.release()
        self._base = self.runtime.allocate(size)
        self._size = size

    def release(self) -> None:
        """Give all scratch and plans back."""
        self.runtime.synchronize(self.stream)
        for planned in self._plans.values():
            planned.plan.close()
        self._plans.clear()
        if self._size:
            base, self._base, self._size = self._base, 0, 0
            self.runtime.free(base)

    def answers(self, *sources: tuple[int, int]) -> list[bytes]:
        """Wait for what is submitted, and bring back small answers, each an address and a size."""
        total = sum(size for _, size in sources)
        if self._answer is None or self._answer.size < total:
            self._answer = self.runtime.pinned(max(total, 1 << 16))
        bounds = list(itertools.accumulate((size for _, size in sources), initial=0))
        for start, (source, size) in zip(bounds, sources, strict=False):
            self.runtime.copy_out(self._answer.ctypes.data + start, source, size, self.stream)
        self.runtime.synchronize(self.stream)
        return [self._answer[low:high].tobytes() for low, high in itertools.pairwise(bounds)]
