"""Bases on one device and the sums over them.

One call: put the scalars where the kernels read them, run the plan of this shape, read the answer, divide on the
host. When device memory is short the plan works on fewer windows at a time, then on fewer vectors, then on fewer
terms; sums of parts add up.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from ..arrays import DeviceArray, PointArray
from ..curves import Curve
from ..engine.backend import MsmOptions, Outcome
from ..errors import OutOfMemoryError
from .chunks import Chunk, chunks
from .compiled import Kernels
from .lane import Planned
from .layout import lay_out
from .outcomes import answered, nothing, total
from .overlap import first_part
from .running import Source, Task, break_off, run, source_of
from .shape import Shape, Tuning, divide_up
from .table import Table
from .tune import fewer_sets, tune
from .work import Vector, Work, works

DIGITS_BLOCK = 128  # threads of msm_digits: chunks of one vector are whole blocks
FULL_BYTES = 32  # of a scalar that the shift of precomputed parts is made for


class Again(NamedTuple):
    """A call that was told by the same objects as the one before, so that nothing of it has to be found again."""

    vectors: Sequence[Vector]
    options: MsmOptions
    work: Work
    source: Source
    planned: Planned


class DeviceBases:
    """`Prepared` for the cuda backend on one device."""

    def __init__(self, kernels: Kernels, table: Table, points: PointArray | DeviceArray) -> None:
        self._kernels = kernels
        self._lane = kernels.lane
        self._table = table
        self._points = points
        self._again: Again | None = None
        facts = table.facts
        # All that a plan takes from the table: two tables that agree in it have the same plans.
        self._identity = (
            facts.curve.name, table.pointer, facts.points, facts.endomorphism, facts.subgroup, facts.factor,
            facts.windows,
        )  # fmt: skip

    @property
    def curve(self) -> Curve:
        """The curve of the bases."""
        return self._kernels.curve

    @property
    def nbytes(self) -> int:
        """Device memory of the table."""
        return self._table.nbytes

    def __len__(self) -> int:
        return self._table.facts.points

    def msm(self, vectors: Sequence[Vector], options: MsmOptions) -> list[Outcome]:
        """One outcome a vector, see `engine.backend.Prepared.msm`."""
        again = self._again
        if again is not None and again.vectors is vectors and again.options is options:
            return self._within_memory(again.work, options)
        pieces = works(vectors, options.own_bases)
        if len(pieces) == 1:
            return self._within_memory(pieces[0], options)
        found: dict[int, Outcome] = {}
        for work in pieces:
            found.update(zip(work.positions, self._within_memory(work, options), strict=True))
        return [found[k] for k in range(len(vectors))]

    def _within_memory(self, work: Work, options: MsmOptions) -> list[Outcome]:
        """Run `work`, in parts if the device has no room for all of it at once."""
        try:
            return self._run(work, options)
        except OutOfMemoryError:
            if not work.divisible:
                raise
        # Outside of the handler: the parts' own errors do not drag this one along.
        left, right = (self._within_memory(part, options) for part in work.halves())
        return [total(self.curve, left + right)] if len(work.vectors) == 1 else left + right

    def _run(self, work: Work, options: MsmOptions) -> list[Outcome]:
        """All vectors of `work`, which has one type of scalars."""
        kernels, lane, vectors = self._kernels, self._lane, work.vectors
        if vectors.longest == 0:
            return [nothing(self.curve, kernels.device_name, len(vectors))] * len(vectors)
        with lane.lock, kernels.runtime.current():
            lane.begin()
            started = time.perf_counter_ns()
            try:
                tasks = self._submitted(work, options)
                lane.wait()
            except BaseException as error:
                break_off(kernels, error, self._table.nbytes)
                raise
            answers = [lane.read(task.planned.answer) for task in tasks]
            times = [task.planned.plan.times() for task in tasks]
            lane.end()
        outcomes: list[Outcome] = []
        for task, answer, spent in zip(tasks, answers, times, strict=True):
            factor = task.planned.plan.layout.shape.factor
            outcomes += answered(kernels, task, answer, spent, options, started, factor, task.work.before)
            started = time.perf_counter_ns()
        return outcomes if len(tasks) == 1 else [total(self.curve, outcomes)]

    def _submitted(self, work: Work, options: MsmOptions) -> list[Task]:
        """All of `work` on its way, mostly as one task."""
        again = self._again
        repeated = again is not None and again.work is work and again.options is options
        if again is not None and repeated and self._lane.known(again.planned.key) is again.planned:
            return [self._submit(work, again.source, again.planned)]
        vectors, source = work.vectors, source_of(work.vectors)
        if source.inbox and vectors.on_host:
            return self._submit_in_turn(work, source, options)
        planned = self._planned(work, source, options)
        if vectors.owners[0] is None:  # it may come again, see `engine.vectors.Recent`
            self._again = Again(vectors, options, work, source, planned)
        return [self._submit(work, source, planned)]

    def _submit_in_turn(self, work: Work, source: Source, options: MsmOptions) -> list[Task]:
        """Host scalars through the inbox; in two parts, if work on the first hides the way of the second's scalars."""
        terms = 0
        if len(work.vectors) == 1:
            shape = self._shape(work, source)
            terms = first_part(shape, self._kernels.device_shape, self._windows(shape, options), options.path)
        if terms:
            head, rest = work.split(terms)
            parts = [(head, source), (rest, source._replace(offset=head.vectors.size, slot=1))]
            for _ in range(2):  # scratch that grows for the second plan takes the first one away: then both again
                plans = [self._planned(part, where, options) for part, where in parts]
                if all(self._lane.has(planned) for planned in plans):
                    return [
                        self._submit(part, where, planned) for (part, where), planned in zip(parts, plans, strict=True)
                    ]
        return [self._submit(work, source, self._planned(work, source, options))]

    # --- plans ----------------------------------------------------------------------------------

    def _planned(self, work: Work, source: Source, options: MsmOptions) -> Planned:
        """The plan of this shape of call. A repeated call finds it by a few numbers."""
        vectors = work.vectors
        key = (
            self._identity, work.first, work.n, len(vectors), work.own_bases, vectors.item_bytes,
            vectors.montgomery, vectors.uneven, vectors.on_host, source.inbox, source.offset, source.slot, source.rows,
            options.window, options.path,
        )  # fmt: skip
        return self._lane.known(key) or self._new_plan(key, work, source, options)

    def _shape(self, work: Work, source: Source) -> Shape:
        facts, vectors = self._table.facts, work.vectors
        return Shape(
            curve=self._kernels.curve_shape,
            n=work.n,
            batch=len(vectors),
            points=facts.points,
            own_bases=work.own_bases,
            scalar_bytes=vectors.item_bytes,
            montgomery=vectors.montgomery,
            subgroup=facts.subgroup,
            lengths=vectors.uneven,
            rows=source.rows,
            factor=facts.factor if vectors.item_bytes == FULL_BYTES else 1,  # few windows: the first part is enough
            endomorphism=facts.endomorphism,
        )

    def _windows(self, shape: Shape, options: MsmOptions) -> int:
        if shape.factor > 1:
            return self._table.facts.windows
        return divide_up(shape.bits, options.window) if options.window else 0

    def _new_plan(self, key: Hashable, work: Work, source: Source, options: MsmOptions) -> Planned:
        """Lay the call out, with as many windows at a time as there is memory for."""
        device, shape = self._kernels.device_shape, self._shape(work, source)
        outside = {"table": self._table.pointer + work.first * self._table.record_bytes}
        parts: list[Chunk] = chunks(shape, DIGITS_BLOCK) if source.inbox and work.vectors.on_host else []
        tuning: Tuning | None = tune(shape, device, windows=self._windows(shape, options), path=options.path)
        while tuning is not None:
            layout = lay_out(shape, tuning, device)
            if shape.lengths:
                layout.need("lengths", 4 * shape.batch)
            try:
                return self._lane.add(
                    key, self._kernels.module, layout, outside,
                    inbox=source.inbox, offset=source.offset, chunks=parts, slot=source.slot,
                )  # fmt: skip
            except OutOfMemoryError as error:
                tuning, failure = fewer_sets(shape, tuning), error
        raise failure

    # --- running --------------------------------------------------------------------------------

    def _submit(self, work: Work, source: Source, planned: Planned) -> Task:
        """Everything of one piece of work, up to its answer on the host."""
        copied = run(self._kernels, work, source, planned, self._lane.stream)
        return Task(work, planned, copied)
