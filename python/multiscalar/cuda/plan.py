"""A plan: the steps of one shape of call, bound to addresses, timed by phase, replayed as a graph.

The digits come first, launched by themselves: they read the scalars wherever these are in this call, whole or chunk
by chunk as they arrive, and while they run the graph of all the rest is submitted. The last kernel writes the answer
into the host's memory. The first run of a plan submits its launches one by one; a shape that comes again is captured,
so that a repeated call decides nothing. Both forms do the same work in the same order; in a graph a launch may begin
while the launch before it ends, where the device can do that. Events between phases (copy, digits, sort, accumulate,
reduce, combine) are part of the work: the times in `result.run` are the device's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import DeviceError, OutOfMemoryError
from ..log import note
from .chunks import DIGITS, Chunk, narrowed
from .runtime import Bound, Module, Runtime
from .steps import Fill, Launch, Layout, Ref

Address = Callable[[Ref], int]


class Answer(NamedTuple):
    """Where the status words are on the device, and where they and the sums go on the host, one after the other."""

    status: int
    host: int
    size: int


class _Submitted(NamedTuple):
    """A step with its addresses, to be called with a stream and whether it may begin early."""

    submit: Callable[..., None]
    follows: bool  # a launch right after a launch: in a graph it may


class Plan:
    """One layout at fixed addresses. Belongs to one lane; calls on it must not overlap.

    One call is `begin`, then `digits()` or all `chunk(k)`, then `finish`.
    """

    def __init__(
        self,
        runtime: Runtime,
        module: Module,
        layout: Layout,
        address: Address,
        chunks: Sequence[Chunk] = (),
    ) -> None:
        self.layout = layout
        self.chunks = chunks
        self.launches = len(layout.steps) + max(0, len(chunks) - 1)
        self._runtime = runtime
        self._graph: Any = None
        self._runs = 0
        head, rest = _cut(layout)
        if chunks and [step.kernel for step in head] == [DIGITS]:
            heads = [[narrowed(head[0], layout, chunk)] for chunk in chunks]
        else:
            heads = [head]
        self._heads = [[runtime.bind(module, step, address) for step in steps] for steps in heads]
        self._phases: list[tuple[str, list[_Submitted]]] = []
        for step, before in zip(rest, [None, *rest], strict=False):
            if not self._phases or self._phases[-1][0] != step.phase:
                self._phases.append((step.phase, []))
            follows = isinstance(step, Launch) and isinstance(before, Launch)
            self._phases[-1][1].append(_Submitted(self._bound(module, step, address), follows))
        self._names = ["digits", *(phase for phase, _ in self._phases)]
        self._marks = [runtime.event() for _ in range(len(self._phases) + 2)]
        self.arrived = [runtime.event() for _ in chunks]  # one a chunk: its scalars are on the device

    def _bound(self, module: Module, step: Launch | Fill, address: Address) -> Callable[..., None]:
        if not isinstance(step, Fill):
            return self._runtime.bind(module, step, address)
        target, value, size = address(step.target), step.value, step.size
        return lambda stream, early: self._runtime.fill(target, value, size, stream)

    def begin(self, stream: Any) -> None:
        """Note that a call begins."""
        self._runtime.record(self._marks[0], stream)

    def digits(self, stream: Any, scalars: int) -> None:
        """Make digits of scalars that are there, at this address in this call."""
        for bound in self._heads[0]:
            bound.move("scalars", scalars)
            bound(stream)

    def chunk(self, k: int, stream: Any) -> None:
        """Make the digits of chunk k once it has arrived."""
        self._runtime.wait(stream, self.arrived[k])
        if len(self._heads) == len(self.chunks):
            heads = self._heads[k : k + 1]
        else:
            heads = self._heads if k + 1 == len(self.chunks) else []
        for head in heads:
            for bound in head:
                bound(stream)

    def finish(self, stream: Any) -> None:
        """All that follows the digits, up to the answer in the host's memory."""
        self._runs += 1
        if self._runs == 1:
            self._submit(stream, in_graph=False)
            return
        if self._graph is None:
            try:
                self._graph = self._captured(stream)
            except OutOfMemoryError:  # no room for a graph: the next run may find some
                self._submit(stream, in_graph=False)
                return
        self._runtime.replay(self._graph, stream)

    def _captured(self, stream: Any) -> Any:
        """The graph; without early launches, from now on, where the driver refuses them."""
        try:
            return self._runtime.capture(lambda captured: self._submit(captured, in_graph=True), stream)
        except DeviceError as error:
            if not self._runtime.early:
                raise
            note("cuda", f"launches begin in turn, since the driver refuses early ones: {error.what}")
            self._runtime.early = False
        return self._runtime.capture(lambda captured: self._submit(captured, in_graph=True), stream)

    def _submit(self, stream: Any, in_graph: bool) -> None:
        early = in_graph and self._runtime.early
        for mark, (_, steps) in zip(self._marks[1:], self._phases, strict=False):
            self._runtime.record(mark, stream, in_graph)
            for step in steps:
                step.submit(stream, early and step.follows)
        self._runtime.record(self._marks[-1], stream, in_graph)

    def ended_ns(self, since: Any) -> int:
        """Device time from the event `since` to the end of the last run, which must have ended."""
        return self._runtime.elapsed_ns((since, self._marks[-1]))[0]

    def phases_ns(self, arrived: Any = None) -> dict[str, int]:
        """Device time by phase of the last run, which must have ended.

        Where scalars come in chunks, "copy" is what the device waited for them, digits of earlier chunks included; with
        `arrived`, an event after which nothing more came, what it waited until then.
        """
        times: dict[str, int] = {}
        for phase, spent in zip(self._names, self._runtime.elapsed_ns(self._marks), strict=True):
            times[phase] = times.get(phase, 0) + spent
        last = arrived or (self.arrived[-1] if self.arrived else None)
        if last is not None:
            (waited,) = self._runtime.elapsed_ns((self._marks[0], last))
            waited = min(times["digits"], max(0, waited))
            times = {"copy": waited, **times, "digits": times["digits"] - waited}
        return times

    def close(self) -> None:
        """Give the graph and the events back."""
        if self._graph is not None:
            self._runtime.drop_graph(self._graph)
            self._graph = None
        for mark in (*self._marks, *self.arrived):
            self._runtime.drop_event(mark)
        self._marks, self.arrived = [], []


def _cut(layout: Layout) -> tuple[list[Launch], list[Launch | Fill]]:
    """The launches up to the last one that reads the scalars, and what follows."""
    steps = layout.steps
    reading = [k for k, step in enumerate(steps) if isinstance(step, Launch) and Ref("scalars") in step.arguments]
    head = [step for step in steps[: reading[-1] + 1] if isinstance(step, Launch)]
    assert len(head) == reading[-1] + 1, "only launches precede the digits"
    return head, steps[reading[-1] + 1 :]


__all__ = ["Answer", "Bound", "Plan"]
