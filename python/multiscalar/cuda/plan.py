"""A plan: the steps of one shape of call, bound to addresses, timed by phase.

The digits come first, launched by themselves: they read the scalars wherever these are in this call, whole or chunk
by chunk as they arrive, and while they run the rest is submitted, which is one stage (`stage`), a graph from the second
run on, so that a repeated call decides nothing; over scalars that lie where they lay before, all of it is one graph
(`whole`): made in the second run and, for the other turn, in the third. Where points come with the call it is two:
sorting needs no points and goes on while they arrive. The last kernel writes the answer into the host's memory. The
times of phases (copy, digits, sort, accumulate, reduce, combine) in `result.run` are the device's own, read from its
events when somebody asks, or when the plan runs again.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple
from weakref import WeakSet, ref

from ..errors import DeviceError, MultiscalarError
from ..forks import before, renewed
from .chunks import DIGITS, Chunk, narrowed
from .runtime import Address, Module, Runtime
from .stage import Phase, Stage
from .staging import Piece
from .steps import Launch, Layout, Ref, Step
from .whole import Places, Whole

COPY: Final = "copy"  # the phase in which the device waits for points


class Answer(NamedTuple):
    """Where the status words are on the device, and where they and the sums go on the host, one after the other: the
    address, and the place among the answers of the lane.
    """

    status: int
    host: int
    place: slice


_reading = threading.RLock()  # one for all: it is held for some microseconds
renewed(sys.modules[__name__], "_reading")


class Times:
    """Nanoseconds by phase of the run of a plan that passed these events: call it. They are read once, by whoever asks
    first: somebody who holds the result, in any thread, or the plan before its events are used again.
    """

    __slots__ = ("__weakref__", "_marks", "_plan", "_spent")

    def __init__(self, plan: Plan, marks: Sequence[Any]) -> None:
        self._plan: Plan | None = plan
        self._marks = marks
        self._spent: dict[str, int] = {}

    def __call__(self) -> dict[str, int]:
        if self._plan is not None:
            with _reading:
                if self._plan is not None:
                    self._spent, self._plan = self._plan.phases_ns(self._marks), None
        return self._spent


_plans: WeakSet[Plan] = WeakSet()  # changed under `_reading`


@before
def _read_all() -> None:
    """A forked child cannot ask the device, but holds the parent's results."""
    with _reading:
        for plan in _plans:
            with contextlib.suppress(MultiscalarError):
                plan.read_times()


class Plan:
    """One layout at fixed addresses. Belongs to one lane; calls on it must not overlap. `points` is how few points that
    come with the call become records: a step of its graph where it has one, else the caller's to submit.

    One call is `begin`, then `digits()` or all `chunk(k)`, for a plan made `apart` then `sort`, and `finish`; or it is
    `again`, where `comes_again` says so.
    """

    def __init__(
        self,
        runtime: Runtime,
        module: Module,
        layout: Layout,
        address: Address,
        chunks: Sequence[Chunk] = (),
        apart: bool = False,
        points: Sequence[Step] = (),
    ) -> None:
        self.layout = layout
        self.chunks = chunks
        self.launches = len(layout.steps) + max(0, len(chunks) - 1)
        self._runtime = runtime
        head, rest = _cut(layout)
        if chunks and [step.kernel for step in head] == [DIGITS]:
            heads = [[narrowed(head[0], layout, chunk)] for chunk in chunks]
        else:
            heads = [head]
        self._heads = [[runtime.bind(module, step, address) for step in steps] for steps in heads]
        phases = [Phase(name, list(steps)) for name, steps in groupby(rest, key=lambda step: step.phase)]
        stages = [phases[:1], phases[1:]] if apart else [phases]
        assert not apart or not any(map(_reads_points, phases[0].steps)), "sorting comes first"
        self._stages = [Stage(runtime, module, stage, address) for stage in stages]
        whole = [[Phase("digits", head), *stages[0]], *([Phase(COPY, points), *stage] for stage in stages[1:])]

        def made(places: Places) -> list[Stage]:
            moved = _moved(address, places)
            return [Stage(runtime, module, stage, moved, runs=1) for stage in whole]

        self._whole = Whole(made)
        self._names = [phase.name for stage in whole for phase in stage]
        self._begun, self._begun_before = runtime.event(), runtime.event()  # of this run, and of the one before
        self._broken = False  # whether the last run broke off
        self._times: ref[Times] | None = None  # of the last run: nobody may have kept them
        with _reading:
            _plans.add(self)
        self._marks = [mark for stage in self._stages for mark in stage.marks]
        self._passed: Sequence[Any] = ()  # the events of this run
        self._scalars = 0  # where those of this run lie, if they lie in one stretch
        self.arrived = [runtime.event() for _ in chunks]  # one a chunk: its scalars are on the device
        # In which pieces pageable scalars come, and the chunks by their last pieces: kept by whoever asked first.
        self.pieces: tuple[list[Piece], dict[int, int]] | None = None

    def begin(self, stream: Any) -> None:
        """Note that a call begins."""
        if self.arrived or self._broken:  # a stage's own events have time until it runs, see `finish`
            self.read_times()
        self._broken = True  # until it is finished
        self._begun, self._begun_before = self._begun_before, self._begun
        self._passed = (self._begun, *self._marks)
        self._runtime.record(self._begun, stream)

    def comes_again(self, scalars: int, points: int = 0) -> bool:
        """Whether the last run was over scalars (and points, where these are read as they lie) at these addresses."""
        return self._whole.comes_again((scalars, points))

    def again(self, stream: Any, bring: Callable[[], None] | None = None) -> None:
        """All of a run over what `comes_again` was asked for, the scalars being there; `bring` lets what comes next on
        `stream` find the points.
        """
        if self._broken:
            self.read_times()
        self._broken = True
        first, *rest = self._whole.stages()
        first.run(stream)
        passed = first.marks
        if bring is not None:
            bring()
        for stage in rest:
            stage.run(stream)
            passed = [*passed, *stage.marks[1:]]  # from sorted to converted is what the device waited
        self.read_times()  # of the run before, which passed other events, while this one is under way
        self._passed = passed
        self._broken = False  # not sooner: the next run passes the events that were to be read

    def digits(self, stream: Any, scalars: int) -> None:
        """Make digits of scalars that are there, at this address in this call."""
        for bound in self._heads[0]:
            bound.move("scalars", scalars)
            bound(stream)
        self._scalars = scalars

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

    def sort(self, stream: Any) -> None:
        """What needs no points, where the plan is made so."""
        self.read_times()
        self._stages[0].run(stream)

    def finish(self, stream: Any, points: int = 0) -> None:
        """All that is left, up to the answer in the host's memory; `points` is where they were read, as they lay."""
        if len(self._stages) == 1:
            self.read_times()  # while the device makes digits
        self._stages[-1].run(stream)
        self._whole.ran((self._scalars, points))
        self._broken = False

    def ended_ns(self, since: Any) -> int:
        """Device time from the event `since` to the end of the last run in parts, which must have ended."""
        return self._runtime.elapsed_ns((since, self._marks[-1]))[0]

    def times(self) -> Times:
        """The times of the last run, which must have ended."""
        times = Times(self, self._passed)
        self._times = ref(times)
        return times

    def read_times(self) -> None:
        """The events are about to change: whoever kept the times of the last run has them now."""
        times = None if self._times is None else self._times()
        if times is not None:
            times()

    def phases_ns(self, marks: Sequence[Any]) -> dict[str, int]:
        """Device time by phase of the last run, which passed the events `marks` and must have ended.

        "copy" is what the device waited for scalars that come in chunks, digits of earlier chunks included, and for
        points that come with the call, with their conversion.
        """
        if not self._marks:
            raise DeviceError("the times of this run are lost: the device did not tell them before its plan went")
        with self._runtime.current():
            spans = self._runtime.elapsed_ns(marks)
            (waited,) = self._runtime.elapsed_ns((marks[0], self.arrived[-1])) if self.arrived else (0,)
        times: dict[str, int] = {}
        for phase, spent in zip(self._names, spans, strict=True):
            times[phase] = times.get(phase, 0) + spent  # a word may stand for several phases
        if self.arrived:
            waited = min(times["digits"], max(0, waited))
            times |= {"copy": times.get("copy", 0) + waited, "digits": times["digits"] - waited}
        return times

    def close(self) -> None:
        """Give graphs and events back."""
        with _reading:
            with contextlib.suppress(MultiscalarError):  # a device that is lost has no times to tell
                self.read_times()
            self._marks = []  # from now on nobody asks for events that are gone
        self._whole.close()
        for stage in self._stages:
            stage.close()
        for mark in (self._begun, self._begun_before, *self.arrived):
            self._runtime.drop_event(mark)
        self.arrived = []


def _cut(layout: Layout) -> tuple[list[Launch], list[Step]]:
    """The launches up to the last one that reads the scalars, and what follows."""
    steps = layout.steps
    reading = [k for k, step in enumerate(steps) if isinstance(step, Launch) and Ref("scalars") in step.arguments]
    head = [step for step in steps[: reading[-1] + 1] if isinstance(step, Launch)]
    assert len(head) == reading[-1] + 1, "only launches precede the digits"
    return head, steps[reading[-1] + 1 :]


def _moved(address: Address, places: Places) -> Address:
    """The same with scalars, and points that are read as they lie, at other places."""
    moved = {name: place for name, place in zip(("scalars", "points"), places, strict=True) if place}
    return lambda ref: moved[ref.buffer] + ref.offset if ref.buffer in moved else address(ref)


def _reads_points(step: Step) -> bool:
    return isinstance(step, Launch) and any(isinstance(one, Ref) and one.buffer == "table" for one in step.arguments)
