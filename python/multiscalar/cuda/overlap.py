"""How a large sum is cut, so that work on one part hides the way of the next one's data from the host.

Digits alone hide little: where copying takes a good part of computing, a first part of the terms is summed while the
data of the others come in. Each part's buckets are reduced for themselves, which costs a little; the model of `tuning`
knows how much. Over prepared bases one cut is enough (`first_part`); where points come with the call, copying takes
more than half of computing and the parts have to grow step by step (`parts`). The choice depends on the shape of the
call only.

Parts take turns on two streams (`once`), so the tail of one, which is latency and fills no device, lies beside the work
of the next: only the last tail counts. Measured beside predicted: docs/gpu-host.md, "Many terms".
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import inf, log2
from typing import Final, NamedTuple

from .shape import CurveShape, DeviceShape, Shape
from .tune import tune, use_endomorphism
from .tuning import estimate

LINK_BYTES_PER_US: Final = 55e3  # page-locked memory over PCI Express 5; a slower link gains more from the same cut
RING_BYTES_PER_US: Final = 32e3  # pageable memory through the ring of slots; the host's threads set it
SMALLEST_BYTES: Final = 64 << 20  # of scalars alone: below this there is nothing to gain
SMALLEST_CALL_BYTES: Final = 32 << 20  # of points and scalars
SHARES: Final = (16, 8, 5, 4)  # the first part is one of this many
WORTH: Final = 0.98
CELLS: Final = 128  # parts are so many of these; they end at PLACES, which lie close where parts are small
PLACES: Final = (*range(1, 16), *range(16, 64, 2), *range(64, CELLS + 1, 4))
MOST_PARTS: Final = 6
LEAST_GROWTH: Final = 0.5  # from part to part: a smaller one hides no tail
PART_US: Final = 100.0  # what a part costs beside the model, of page-locked memory: 2^20 and 2^24 cut by 50, 100, 200
RING_PART_US: Final = 200.0  # and of pageable memory, whose pieces the host sends: with 100, 2^20 takes 3.5 % longer
WORTH_A_PART: Final = 0.995  # of the time: one part more has to bring so much
PART_UNIT: Final = 128  # terms: a block of the kernels
ENDOMORPHISM_MAX_N: Final = 1 << 23  # of a part: measured on 2^24 terms, 0.7 % less on 8 limbs and 2 % on 12


def first_part(shape: Shape, device: DeviceShape, windows: int, path: str | None) -> int:
    """Terms to sum first while the others arrive, 0 to wait for all: of one host vector of `shape`."""
    if shape.batch > 1 or shape.n * shape.scalar_bytes < SMALLEST_BYTES:
        return 0
    # Asked for the nearest n of three significant bits: nine tunings take long, and the best share changes slowly.
    low = max(0, shape.n.bit_length() - 3)
    share = _share(replace(shape, n=shape.n >> low << low), device, windows, path)
    return shape.n // share if share else 0


@lru_cache(maxsize=256)
def _share(shape: Shape, device: DeviceShape, windows: int, path: str | None) -> int:
    """One of this many parts goes first; 0 for none."""
    best, least = 0, WORTH * _alone(*_times(shape, device, windows, path, shape.n))
    for share in SHARES:
        terms = shape.n // share
        copy, digits, compute = _times(shape, device, windows, path, terms)
        more_copy, more_digits, more_compute = _times(shape, device, windows, path, shape.n - terms)
        ready = max(_alone(copy, digits, compute) + more_digits, copy + more_copy)
        total = ready + more_compute - more_digits
        if total < least:
            best, least = share, total
    return best


def _alone(copy: float, digits: float, compute: float) -> float:
    """A sum with nothing before it: digits follow the scalars, the rest follows the digits."""
    return max(copy, digits) + compute - digits


def _times(shape: Shape, device: DeviceShape, windows: int, path: str | None, n: int) -> tuple[float, float, float]:
    """Of a sum of n terms, in microseconds: the way of its scalars, its digits, all of its work."""
    part = replace(shape, n=n)
    cost = estimate(part, tune(part, device, windows=windows, path=path), device)
    return n * shape.scalar_bytes / LINK_BYTES_PER_US, cost.digits, cost.total


def parts(shape: Shape, device: DeviceShape, path: str | None, term_bytes: int, link: float) -> list[int]:
    """Terms of each part, in order, of one sum of `shape` whose data, `term_bytes` a term, all come from the host at
    `link` bytes a microsecond.

    `shape.endomorphism` is left open: a part's table has it as far as `has_endomorphism` goes.
    """
    n = shape.n
    if n * term_bytes < SMALLEST_CALL_BYTES:
        return [n]
    low = max(0, n.bit_length() - 3)
    part_us = PART_US if link == LINK_BYTES_PER_US else RING_PART_US
    found = _ends(replace(shape, n=n >> low << low), device, path, term_bytes / link, part_us)
    ends = [*(n * cells // CELLS // PART_UNIT * PART_UNIT for cells in found[:-1]), n]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


def has_endomorphism(curve: CurveShape, n: int) -> bool:
    """Whether the table of a part of n terms has beta x beside x."""
    return use_endomorphism(curve, n, ENDOMORPHISM_MAX_N)


class _Reached(NamedTuple):
    """After some parts, in microseconds: when the device is free for the next one, when all tails have ended."""

    free: float
    ended: float
    start: int  # cell where the last of these parts starts


@lru_cache(maxsize=256)
def _ends(shape: Shape, device: DeviceShape, path: str | None, term_us: float, part_us: float) -> tuple[int, ...]:
    """Where the parts end, in cells, if a term is on its way for `term_us` and a part costs `part_us` beside the model.

    The link is never idle, so what has arrived when depends on nothing else: for each end, the best start of the part
    that ends there.
    """
    sizes = [max(1, shape.n * cells // CELLS) for cells in range(CELLS + 1)]
    work, tails = zip(*(_between(replace(shape, n=n), device, path) for n in sizes), strict=True)
    arrived = [term_us * n for n in sizes]

    def after(before: _Reached, start: int, end: int) -> _Reached:
        """One part more: the tail before it lies beside its work."""
        free = max(before.free, arrived[end]) + work[end - start] + part_us
        if LEAST_GROWTH * (start - before.start) > end - start:
            free = inf
        return _Reached(free, max(before.ended, free + tails[end - start]), start)

    rows = [{end: after(_Reached(0.0, 0.0, 0), 0, end) for end in PLACES}]
    best: tuple[int, ...] = (CELLS,)
    bar = WORTH * rows[0][CELLS].ended
    for _ in range(MOST_PARTS - 1):
        before, row = rows[-1], dict(rows[-1])
        for k, end in enumerate(PLACES[1:], 1):
            later = [after(before[start], start, end) for start in PLACES[:k]]
            row[end] = min(later, key=lambda to: to.ended) if end == CELLS else min(later, key=lambda to: to.free)
        if row[CELLS].ended > bar:
            break
        rows.append(row)
        best, bar = _back(rows), WORTH_A_PART * row[CELLS].ended
    return best


def _back(rows: list[dict[int, _Reached]]) -> tuple[int, ...]:
    """Where the parts end, of which there are at most as many as rows."""
    ends = [CELLS]
    for row in reversed(rows):
        start = row[ends[-1]].start
        if start == 0:
            break
        ends.append(start)
    return tuple(reversed(ends))


def _between(shape: Shape, device: DeviceShape, path: str | None) -> tuple[float, float]:
    """See `_whole`: powers of the terms between two powers of two, so that any n shares a dozen tunings."""
    low = 1 << (shape.n.bit_length() - 1)
    ends = [_whole(replace(shape, n=n), device, path) for n in (low, 2 * low)]
    work, tail = (least * float((shape.n / low) ** log2(most / least)) for least, most in zip(*ends, strict=True))
    return work, tail


@lru_cache(maxsize=256)
def _whole(shape: Shape, device: DeviceShape, path: str | None) -> tuple[float, float]:
    """Microseconds of a sum over a table of its own: of the work that fills the device, and of the tail after it."""
    shape = replace(shape, endomorphism=shape.subgroup and has_endomorphism(shape.curve, shape.n))
    cost = estimate(shape, tune(shape, device, path=path), device)
    return cost.digits + cost.sort + cost.accumulate, cost.reduce + cost.combine
