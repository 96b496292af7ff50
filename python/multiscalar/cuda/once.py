"""One sum over points that are used for nothing else: points and scalars come in together and are waited for once.

Prepared bases are converted and checked before their first sum. Here all of it is one submission: scalars, digits,
points, their conversion, the graph of the rest; what the checks found comes back with the answer. A large sum is cut
into parts that grow (`overlap.parts`): data of the next ones arrive while the device works on one, in memory of their
own, so the link never waits for the kernels. Raw points and records without the endomorphism have one size, so these
points arrive in their table and are converted where they lie. Few points go through a page-locked slot, at once, filled
by others while the scalars are sorted, and are converted beside that, or right after it in a call that is repeated.

Cost: that of the parts, 3M a point for the conversion and 2M + 1S for its check, one addition a part on the host.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from ..arrays import Check, DeviceArray, PointArray, ScalarArray
from ..engine.backend import MsmOptions, Outcome
from ..engine.vectors import Vectors
from ..errors import OutOfMemoryError, ScalarRangeError
from .bases import DIGITS_BLOCK
from .chunks import chunks, runs
from .compiled import Kernels
from .course import Arrival, Course, Part, bring
from .lane import ANSWERING, Planned, in_line
from .layout import lay_out
from .operand import Operand, address, point_operand, resolved
from .outcomes import answered, nothing, total
from .overlap import LINK_BYTES_PER_US, RING_BYTES_PER_US, has_endomorphism, parts
from .records import lay_out_table, table_bytes
from .repeat import Repeat
from .result import first_bad
from .running import Source, Task, again, break_off, placed, source_of, start
from .runtime import Bound
from .shape import Shape, divide_up
from .staging import POINTS_AT_ONCE_BYTES, Coming, Piece, cut
from .steps import Launch, Layout
from .table import left_to_check, off_curve
from .tune import fewer_sets, tune
from .work import ALONE, SMALLEST_PART, Vector, Work

TURNS: Final = 2  # streams: the lane's first, and the one beside it
# Multiprocessors that a part leaves to the tail of the one before, which would wait for its end; of a sum of so many
# terms, since of more one in 132 costs as much as a tail.
SPARED: Final = 1
SPARED_MAX_N: Final = 1 << 22
MOST_HALVINGS: Final = 6  # where memory is short; a sum in more pieces would take longer than anybody waits


class Way(NamedTuple):
    """How points come: in runs at `link` bytes a microsecond, or at once through the slot, or read at `place`."""

    link: float = 0.0
    slot: bool = False
    place: int = 0


def sum_once(kernels: Kernels, points: PointArray | DeviceArray, scalars: Vector, options: MsmOptions) -> Outcome:
    """sum s_i P_i. Lengths are equal. Errors: those of `Table.fill` for the points, then those of `DeviceBases.msm`."""
    if len(scalars) == 0:
        return nothing(kernels.curve, kernels.device_name)
    repeat = kernels.lane.repeat
    known = None if repeat is None else repeat.sum(kernels, points, scalars, options)
    if known is not None:
        return known
    call = _Call(kernels, points, scalars, left_to_check(kernels, points), options)
    return call.within_memory(0, len(scalars), max(SMALLEST_PART, len(scalars) >> MOST_HALVINGS))


class _Call:
    """One call; its terms may have to be gone through in pieces."""

    def __init__(
        self,
        kernels: Kernels,
        points: PointArray | DeviceArray,
        scalars: Vector,
        wanted: Check,
        options: MsmOptions,
    ) -> None:
        self._kernels, self._lane, self._options = kernels, kernels.lane, options
        self._points, self._given = point_operand(points), points
        self._scalars = Vectors.of([resolved(scalars)])
        self._check, self._subgroup = wanted is not Check.NONE, points.in_subgroup

    def within_memory(self, first: int, terms: int, least: int) -> Outcome:
        """The sum of these terms, in halves of at least `least` terms if the device has no room for all at once."""
        try:
            return self._run(first, terms)
        except OutOfMemoryError:
            if terms < 2 * least:
                raise
        half = terms // 2
        try:
            left = self.within_memory(first, half, least)
        except ScalarRangeError:
            with contextlib.suppress(ScalarRangeError, OutOfMemoryError):  # a bad point is named first
                self.within_memory(first + half, terms - half, least)
            raise
        return total(self._kernels.curve, [left, self.within_memory(first + half, terms - half, least)])

    def _run(self, first: int, terms: int) -> Outcome:
        lane, whole = self._lane, terms == self._scalars.longest
        points = self._points if whole else self._points.part(first, terms)
        scalars = self._scalars if whole else self._scalars.part(first, terms)
        with lane.lock, self._kernels.runtime.current():
            lane.begin()
            started = time.perf_counter_ns()
            source, way, table = source_of(scalars), self._way(points), 0
            try:
                # Others begin with the points while the plan is looked for.
                coming = lane.staging.points(points.array) if way.slot else None
                course = self._course(points, scalars, source, way)
                table = course.table_bytes
                if points.data is None:
                    lane.follow(points.producer)
                if course.in_turns:
                    self._kernels.runtime.record(course.begun, lane.stream)
                    self._kernels.runtime.wait(lane.beside, course.begun)
                tasks = [self._submit(part, points, scalars, source, way, coming) for part in course.parts]
                if course.in_turns:
                    self._kernels.runtime.synchronize(lane.beside)
                lane.wait()
            except BaseException as error:
                break_off(self._kernels, error, table)
                raise
            answers = [lane.read(part.planned.answer) for part in course.parts]
            times = _times(course)
            self._may_repeat(course, source, way)
            lane.end()
        for part, answer in zip(course.parts, answers, strict=True):
            bad = first_bad(answer, 1)
            if bad is not None:
                raise off_curve(self._given, first + part.first + bad)
        outcomes: list[Outcome] = []
        for task, answer, spent in zip(tasks, answers, times, strict=True):
            before = first + task.work.before
            outcomes += answered(self._kernels, task, answer, spent, self._options, started, before=before)
            started = time.perf_counter_ns()
        return total(self._kernels.curve, outcomes)

    def _may_repeat(self, course: Course, source: Source, way: Way) -> None:
        """The next call may find what it needs by being like this one, if that came in one piece through the slots."""
        points, scalars, lane, (part, *_) = self._given, self._scalars.first, self._lane, course.parts
        if not way.slot or source.inbox or part.terms != self._scalars.longest:
            return
        if (
            isinstance(points, PointArray)
            and isinstance(scalars, ScalarArray)
            and part.planned.plan.comes_again(lane.staging.small_slot())
        ):
            lane.repeat = Repeat.of(course, self._options, points, scalars)

    def _way(self, points: Operand) -> Way:
        """How these points come."""
        if points.data is None:
            return Way(place=points.pointer)
        staging = self._lane.staging
        if points.size <= POINTS_AT_ONCE_BYTES:
            place = staging.as_it_lies(points.data)
            return Way(place=place) if place else Way(slot=True)
        return Way(LINK_BYTES_PER_US if staging.is_pinned(points.data) else RING_BYTES_PER_US)

    def _submit(
        self, part: Part, points: Operand, scalars: Vectors, source: Source, way: Way, coming: Coming | None
    ) -> Task:
        """Everything of one part, up to its answer on the host."""
        lane, runtime, plan = self._lane, self._kernels.runtime, part.planned.plan
        stream = lane.beside if part.turn else lane.stream
        if part.terms != scalars.longest:
            points, scalars = points.part(part.first, part.terms), scalars.part(part.first, part.terms)
            if source.pointer:
                source = source._replace(pointer=scalars.pointers[0])
        work = Work(scalars, part.first, False, ALONE, part.first)
        place = placed(self._kernels, scalars, source)
        sent = 0 if points.data is None else points.size
        if place and not way.link and plan.comes_again(place, way.place):
            follow = None if coming is None else partial(bring, self._kernels, part, coming, points.size, convert=False)
            return Task(work, part.planned, sent + again(self._kernels, scalars, part.planned, stream, follow))
        copied = start(self._kernels, work, source, part.planned, stream, place)
        plan.sort(stream)
        if coming is not None:
            bring(self._kernels, part, coming, points.size, convert=True)
        elif part.convert is not None:
            part.convert.move("points", way.place)
            part.convert(stream)
        elif way.link == LINK_BYTES_PER_US:
            place = address(points.array)
            for arrival in part.arrivals:
                size = arrival.terms * points.item_bytes
                runtime.copy_in(arrival.target, place + arrival.first * points.item_bytes, size, lane.copies)
                self._converted(arrival, stream)
        else:
            self._carry(part, points, stream)
        plan.finish(stream, way.place)
        return Task(work, part.planned, copied + sent)

    def _carry(self, part: Part, points: Operand, stream: Any) -> None:
        """Pageable points of a part to where they are converted."""
        pieces: list[Piece] = []
        ends: dict[int, Arrival] = {}  # by the last piece
        for arrival in part.arrivals:
            low, size = arrival.first * points.item_bytes, arrival.terms * points.item_bytes
            pieces += cut(Piece(arrival.target, 0, 1, low, low + size), 0, points.size)
            ends[len(pieces) - 1] = arrival

        def sent(last: int) -> None:
            if last in ends:
                self._converted(ends[last], stream)

        self._lane.staging.carry([points.array], pieces, 0, self._lane.copies, sent)

    def _converted(self, arrival: Arrival, stream: Any) -> None:
        """Points that were sent become records as soon as they have arrived."""
        lane, runtime = self._lane, self._kernels.runtime
        runtime.record(arrival.arrived, lane.copies)
        runtime.wait(stream, arrival.arrived)
        arrival.convert(stream)

    # --- plans ----------------------------------------------------------------------------------

    def _course(self, points: Operand, scalars: Vectors, source: Source, way: Way) -> Course:
        """What this shape of call needs. A repeated call finds it by a few numbers."""
        key = (
            "once", self._kernels.curve.name, points.count, points.montgomery, way.link, way.slot,
            self._check, self._subgroup, scalars.item_bytes, scalars.montgomery, scalars.on_host, source.inbox,
            self._options.window, self._options.path,
        )  # fmt: skip
        return self._lane.known(key) or self._lane.keep(key, self._new_course(key, points, scalars, source, way))

    def _new_course(self, key: Hashable, points: Operand, scalars: Vectors, source: Source, way: Way) -> Course:
        """Lay all parts out, with as many windows at a time as there is memory for."""
        device, path = self._kernels.device_shape, self._options.path
        spared = SPARED if points.count <= SPARED_MAX_N else 0
        beside_a_tail = replace(device, multiprocessors=max(1, device.multiprocessors - spared))
        shapes = self._shapes(points, scalars, source, way.link)
        tunings = [tune(shape, device, windows=self._windows(shape), path=path) for shape in shapes]
        while True:
            devices = [device, *[beside_a_tail] * (len(shapes) - 1)]
            layouts = [lay_out(*part) for part in zip(shapes, tunings, devices, strict=True)]
            try:
                return self._placed(key, layouts, points, scalars, source, way)
            except OutOfMemoryError:
                fewer = [fewer_sets(shape, tuning) for shape, tuning in zip(shapes, tunings, strict=True)]
                if not any(fewer):
                    raise
                tunings = [less or tuning for less, tuning in zip(fewer, tunings, strict=True)]

    def _windows(self, shape: Shape) -> int:
        return divide_up(shape.bits, self._options.window) if self._options.window else 0

    def _shapes(self, points: Operand, scalars: Vectors, source: Source, link: float) -> list[Shape]:
        """The shape of each part: more than one if points are sent, and waiting for all of them would show."""
        curve = self._kernels.curve_shape
        whole = Shape(
            curve=curve, n=points.count, scalar_bytes=scalars.item_bytes, montgomery=scalars.montgomery,
            subgroup=self._subgroup,
        )  # fmt: skip
        terms = [points.count]
        if link and not self._options.window and (source.inbox or source.pointer):
            each = points.item_bytes + (scalars.item_bytes if scalars.on_host else 0)
            terms = parts(whole, self._kernels.device_shape, self._options.path, each, link)
        return [replace(whole, n=n, endomorphism=self._subgroup and has_endomorphism(curve, n)) for n in terms]

    def _placed(
        self, key: Hashable, layouts: list[Layout], points: Operand, scalars: Vectors, source: Source, way: Way
    ) -> Course:
        """Memory for `layouts`: a table a part, raw points where they need room of their own, scalars, scratch."""
        lane, curve = self._lane, self._kernels.curve_shape
        front: dict[str, int] = {"scalars": source.inbox}
        for k, layout in enumerate(layouts):
            n, wide = layout.shape.n, layout.shape.endomorphism
            front[f"table {k}"] = table_bytes(curve, n, 1, wide)
            front[f"raw {k}"] = n * points.item_bytes if wide and (way.link or way.slot) else 0
        scratch = [in_line(layout.buffers, ANSWERING) for layout in layouts]
        for turn in range(TURNS):
            front[f"scratch {turn}"] = max((total for _, total in scratch[turn::TURNS]), default=0)
        places = lane.place(front)
        tables = sum(size for name, size in front.items() if name.startswith("table"))
        course, first = Course(key, self._kernels, [], tables, self._kernels.runtime.event()), 0
        try:
            for k, (layout, (offsets, _)) in enumerate(zip(layouts, scratch, strict=True)):
                shape, table = layout.shape, places[f"table {k}"]
                mine = {name: places[f"scratch {k % TURNS}"] + offset for name, offset in offsets.items()}
                mine |= {"table": table, "scalars": places["scalars"] + first * scalars.item_bytes}
                arriving = chunks(shape, DIGITS_BLOCK) if source.inbox and scalars.on_host else []
                mine["points"] = places[f"raw {k}"] if shape.endomorphism else table
                few = [] if way.link else [self._conversion(shape, points, 0, shape.n)]
                planned = lane.plan((), self._kernels.module, layout, mine, k, arriving, apart=True, points=few)
                course.parts.append(self._part(first, shape, planned, points, way, k % TURNS))
                first += shape.n
        except BaseException:
            course.close()
            raise
        return course

    def _conversion(self, shape: Shape, points: Operand, start: int, count: int) -> Launch:
        (launch,) = lay_out_table(
            shape.curve, shape.n, montgomery=points.montgomery, check=self._check,
            endomorphism=shape.endomorphism, first=start, count=count,
        )  # fmt: skip
        assert isinstance(launch, Launch)
        return launch

    def _part(self, first: int, shape: Shape, planned: Planned, points: Operand, way: Way, turn: int) -> Part:
        """The conversions of one part: run by run of points that are sent, or all at once."""
        status, table, runtime = planned.answer.status, planned.places["table"], self._kernels.runtime
        raw = planned.places["points"]

        def convert(start: int, count: int) -> Bound:
            launch = self._conversion(shape, points, start, count)
            places = {"points": raw + start * points.item_bytes, "table": table, "status": status}
            return runtime.bind(self._kernels.module, launch, lambda ref: places[ref.buffer] + ref.offset)

        if way.place:
            return Part(first, shape.n, planned, [], convert(0, shape.n), turn)
        arrivals = [
            Arrival(start, count, raw + start * points.item_bytes, runtime.event(), convert(start, count))
            for start, count in ([(0, shape.n)] if way.slot else runs(shape.n, points.item_bytes, first=first == 0))
        ]
        return Part(first, shape.n, planned, arrivals, None, turn)


def _times(course: Course) -> Sequence[Callable[[], dict[str, int]]]:
    """Device time of each part by phase, for whoever asks. Parts that overlap are asked now: each gets its share of the
    time from first to last.
    """
    times = [part.planned.plan.times() for part in course.parts]
    if not course.in_turns:
        return times
    spent = [one() for one in times]
    whole = max(part.planned.plan.ended_ns(course.begun) for part in course.parts)
    share = min(1.0, whole / max(1, sum(sum(one.values()) for one in spent)))
    return [partial(dict, {name: int(share * ns) for name, ns in one.items()}) for one in spent]


__all__ = ["sum_once"]
