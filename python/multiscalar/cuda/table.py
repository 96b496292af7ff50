"""Bases on a device: a table of records, and what it was built for.

A record is a point in Montgomery form, with beta x beside it where the endomorphism is used. With precomputation
the table has `factor` parts, part j holding 2^(j shift) times the bases, so that windows `shift` bits apart share
their buckets. A table made for one curve, width and factor gives wrong sums for another, so it carries those facts
and every plan is made from them, never from an argument.
"""

from __future__ import annotations

import contextlib
import weakref
from dataclasses import dataclass

import numpy as np

from .. import memory
from ..arrays import Check, DeviceArray, PointArray
from ..curves import Curve
from ..errors import NotOnCurveError
from .compiled import Kernels
from .lane import Lane
from .operand import Operand, address, point_operand
from .records import lay_out_table, table_bytes
from .result import first_bad
from .runtime import Bound
from .staging import IN_PLACE_BYTES, Piece, cut
from .steps import STATUS_WORDS, Launch, Ref

CHUNK_BYTES = 64 << 20  # raw points on the device at a time


@dataclass(frozen=True)
class TableFacts:
    """What a table was built for."""

    curve: Curve
    points: int
    endomorphism: bool
    subgroup: bool
    factor: int = 1
    windows: int = 0  # with factor > 1: the windows that the shift was made for
    shift: int = 0


class Table:
    """Device memory with records; given back when the last reference goes."""

    def __init__(self, kernels: Kernels, facts: TableFacts) -> None:
        self.facts = facts
        self.kernels = kernels
        self.nbytes = table_bytes(kernels.curve_shape, max(1, facts.points), facts.factor, facts.endomorphism)
        self.pointer = kernels.lane.take(self.nbytes)
        self._release = weakref.finalize(self, _release, kernels.lane, self.pointer, self.nbytes)

    @property
    def record_bytes(self) -> int:
        return table_bytes(self.kernels.curve_shape, 1, 1, self.facts.endomorphism)

    def close(self) -> None:
        """Give the memory back now."""
        self._release()

    def fill(self, points: PointArray | DeviceArray) -> None:
        """Convert raw points into records, checking them in passing; the other parts follow from the first.

        Errors: `CoordinateRangeError`, `NotOnCurveError`, `NotInSubgroupError` with the index.
        """
        wanted = left_to_check(self.kernels, points)
        source = point_operand(points)
        lane = self.kernels.lane
        with lane.lock, self.kernels.runtime.current():
            lane.begin()
            try:
                bad = self._fill(lane, source, wanted)
            except BaseException:
                lane.abandon()  # conversions under way read and mark scratch, which is the next call's
                raise
            lane.end()
        if bad is not None:
            raise off_curve(points, bad)

    def _fill(self, lane: Lane, source: Operand, wanted: Check) -> int | None:
        """Chunk by chunk, each converted while the next one is on its way; the lowest bad index, if there is one."""
        runtime, places = self.kernels.runtime, self._places(lane, source)
        runtime.fill(places["status"], 0xFF, 4 * STATUS_WORDS, lane.stream)
        if source.data is None:
            lane.follow(source.producer)
            self._convert(lane, {**places, "points": source.pointer}, 0, source, wanted)
        elif source.size <= IN_PLACE_BYTES:
            points = lane.staging.small([source.array], source.size)
            self._convert(lane, {**places, "points": points}, 0, source, wanted)
        else:
            self._arrive(lane, places, source, wanted)
        return first_bad(lane.read_back(places["status"], 4 * STATUS_WORDS), 1)

    def _places(self, lane: Lane, source: Operand) -> dict[str, int]:
        """Status words, and on their way to the table two chunks of raw points: one to read, one to fill."""
        sizes = {"status": 4 * STATUS_WORDS}
        if source.data is not None and source.size > IN_PLACE_BYTES:
            per_chunk = min(CHUNK_BYTES, source.size)
            sizes |= {"points_0": per_chunk, "points_1": per_chunk if source.size > CHUNK_BYTES else 0}
        return {**lane.place(sizes), "table": self.pointer}

    def _arrive(self, lane: Lane, places: dict[str, int], source: Operand, wanted: Check) -> None:
        """Raw points from the host through the two chunks."""
        runtime, pinned = self.kernels.runtime, lane.staging.is_pinned(source.array)
        per_chunk = max(1, CHUNK_BYTES // source.item_bytes)
        arrived, free = ([runtime.event(), runtime.event()] for _ in range(2))
        runtime.record(free[0], lane.stream)  # what used scratch before
        runtime.wait(lane.copies, free[0])
        for k, first in enumerate(range(0, source.count, per_chunk)):
            part, turn = source.part(first, min(per_chunk, source.count - first)), k % 2
            target = places[f"points_{turn}"]
            if k >= 2:
                runtime.wait(lane.copies, free[turn])
            if pinned:
                runtime.copy_in(target, address(part.array), part.size, lane.copies)
            else:
                lane.staging.carry([part.array], cut(Piece(target, 0, 1, 0, part.size), 0, part.size), 0, lane.copies)
            runtime.record(arrived[turn], lane.copies)
            runtime.wait(lane.stream, arrived[turn])
            self._convert(lane, {**places, "points": target}, first, part, wanted)
            runtime.record(free[turn], lane.stream)
        runtime.synchronize(lane.stream)
        for event in (*arrived, *free):
            runtime.drop_event(event)

    def _convert(self, lane: Lane, places: dict[str, int], first: int, part: Operand, wanted: Check) -> None:
        """Launch the kernels that turn `part` into records from index `first` on."""
        facts = self.facts
        key = (
            facts.curve.name, facts.points, facts.endomorphism, facts.factor, facts.shift, first, part.count,
            part.montgomery, wanted, places["table"], places["status"], places["points"],
        )  # fmt: skip

        def address(ref: Ref) -> int:
            return places[ref.buffer] + ref.offset

        def make() -> list[Bound]:
            steps = lay_out_table(
                self.kernels.curve_shape,
                facts.points,
                montgomery=part.montgomery,
                check=wanted is not Check.NONE,
                endomorphism=facts.endomorphism,
                factor=facts.factor,
                shift=facts.shift,
                first=first,
                count=part.count,
            )
            launches = [step for step in steps if isinstance(step, Launch)]
            return [self.kernels.runtime.bind(self.kernels.module, step, address) for step in launches]

        for bound in lane.bound(key, make):
            bound(lane.stream)


def _release(lane: Lane, pointer: int, size: int) -> None:
    """Memory of a table, when its last user has gone; at interpreter exit the driver may be gone before."""
    with contextlib.suppress(Exception):
        lane.give(pointer, size)


def left_to_check(kernels: Kernels, points: PointArray | DeviceArray) -> Check:
    """What the device has to check of these points; multiplication by r is the CPU's work, done here."""
    wanted = points.wanted if isinstance(points, DeviceArray) else points.pending
    if wanted is not Check.SUBGROUP:
        return wanted
    if points.curve.cofactor == 1:
        return Check.CURVE
    (points if isinstance(points, PointArray) else _on_host(kernels, points)).verify()
    return Check.NONE


def _on_host(kernels: Kernels, points: DeviceArray) -> PointArray:
    """A copy of device points for the CPU to look at."""
    source, lane = point_operand(points), kernels.lane
    memory.require(source.size, f"a copy of {source.count:,} device points")
    data = np.empty(points.shape, np.uint64)
    with lane.lock, kernels.runtime.current():
        lane.begin()
        lane.follow(source.producer)
        kernels.runtime.copy_out(int(data.ctypes.data), source.pointer, source.size, lane.stream)
        lane.wait()
        lane.end()
    return PointArray.unverified(data, points.curve, points.form, wanted=points.wanted)


def off_curve(points: PointArray | DeviceArray, index: int) -> NotOnCurveError:
    """The error for the point at `index`; for host points the CPU says what exactly is wrong with it, and raises."""
    if isinstance(points, PointArray):
        points.verify()
    return NotOnCurveError(
        f"point {index} is not on {points.curve.name}",
        index=index,
        accepted="coordinates below p with y^2 = x^3 + b, or (0, 0) for infinity",
        hint="Check the curve, the form (canonical or montgomery) and the byte order.",
    )
