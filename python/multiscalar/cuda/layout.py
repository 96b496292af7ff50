"""What one shape of MSM needs on a device: buffers, launches in order, all sizes. Pure Python, no CUDA.

`lay_out` turns a shape of call and a tuning (tuning.py picks one) into a `Layout`: named buffers with their sizes and
the list of steps of one call. Grids and sizes are static: nothing is decided by the host between two steps, so the list
can be captured in a graph. The plan runs it on a GPU, the host shim of the tests runs the same list on a CPU.
Kernel arguments are described beside each kernel in kernels/msm/*.cuh.
"""

from __future__ import annotations

from math import ceil
from typing import Final

from .shape import SHARED_BYTES, DeviceShape, Shape, Sizes, Tuning, divide_up
from .steps import STATUS_WORDS, Argument, Fill, Launch, Layout, Ref

SCALAR_MONTGOMERY, SCALAR_NEGATE, SCALAR_GLV, SCALAR_ROWS = 1, 2, 4, 8
MAX_TABLE_POINTS: Final = (1 << 30) - 1  # an entry has 30 bits for the index; all ones is NONE

PAIR_THREADS = 128
PAIR_BLOCKS = {8: 5, 12: 4}  # resident blocks of a multiprocessor, as in msm/pairs.cuh
MAX_PAIR_ROWS = 288  # of a tile, as in msm/passes.cuh
FIXUP_ITEMS, JOINED_ITEMS = 64, 16  # partial sums of a block of msm_fixup, of a thread of msm_join at most
HELD_DIGITS, GROUP_THREADS = 16, 1024  # of a thread of msm_group; of a block, at most
SORT_THREADS, SORT_TILE = 512, 4096
SORT_TILES, SORT_BLOCKS = 4, 16  # tiles of a block, at most; blocks a multiprocessor before one takes more than a tile
MANY_BORDERS = 8192  # from here on throughput counts: join by single threads before the tree
MAX_BINS, MAX_BIN_BUCKETS = 1024, 2048
MAX_GROUPED_BUCKETS = 8192  # counters of msm_group: 32 KiB
BLOCK_SHARED_BYTES = 1024  # of a multiprocessor, that the driver takes for itself with each block
GROUP_SCRATCH_BYTES = 256  # of msm_group's shared memory, beside the counters and the list put together there


def power_of_two_at_least(value: float) -> int:
    return 1 << max(0, ceil(value) - 1).bit_length()


def lay_out(shape: Shape, tuning: Tuning, device: DeviceShape) -> Layout:
    """Buffers and steps of one call. `shape.n` must be at least 1; the caller answers n = 0 itself."""
    if shape.n < 1 or shape.table_points * shape.factor > MAX_TABLE_POINTS:
        raise ValueError(
            f"n = {shape.n} and {shape.table_points * shape.factor} table points: need 1 to {MAX_TABLE_POINTS}"
        )
    sizes = Sizes(shape, tuning)
    most = MAX_GROUPED_BUCKETS if tuning.grouped else MAX_BINS << sizes.low_bits
    if sizes.buckets > most or 1 << sizes.low_bits > MAX_BIN_BUCKETS:
        raise ValueError(f"{tuning.windows} windows make {sizes.buckets} buckets, the kernels have room for {most}")
    layout = Layout(shape, tuning)
    layout.need("result", shape.batch * 3 * shape.curve.coordinate_bytes)
    layout.need("status", 4 * STATUS_WORDS)
    layout.need("report", 4 * STATUS_WORDS)
    layout.need("sums", sizes.sets * 3 * shape.curve.coordinate_bytes)
    layout.need("digits", 4 * sizes.sets * sizes.candidates)
    _digits(layout, sizes)
    for first in range(0, sizes.sets, sizes.sets_per_pass):
        count = min(sizes.sets_per_pass, sizes.sets - first)
        if tuning.grouped:
            _group(layout, sizes, device, first, count)
        else:
            _partition(layout, sizes, device, first, count)
        points = _pairs(layout, sizes, device, count)
        _accumulate(layout, sizes, count, points)
        _fixup(layout, sizes, count)
        _reduce(layout, sizes, device, first, count)
    _combine(layout, sizes, device)
    return layout


def _digits(layout: Layout, sizes: Sizes) -> None:
    shape = layout.shape
    flags = SCALAR_MONTGOMERY if shape.montgomery else 0
    if shape.scalar_bytes == 32:
        flags |= SCALAR_GLV if shape.glv else SCALAR_NEGATE if shape.subgroup else 0
    flags |= SCALAR_ROWS if shape.rows else 0
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


def grouped_in_shared(sizes: Sizes) -> bool:
    """Whether a grouped list has room in its block's shared memory: at most HELD_DIGITS candidates a thread then."""
    return 4 * (sizes.buckets + sizes.entries) + GROUP_SCRATCH_BYTES <= SHARED_BYTES


def _group(layout: Layout, sizes: Sizes, device: DeviceShape, first: int, count: int) -> None:
    if first:
        raise ValueError("lists that are grouped in one block are all grouped together")
    layout.need("entries", 4 * count * sizes.entries)
    layout.need("offsets", 4 * count * (sizes.buckets + 1))
    share = 4 if count <= device.multiprocessors else HELD_DIGITS  # few blocks want many threads, many want room
    threads = min(GROUP_THREADS, max(128, power_of_two_at_least(sizes.candidates / share)))
    staged = grouped_in_shared(sizes)
    layout.steps.append(
        Launch(
            "msm_group", (count, 1), threads,
            (Ref("digits"), Ref("entries"), Ref("offsets"), *_entry_map(layout, sizes), sizes.buckets, sizes.pad,
             int(staged), sizes.candidates, sizes.entries),
            shared=4 * (sizes.buckets + (sizes.entries if staged else 0)), phase="sort",
        )
    )  # fmt: skip


def _partition(layout: Layout, sizes: Sizes, device: DeviceShape, first: int, count: int) -> None:
    shape = layout.shape
    low_bits, bins = sizes.low_bits, sizes.bins
    blocks = shape.halves * shape.factor
    tiles = divide_up(sizes.candidates * count, SORT_BLOCKS * device.multiprocessors * SORT_TILE)
    chunk = min(SORT_TILES, tiles) * SORT_TILE
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
    if sizes.pad > 1:
        sort("msm_bin_lengths", (bins, count), 256, buckets, lengths, bins, low_bits, sizes.pad)
    else:
        lengths = counts  # without padding a bin is as long as it was
    sort("msm_bucket_offsets", (bins, count), 256, lengths, buckets, offsets, sorted_entries, bins, low_bits, sizes.pad,
         sizes.entries)  # fmt: skip
    sort("msm_bucket_scatter", list_grid, SORT_THREADS, counts, buckets, entries, keys, sorted_entries, bins,
         low_bits, chunk, stride, sizes.entries)  # fmt: skip


def _pairs(layout: Layout, sizes: Sizes, device: DeviceShape, count: int) -> Ref | None:
    """Rounds of pair addition; returns where the remaining points are, None when entries go on as they are."""
    shape, tuning = layout.shape, layout.tuning
    if tuning.pair_rounds == 0:
        return None
    point = 2 * shape.curve.coordinate_bytes
    resident = PAIR_BLOCKS[shape.curve.limbs]
    source = Ref("entries")
    grid = resident * device.multiprocessors
    for k in range(tuning.pair_rounds):
        stride = sizes.entries >> (k + 1)
        target = Ref("points_even" if k % 2 == 0 else "points_odd")
        layout.need(target.buffer, count * stride * point)
        share = divide_up(count * divide_up(stride, PAIR_THREADS), grid)  # rows of a block, at most
        run = min(MAX_PAIR_ROWS, divide_up(share, max(1, round(share / tuning.pair_run))))
        slots = resident if share > run else 1
        layout.need("prefixes", grid * run * PAIR_THREADS * shape.curve.coordinate_bytes)
        arguments: tuple[Argument, ...]
        if k == 0:
            arguments = (Ref("table"), source, Ref("offsets"), target, Ref("prefixes"), shape.coordinates,
                         sizes.buckets, count, run, slots, stride)  # fmt: skip
        else:
            arguments = (source, Ref("offsets"), target, Ref("prefixes"), sizes.buckets, count, k + 1, run, slots,
                         stride)  # fmt: skip
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
    grid = (divide_up(count * sizes.slices, 128), 1)
    sums = (Ref("buckets"), Ref("partials_0"), Ref("owners_0"))
    if points is None:
        arguments: tuple[Argument, ...] = (Ref("table"), Ref("entries"), Ref("offsets"), *sums, shape.coordinates,
                                           sizes.buckets, count, sizes.slices, sizes.entries)  # fmt: skip
        layout.steps.append(Launch("msm_accumulate", grid, 128, arguments, 0, "accumulate"))
        return
    arguments = (points, Ref("offsets"), *sums, sizes.buckets, count, sizes.slices, tuning.pair_rounds,
                 sizes.listed)  # fmt: skip
    layout.steps.append(Launch("msm_accumulate_points", grid, 128, arguments, 0, "accumulate"))


def _fixup(layout: Layout, sizes: Sizes, count: int) -> None:
    xyzz = 4 * layout.shape.curve.coordinate_bytes
    items, level = 2 * sizes.slices, 0
    if sizes.slices == 1:
        return  # every bucket lies inside the one slice
    if count * sizes.slices >= MANY_BORDERS:
        joined = (Ref("partials_0"), Ref("owners_0"), Ref("buckets"), count, sizes.slices, sizes.buckets)
        grid = (divide_up(count * sizes.slices, 128), 1)
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


def tree_threads(blocks: int, lists: int, levels: int, multiprocessors: int) -> int:
    """Of a block of the tree: small ones where there are many, or where its first halving keeps no more octets busy."""
    additions = lists << levels >> 1
    return 256 if blocks <= 4 * multiprocessors and additions > 16 else 128


def _reduce(layout: Layout, sizes: Sizes, device: DeviceShape, first: int, count: int) -> None:
    shape, run = layout.shape, layout.tuning.run
    limbs, point = shape.curve.limbs, 3 * shape.curve.coordinate_bytes
    elements = sizes.buckets // run
    source, offsets, lists = Ref("buckets"), Ref("offsets"), 1
    steps = layout.steps
    weighted = int(run > 1)
    if weighted:
        layout.need("lists_0", count * 2 * elements * point)
        arguments: tuple[Argument, ...] = (source, offsets, Ref("lists_0"), sizes.buckets, count, run)
        steps.append(Launch("msm_reduce_runs", (divide_up(elements * count, 128), 1), 128, arguments, 0, "reduce"))
        source, lists = Ref("lists_0"), 2
    levels = tree_levels(limbs, lists, elements.bit_length() - 1)
    for k, level in enumerate(levels):
        half, shared = _tree_shared(limbs, lists, level)
        place = offsets if source.buffer == "buckets" else None
        if k == len(levels) - 1:
            target = Ref("sums", first * point)
            arguments = (source, place, target, elements, lists, level, half, weighted, run.bit_length() - 1)
            threads = tree_threads(count, lists, level, device.multiprocessors)
            steps.append(Launch("msm_reduce_last", (count, 1), threads, arguments, shared, "reduce"))
            return
        target = Ref("lists_1" if source.buffer == "lists_0" else "lists_0")
        layout.need(target.buffer, count * (lists + level) * (elements >> level) * point)
        arguments = (source, place, target, elements, lists, level, half)
        threads = tree_threads(count * (elements >> level), lists, level, device.multiprocessors)
        steps.append(Launch("msm_reduce_tree", (elements >> level, count), threads, arguments, shared, "reduce"))
        source, lists, elements = target, lists + level, elements >> level


def _combine(layout: Layout, sizes: Sizes, device: DeviceShape) -> None:
    batch = layout.shape.batch
    arguments = (Ref("sums"), Ref("result"), Ref("status"), Ref("report"), sizes.bits, layout.tuning.windows,
                 sizes.groups)  # fmt: skip
    # One warp keeps its part of a multiprocessor busy, and blocks begin wherever there is room first: shared memory
    # that they do not use, beside what each block is charged, keeps more than four from one multiprocessor.
    quarter = max(0, device.shared_bytes // 4 - BLOCK_SHARED_BYTES)
    shared = min(SHARED_BYTES, quarter) if 1 < batch <= 4 * device.multiprocessors else 0
    layout.steps.append(Launch("msm_combine", (batch, 1), 32, arguments, shared, "combine"))
