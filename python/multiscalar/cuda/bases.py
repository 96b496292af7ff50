"""Bases on one device and the sums over them.

One call: put the scalars where the kernels read them, run the plan of this shape, read back three coordinates a sum
and two status words, divide on the host. Vectors of one type go through one plan as a batch. When device memory is
short the plan works on fewer windows at a time, then on fewer vectors, then on fewer terms; sums of parts add up.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from ..arrays import DeviceArray, PointArray, ScalarArray, unreduced
from ..curves import Curve
from ..engine.backend import MsmOptions, Outcome
from ..engine.run import RunInfo
from ..errors import OutOfMemoryError, ScalarRangeError
from ..intake import first_unreduced
from ..point import Point
from .compiled import Kernels
from .lane import Planned
from .layout import lay_out
from .operand import Operand, scalar_operand
from .result import decode, first_bad
from .shape import Shape, Sizes, Tuning, divide_up
from .steps import STATUS_WORDS
from .table import Table
from .tune import fewer_sets, path_of, tune

Vector = ScalarArray | DeviceArray


class Work(NamedTuple):
    """One submission: vectors of one type over bases from `first` on."""

    vectors: list[Vector]
    operands: list[Operand]
    first: int
    own_bases: bool

    def parts(self) -> tuple[Work, Work]:
        """The first and the second half: of the vectors, or of the terms if there is one vector."""
        if len(self.vectors) == 1:
            ((vector,), (operand,)) = self.vectors, self.operands
            half = len(vector) // 2
            low, high = operand.part(0, half), operand.part(half, operand.count - half)
            return Work([vector], [low], self.first, False), Work([vector], [high], self.first + half, False)
        half = len(self.vectors) // 2
        skipped = sum(operand.count for operand in self.operands[:half]) if self.own_bases else 0
        return (
            Work(self.vectors[:half], self.operands[:half], self.first, self.own_bases),
            Work(self.vectors[half:], self.operands[half:], self.first + skipped, self.own_bases),
        )


class DeviceBases:
    """`Prepared` for the cuda backend on one device."""

    def __init__(self, kernels: Kernels, table: Table, points: PointArray | DeviceArray) -> None:
        self._kernels = kernels
        self._table = table
        self._points = points

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
        outcomes: list[Outcome] = []
        for work in _submissions(vectors, options.own_bases):
            outcomes += self._within_memory(work, options)
        return outcomes

    def _within_memory(self, work: Work, options: MsmOptions) -> list[Outcome]:
        """Run `work`, in parts if the device has no room for all of it at once."""
        alone = len(work.operands) == 1
        with contextlib.suppress(OutOfMemoryError) if self._divisible(work) else contextlib.nullcontext():
            return self._run(work, options)
        # Outside of the handler: the parts' own errors do not drag this one along.
        left, right = (self._within_memory(part, options) for part in work.parts())
        return [added(self.curve, left[0], right[0])] if alone else left + right

    @staticmethod
    def _divisible(work: Work) -> bool:
        """Whether parts of `work` may fit where all of it does not."""
        return len(work.operands) > 1 or work.operands[0].count >= _SMALLEST_PART

    def _run(self, work: Work, options: MsmOptions) -> list[Outcome]:
        n = max(operand.count for operand in work.operands)
        if n == 0:
            run = self._facts(work, 0, 0, {}, None, 0)
            return [Outcome(0, 0, True, run) for _ in work.operands]
        lane = self._kernels.lane
        started = time.perf_counter_ns()
        with lane.lock, self._kernels.runtime.current():
            planned = self._planned(work, n, options)
            copied = self._place_scalars(planned, work.operands)
            planned.plan.run(lane.stream)
            width = 3 * self._kernels.curve_shape.coordinate_bytes * len(work.operands)
            places = planned.places
            result, status = lane.answers((places["result"], width), (places["status"], 4 * STATUS_WORDS))
            phases = planned.plan.phases_ns()
        bad = None if options.reduce else first_bad(status, 0)
        if bad is not None:
            raise _out_of_range(work.vectors, bad)
        sums = decode(result, self.curve, len(work.operands))
        wall = time.perf_counter_ns() - started
        runs = {m: self._facts(work, m, copied, phases, planned, wall) for m in {o.count for o in work.operands}}
        return [Outcome(*sum_, runs[o.count]) for sum_, o in zip(sums, work.operands, strict=True)]

    def _planned(self, work: Work, n: int, options: MsmOptions) -> Planned:
        """The plan of this shape of call. A repeated call finds it by a few numbers."""
        one = work.operands[0]
        direct = one.pointer if len(work.operands) == 1 and one.on_device and one.aligned else 0
        uneven = any(operand.count != n for operand in work.operands)
        key = (
            self._table.serial, work.first, n, len(work.operands), work.own_bases, one.item_bytes, one.montgomery,
            uneven, direct, options.window, options.path,
        )  # fmt: skip
        return self._kernels.lane.known(key) or self._new_plan(key, work, n, direct, uneven, options)

    def _new_plan(self, key: Hashable, work: Work, n: int, direct: int, uneven: bool, options: MsmOptions) -> Planned:
        """Lay the call out, with as many windows at a time as there is memory for."""
        facts, device = self._table.facts, self._kernels.device_shape
        shape = Shape(
            curve=self._kernels.curve_shape,
            n=n,
            batch=len(work.operands),
            points=facts.points,
            own_bases=work.own_bases,
            scalar_bytes=work.operands[0].item_bytes,
            montgomery=work.operands[0].montgomery,
            subgroup=facts.subgroup,
            lengths=uneven,
            factor=facts.factor,
            endomorphism=facts.endomorphism,
        )
        outside = {"table": self._table.pointer + work.first * self._table.record_bytes}
        if direct:
            outside["scalars"] = direct
        windows = facts.windows or (divide_up(shape.bits, options.window) if options.window else 0)
        tuning: Tuning | None = tune(shape, device, windows=windows, path=options.path)
        while tuning is not None:
            layout = lay_out(shape, tuning, device)
            if not direct:
                layout.need("scalars", shape.batch * n * shape.scalar_bytes)
            if uneven:
                layout.need("lengths", 4 * shape.batch)
            try:
                return self._kernels.lane.add(key, self._kernels.module, layout, outside)
            except OutOfMemoryError as error:
                tuning, failure = fewer_sets(shape, tuning), error
        raise failure

    def _place_scalars(self, planned: Planned, operands: list[Operand]) -> int:
        """Copy the scalars to where the plan reads them; returns the bytes that crossed the link."""
        lane, runtime = self._kernels.lane, self._kernels.runtime
        layout, places = planned.plan.layout, planned.places
        stride = layout.shape.n * operands[0].item_bytes
        copied, used = 0, 0
        for k, operand in enumerate(operands):
            lane.follow(operand.producer)
            if operand.pointer == places["scalars"]:
                continue
            target = places["scalars"] + k * stride
            if operand.on_device:
                runtime.copy_within(target, operand.pointer, operand.size, lane.stream)
            elif operand.size:
                pinned = operand.size >= _PIN_MATTERS and runtime.is_pinned(operand.pointer)
                used = lane.staging.upload(target, operand, lane.stream, pinned=pinned, small_offset=used)
                copied += operand.size
        if layout.shape.lengths:
            lengths = np.array([operand.count for operand in operands], np.uint32)
            source = Operand(lengths.ctypes.data, len(lengths), 4, False, False, lengths)
            lane.staging.upload(places["lengths"], source, lane.stream, pinned=False, small_offset=used)
            copied += source.size
        return copied

    def _facts(
        self, work: Work, n: int, copied: int, phases: dict[str, int], planned: Planned | None, wall: int
    ) -> RunInfo:
        """What `result.run` says, and what proves that the device did it."""
        layout = planned.plan.layout if planned else None
        return RunInfo(
            backend="cuda",
            device=self._kernels.device_name,
            curve=self.curve.name,
            n=n,
            batch=len(work.operands),
            path="" if layout is None else path_of(layout.tuning),
            window=Sizes(layout.shape, layout.tuning).width if layout else 0,
            wall_ns=wall,
            phases_ns=phases,
            copied_bytes=copied,
            launches=planned.plan.launches if planned else 0,
            evidence={"device_ns": sum(phases.values()), "factor": self._table.facts.factor},
        )


_SMALLEST_PART = 1 << 10  # an MSM that does not fit at this size does not fit at all
_PIN_MATTERS = 1 << 16  # below this asking costs as much as staging


def _submissions(vectors: Sequence[Vector], own_bases: bool) -> list[Work]:
    """Neighbours of one type (and, with bases of their own, of one length) go together."""
    operands = [scalar_operand(vector) for vector in vectors]
    if len(vectors) == 1:
        return [Work(list(vectors), operands, 0, False)]

    def kind(pair: tuple[Vector, Operand]) -> tuple[object, ...]:
        operand = pair[1]
        return operand.item_bytes, operand.montgomery, operand.count if own_bases else None

    works, first = [], 0
    for _, group in groupby(zip(vectors, operands, strict=True), key=kind):
        members, theirs = zip(*group, strict=True)
        works.append(Work(list(members), list(theirs), first, own_bases and len(members) > 1))
        if own_bases:
            first += sum(operand.count for operand in theirs)
    return works


def added(curve: Curve, left: Outcome, right: Outcome) -> Outcome:
    """The sum of two parts; times and bytes add up."""
    total = Point(curve, left.x, left.y, is_infinity=left.is_infinity) + Point(
        curve, right.x, right.y, is_infinity=right.is_infinity
    )
    one, two = left.run, right.run
    phases = {name: one.phases_ns.get(name, 0) + two.phases_ns.get(name, 0) for name in two.phases_ns}
    run = two._replace(
        n=one.n + two.n,
        wall_ns=one.wall_ns + two.wall_ns,
        phases_ns=phases,
        copied_bytes=one.copied_bytes + two.copied_bytes,
        launches=one.launches + two.launches,
        evidence={**two.evidence, "device_ns": sum(phases.values()), "parts": _parts(one) + _parts(two)},
    )
    return Outcome(total.x, total.y, total.is_infinity, run)


def nothing(curve: Curve) -> Outcome:
    """The sum over no terms."""
    return Outcome(0, 0, True, RunInfo(backend="cuda", device="", curve=curve.name, n=0, phases_ns={}, evidence={}))


def _parts(run: RunInfo) -> int:
    parts = run.evidence.get("parts", 1)
    return parts if isinstance(parts, int) else 1


def _out_of_range(vectors: list[Vector], index: int) -> ScalarRangeError:
    """The error for a scalar >= r; host vectors are looked through to name the vector's own index and value."""
    for vector in vectors:
        if isinstance(vector, ScalarArray):
            found = first_unreduced(vector.data, vector.curve)
            if found is not None:
                return unreduced(vector, found)
    curve = vectors[0].curve
    return ScalarRangeError(
        f"scalar {index} is not below the group order",
        index=index,
        accepted=f"0 <= s < r = {curve.r:#x} of {curve.name}",
        hint="Pass reduce=True to reduce modulo r; check the form of the scalars.",
    )
