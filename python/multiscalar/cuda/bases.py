"""Bases on one device and the sums over them.

One call: put the scalars where the kernels read them, run the plan of this shape, read the answer, divide on the
host. When device memory is short the plan works on fewer windows at a time, then on fewer vectors, then on fewer
terms; sums of parts add up.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import DeviceArray, PointArray
from ..curves import Curve
from ..engine.backend import MsmOptions, Outcome
from ..engine.run import RunInfo
from ..errors import OutOfMemoryError
from .chunks import Chunk, chunks
from .compiled import Kernels
from .lane import STATUS_BYTES, Planned
from .layout import lay_out
from .operand import ALIGNMENT
from .outcomes import added, nothing, out_of_range
from .overlap import first_part
from .result import decode, first_bad
from .shape import Shape, Tuning, divide_up
from .staging import IN_PLACE_BYTES
from .table import Table
from .tune import fewer_sets, tune
from .work import Vector, Work, works

DIGITS_BLOCK = 128  # threads of msm_digits: chunks of one vector are whole blocks


class Source(NamedTuple):
    """Where the kernels read the scalars of a piece of work: on the device as they lie, or in the inbox, or, where both
    numbers are 0, on the host in place.
    """

    pointer: int  # on the device
    inbox: int  # bytes of the inbox, for all pieces of the call
    offset: int = 0  # of this piece
    slot: int = 0  # for its answer


class Task(NamedTuple):
    """A piece of work under way."""

    work: Work
    planned: Planned
    copied: int


class DeviceBases:
    """`Prepared` for the cuda backend on one device."""

    def __init__(self, kernels: Kernels, table: Table, points: PointArray | DeviceArray) -> None:
        self._kernels = kernels
        self._lane = kernels.lane
        self._table = table
        self._points = points
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
        return [added(self.curve, left[0], right[0])] if len(work.operands) == 1 else left + right

    def _run(self, work: Work, options: MsmOptions) -> list[Outcome]:
        """All vectors of `work`, which has one type of scalars."""
        n = work.n
        if n == 0:
            return [nothing(self.curve, self._kernels.device_name, len(work.operands)) for _ in work.operands]
        lane = self._lane
        with lane.lock, self._kernels.runtime.current():
            started = time.perf_counter_ns()
            source = self._source(work, n)
            try:
                if source.inbox and work.operands[0].data is not None:
                    tasks = self._submit_in_turn(work, source, options)
                else:
                    tasks = [self._submit(work, source, self._planned(work, source, options))]
                lane.wait()
            except BaseException as error:
                lane.abandon()
                if isinstance(error, OutOfMemoryError) and error.need is None:
                    raise self._short(error) from None  # the driver's own needs: local memory, a graph, an event
                raise
            answers = [(lane.read(planned.answer), planned.plan.phases_ns()) for _, planned, _ in tasks]
        outcomes = self._outcomes(tasks[0], *answers[0], options, started)
        for task, answer in zip(tasks[1:], answers[1:], strict=True):
            more = self._outcomes(task, *answer, options, time.perf_counter_ns())
            outcomes = [added(self.curve, outcomes[0], more[0])]
        return outcomes

    def _short(self, error: OutOfMemoryError) -> OutOfMemoryError:
        """The driver's error, with what this call held and what is left."""
        free, held = self._kernels.runtime.free_memory(), self._lane.scratch_bytes
        return OutOfMemoryError(
            f"{error.what}, beside {held:,} bytes of scratch; {free:,} are free on {self._kernels.device_name}",
            need=held + self._table.nbytes,
            free=free,
            hint="Free device memory, use fewer terms per call, or backend='cpu'.",
        )

    @staticmethod
    def _source(work: Work, n: int) -> Source:
        operands = work.operands
        first, stride = operands[0], n * operands[0].item_bytes
        size = stride * len(operands)
        if first.data is not None:
            return Source(0, size if size > IN_PLACE_BYTES else 0)
        pointer = first.pointer
        direct = pointer % ALIGNMENT == 0 and (
            len(operands) == 1
            or all(one.pointer == pointer + k * stride and one.count == n for k, one in enumerate(operands))
        )  # rows of a shorter vector are read to their full length, which is somebody else's memory
        return Source(pointer, 0) if direct else Source(0, size)

    def _submit_in_turn(self, work: Work, source: Source, options: MsmOptions) -> list[Task]:
        """Host scalars through the inbox; in two parts, if work on the first hides the way of the second's scalars."""
        terms = 0
        if len(work.operands) == 1:
            shape = self._shape(work, work.n, False)
            terms = first_part(shape, self._kernels.device_shape, self._windows(shape, options), options.path)
        if terms:
            head, rest = work.split(terms)
            parts = [(head, source), (rest, source._replace(offset=head.operands[0].size, slot=1))]
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
        operands = work.operands
        one, n, batch = operands[0], work.n, len(operands)
        uneven = batch > 1 and any(operand.count != n for operand in operands)
        key = (
            self._identity, work.first, n, batch, work.own_bases, one.item_bytes, one.montgomery, uneven,
            one.data is None, source.inbox, source.offset, source.slot, options.window, options.path,
        )  # fmt: skip
        return self._lane.known(key) or self._new_plan(key, work, n, uneven, source, options)

    def _shape(self, work: Work, n: int, uneven: bool) -> Shape:
        facts, one = self._table.facts, work.operands[0]
        return Shape(
            curve=self._kernels.curve_shape,
            n=n,
            batch=len(work.operands),
            points=facts.points,
            own_bases=work.own_bases,
            scalar_bytes=one.item_bytes,
            montgomery=one.montgomery,
            subgroup=facts.subgroup,
            lengths=uneven,
            factor=facts.factor,
            endomorphism=facts.endomorphism,
        )

    def _windows(self, shape: Shape, options: MsmOptions) -> int:
        return self._table.facts.windows or (divide_up(shape.bits, options.window) if options.window else 0)

    def _new_plan(
        self, key: Hashable, work: Work, n: int, uneven: bool, source: Source, options: MsmOptions
    ) -> Planned:
        """Lay the call out, with as many windows at a time as there is memory for."""
        device, shape = self._kernels.device_shape, self._shape(work, n, uneven)
        outside = {"table": self._table.pointer + work.first * self._table.record_bytes}
        parts: list[Chunk] = chunks(shape, DIGITS_BLOCK) if source.inbox and work.operands[0].data is not None else []
        tuning: Tuning | None = tune(shape, device, windows=self._windows(shape, options), path=options.path)
        while tuning is not None:
            layout = lay_out(shape, tuning, device)
            if uneven:
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
        lane, plan, one = self._lane, planned.plan, work.operands[0]
        copied = self._send_lengths(work, planned) if plan.layout.shape.lengths else 0
        plan.begin(lane.stream)
        if one.data is None:
            for operand in work.operands:
                lane.follow(operand.producer)
            if source.inbox:
                self._gather(work, planned)
            plan.digits(lane.stream, source.pointer or planned.places["scalars"])
        elif source.inbox:
            copied += self._arrive(work, planned)
        else:
            plan.digits(lane.stream, lane.staging.small(work.operands, work.n * one.item_bytes))
            copied += one.size if len(work.operands) == 1 else sum(operand.size for operand in work.operands)
        plan.finish(lane.stream)
        return Task(work, planned, copied)

    def _send_lengths(self, work: Work, planned: Planned) -> int:
        """The terms of each vector, where the kernels read them; returns the bytes."""
        lengths = np.array([operand.count for operand in work.operands], np.uint32)
        place = self._lane.staging.lengths(lengths)
        self._kernels.runtime.copy_in(planned.places["lengths"], place, lengths.nbytes, self._lane.stream)
        return lengths.nbytes

    def _gather(self, work: Work, planned: Planned) -> None:
        """Device vectors that do not lie as a batch are copied to the inbox."""
        stride = work.n * work.operands[0].item_bytes
        for k, operand in enumerate(work.operands):
            target = planned.places["scalars"] + k * stride
            self._kernels.runtime.copy_within(target, operand.pointer, operand.size, self._lane.stream)

    def _arrive(self, work: Work, planned: Planned) -> int:
        """Host scalars to the inbox chunk by chunk, each followed by its digits; returns the bytes."""
        lane, runtime, plan = self._lane, self._kernels.runtime, planned.plan
        item, stride = work.operands[0].item_bytes, work.n * work.operands[0].item_bytes
        pinned = all(lane.staging.is_pinned(operand) for operand in work.operands)
        rows = [] if pinned else [operand.bytes_view() for operand in work.operands]
        for k, chunk in enumerate(plan.chunks):
            low = (chunk.first + chunk.terms - chunk.fresh) * item
            high = (chunk.first + chunk.terms) * item
            target = planned.places["scalars"] + chunk.first_row * stride + low
            some = range(chunk.first_row, chunk.first_row + chunk.rows)
            if pinned:
                for row in some:
                    operand = work.operands[row]
                    size = min(high, operand.size) - low
                    place = target + (row - chunk.first_row) * stride
                    runtime.copy_in(place, operand.host_address + low, size, lane.copies)
            else:
                lane.staging.carry(target, [rows[row][low:high] for row in some], stride, lane.copies)
            runtime.record(plan.arrived[k], lane.copies)
            plan.chunk(k, lane.stream)
        return sum(operand.size for operand in work.operands)

    # --- answers --------------------------------------------------------------------------------

    def _outcomes(
        self, task: Task, answer: bytes, phases: dict[str, int], options: MsmOptions, started: int
    ) -> list[Outcome]:
        """What the answer of one piece of work says, for each of its vectors."""
        work, planned = task.work, task.planned
        bad = None if options.reduce else first_bad(answer, 0)
        if bad is not None:
            raise out_of_range(work.vectors, bad)
        width = 3 * self._kernels.curve_shape.coordinate_bytes * len(work.operands)
        sums = decode(answer[STATUS_BYTES : STATUS_BYTES + width], self.curve)
        run = RunInfo(
            backend="cuda",
            device=self._kernels.device_name,
            curve=self.curve.name,
            n=work.operands[0].count,
            batch=len(work.operands),
            path=planned.path,
            window=planned.window,
            wall_ns=time.perf_counter_ns() - started,
            phases_ns=phases,
            copied_bytes=task.copied,
            launches=planned.plan.launches,
            evidence={"device_ns": sum(phases.values()), "factor": self._table.facts.factor},
        )
        if len(sums) == 1:
            return [Outcome(*sums[0], run)]
        runs = {n: run._replace(n=n) for n in {operand.count for operand in work.operands}}
        return [Outcome(*sum_, runs[operand.count]) for sum_, operand in zip(sums, work.operands, strict=True)]
