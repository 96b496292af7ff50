"""Bases on a device: a table of records, and what it was built for.

A record is a point in Montgomery form, with beta x beside it where the endomorphism is used. With precomputation
the table has `factor` parts, part j holding 2^(j shift) times the bases, so that windows `shift` bits apart share
their buckets. A table made for one curve, width and factor gives wrong sums for another, so it carries those facts
and every plan is made from them, never from an argument.
"""

from __future__ import annotations

import contextlib
import itertools
import weakref
from dataclasses import dataclass

from ..arrays import Check, DeviceArray, PointArray
from ..curves import Curve
from ..errors import NotOnCurveError
from .compiled import Kernels
from .lane import Lane
from .operand import Operand, point_operand
from .records import lay_out_table, table_bytes
from .result import first_bad
from .steps import STATUS_WORDS, Launch, Ref

_serials = itertools.count()
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
        self.serial = next(_serials)  # never used twice, unlike an address
        self.kernels = kernels
        self.nbytes = table_bytes(kernels.curve_shape, max(1, facts.points), facts.factor, facts.endomorphism)
        self.pointer = kernels.runtime.allocate(self.nbytes)
        self._release = weakref.finalize(self, _release, kernels, self.pointer)

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
        wanted = points.wanted if isinstance(points, DeviceArray) else points.pending
        if wanted is Check.SUBGROUP and isinstance(points, PointArray):
            points = points.verify()  # multiplication by r is the CPU's work, once
            wanted = Check.NONE
        source = point_operand(points)
        lane = self.kernels.lane
        with lane.lock, self.kernels.runtime.current():
            bad = self._fill(lane, source, wanted)
        if bad is not None:
            _refuse(points, bad)

    def _fill(self, lane: Lane, source: Operand, wanted: Check) -> int | None:
        """Chunk by chunk; the lowest bad index, if there is one."""
        per_chunk = source.count if source.on_device else max(1, CHUNK_BYTES // source.item_bytes)
        runtime = self.kernels.runtime
        sizes = {"status": 4 * STATUS_WORDS}
        if not source.on_device:
            sizes["points"] = min(per_chunk, source.count) * source.item_bytes
        places = {**lane.place(sizes), "table": self.pointer}
        runtime.fill(places["status"], 0xFF, 4 * STATUS_WORDS, lane.stream)
        pinned = not source.on_device and runtime.is_pinned(source.pointer)
        for first in range(0, source.count, per_chunk):
            part = source.part(first, min(per_chunk, source.count - first))
            if source.on_device:
                lane.follow(part.producer)
                places["points"] = part.pointer
            else:
                lane.staging.upload(places["points"], part, lane.stream, pinned=pinned)
            self._convert(lane, places, first, part, wanted)
            if not source.on_device:
                runtime.synchronize(lane.stream)  # the chunk's buffer is filled again
        (status,) = lane.answers((places["status"], 4 * STATUS_WORDS))
        return first_bad(status, 1)

    def _convert(self, lane: Lane, places: dict[str, int], first: int, part: Operand, wanted: Check) -> None:
        steps = lay_out_table(
            self.kernels.curve_shape,
            self.facts.points,
            montgomery=part.montgomery,
            check=wanted is not Check.NONE,
            endomorphism=self.facts.endomorphism,
            factor=self.facts.factor,
            shift=self.facts.shift,
            first=first,
            count=part.count,
        )

        def address(ref: Ref) -> int:
            return places[ref.buffer] + ref.offset

        for step in steps:
            assert isinstance(step, Launch)
            self.kernels.runtime.bind(self.kernels.module, step, address)(lane.stream)


def _release(kernels: Kernels, pointer: int) -> None:
    """Memory of a table, when its last user has gone; at interpreter exit the driver may be gone before."""
    with contextlib.suppress(Exception):
        kernels.runtime.free(pointer)


def _refuse(points: PointArray | DeviceArray, index: int) -> None:
    """The error for the point at `index`; for host points the CPU says what exactly is wrong with it."""
    if isinstance(points, PointArray):
        points.verify()
    raise NotOnCurveError(
        f"point {index} is not on {points.curve.name}",
        index=index,
        accepted="coordinates below p with y^2 = x^3 + b, or (0, 0) for infinity",
        hint="Check the curve, the form (canonical or montgomery) and the byte order.",
    )
