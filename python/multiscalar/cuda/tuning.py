"""Which windows, slices and rounds for a shape of call: a cost model with measured constants.

`tune(shape, device)` lists the sensible tunings and takes the one whose estimate is least. Estimates are sums over the
steps of a call, each from a latency term (the chain of one thread or octet) and a throughput term (the work of the
busiest multiprocessor): the larger, or somewhat more where they are close. The constants were fitted to a thousand
plans on an H200 (docs/gpu-engine.md, steps 12 and 13); throughput scales with the number of multiprocessors, latency
does not, which is near enough for a choice on other devices: near the optimum the cost is flat.

All times are in microseconds, throughputs in microseconds per million, that is picoseconds each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, erfc, exp, inf, sqrt
from typing import Any, NamedTuple

from .layout import (
    FIXUP_ITEMS,
    GROUP_THREADS,
    HELD_DIGITS,
    JOINED_ITEMS,
    MANY_BORDERS,
    MAX_BINS,
    MAX_GROUPED_BUCKETS,
    PAIR_BLOCKS,
    PAIR_THREADS,
    grouped_in_shared,
    tree_levels,
    tree_threads,
)
from .shape import DeviceShape, Shape, Sizes, Tuning, divide_up

MEASURED_MULTIPROCESSORS = 132
MAX_WIDTH = 22  # buckets of a set: at most MAX_BINS bins of MAX_BIN_BUCKETS
MAX_GROUPED_CANDIDATES = 1 << 16  # beyond, the sort is always better than one block a set
LONGEST_SLICE = 136  # longer ones save few borders and leave the last blocks longer alone
MAX_ROUNDS = 4  # of pair addition: the padding doubles with each
LONG_LISTS = 1 << 17  # entries of all sets; below, neither the two-level sort nor pairs pay
NEAR = 1.0075  # what estimates cannot tell apart
BLOCK, WARP = 128, 32  # threads of the heavy kernels
FIXUP_OCTETS, WARP_OCTETS = FIXUP_ITEMS // 2, WARP // 8


class Speed(NamedTuple):
    """Of one kind of addition."""

    latency: float  # of one thread, or one octet, that has a multiprocessor for itself
    each: float  # when the device is full of them


@dataclass(frozen=True)
class Rates:
    """What the kernels reach on an H200, by limbs."""

    resident: int  # threads of a multiprocessor in the heavy kernels
    affine: Speed  # XYZZ += affine
    pair_first: float  # affine pair addition, all passes: table entries from memory
    pair_later: float  # from the L2 cache, or points of an earlier round
    inversion: float  # of a tile, with its product tree
    join: Speed  # XYZZ += XYZZ
    full: Speed  # homogeneous addition by one thread
    octet: Speed  # the same by an octet, from and to shared memory
    horner: float  # addition by an octet that keeps its sum
    double: float


RATES = {
    8: Rates(512, Speed(4.4, 178), 148.0, 127.0, 40.0, Speed(6.5, 225), Speed(6.0, 275), Speed(1.6, 500), 1.34, 1.13),
    12: Rates(384, Speed(9.4, 425), 278.0, 250.0, 60.0, Speed(14, 480), Speed(17, 600), Speed(2.8, 1000), 2.5, 2.03),
}
CACHE_BYTES = 48 << 20  # of L2, in two halves: entries of a table larger than one of them come later, by so much
LATE = 1.2
HIDING_ROWS = 10  # of pairs: in longer tiles blocks drift apart, and one's inversion passes beside the others' sums
LAUNCH = 3.0  # a step of a graph: start, first instructions, drain
IDLE_LAUNCH = 1.5  # of blocks that find nothing to do
DIGITS_LATENCY, DIGIT, DIGIT_GLV = 11.0, 2.1, 2.6
SORT_LATENCY, SORT_START, SORT_SET = 36.0, 30.0, 0.06
SORT_ENTRY, SORT_BIN = 14.5, 0.015  # the more bins, the shorter the runs that a tile writes
# 1,024 candidates of a set, put together in shared memory or written one by one; an entry of all sets, where they fill
# the device: 1,024 lists of 8,192 in 35 or 114 us.
GROUP_SWEEP, GROUP_SWEEP_APART = 0.5, 1.4
GROUP_ENTRY, GROUP_ENTRY_APART = 3.8, 13.2


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


def both(latency: float, throughput: float) -> float:
    """Of two bounds that lie close together neither hides behind the other."""
    return sqrt(sqrt(latency**4 + throughput**4))


class Spread(NamedTuple):
    """Over how many borders between slices a bucket goes: its length is Poisson's, its place anywhere in a slice."""

    mean: float
    deviation: float

    @staticmethod
    def of(entries: float, pad: int, slice_: int) -> Spread:
        """Of buckets with so many entries."""
        length = entries / pad + (pad - 1) / (2 * pad)
        return Spread((length - 1) / slice_, sqrt(entries / pad**2 / slice_**2 + 1 / 12))

    def beyond(self, borders: int) -> float:
        """The share of buckets over more than so many."""
        return erfc((borders + 0.5 - self.mean) / self.deviation / sqrt(2)) / 2

    @property
    def most(self) -> float:
        """Of thousands of buckets."""
        return max(1.0, self.mean + 3 * self.deviation)


@dataclass(frozen=True)
class Model:
    """One tuning of one shape on one device, uniform scalars."""

    sizes: Sizes
    device: DeviceShape

    def change(self, **choices: Any) -> Model:
        """The same with other choices."""
        return Model(Sizes(self.sizes.shape, replace(self.sizes.tuning, **choices)), self.device)

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
    def table_bytes(self) -> int:
        shape = self.sizes.shape
        return shape.table_points * shape.factor * shape.coordinates * shape.curve.coordinate_bytes

    @property
    def entries(self) -> float:
        """Of a set. The last part of a table is not used in all of them unless the parts divide the windows."""
        sizes = self.sizes
        return sizes.shape.halves * sizes.shape.n * sizes.tuning.windows / sizes.groups

    @property
    def kinds(self) -> list[tuple[int, int]]:
        """Sets, and buckets of each that a digit can reach: narrow windows use half of theirs."""
        sizes, batch = self.sizes, self.sizes.shape.batch
        wide = sizes.bits % sizes.tuning.windows
        if wide == 0 or sizes.shape.factor > 1:
            return [(sizes.sets, sizes.buckets)]
        return [(batch * wide, sizes.buckets), (batch * (sizes.tuning.windows - wide), sizes.buckets // 2)]

    @property
    def reachable(self) -> float:
        return sum(sets * buckets for sets, buckets in self.kinds)

    @property
    def occupied(self) -> float:
        """Buckets of all sets that get an entry."""
        return sum(sets * buckets * (1 - exp(-self.entries / buckets)) for sets, buckets in self.kinds)

    @property
    def padded(self) -> float:
        """Entries of all sets, half a pad a bucket more."""
        return self.sizes.sets * self.entries + self.occupied * (self.sizes.pad - 1) / 2

    @property
    def listed(self) -> float:
        """List positions of all sets when accumulation begins."""
        return self.padded / self.sizes.pad

    def threads(self, busy: float, launched: float, steps: float, speed: Speed) -> float:
        """`busy` of `launched` threads of every set do `steps` additions; the threads of all sets lie in one row."""
        most, share = self.rates.resident // BLOCK, self.sizes.sets / BLOCK / self.device.multiprocessors
        # Blocks of the busiest multiprocessor. Idle ones leave early, but places are dealt by then.
        whole, rest = divmod(max(ceil(share * busy), min(most, ceil(share * launched))), most)
        alone = BLOCK * MEASURED_MULTIPROCESSORS * speed.each / 1e6  # one block, were there no latency
        return steps * (whole * both(speed.latency, most * alone) + (both(speed.latency, rest * alone) if rest else 0))

    def digits(self) -> float:
        sizes = self.sizes
        each = DIGIT_GLV if sizes.shape.glv else DIGIT
        return DIGITS_LATENCY + sizes.sets * sizes.candidates * each * self.million

    def sort(self) -> float:
        sizes = self.sizes
        if sizes.tuning.grouped:
            each = GROUP_ENTRY if grouped_in_shared(sizes) else GROUP_ENTRY_APART
            sweeps = 1 if sizes.candidates <= HELD_DIGITS * GROUP_THREADS else 2
            alone = sizes.candidates / 1024 * (GROUP_SWEEP if grouped_in_shared(sizes) else GROUP_SWEEP_APART)
            return LAUNCH + both(alone, sweeps * self.padded * each * self.million)
        lengths = LAUNCH if sizes.pad > 1 else 0.0
        each = (SORT_ENTRY + SORT_BIN * sizes.bins) * self.million
        return lengths + max(SORT_LATENCY, SORT_START + sizes.sets * SORT_SET + self.padded * each)

    def pairs(self) -> float:
        sizes, rates, total, points = self.sizes, self.rates, 0.0, self.padded / self.sizes.sets
        grid = self.device.multiprocessors * PAIR_BLOCKS[sizes.shape.curve.limbs]
        for k in range(sizes.tuning.pair_rounds):
            points /= 2
            rows = ceil(points / PAIR_THREADS)  # of a set; one that is not full takes as long
            share = ceil(sizes.sets * rows / grid)  # of a block
            tiles = max(1, round(share / sizes.tuning.pair_run))
            # Inversions that no other block hides.
            exposed = 1.5 if tiles > 2 else tiles - 1 + min(1.0, HIDING_ROWS / share)
            each = rates.pair_later if k or self.table_bytes <= CACHE_BYTES else rates.pair_first
            total += LAUNCH + share * grid * PAIR_THREADS * each * self.million + exposed * rates.inversion
        return total

    def accumulate(self) -> float:
        sizes = self.sizes
        entries = self.listed / sizes.sets
        steps = ceil(entries / sizes.slices)
        slices = entries / steps  # that are not empty
        busy = min(sizes.slices, slices + WARP - 1)  # in warps, of which a set's last one may have few
        speed = self.rates.affine
        if sizes.pad == 1 and self.table_bytes > CACHE_BYTES / 2:
            speed = Speed(speed.latency + LATE, speed.each)
        time = LAUNCH + self.threads(busy, busy, steps, speed)
        return time if sizes.slices == 1 else time + self.fixup(steps)

    def fixup(self, slice_: int) -> float:
        """Joins of the partial sums. A bucket over c borders between slices has 2 c of them."""
        sizes, time = self.sizes, 0.0
        limit = JOINED_ITEMS // 2 if sizes.sets * sizes.slices >= MANY_BORDERS else 0  # borders, by one thread
        spreads = [Spread.of(self.entries / buckets, sizes.pad, slice_) for _, buckets in self.kinds]
        if limit:
            borders = [(sets, min(limit, spread.most)) for (sets, _), spread in zip(self.kinds, spreads, strict=True)]
            time += LAUNCH + self.joins(borders)
        blocks = divide_up(2 * sizes.slices, FIXUP_ITEMS)
        busy, share, most = 0.0, 0.0, 1.0
        for (sets, buckets), spread in zip(self.kinds, spreads, strict=True):
            runs = buckets * spread.beyond(limit)
            slots = 2 * max(limit + 1, spread.most)
            busy += sets * blocks * (1 - exp(-runs * (1 + slots / FIXUP_ITEMS) / blocks))
            share = max(share, min(1.0, runs * slots / (2 * sizes.slices)))
            if runs * sets > 0.5:
                most = max(most, slots)
        mean = sum(sets * spread.mean for (sets, _), spread in zip(self.kinds, spreads, strict=True)) / sizes.sets
        work = 2 + min(2.0, mean)  # load, store, and the additions, of which the later ones keep few octets busy
        while True:
            levels = (min(FIXUP_ITEMS, ceil(most)) - 1).bit_length()
            latency = (2 + levels) * (1 + share) * self.rates.octet.latency
            time += IDLE_LAUNCH + min(1.0, busy) * self.octets(busy, latency, work * (1 + share) * FIXUP_OCTETS)
            if blocks == 1:
                return time
            items = 2 * blocks
            blocks, busy = divide_up(items, FIXUP_ITEMS), min(busy, sizes.sets)
            most, work = 2 * max(1.0, most / FIXUP_ITEMS), 1.0  # few buckets are in two blocks, and few octets busy
            share = share if 2 * items > FIXUP_ITEMS else 0.0  # else an octet has one slot

    def joins(self, borders: list[tuple[int, float]]) -> float:
        """One wave of blocks takes as long as the sets with the longest joins, several as long as all do on average."""
        sizes, rates = self.sizes, self.rates
        blocks = sizes.sets * sizes.slices / BLOCK / self.device.multiprocessors
        longest = max(most for _, most in borders)
        mean = sum(sets * most for sets, most in borders) / sizes.sets
        steps = longest if blocks <= rates.resident // BLOCK else mean
        return self.threads(sizes.slices, sizes.slices, 1 + steps, rates.join)

    def tree(self, blocks: int, lists: int, levels: int, tail: float) -> float:
        """msm_reduce_tree, or msm_reduce_last, ending with the `tail` of one warp: load, rounds of octets, store."""
        tasks = [(lists + k) << (levels - k - 1) for k in range(levels)]
        octets = tree_threads(blocks, lists, levels, self.device.multiprocessors) // 8
        rounds = 1 + sum(divide_up(count, octets) for count in tasks[:1] + tasks)
        return self.octets(blocks, rounds * self.rates.octet.latency, sum(tasks), octets, tail)

    def octets(
        self, blocks: float, latency: float, work: float, octets: int = FIXUP_OCTETS, tail: float = 0.0
    ) -> float:
        """Blocks of so many octets, 64 octets at a time on a multiprocessor, with `work` additions in each block; those
        side by side come to their `tail` together.
        """
        share = ceil(blocks / self.device.multiprocessors)
        each, waves = MEASURED_MULTIPROCESSORS * self.rates.octet.each / 1e6, max(1.0, share * octets / 64)
        return both(waves * latency, share * work * each) + waves * tail

    def reduce(self) -> float:
        sizes, rates, run = self.sizes, self.rates, self.sizes.tuning.run
        elements, lists, time = sizes.buckets // run, 1, 0.0
        if run > 1:
            lists = 2
            time += LAUNCH + self.threads(self.reachable / run / sizes.sets, elements, 2 * run, rates.full)
        split = tree_levels(sizes.shape.curve.limbs, lists, elements.bit_length() - 1)
        terms = lists + sum(split) - 1 - (run > 1)
        stretch = max(1, divide_up(terms, WARP_OCTETS))  # by Horner, of each octet of the last warp
        stretches = divide_up(terms, stretch)
        doublings = stretches * stretch - 1 + run.bit_length() - 1
        tail = (stretch - 1 + stretches) * rates.horner + doublings * rates.double
        for levels in split:
            elements >>= levels
            time += LAUNCH + self.tree(sizes.sets * elements, lists, levels, tail if elements == 1 else 0.0)
            lists += levels
        return time

    def combine(self) -> float:
        sizes, rates = self.sizes, self.rates
        doublings = min(sizes.bits, sizes.width * sizes.groups) - sizes.width
        return LAUNCH + doublings * rates.double + (sizes.groups - 1) * rates.horner

    def bound(self) -> float:
        """What the time cannot be below, whatever slices and runs are."""
        least = self.sort() + self.pairs() + self.combine() + self.digits()
        return least + self.listed * self.rates.affine.each * self.million

    def cost(self) -> Cost:
        accumulate = self.pairs() + self.accumulate()
        return Cost(self.digits(), self.sort(), accumulate, self.reduce(), self.combine())


def estimate(shape: Shape, tuning: Tuning, device: DeviceShape) -> Cost:
    """Expected time of a call, uniform scalars."""
    return Model(Sizes(shape, tuning), device).cost()


def slices(model: Model) -> list[int]:
    """Slice lengths that give every multiprocessor the same number of blocks, and short ones for short lists."""
    sizes, most = model.sizes, model.rates.resident // BLOCK
    lengths = {4, 6, 8, 12} if model.listed < 16 * model.resident else set()
    for share in (1, 2, 3, most, 2 * most, 4 * most):
        threads = max(1, share * model.device.multiprocessors * BLOCK // sizes.sets)  # of a set
        lengths.add(min(LONGEST_SLICE, max(4, divide_up(sizes.listed, threads))))
    return sorted(lengths)


def grouping_pays(sizes: Sizes) -> bool:
    """Whether one block a set may be the faster sort."""
    return sizes.buckets <= MAX_GROUPED_BUCKETS and sizes.candidates <= MAX_GROUPED_CANDIDATES


def drafts(shape: Shape, device: DeviceShape) -> Iterator[Model]:
    """Windows, sort and rounds worth an estimate."""
    for width in range(2, MAX_WIDTH + 1):
        base = Tuning(windows=divide_up(shape.bits, width), slice=1, run=1, grouped=True)
        sizes = Sizes(shape, base)
        if sizes.width != width or sizes.bins > MAX_BINS or (width > 3 and sizes.buckets > 4 * sizes.candidates):
            continue
        long = sizes.sets * sizes.candidates >= LONG_LISTS
        kinds, rounds_of_all = [], range(MAX_ROUNDS + 1 if long else 1)
        if grouping_pays(sizes):
            kinds += [(True, rounds) for rounds in rounds_of_all]
        if long:
            kinds += [(False, rounds) for rounds in rounds_of_all]
        for grouped, rounds in kinds or [(False, 0)]:
            yield Model(Sizes(shape, replace(base, grouped=grouped, pair_rounds=rounds)), device)


def completed(draft: Model, runs: Sequence[int]) -> Model:
    """The draft with its best slice, which concerns accumulation alone, and its best run, which the reduction does.

    Of slices as good as each other the shortest: more threads hide more of what the model leaves out.
    """
    sliced = [draft.change(slice=length) for length in slices(draft)]
    costs = [model.accumulate() for model in sliced]
    slice_ = next(model for model, cost in zip(sliced, costs, strict=True) if cost <= NEAR * min(costs))
    run = min((draft.change(run=run) for run in runs), key=Model.reduce)
    return draft.change(slice=slice_.sizes.tuning.slice, run=run.sizes.tuning.run)


def sensible_runs(draft: Model) -> list[int]:
    """Runs of each set eight or more, and of all sets a thousand: fewer leave most threads idle."""
    sizes = draft.sizes
    return [run for run in (1, 4, 8, 16) if run == 1 or sizes.buckets >= max(8, 1024 // sizes.sets) * run]


@lru_cache(maxsize=256)
def tune(shape: Shape, device: DeviceShape) -> Tuning:
    """The tuning with the least estimated time. A draft that cannot have it is not completed, which takes long."""
    best, least = None, inf
    bounded = [(draft.bound(), k, draft) for k, draft in enumerate(drafts(shape, device))]
    for bound, _, draft in sorted(bounded):
        if bound > least:
            break
        model = completed(draft, sensible_runs(draft))
        if (total := model.cost().total) < least:
            best, least = model, total
    assert best is not None  # a width of two bits is always a draft
    return best.sizes.tuning
