"""One piece of work on its way: scalars where the kernels read them, digits, and what a failure leaves to say.

Scalars are read in place (device arrays, and a few from the host in a page-locked slot) or come to the inbox, chunk by
chunk with their digits. The same for bases that are prepared and for points that come with the call.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import OutOfMemoryError
from .compiled import Kernels
from .lane import Planned
from .operand import ALIGNMENT, Operand
from .staging import IN_PLACE_BYTES
from .work import Work


class Source(NamedTuple):
    """Where the kernels read the scalars of a piece of work: on the device as they lie, in one stretch or row by row,
    or in the inbox, or, where none of these is said, on the host in place.
    """

    pointer: int  # on the device
    inbox: int  # bytes of the inbox, for all pieces of the call
    offset: int = 0  # of this piece
    slot: int = 0  # for its answer
    rows: bool = False  # on the device, each vector where it is


class Task(NamedTuple):
    """A piece of work under way."""

    work: Work
    planned: Planned
    copied: int


def source_of(operands: list[Operand], n: int) -> Source:
    """The source for vectors of one type, the longest of n terms."""
    first, stride = operands[0], n * operands[0].item_bytes
    size = stride * len(operands)
    if first.data is not None:
        return Source(0, size if size > IN_PLACE_BYTES else 0)
    if any(one.pointer % ALIGNMENT for one in operands):
        return Source(0, size)
    pointer = first.pointer
    together = all(one.pointer == pointer + k * stride for k, one in enumerate(operands))
    return Source(pointer, 0) if together else Source(0, 0, rows=True)


def start(kernels: Kernels, work: Work, source: Source, planned: Planned, stream: Any) -> int:
    """Begin the plan on `stream` with the digits of all scalars; returns the bytes that go to the device for it."""
    lane, plan, one = kernels.lane, planned.plan, work.operands[0]
    copied = _send_lengths(kernels, work, planned, stream) if plan.layout.shape.lengths else 0
    plan.begin(stream)
    if one.data is None:
        for operand in work.operands:
            lane.follow(operand.producer, stream)
        if source.inbox:
            _gather(kernels, work, planned, stream)
        if source.rows:
            scalars = lane.staging.rows([operand.pointer for operand in work.operands])
        else:
            scalars = source.pointer or planned.places["scalars"]
        plan.digits(stream, scalars)
    elif source.inbox:
        copied += _arrive(kernels, work, planned, stream)
    else:
        plan.digits(stream, lane.staging.small(work.operands, work.n * one.item_bytes))
        copied += one.size if len(work.operands) == 1 else sum(operand.size for operand in work.operands)
    return copied


def _send_lengths(kernels: Kernels, work: Work, planned: Planned, stream: Any) -> int:
    """The terms of each vector, where the kernels read them; returns the bytes."""
    lengths = np.array([operand.count for operand in work.operands], np.uint32)
    place = kernels.lane.staging.lengths(lengths)
    kernels.runtime.copy_in(planned.places["lengths"], place, lengths.nbytes, stream)
    return lengths.nbytes


def _gather(kernels: Kernels, work: Work, planned: Planned, stream: Any) -> None:
    """Device vectors that do not lie where quads can be read are copied to the inbox."""
    stride = work.n * work.operands[0].item_bytes
    for k, operand in enumerate(work.operands):
        target = planned.places["scalars"] + k * stride
        kernels.runtime.copy_within(target, operand.pointer, operand.size, stream)


def _arrive(kernels: Kernels, work: Work, planned: Planned, stream: Any) -> int:
    """Host scalars to the inbox chunk by chunk, each followed by its digits; returns the bytes."""
    lane, runtime, plan = kernels.lane, kernels.runtime, planned.plan
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
        plan.chunk(k, stream)
    return sum(operand.size for operand in work.operands)


def break_off(kernels: Kernels, error: BaseException, table_bytes: int) -> None:
    """Leave nothing of a failed call under way. A shortage that only the driver saw (for local memory, a graph, an
    event) is raised again with what the call held and what is left; other errors are the caller's to raise.
    """
    lane = kernels.lane
    lane.abandon()
    if not isinstance(error, OutOfMemoryError) or error.need is not None:
        return
    free, held = kernels.runtime.free_memory(), lane.scratch_bytes
    raise OutOfMemoryError(
        f"{error.what}, beside {held:,} bytes of scratch; {free:,} are free on {kernels.device_name}",
        need=held + table_bytes,
        free=free,
        hint="Free device memory, use fewer terms per call, or backend='cpu'.",
    ) from None
