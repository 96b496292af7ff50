"""Which windows, slices and rounds for a shape of call: a cost model with measured constants.

`tune(shape, device)` lists the sensible tunings and takes the one whose estimate is least. Estimates are sums over the
steps of a call, each the larger of a throughput term (work over the rate of the whole device) and a latency term (the
chain of one thread or octet). The constants were measured on an H200 (docs/gpu-engine.md); throughput scales with the
number of multiprocessors, latency does not, which is near enough for a choice on other devices: near the optimum the
cost is flat.

All times are in microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, exp

from .layout import (
    MAX_BINS,
    MAX_GROUPED_BUCKETS,
    PAIR_THREADS,
    DeviceShape,
    Shape,
    Sizes,
    Tuning,
    divide_up,
)

MEASURED_MULTIPROCESSORS = 132
MAX_WIDTH = 22  # buckets of a set: at most MAX_BINS bins of MAX_BIN_BUCKETS
MAX_GROUPED_CANDIDATES = 1 << 15  # beyond, six launches of the sort beat one block a set
LARGEST_PAIR_RUN = 40
LONGEST_SLICE = 96


@dataclass(frozen=True)
class Rates:
    """Measured on an H200: throughput in us per million, latency in us."""

    resident: int  # threads of a multiprocessor in the heavy kernels
    add_affine: float  # XYZZ += affine, throughput
    add_affine_latency: float
    pair: float  # affine pair addition, all passes, throughput
    add_full: float  # homogeneous addition, throughput
    add_full_latency: float
    octet_add: float  # latency
    octet_double: float


RATES = {
    8: Rates(512, 167.0, 4.6, 125.0, 230.0, 6.0, 1.2, 1.1),
    12: Rates(384, 400.0, 9.6, 265.0, 500.0, 13.0, 2.3, 2.1),
}
LAUNCH = 2.5  # a step of a graph, start and drain
DIGIT = 47.0  # a scalar and 13 windows, per million
SORT_ENTRY, SORT_FIXED = 25.0, 12.0
GROUP_FIXED, GROUP_SWEEP = 10.0, 1.6  # per 1,024 candidates of a set


@dataclass(frozen=True)
class Cost:
    """The estimate of one tuning, by step."""

    digits: float
    sort: float
    accumulate: float
    reduce: float
    combine: float

    @property
    def total(self) -> float:
        return self.digits + self.sort + self.accumulate + self.reduce + self.combine


def occupied_buckets(sizes: Sizes) -> float:
    """Expected number of nonempty buckets of all sets, for uniform scalars."""
    load = sizes.candidates / sizes.buckets
    return sizes.sets * sizes.buckets * (1 - exp(-load))


def expected_listed(sizes: Sizes) -> float:
    """Expected list positions of all sets when accumulation begins: half a pad a bucket is padding."""
    padding = occupied_buckets(sizes) * (sizes.pad - 1) / 2
    return (sizes.sets * sizes.candidates + padding) / sizes.pad


def waves(work: float, device: DeviceShape, rates: Rates) -> tuple[int, float]:
    """Rounds of a full device that `work` threads make, and how full they are."""
    resident = device.multiprocessors * rates.resident
    count = max(1, ceil(work / resident))
    return count, work / (count * resident)


def estimate(shape: Shape, tuning: Tuning, device: DeviceShape) -> Cost:
    """Expected time of a call, uniform scalars."""
    sizes, rates = Sizes(shape, tuning), RATES[shape.curve.limbs]
    scale = MEASURED_MULTIPROCESSORS / device.multiprocessors
    million = scale / 1e6
    octet_work = rates.add_full * 1.5 * million  # six of eight lanes multiply

    def serial(threads: float, steps: float, latency: float, throughput: float) -> float:
        count, full = waves(threads, device, rates)
        work = full * device.multiprocessors * rates.resident * throughput * million
        return count * steps * max(latency, work)

    digits = LAUNCH * 2 + 4 + shape.n * shape.batch * shape.halves * (DIGIT * tuning.windows / 13) * million
    entries = sizes.sets * sizes.candidates
    if tuning.grouped:
        rounds = ceil(sizes.sets / (2 * device.multiprocessors))
        sort = LAUNCH + rounds * (GROUP_FIXED + GROUP_SWEEP * sizes.candidates / 1024)
    else:
        sort = 7 * LAUNCH + SORT_FIXED + entries * SORT_ENTRY * million

    accumulate = LAUNCH
    slots = float(entries)
    for _ in range(tuning.pair_rounds):
        slots = slots / 2 + occupied_buckets(sizes) / 4
        accumulate += LAUNCH + 45 + slots * rates.pair * million
    listed = expected_listed(sizes)
    accumulate += serial(listed / tuning.slice, tuning.slice, rates.add_affine_latency, rates.add_affine)
    if sizes.slices > 1:
        span = sizes.candidates / sizes.pad / min(sizes.buckets, sizes.candidates) / tuning.slice  # slices a bucket
        borders = listed / tuning.slice
        accumulate += LAUNCH + serial(borders, 1 if span < 2 else 2, rates.add_full_latency, rates.add_full)
        levels = 1 + (2 * sizes.slices > 64) + (2 * sizes.slices > 2048)
        joins = max(0.0, span).__ceil__().bit_length() if span > 1.5 else 0
        accumulate += levels * (LAUNCH + joins * 1.3 * rates.octet_add) + (borders * octet_work if span > 1.5 else 0)

    total_buckets = sizes.sets * sizes.buckets
    elements = total_buckets / tuning.run
    reduce = LAUNCH
    if tuning.run > 1:
        reduce += LAUNCH + serial(elements, 2 * tuning.run, rates.add_full_latency, rates.add_full)
    depth = (sizes.buckets // tuning.run).bit_length() - 1
    reduce += 2.2 * depth * rates.octet_add + (2 + (tuning.run > 1)) * elements * octet_work
    reduce += (depth * (rates.octet_add + rates.octet_double)) + LAUNCH * (depth > 7) + LAUNCH * (depth > 12)
    reduce += (tuning.run.bit_length() - 1) * rates.octet_double

    chain = sizes.width * (sizes.groups - 1)
    combine = LAUNCH + chain * rates.octet_double + (sizes.groups - 1) * rates.octet_add
    return Cost(digits, sort, accumulate, reduce, combine)


def slices(listed: float, resident: int) -> list[int]:
    """Slice lengths that fill whole waves of the device, or short ones when the list is too small for that."""
    whole = [max(4, ceil(listed / (count * resident))) for count in range(1, 5)]
    longest = min(LONGEST_SLICE, whole[0])
    return sorted({min(LONGEST_SLICE, length) for length in whole} | {length for length in (4, 8) if length < longest})


def candidates(shape: Shape, device: DeviceShape) -> Iterator[Tuning]:
    """Tunings worth an estimate."""
    rates = RATES[shape.curve.limbs]
    resident = device.multiprocessors * rates.resident
    for width in range(2, MAX_WIDTH + 1):
        windows = divide_up(shape.bits, width)
        base = Tuning(windows=windows, slice=1, run=1, grouped=True)
        sizes = Sizes(shape, base)
        if sizes.width != width or (width > 3 and sizes.buckets > 4 * sizes.candidates):
            continue
        small = sizes.buckets <= MAX_GROUPED_BUCKETS and sizes.candidates <= MAX_GROUPED_CANDIDATES
        kinds = [(True, 0)] if small else [(False, rounds) for rounds in (0, 2, 3)]
        if sizes.bins > MAX_BINS:
            continue
        for grouped, rounds in kinds:
            shaped = Sizes(shape, replace(base, grouped=grouped, pair_rounds=rounds))
            listed = expected_listed(shaped)
            for slice_ in slices(listed, resident):
                for run in (1, 2, 4, 8, 16):
                    if run < sizes.buckets:
                        yield replace(shaped.tuning, slice=slice_, run=run)


def pair_run(sizes: Sizes, device: DeviceShape) -> int:
    """Sums a thread of a pair tile: whole rounds of the persistent grid, long enough to pay for an inversion."""
    rates = RATES[sizes.shape.curve.limbs]
    lanes = device.multiprocessors * rates.resident // PAIR_THREADS * PAIR_THREADS
    slots = sizes.sets * sizes.candidates / 2 + occupied_buckets(sizes) * (sizes.pad - 1) / 4
    rounds = max(1, round(slots / (lanes * 32)))
    return max(4, min(LARGEST_PAIR_RUN, ceil(slots / (lanes * rounds))))


@lru_cache(maxsize=256)
def tune(shape: Shape, device: DeviceShape) -> Tuning:
    """The tuning with the least estimated time."""
    best = min(candidates(shape, device), key=lambda tuning: estimate(shape, tuning, device).total)
    return replace(best, pair_run=pair_run(Sizes(shape, best), device)) if best.pair_rounds else best
