"""Which windows, slices and rounds for a shape of call: a cost model with measured constants.

`tune(shape, device)` lists the sensible tunings and takes the one whose estimate is least. Estimates are sums over the
steps of a call, each the larger of a throughput term (work over the rate of the whole device) and a latency term (the
chain of one thread or octet). The constants were measured on an H200 (docs/gpu-engine.md); throughput scales with the
number of multiprocessors, latency does not, which is near enough for a choice on other devices: near the optimum the
cost is flat.

All times are in microseconds, throughputs in microseconds per million, that is picoseconds each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, exp

from .layout import FIXUP_ITEMS, MANY_BORDERS, MAX_BINS, MAX_GROUPED_BUCKETS, tree_levels
from .shape import DeviceShape, Shape, Sizes, Tuning, divide_up

MEASURED_MULTIPROCESSORS = 132
MAX_WIDTH = 22  # buckets of a set: at most MAX_BINS bins of MAX_BIN_BUCKETS
MAX_GROUPED_CANDIDATES = 1 << 16  # beyond, the sort is always better than one block a set
LONGEST_SLICE = 136  # longer ones save few borders and leave the last blocks longer alone
BLOCK = 128  # threads of the heavy kernels
TREE_OCTETS = 32


@dataclass(frozen=True)
class Rates:
    """What the kernels reach on an H200, by limbs: latency of one, throughput of many."""

    resident: int  # threads of a multiprocessor in the heavy kernels
    affine_latency: float  # XYZZ += affine
    affine: float
    pair_first: float  # affine pair addition, all passes: table entries
    pair_later: float  # points of an earlier round
    inversion: float  # of a tile, with its product tree
    join_latency: float
    join: float
    full_latency: float  # homogeneous addition by one thread
    full: float
    octet_latency: float  # addition by an octet
    octet: float
    double_latency: float  # doubling by an octet


RATES = {
    8: Rates(512, 4.6, 168.0, 165.0, 120.0, 28.0, 30.0, 320.0, 7.0, 290.0, 1.6, 500.0, 1.12),
    12: Rates(384, 9.8, 440.0, 310.0, 250.0, 45.0, 70.0, 730.0, 15.0, 640.0, 2.6, 1200.0, 2.1),
}
LAUNCH = 4.0  # a step of a graph: start, first instructions, drain
DIGITS_LATENCY, DIGIT, DIGIT_GLV = 16.0, 2.1, 5.0
SORT_STEPS, SORT_LATENCY, SORT_ENTRY = 7, 70.0, 32.0
GROUP_LATENCY, GROUP_SWEEP = 8.0, 2.0  # a sweep is 1,024 candidates of a set


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


@dataclass(frozen=True)
class Model:
    """One tuning of one shape on one device, uniform scalars."""

    sizes: Sizes
    device: DeviceShape

    @property
    def rates(self) -> Rates:
        return RATES[self.sizes.shape.curve.limbs]

    @property
    def million(self) -> float:
        """Scales throughputs to this device and to one item."""
        return MEASURED_MULTIPROCESSORS / self.device.multiprocessors / 1e6

    @property
    def resident(self) -> int:
        return self.device.multiprocessors * self.rates.resident

    @property
    def reachable(self) -> float:
        """Buckets of all sets that a digit can reach: narrow windows use half of theirs."""
        sizes = self.sizes
        windows = sizes.tuning.windows
        wide = sizes.bits % windows or windows
        return sizes.sets * sizes.buckets * (wide + (windows - wide) / 2) / windows

    @property
    def occupied(self) -> float:
        """Buckets of all sets that get an entry."""
        reachable = self.reachable
        return reachable * (1 - exp(-self.sizes.sets * self.sizes.candidates / reachable))

    @property
    def listed(self) -> float:
        """List positions of all sets when accumulation begins: half a pad a bucket is padding."""
        sizes = self.sizes
        return (sizes.sets * sizes.candidates + self.occupied * (sizes.pad - 1) / 2) / sizes.pad

    def threads(self, count: float, steps: float, latency: float, throughput: float) -> float:
        """`count` threads of every set, `steps` operations each: the time of the busiest multiprocessor."""
        blocks = self.sizes.sets * ceil(count / BLOCK)
        share = ceil(blocks / self.device.multiprocessors)
        each = BLOCK * MEASURED_MULTIPROCESSORS * throughput / 1e6  # one block alone, at full rate
        whole, rest = divmod(share, self.rates.resident // BLOCK)
        full = max(latency, self.rates.resident // BLOCK * each)
        return steps * (whole * full + (max(latency, rest * each) if rest else 0.0))

    def digits(self) -> float:
        sizes = self.sizes
        each = DIGIT_GLV if sizes.shape.glv else DIGIT
        return 2 * LAUNCH + DIGITS_LATENCY + sizes.sets * sizes.candidates * each * self.million

    def sort(self) -> float:
        sizes = self.sizes
        if sizes.tuning.grouped:
            waves = ceil(sizes.sets / (2 * self.device.multiprocessors))
            return LAUNCH + waves * (GROUP_LATENCY + GROUP_SWEEP * sizes.candidates / 1024)
        return SORT_STEPS * LAUNCH + SORT_LATENCY + sizes.sets * sizes.candidates * SORT_ENTRY * self.million

    def pairs(self) -> float:
        sizes, rates, total = self.sizes, self.rates, 0.0
        for k in range(sizes.tuning.pair_rounds):
            sums = (sizes.sets * sizes.candidates + self.occupied * (sizes.pad - 1) / 2) / 2 ** (k + 1)
            rows = sums / self.resident
            tiles = max(1, round(rows / sizes.tuning.pair_run))
            exposed = 1 if tiles <= 2 else 1.5 / tiles  # inversions that no other block hides
            each = rates.pair_later if k else rates.pair_first
            total += LAUNCH + sums * each * self.million + tiles * exposed * rates.inversion
            total += 0.0 if rows > 8 else rates.affine_latency * 2  # too few rows to overlap anything
        return total

    def accumulate(self) -> float:
        sizes, rates = self.sizes, self.rates
        entries = self.listed / sizes.sets
        steps = ceil(entries / sizes.slices)
        slices = sizes.sets * entries / steps  # that are not empty
        time = LAUNCH + self.threads(entries / steps, steps, rates.affine_latency, rates.affine)
        if sizes.slices == 1:
            return time
        span = sizes.candidates / sizes.pad / min(sizes.buckets, sizes.candidates) / steps
        joined = sizes.sets * sizes.slices >= MANY_BORDERS
        if joined:
            time += LAUNCH + rates.join_latency + slices * rates.join * self.million
        items, real = 2 * sizes.slices, not joined or span > 3
        while True:
            blocks = divide_up(items, FIXUP_ITEMS)
            steps = min(FIXUP_ITEMS, max(2.0, 2 * span)).__ceil__().bit_length()
            time += LAUNCH + (steps * rates.octet_latency + 2 * rates.octet_latency if real else 2.0)
            if real:
                time += sizes.sets * items * rates.octet * (0.2 if joined else 4.0) * self.million
            if blocks == 1:
                return time
            items, span = 2 * blocks, span / FIXUP_ITEMS * 2

    def tree(self, blocks: int, lists: int, levels: int) -> float:
        """msm_reduce_tree or the tree of msm_reduce_last: rounds of 32 octets a block."""
        tasks = [(lists + k) << (levels - k - 1) for k in range(levels)]
        rounds = sum(divide_up(count, TREE_OCTETS) for count in tasks)
        return max(rounds * self.rates.octet_latency, blocks * sum(tasks) * self.rates.octet * self.million)

    def reduce(self) -> float:
        sizes, rates, run = self.sizes, self.rates, self.sizes.tuning.run
        elements, lists, time = sizes.buckets // run, 1, 0.0
        if run > 1:
            lists = 2
            time += LAUNCH + self.threads(self.reachable / run / sizes.sets, 2 * run, rates.full_latency, rates.full)
        for levels in tree_levels(sizes.shape.curve.limbs, lists, elements.bit_length() - 1):
            elements >>= levels
            time += LAUNCH + 4 + self.tree(sizes.sets * elements, lists, levels)
            lists += levels
        horner = lists - 1 - (run > 1)
        doublings = horner + run.bit_length() - 1
        return time + horner * rates.octet_latency * 0.8 + doublings * rates.double_latency

    def combine(self) -> float:
        sizes, rates = self.sizes, self.rates
        chain = sizes.width * (sizes.groups - 1)
        return LAUNCH + chain * rates.double_latency + (sizes.groups - 1) * rates.octet_latency * 0.8

    def cost(self) -> Cost:
        accumulate = self.pairs() + self.accumulate()
        return Cost(self.digits(), self.sort(), accumulate, self.reduce(), self.combine())


def estimate(shape: Shape, tuning: Tuning, device: DeviceShape) -> Cost:
    """Expected time of a call, uniform scalars."""
    return Model(Sizes(shape, tuning), device).cost()


def slices(model: Model) -> list[int]:
    """Slice lengths that give every multiprocessor the same number of blocks, and short ones for short lists."""
    sizes, most = model.sizes, model.rates.resident // BLOCK
    lengths = {4, 8} if model.listed < 16 * model.resident else set()
    for share in (1, 2, 3, most, 2 * most, 4 * most):
        blocks = max(1, share * model.device.multiprocessors // sizes.sets)  # of a set
        lengths.add(min(LONGEST_SLICE, max(4, divide_up(sizes.listed, blocks * BLOCK))))
    return sorted(lengths)


def candidates(shape: Shape, device: DeviceShape) -> Iterator[Tuning]:
    """Tunings worth an estimate."""
    for width in range(2, MAX_WIDTH + 1):
        base = Tuning(windows=divide_up(shape.bits, width), slice=1, run=1, grouped=True)
        sizes = Sizes(shape, base)
        if sizes.width != width or sizes.bins > MAX_BINS or (width > 3 and sizes.buckets > 4 * sizes.candidates):
            continue
        kinds = []
        if sizes.buckets <= MAX_GROUPED_BUCKETS and sizes.candidates <= MAX_GROUPED_CANDIDATES:
            kinds.append((True, 0))
        if sizes.candidates >= 1 << 13:
            kinds += [(False, rounds) for rounds in (0, 2, 3)]
        for grouped, rounds in kinds or [(False, 0)]:
            model = Model(Sizes(shape, replace(base, grouped=grouped, pair_rounds=rounds)), device)
            runs = [run for run in (1, 4, 8, 16) if run == 1 or sizes.buckets >= 64 * run]
            for length in slices(model):
                for run in runs:
                    yield replace(model.sizes.tuning, slice=length, run=run)


@lru_cache(maxsize=256)
def tune(shape: Shape, device: DeviceShape) -> Tuning:
    """The tuning with the least estimated time."""
    return min(candidates(shape, device), key=lambda tuning: estimate(shape, tuning, device).total)
