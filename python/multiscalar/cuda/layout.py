"""What one shape of MSM needs on a device: buffers, launches in order, all sizes. Pure Python, no CUDA.

`lay_out` turns a shape of call and a tuning (tuning.py picks one) into a `Layout`: named buffers with their sizes and
the list of steps of one call. Grids and sizes are static: nothing is decided by the host between two steps, so the list
can be captured in a graph. The plan runs it on a GPU, the host shim of the tests runs the same list on a CPU.
Kernel arguments are described beside each kernel in kernels/msm/*.cuh.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Final

SOURCES: Final = (
    "ptx/rows", "ptx/memory", "ptx/warp",
    "field/element", "field/inverse",
    "curve/points", "curve/octet",
    "msm/common", "msm/digits", "msm/group", "msm/partition", "msm/accumulate", "msm/fixup", "msm/pairs",
    "msm/reduce", "msm/combine", "msm/convert",
)  # fmt: skip
KERNELS: Final = (
    "msm_digits", "msm_group", "msm_bin_count", "msm_bin_scatter", "msm_bucket_count", "msm_bin_lengths",
    "msm_bucket_offsets", "msm_bucket_scatter",
    "msm_accumulate", "msm_accumulate_points", "msm_join", "msm_fixup", "msm_pairs_entries", "msm_pairs_points",
    "msm_reduce_runs", "msm_reduce_tree", "msm_reduce_last", "msm_combine", "msm_convert", "msm_precompute",
)  # fmt: skip

STATUS_WORDS: Final = 2  # lowest index of a bad scalar, of a bad point; NO_INDEX when there is none
NO_INDEX: Final = 0xFFFFFFFF
SCALAR_MONTGOMERY, SCALAR_NEGATE, SCALAR_GLV = 1, 2, 4
POINT_MONTGOMERY, POINT_CHECK = 1, 2
MAX_TABLE_POINTS: Final = (1 << 30) - 1  # an entry has 30 bits for the index; all ones is NONE

PAIR_THREADS = 128
PAIR_BLOCKS = {8: 5, 12: 4}  # resident blocks of a multiprocessor, as in msm/pairs.cuh
FIXUP_ITEMS = 64
SORT_THREADS, SORT_TILE = 512, 4096
MANY_BORDERS = 8192  # from here on throughput counts: join by single threads before the tree
MAX_BINS, MAX_BIN_BUCKETS = 1024, 2048
SHARED_BYTES = 48 * 1024  # without opting in to more
MAX_GROUPED_BUCKETS = 8192  # counters of msm_group: 32 KiB


def kernel_source(curve_module: str) -> str:
    """The translation unit of a curve, say `bls12_377`: generated constants first, then the kernels."""
    root = Path(__file__).parent / "kernels"
    parts = [root / f"curve/tables/{curve_module}.cuh", *(root / f"{name}.cuh" for name in SOURCES)]
    return "\n".join(path.read_text() for path in parts)


@dataclass(frozen=True)
class CurveShape:
    """What sizes depend on: 32-bit limbs of a coordinate, bits of the group order and of a GLV half."""

    name: str
    limbs: int
    order_bits: int
    glv_bits: int

    @property
    def coordinate_bytes(self) -> int:
        return 4 * self.limbs


@dataclass(frozen=True)
class DeviceShape:
    """What grids depend on."""

    multiprocessors: int = 132
    shared_bytes: int = SHARED_BYTES


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One shape of call: `batch` MSMs of up to `n` terms over tables of `points` bases."""

    curve: CurveShape
    n: int
    batch: int = 1
    points: int = 0  # bases of one part of the table; 0 means n (or n batch with own bases)
    own_bases: bool = False  # each MSM has its own n bases, one after the other in the table
    scalar_bytes: int = 32
    montgomery: bool = False
    subgroup: bool = True  # bases are known to lie in the subgroup of order r
    lengths: bool = False  # a buffer `lengths` gives the terms of each MSM
    factor: int = 1  # parts of the table: part j holds 2^(j shift) times the bases
    endomorphism: bool = False  # table records have both forms, (x, y) and (beta x, y)

    @property
    def table_points(self) -> int:
        return self.points or (self.n * self.batch if self.own_bases else self.n)

    @property
    def coordinates(self) -> int:
        return 4 if self.endomorphism else 2

    @property
    def glv(self) -> bool:
        return self.endomorphism and self.subgroup and self.scalar_bytes == 32 and self.factor == 1

    @property
    def bits(self) -> int:
        """Bits that the windows must cover: one more than a scalar's, so that the top digit has room for a carry."""
        if self.scalar_bytes < 32:
            return 8 * self.scalar_bytes + 1
        if self.glv:
            return self.curve.glv_bits + 1
        return self.curve.order_bits + (0 if self.subgroup else 1)

    @property
    def halves(self) -> int:
        return 2 if self.glv else 1


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The free choices. `windows` cut the bits evenly; see the kernels for the rest."""

    windows: int
    slice: int  # list entries a thread of msm_accumulate
    run: int  # buckets a thread of msm_reduce_runs, a power of two; 1 skips that kernel
    grouped: bool  # group in one block a set, instead of the two-level sort
    pair_rounds: int = 0  # rounds of affine pair addition before the XYZZ accumulation
    pair_run: int = 96  # sums a thread of a pair tile, about
    sets_per_pass: int = 0  # sets worked on together; 0 means all. Fewer need less memory


@dataclass(frozen=True)
class Ref:
    """A device address: a buffer and a byte offset in it."""

    buffer: str
    offset: int = 0


Argument = Ref | int | None  # address, 32-bit unsigned number, null address


@dataclass(frozen=True)
class Launch:
    """A kernel launch; `phase` says where its time counts."""

    kernel: str
    grid: tuple[int, int]
    block: int
    arguments: tuple[Argument, ...]
    shared: int = 0
    phase: str = ""


@dataclass(frozen=True)
class Fill:
    """Set `size` bytes to `value`."""

    target: Ref
    size: int
    value: int
    phase: str = ""


Step = Launch | Fill


@dataclass
class Layout:
    """Buffers by name with their sizes in bytes, and the steps of one call.

    The caller provides `scalars`, `table` and, if the shape says so, `lengths`; everything else belongs to the plan.
    `result` receives X, Y, Z of each MSM (3 limbs words each): x = X / Z, y = Y / Z, infinity when Z = 0 mod p.
    """

    shape: Shape
    tuning: Tuning
    buffers: dict[str, int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def need(self, name: str, size: int) -> None:
        self.buffers[name] = max(self.buffers.get(name, 0), (size + 255) // 256 * 256)

    @property
    def scratch_bytes(self) -> int:
        return sum(size for name, size in self.buffers.items() if name not in EXTERNAL)


EXTERNAL: Final = ("scalars", "table", "lengths")


def divide_up(a: int, b: int) -> int:
    return -(-a // b)


def power_of_two_at_least(value: float) -> int:
    return 1 << max(0, ceil(value) - 1).bit_length()


@dataclass(frozen=True)
class Sizes:
    """Counts that follow from shape and tuning."""

    shape: Shape
    tuning: Tuning

    @property
    def bits(self) -> int:
        """With precomputed parts all windows must be of one width, since a part's shift is a number of windows."""
        exact = self.shape.bits
        return self.tuning.windows * divide_up(exact, self.tuning.windows) if self.shape.factor > 1 else exact

    @property
    def width(self) -> int:
        return divide_up(self.bits, self.tuning.windows)

    @property
    def buckets(self) -> int:
        return 1 << (self.width - 1)

    @property
    def groups(self) -> int:
        """Sets of one MSM: windows that share buckets count once."""
        return divide_up(self.tuning.windows, self.shape.factor)

    @property
    def shift(self) -> int:
        """Part j of the table holds 2^(j shift) times the bases."""
        return self.width * self.groups

    @property
    def sets(self) -> int:
        return self.groups * self.shape.batch

    @property
    def candidates(self) -> int:
        """Entries of a set, zero digits included: the stride of digits."""
        return self.shape.factor * self.shape.halves * self.shape.n

    @property
    def pad(self) -> int:
        return 1 << self.tuning.pair_rounds

    @property
    def entries(self) -> int:
        """Capacity of a grouped list, padding of buckets included."""
        return divide_up(self.candidates + self.buckets * (self.pad - 1), self.pad) * self.pad

    @property
    def listed(self) -> int:
        """Capacity of the list that is accumulated."""
        return self.entries >> self.tuning.pair_rounds

    @property
    def low_bits(self) -> int:
        """Digit bits that the second level of the sort tells apart."""
        return self.width // 2

    @property
    def bins(self) -> int:
        return self.buckets >> self.low_bits

    @property
    def slices(self) -> int:
        return max(1, divide_up(self.listed, self.tuning.slice))

    @property
    def sets_per_pass(self) -> int:
        return min(self.sets, self.tuning.sets_per_pass or self.sets)


def lay_out(shape: Shape, tuning: Tuning, device: DeviceShape) -> Layout:
    """Buffers and steps of one call. `shape.n` must be at least 1; the caller answers n = 0 itself."""
    if shape.n < 1 or shape.table_points * shape.factor > MAX_TABLE_POINTS:
        raise ValueError(
            f"n = {shape.n} and {shape.table_points * shape.factor} table points: need 1 to {MAX_TABLE_POINTS}"
        )
    sizes = Sizes(shape, tuning)
    layout = Layout(shape, tuning)
    layout.need("result", shape.batch * 3 * shape.curve.coordinate_bytes)
    layout.need("status", 4 * STATUS_WORDS)
    layout.need("sums", sizes.sets * 3 * shape.curve.coordinate_bytes)
    layout.need("digits", 4 * sizes.sets * sizes.candidates)
    layout.steps.append(Fill(Ref("status"), 4 * STATUS_WORDS, 0xFF, "digits"))
    _digits(layout, sizes)
    for first in range(0, sizes.sets, sizes.sets_per_pass):
        count = min(sizes.sets_per_pass, sizes.sets - first)
        if tuning.grouped:
            _group(layout, sizes, first, count)
        else:
            _partition(layout, sizes, device, first, count)
        points = _pairs(layout, sizes, device, count)
        _accumulate(layout, sizes, count, points)
        _fixup(layout, sizes, count)
        _reduce(layout, sizes, device, first, count)
    _combine(layout, sizes)
    return layout


def _digits(layout: Layout, sizes: Sizes) -> None:
    shape = layout.shape
    flags = SCALAR_MONTGOMERY if shape.montgomery else 0
    if shape.scalar_bytes == 32:
        flags |= SCALAR_GLV if shape.glv else SCALAR_NEGATE if shape.subgroup else 0
    layout.steps.append(
        Launch(
            "msm_digits", (divide_up(shape.n, 128), shape.batch), 128,
            (Ref("scalars"), Ref("lengths") if shape.lengths else None, Ref("digits"), Ref("status"),
             shape.scalar_bytes, flags, shape.n, sizes.bits, layout.tuning.windows, sizes.groups,
             shape.factor, sizes.candidates),
            phase="digits",
        )
    )  # fmt: skip


def _entry_map(layout: Layout, sizes: Sizes) -> tuple[int, ...]:
    """n, halves, parts, points, own_bases, groups: how a list position names a table point."""
    shape = layout.shape
    return shape.n, shape.halves, shape.factor, shape.table_points, int(shape.own_bases), sizes.groups


def _group(layout: Layout, sizes: Sizes, first: int, count: int) -> None:
    if first:
        raise ValueError("lists that are grouped in one block are all grouped together")
    layout.need("entries", 4 * count * sizes.entries)
    layout.need("offsets", 4 * count * (sizes.buckets + 1))
    sweeps = layout.shape.halves * layout.shape.factor  # one after the other, so many of them want a wide block
    threads = min(1024, max(128, power_of_two_at_least(layout.shape.n / (4 if sweeps <= 2 else 1))))
    layout.steps.append(
        Launch(
            "msm_group", (count, 1), threads,
            (Ref("digits"), Ref("entries"), Ref("offsets"), *_entry_map(layout, sizes), sizes.buckets, sizes.candidates,
             sizes.entries),
            shared=4 * sizes.buckets, phase="sort",
        )
    )  # fmt: skip


def _partition(layout: Layout, sizes: Sizes, device: DeviceShape, first: int, count: int) -> None:
    shape = layout.shape
    low_bits, bins = sizes.low_bits, sizes.bins
    blocks = shape.halves * shape.factor
    fill = divide_up(sizes.candidates * count, 4 * device.multiprocessors)
    chunk = min(32768, max(2048, divide_up(fill, SORT_TILE) * SORT_TILE))
    digit_grid = (divide_up(shape.n, chunk) * blocks, count)
    list_grid = (divide_up(sizes.candidates, chunk), count)
    layout.need("bins", 4 * count * (3 * bins + sizes.buckets))
    layout.need("binned_entries", 4 * count * sizes.candidates)
    layout.need("binned_keys", 2 * count * sizes.candidates)
    layout.need("entries", 4 * count * sizes.entries)
    layout.need("offsets", 4 * count * (sizes.buckets + 1))
    lengths, counts, cursors, buckets = (Ref("bins", 4 * count * bins * k) for k in range(4))
    digits = Ref("digits", 4 * first * sizes.candidates)
    entries, keys, sorted_entries, offsets = Ref("binned_entries"), Ref("binned_keys"), Ref("entries"), Ref("offsets")
    stride = sizes.candidates

    def sort(kernel: str, grid: tuple[int, int], block: int, *arguments: Argument) -> None:
        layout.steps.append(Launch(kernel, grid, block, arguments, 0, "sort"))

    layout.steps.append(Fill(counts, 4 * count * (2 * bins + sizes.buckets), 0, "sort"))
    sort("msm_bin_count", digit_grid, SORT_THREADS, digits, counts, shape.n, chunk, bins, low_bits, stride)
    sort("msm_bin_scatter", digit_grid, SORT_THREADS, digits, counts, cursors, entries, keys,
         *_entry_map(layout, sizes), first, chunk, bins, low_bits, stride)  # fmt: skip
    sort("msm_bucket_count", list_grid, SORT_THREADS, counts, keys, buckets, bins, low_bits, chunk, stride)
    sort("msm_bin_lengths", (bins, count), 256, buckets, lengths, bins, low_bits, sizes.pad)
    sort("msm_bucket_offsets", (bins, count), 256, lengths, buckets, offsets, sorted_entries, bins, low_bits, sizes.pad,
         sizes.entries)  # fmt: skip
    sort("msm_bucket_scatter", list_grid, SORT_THREADS, counts, buckets, entries, keys, sorted_entries, bins,
         low_bits, chunk, stride, sizes.entries)  # fmt: skip


def _pairs(layout: Layout, sizes: Sizes, device: DeviceShape, count: int) -> Ref | None:
    """Rounds of pair addition; returns where the remaining points are, None when entries go on as they are."""
    shape, tuning = layout.shape, layout.tuning
    if tuning.pair_rounds == 0:
        return None
    if tuning.grouped:
        raise ValueError("pair rounds need the padded buckets of the two-level sort")
    point = 2 * shape.curve.coordinate_bytes
    resident = PAIR_BLOCKS[shape.curve.limbs]
    source = Ref("entries")
    grid = resident * device.multiprocessors
    for k in range(tuning.pair_rounds):
        stride = sizes.entries >> (k + 1)
        target = Ref("points_even" if k % 2 == 0 else "points_odd")
        layout.need(target.buffer, count * stride * point)
        share = divide_up(count * divide_up(stride, PAIR_THREADS), grid)  # rows of a block
        tiles = max(1, round(share / tuning.pair_run))
        run, slots = divide_up(share, tiles), resident if tiles > 2 else 1
        layout.need("prefixes", grid * run * PAIR_THREADS * shape.curve.coordinate_bytes)
        arguments: tuple[Argument, ...]
        if k == 0:
            arguments = (Ref("table"), source, Ref("offsets"), target, Ref("prefixes"), shape.coordinates,
                         sizes.buckets, count, run, slots, sizes.entries, stride)  # fmt: skip
        else:
            arguments = (source, Ref("offsets"), target, Ref("prefixes"), sizes.buckets, count, k + 1, run, slots,
                         2 * stride, stride)  # fmt: skip
        kernel = "msm_pairs_points" if k else "msm_pairs_entries"
        layout.steps.append(Launch(kernel, (grid, 1), PAIR_THREADS, arguments, 0, "accumulate"))
        source = target
    return source


def _accumulate(layout: Layout, sizes: Sizes, count: int, points: Ref | None) -> None:
    shape, tuning = layout.shape, layout.tuning
    xyzz = 4 * shape.curve.coordinate_bytes
    layout.need("buckets", count * sizes.buckets * xyzz)
    layout.need("partials_0", count * 2 * sizes.slices * xyzz)
    layout.need("owners_0", count * 2 * sizes.slices * 4)
    grid = (divide_up(sizes.slices, 128), count)
    sums = (Ref("buckets"), Ref("partials_0"), Ref("owners_0"))
    if points is None:
        arguments: tuple[Argument, ...] = (Ref("table"), Ref("entries"), Ref("offsets"), *sums, shape.coordinates,
                                           sizes.buckets, tuning.slice, sizes.slices, sizes.entries)  # fmt: skip
        layout.steps.append(Launch("msm_accumulate", grid, 128, arguments, 0, "accumulate"))
        return
    arguments = (
        points,
        Ref("offsets"),
        *sums,
        sizes.buckets,
        tuning.slice,
        sizes.slices,
        tuning.pair_rounds,
        sizes.listed,
    )
    layout.steps.append(Launch("msm_accumulate_points", grid, 128, arguments, 0, "accumulate"))


def _fixup(layout: Layout, sizes: Sizes, count: int) -> None:
    xyzz = 4 * layout.shape.curve.coordinate_bytes
    items, level = 2 * sizes.slices, 0
    if sizes.slices == 1:
        return  # every bucket lies inside the one slice
    if count * sizes.slices >= MANY_BORDERS:
        joined = (Ref("partials_0"), Ref("owners_0"), Ref("buckets"), sizes.slices, sizes.buckets)
        grid = (divide_up(sizes.slices, 128), count)
        layout.steps.append(Launch("msm_join", grid, 128, joined, 0, "accumulate"))
    while True:
        blocks = divide_up(items, FIXUP_ITEMS)
        here, there = level % 2, (level + 1) % 2
        layout.need(f"partials_{there}", count * 2 * blocks * xyzz)
        layout.need(f"owners_{there}", count * 2 * blocks * 4)
        layout.steps.append(
            Launch(
                "msm_fixup", (blocks, count), 256,
                (Ref(f"partials_{here}"), Ref(f"owners_{here}"), Ref(f"partials_{there}"), Ref(f"owners_{there}"),
                 Ref("buckets"), items, sizes.buckets),
                0, "accumulate",
            )
        )  # fmt: skip
        if blocks == 1:
            return
        items, level = 2 * blocks, level + 1


def _tree_shared(limbs: int, lists: int, levels: int) -> tuple[int, int]:
    """Words of the first half of msm_reduce_tree's buffer, bytes of both: outputs of the first and second level."""
    point = 3 * limbs
    first = (lists + 1) * (1 << levels) // 2 if levels else lists
    second = (lists + 2) * (1 << levels) // 4 if levels > 1 else 0
    return first * point, 4 * (first + second) * point


def tree_levels(limbs: int, lists: int, bits: int) -> list[int]:
    """How many halvings each launch does: as few launches as shared memory allows, the last one with five or so."""
    levels: list[int] = []
    while True:
        fits = max(q for q in range(bits + 1) if _tree_shared(limbs, lists, q)[1] <= SHARED_BYTES)
        fits = min(fits, 7)
        if fits >= bits:
            return [*levels, bits]
        levels.append(min(fits, max(bits - 5, 2)))
        lists, bits = lists + levels[-1], bits - levels[-1]


def _reduce(layout: Layout, sizes: Sizes, device: DeviceShape, first: int, count: int) -> None:
    shape, run = layout.shape, layout.tuning.run
    limbs, point = shape.curve.limbs, 3 * shape.curve.coordinate_bytes
    elements = sizes.buckets // run
    source, offsets, lists = Ref("buckets"), Ref("offsets"), 1
    steps = layout.steps
    weighted = int(run > 1)
    if weighted:
        layout.need("lists_0", count * 2 * elements * point)
        arguments: tuple[Argument, ...] = (source, offsets, Ref("lists_0"), sizes.buckets, run)
        steps.append(Launch("msm_reduce_runs", (divide_up(elements, 128), count), 128, arguments, 0, "reduce"))
        source, lists = Ref("lists_0"), 2
    levels = tree_levels(limbs, lists, elements.bit_length() - 1)
    for k, level in enumerate(levels):
        half, shared = _tree_shared(limbs, lists, level)
        place = offsets if source.buffer == "buckets" else None
        if k == len(levels) - 1:
            target = Ref("sums", first * point)
            arguments = (source, place, target, elements, lists, level, half, weighted, run.bit_length() - 1)
            steps.append(Launch("msm_reduce_last", (count, 1), 256, arguments, shared, "reduce"))
            return
        target = Ref("lists_1" if source.buffer == "lists_0" else "lists_0")
        layout.need(target.buffer, count * (lists + level) * (elements >> level) * point)
        arguments = (source, place, target, elements, lists, level, half)
        steps.append(Launch("msm_reduce_tree", (elements >> level, count), 256, arguments, shared, "reduce"))
        source, lists, elements = target, lists + level, elements >> level


def _combine(layout: Layout, sizes: Sizes) -> None:
    arguments = (Ref("sums"), Ref("result"), sizes.bits, layout.tuning.windows, sizes.groups)
    layout.steps.append(Launch("msm_combine", (layout.shape.batch, 1), 32, arguments, 0, "combine"))


def table_bytes(curve: CurveShape, points: int, factor: int, endomorphism: bool) -> int:
    """Size of a table of `points` bases in `factor` parts."""
    return factor * points * (4 if endomorphism else 2) * curve.coordinate_bytes


def lay_out_table(
    curve: CurveShape,
    points: int,
    *,
    montgomery: bool,
    check: bool,
    endomorphism: bool,
    factor: int = 1,
    shift: int = 0,
    first: int = 0,
    count: int | None = None,
) -> list[Step]:
    """Steps that turn `count` raw points (buffer `points`, from index `first` on) into records of buffer `table`, then,
    when `factor` > 1 and this is the last chunk, into the other parts. Buffer `status` reports the first bad point.
    """
    count = points - first if count is None else count
    coordinates = 4 if endomorphism else 2
    flags = (POINT_MONTGOMERY if montgomery else 0) | (POINT_CHECK if check else 0)
    arguments: tuple[Argument, ...] = (
        Ref("points"),
        Ref("table"),
        Ref("status"),
        count,
        coordinates,
        flags,
        first,
    )
    steps: list[Step] = [Launch("msm_convert", (divide_up(count, 128), 1), 128, arguments, 0, "convert")]
    if first + count < points:
        return steps
    part = table_bytes(curve, points, 1, endomorphism)
    for j in range(1, factor):
        arguments = (Ref("table", (j - 1) * part), Ref("table", j * part), points, coordinates, shift)
        steps.append(Launch("msm_precompute", (divide_up(points, 128), 1), 128, arguments, 0, "convert"))
    return steps
