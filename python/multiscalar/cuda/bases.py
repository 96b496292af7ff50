"""Bases on one device and the sums over them.

One call: put the scalars where the kernels read them, run the plan of this shape, read the answer, divide on the
host. When device memory is short the plan works on fewer windows at a time, then on fewer vectors, then on fewer
terms; sums of parts add up.
"""

from __future__ import annotations

import contextlib
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
    """Where the scalars of a piece of work are read: on the device as they lie, in place on the host, or in the inbox."""

    pointer: int  # on the device; 0 for the host or the inbox
    bytes: int  # of all rows, padded to the longest
    in_inbox: bool


class Task(NamedTuple):
    """A piece of work under way."""

    work: Work
    source: Source
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
            facts.curve.name, table.pointer, facts.points, facts.endomorphism, facts.subgroup, facts.factor, facts.windows,
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
        with contextlib.suppress(OutOfMemoryError) if work.divisible else contextlib.nullcontext():
            return self._run(work, options)
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
            parts, source = [work], self._source(work, n)
            if source.in_inbox and work.operands[0].data is not None:
                parts = self._in_turn(work, n, options)
            try:
                tasks = [self._submit(part, where, options) for part, where in self._placed(parts, source, options)]
                lane.wait()
            except BaseException:
                lane.abandon()
                raise
            answers = [lane.read(task.planned.answer) for task in tasks]
            phases = [task.planned.plan.phases_ns(bool(task.planned.plan.chunks)) for task in tasks]
        outcomes = self._outcomes(tasks[0], answers[0], phases[0], options, started)
        for task, answer, times in zip(tasks[1:], answers[1:], phases[1:], strict=True):
            more = self._outcomes(task, answer, times, options, time.perf_counter_ns())
            outcomes = [added(self.curve, outcomes[0], more[0])]
        return outcomes

    # --- where the scalars are ------------------------------------------------------------------

    @staticmethod
    def _source(work: Work, n: int) -> Source:
        first, item = work.operands[0], work.operands[0].item_bytes
        size = n * item * len(work.operands)
        if first.data is not None:
            return Source(0, size, size > IN_PLACE_BYTES)
        stride = n * item
        adjacent = all(operand.pointer == first.pointer + k * stride for k, operand in enumerate(work.operands))
        direct = adjacent and first.pointer % ALIGNMENT == 0
        return Source(first.pointer if direct else 0, size, not direct)

    def _in_turn(self, work: Work, n: int, options: MsmOptions) -> list[Work]:
        """One host vector as two parts, if the first one's work hides the way of the second one's scalars."""
        if len(work.operands) > 1:
            return [work]
        shape = self._shape(work, n, False)
        terms = first_part(shape, self._kernels.device_shape, self._windows(shape, options), options.path)
        return list(work.split(terms)) if terms else [work]

    # --- plans ----------------------------------------------------------------------------------

    def _placed(self, parts: list[Work], source: Source, options: MsmOptions) -> list[tuple[Work, tuple[Source, Planned]]]:
        """A plan for each part. Scratch that grows for a later plan takes the earlier ones away: then all again."""
        inbox = source.bytes if source.in_inbox else 0
        while True:
            offset, made = 0, []
            for slot, part in enumerate(parts):
                size = source.bytes if len(parts) == 1 else part.operands[0].size
                mine = Source(source.pointer, size, source.in_inbox)
                key, planned = self._planned(part, mine, inbox, offset, slot, options)
                made.append((key, part, mine, planned))
                offset += size
            if len(parts) == 1 or all(self._lane.known(key) is planned for key, _, _, planned in made):
                return [(part, (mine, planned)) for _, part, mine, planned in made]

    def _planned(
        self, work: Work, source: Source, inbox: int, offset: int, slot: int, options: MsmOptions
    ) -> tuple[Hashable, Planned]:
        """The plan of this shape of call. A repeated call finds it by a few numbers."""
        one, n = work.operands[0], work.n
        uneven = any(operand.count != n for operand in work.operands)
        key = (
            self._identity, work.first, n, len(work.operands), work.own_bases, one.item_bytes, one.montgomery, uneven,
            one.data is None, inbox, offset, slot, options.window, options.path,
        )  # fmt: skip
        found = self._lane.known(key)
        if found is None:
            found = self._new_plan(key, work, n, uneven, inbox, offset, slot, options)
        return key, found

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
        self, key: Hashable, work: Work, n: int, uneven: bool, inbox: int, offset: int, slot: int, options: MsmOptions
    ) -> Planned:
        """Lay the call out, with as many windows at a time as there is memory for."""
        device, shape = self._kernels.device_shape, self._shape(work, n, uneven)
        outside = {"table": self._table.pointer + work.first * self._table.record_bytes}
        parts: list[Chunk] = chunks(shape, DIGITS_BLOCK) if inbox and work.operands[0].data is not None else []
        tuning: Tuning | None = tune(shape, device, windows=self._windows(shape, options), path=options.path)
        while tuning is not None:
            layout = lay_out(shape, tuning, device)
            if uneven:
                layout.need("lengths", 4 * shape.batch)
            try:
                return self._lane.add(
                    key, self._kernels.module, layout, outside, inbox=inbox, offset=offset, chunks=parts, slot=slot
                )
            except OutOfMemoryError as error:
                tuning, failure = fewer_sets(shape, tuning), error
        raise failure

    # --- running --------------------------------------------------------------------------------

    def _submit(self, work: Work, placed: tuple[Source, Planned], options: MsmOptions) -> Task:
        """Everything of one piece of work, up to its answer on the host."""
        source, planned = placed
        lane, plan, places = self._lane, planned.plan, planned.places
        copied = self._send_lengths(work, planned) if plan.layout.shape.lengths else 0
        plan.begin(lane.stream)
        one = work.operands[0]
        if one.data is None:
            for operand in work.operands:
                lane.follow(operand.producer)
            if not source.pointer:
                self._gather(work, planned)
            plan.digits(lane.stream, scalars=source.pointer or places["scalars"])
        elif source.in_inbox:
            copied += self._arrive(work, planned)
        else:
            plan.digits(lane.stream, scalars=lane.staging.small(work.operands, work.n * one.item_bytes))
            copied += sum(operand.size for operand in work.operands)
        plan.finish(lane.stream)
        return Task(work, source, planned, copied)

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
        evidence = {"device_ns": sum(phases.values()), "factor": self._table.facts.factor}
        wall = time.perf_counter_ns() - started

        def run(n: int) -> RunInfo:
            return RunInfo(
                backend="cuda",
                device=self._kernels.device_name,
                curve=self.curve.name,
                n=n,
                batch=len(work.operands),
                path=planned.path,
                window=planned.window,
                wall_ns=wall,
                phases_ns=phases,
                copied_bytes=task.copied,
                launches=planned.plan.launches,
                evidence=evidence,
            )

        if len(sums) == 1:
            return [Outcome(*sums[0], run(work.operands[0].count))]
        runs = {n: run(n) for n in {operand.count for operand in work.operands}}
        return [Outcome(*sum_, runs[operand.count]) for sum_, operand in zip(sums, work.operands, strict=True)]
