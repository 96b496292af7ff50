"""A plan: the steps of one shape of call, bound to addresses, timed by phase, replayed as a graph.

The first run of a plan submits its launches one by one; a shape that comes again is captured into a graph, so that
a repeated call is one submission and decides nothing. Both forms do the same work in the same order. Events
between phases (digits, sort, accumulate, reduce, combine) are part of the work: the times in `result.run` are the
device's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .runtime import Bound, Module, Runtime
from .steps import Fill, Layout, Ref, Step


class Plan:
    """One layout at fixed addresses. Belongs to one lane; calls on it must not overlap."""

    def __init__(self, runtime: Runtime, module: Module, layout: Layout, address: Callable[[Ref], int]) -> None:
        self.layout = layout
        self._runtime = runtime
        self._module = module
        self._graph: Any = None
        self._runs = 0
        self._phases: list[tuple[str, list[Bound]]] = []
        for step in layout.steps:
            if not self._phases or self._phases[-1][0] != step.phase:
                self._phases.append((step.phase, []))
            self._phases[-1][1].append(self._bind(step, address))
        self._marks = [runtime.event() for _ in range(len(self._phases) + 1)]

    def _bind(self, step: Step, address: Callable[[Ref], int]) -> Bound:
        if not isinstance(step, Fill):
            return self._runtime.bind(self._module, step, address)
        target, value, size = address(step.target), step.value, step.size
        return lambda stream: self._runtime.fill(target, value, size, stream)

    @property
    def launches(self) -> int:
        """Steps of one run."""
        return len(self.layout.steps)

    def run(self, stream: Any) -> None:
        """Submit one call to `stream`."""
        self._runs += 1
        if self._runs == 1:
            self._submit(stream, in_graph=False)
            return
        if self._graph is None:
            self._graph = self._runtime.capture(lambda captured: self._submit(captured, in_graph=True), stream)
        self._runtime.replay(self._graph, stream)

    def _submit(self, stream: Any, in_graph: bool) -> None:
        for mark, (_, steps) in zip(self._marks, self._phases, strict=False):
            self._runtime.record(mark, stream, in_graph)
            for step in steps:
                step(stream)
        self._runtime.record(self._marks[-1], stream, in_graph)

    def phases_ns(self) -> dict[str, int]:
        """Device time by phase of the last run, which must have ended."""
        times: dict[str, int] = {}
        for k, (phase, _) in enumerate(self._phases):
            spent = self._runtime.elapsed_us(self._marks[k], self._marks[k + 1])
            times[phase] = times.get(phase, 0) + round(1000 * spent)
        return times

    def close(self) -> None:
        """Give the graph and the events back."""
        if self._graph is not None:
            self._runtime.drop_graph(self._graph)
            self._graph = None
        for mark in self._marks:
            self._runtime.drop_event(mark)
        self._marks = []
