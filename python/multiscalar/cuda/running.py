"""One piece of work on its way: scalars where the kernels read them, digits, and what a failure leaves to say.

Scalars are read in place (device arrays, and a few from the host in a page-locked slot) or come to the inbox, chunk by
chunk with their digits. The same for bases that are prepared and for points that come with the call.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import accumulate, chain
from operator import or_
from typing import Any, NamedTuple

import numpy as np

from ..engine.vectors import Vectors
from ..errors import OutOfMemoryError
from .compiled import Kernels
from .lane import Planned
from .operand import ALIGNMENT, address
from .staging import IN_PLACE_BYTES, Piece, cut
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
    """A piece of work under way, and the bytes that were copied for it."""

    work: Work
    planned: Planned
    copied: int


def source_of(vectors: Vectors) -> Source:
    """The source for vectors of one type."""
    pointers, stride = vectors.pointers, vectors.longest * vectors.item_bytes
    size = stride * len(vectors.counts)
    if vectors.on_host:
        return Source(0, size if size > IN_PLACE_BYTES else 0)
    if reduce(or_, pointers) % ALIGNMENT:
        return Source(0, size)
    first = pointers[0]
    if len(pointers) == 1 or pointers == list(range(first, first + size, stride)):
        return Source(first, 0)
    return Source(0, 0, rows=True)


def run(kernels: Kernels, work: Work, source: Source, planned: Planned, stream: Any) -> int:
    """All of a plan on `stream`; returns the bytes that go to the device for it."""
    plan, vectors = planned.plan, work.vectors
    place = placed(kernels, vectors, source)
    if place and not plan.layout.shape.lengths and plan.comes_again(place):
        return again(kernels, vectors, planned, stream)
    copied = start(kernels, work, source, planned, stream, place)
    plan.finish(stream)
    return copied


def placed(kernels: Kernels, vectors: Vectors, source: Source) -> int:
    """Scalars in one stretch where the kernels can read them, those of the host copied there: the address, 0 if they go
    another way.
    """
    if source.inbox or source.rows:
        return 0
    return source.pointer or kernels.lane.staging.small(vectors.owners, vectors.longest * vectors.item_bytes)


def again(
    kernels: Kernels, vectors: Vectors, planned: Planned, stream: Any, points: Callable[[], None] | None = None
) -> int:
    """All of a plan on `stream` once more, see `Plan.again`; returns the bytes of the scalars that go to the device."""
    _follow(kernels, vectors, stream)
    planned.plan.again(stream, points)
    return vectors.size if vectors.on_host else 0


def start(kernels: Kernels, work: Work, source: Source, planned: Planned, stream: Any, place: int) -> int:
    """Begin the plan on `stream` with the digits of all scalars, at `place` if that is one stretch; returns the bytes
    that go to the device for it.
    """
    lane, plan, vectors = kernels.lane, planned.plan, work.vectors
    copied = _send_lengths(kernels, vectors, planned, stream) if plan.layout.shape.lengths else 0
    plan.begin(stream)
    _follow(kernels, vectors, stream)
    if vectors.on_host and source.inbox:
        return copied + _arrive(kernels, vectors, planned, stream)
    if source.inbox:
        _gather(kernels, vectors, planned, stream)
        place = planned.places["scalars"]
    elif source.rows:
        place = lane.staging.rows(vectors.pointers)
    plan.digits(stream, place)
    return copied + (vectors.size if vectors.on_host else 0)


def _follow(kernels: Kernels, vectors: Vectors, stream: Any) -> None:
    """What comes next on `stream` waits for the streams that wrote the vectors."""
    for producer in set(vectors.producers):
        kernels.lane.follow(producer, stream)


def _send_lengths(kernels: Kernels, vectors: Vectors, planned: Planned, stream: Any) -> int:
    """The terms of each vector, where the kernels read them; returns the bytes."""
    lengths = np.array(vectors.counts, np.uint32)
    place = kernels.lane.staging.lengths(lengths)
    kernels.runtime.copy_in(planned.places["lengths"], place, lengths.nbytes, stream)
    return lengths.nbytes


def _gather(kernels: Kernels, vectors: Vectors, planned: Planned, stream: Any) -> None:
    """Device vectors that do not lie where quads can be read are copied to the inbox."""
    item, stride = vectors.item_bytes, vectors.longest * vectors.item_bytes
    for k, (pointer, count) in enumerate(zip(vectors.pointers, vectors.counts, strict=True)):
        kernels.runtime.copy_within(planned.places["scalars"] + k * stride, pointer, count * item, stream)


def _arrive(kernels: Kernels, vectors: Vectors, planned: Planned, stream: Any) -> int:
    """Host scalars to the inbox chunk by chunk, each followed by its digits; returns the bytes."""
    lane, runtime, plan = kernels.lane, kernels.runtime, planned.plan
    stride = vectors.longest * vectors.item_bytes

    def arrives(chunk: int) -> None:
        runtime.record(plan.arrived[chunk], lane.copies)
        plan.chunk(chunk, stream)

    if all(lane.staging.is_pinned(array) for array in vectors.owners):
        for k, piece in enumerate(_pieces(vectors, planned)):
            for row in range(piece.rows):
                array = vectors.owners[piece.first + row]
                size = min(piece.high, array.nbytes) - piece.low
                runtime.copy_in(piece.target + row * stride, address(array) + piece.low, size, lane.copies)
            arrives(k)
        return vectors.size

    if plan.pieces is None:
        cuts = [cut(piece, stride, vectors.size) for piece in _pieces(vectors, planned)]
        plan.pieces = (
            list(chain.from_iterable(cuts)),
            {last - 1: k for k, last in enumerate(accumulate(map(len, cuts)))},
        )
    pieces, chunks = plan.pieces

    def sent(k: int) -> None:
        if k in chunks:
            arrives(chunks[k])

    lane.staging.carry(vectors.owners, pieces, stride, lane.copies, sent)
    return vectors.size


def _pieces(vectors: Vectors, planned: Planned) -> list[Piece]:
    """The chunks of a plan as bytes of the vectors on their way to the inbox."""
    item, inbox = vectors.item_bytes, planned.places["scalars"]
    made = []
    for chunk in planned.plan.chunks:
        low, high = ((chunk.first + chunk.terms - fresh) * item for fresh in (chunk.fresh, 0))
        target = inbox + chunk.first_row * vectors.longest * item + low
        made.append(Piece(target, chunk.first_row, chunk.rows, low, high))
    return made


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
