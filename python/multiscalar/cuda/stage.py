"""Steps that are submitted together: one by one in the first run, as a graph in all later ones.

Both forms do the same work in the same order; in a graph a launch may begin while the launch before it ends, where the
device can do that. The time at which each phase begins, and the last one ends, is part of the work. A single launch is
never worth a graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..errors import DeviceError, OutOfMemoryError
from ..log import note
from .runtime import Address, Module, Runtime
from .steps import Launch, Step


class _Submitted(NamedTuple):
    """A step with its addresses, to be called with a stream and whether it may begin early."""

    submit: Callable[..., None]
    follows: bool  # a launch right after a launch: in a graph it may


class Phase(NamedTuple):
    """A word for what the steps do, and the steps."""

    name: str
    steps: Sequence[Step]


class Stage:
    """Phases in order at fixed addresses; calls on it must not overlap."""

    def __init__(
        self, runtime: Runtime, module: Module, phases: Sequence[Phase], address: Address, runs: int = 0
    ) -> None:
        """`runs` is how often its kernels have run already."""
        self.marks = [runtime.event() for _ in range(len(phases) + 1)]
        self._runtime = runtime
        self._graph: Any = None
        self._runs = runs
        self._phases: list[list[_Submitted]] = []
        before: Step | None = None
        for phase in phases:
            self._phases.append([])
            for step in phase.steps:
                follows = isinstance(step, Launch) and isinstance(before, Launch)
                self._phases[-1].append(_Submitted(_bound(runtime, module, step, address), follows))
                before = step
        self._single = sum(map(len, self._phases)) == 1

    def run(self, stream: Any) -> None:
        """Submit it all."""
        self._runs += 1
        if self._runs == 1 or self._single:
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
        for mark, steps in zip(self.marks, self._phases, strict=False):
            self._runtime.record(mark, stream, in_graph)
            for step in steps:
                step.submit(stream, early and step.follows)
        self._runtime.record(self.marks[-1], stream, in_graph)

    def close(self) -> None:
        """Give the graph and the events back."""
        if self._graph is not None:
            self._runtime.drop_graph(self._graph)
            self._graph = None
        for mark in self.marks:
            self._runtime.drop_event(mark)
        self.marks = []


def _bound(runtime: Runtime, module: Module, step: Step, address: Address) -> Callable[..., None]:
    if isinstance(step, Launch):
        return runtime.bind(module, step, address)
    target, value, size = address(step.target), step.value, step.size
    return lambda stream, early: runtime.fill(target, value, size, stream)
