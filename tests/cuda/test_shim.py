"""The kernels, compiled as C++, compute right sums on the host: every curve, every path, every awkward input."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "shim")]
import driver  # noqa: E402
import oracle  # noqa: E402
from multiscalar.cuda.layout import lay_out  # noqa: E402
from multiscalar.cuda.records import lay_out_table, table_bytes  # noqa: E402
from multiscalar.cuda.shape import DeviceShape, Shape, Sizes, Tuning  # noqa: E402
from multiscalar.cuda.steps import NO_INDEX, Launch  # noqa: E402
from multiscalar.cuda.tuning import NEAR, Model, slices, tune  # noqa: E402

CURVES = list(oracle.FILES)
DEVICE = DeviceShape(multiprocessors=3)
# path -> (tuning, options of the shape)
PATHS: dict[str, tuple[Tuning, dict[str, Any]]] = {
    "grouped": (Tuning(windows=52, slice=4, run=1, grouped=True), {}),
    "glv": (Tuning(windows=22, slice=4, run=1, grouped=True), {"endomorphism": True}),
    "sorted": (Tuning(windows=37, slice=3, run=4, grouped=False), {}),
    "pairs": (
        Tuning(windows=43, slice=4, run=2, grouped=False, pair_rounds=2, pair_run=2, sets_per_pass=20),
        {"endomorphism": False},
    ),
    "pairs-glv": (
        Tuning(windows=26, slice=2, run=1, grouped=False, pair_rounds=3, pair_run=3),
        {"endomorphism": True},
    ),
    "grouped-pairs": (
        Tuning(windows=26, slice=2, run=1, grouped=True, pair_rounds=3, pair_run=3),
        {"endomorphism": True},
    ),
    "precomputed": (Tuning(windows=43, slice=4, run=1, grouped=True), {"factor": 8}),
    "any-order": (Tuning(windows=52, slice=8, run=1, grouped=True), {"subgroup": False}),
}


@lru_cache
def machine(name: str) -> driver.Machine:
    facts = oracle.curve(name)
    return driver.Machine(driver.build(facts.module, oracle.constants(facts)))


def place(buffers: dict[str, driver.Bytes], name: str, values: np.ndarray) -> None:
    buffers[name] = driver.aligned(max(values.nbytes, 16))
    buffers[name][: values.nbytes] = np.ascontiguousarray(values).view(np.uint8).ravel()


def compute(
    name: str,
    points: np.ndarray,
    scalars: np.ndarray,
    tuning: Tuning,
    device: DeviceShape = DEVICE,
    *,
    check: bool = True,
    points_montgomery: bool = False,
    lengths: list[int] | None = None,
    **options: Any,
) -> tuple[list[oracle.Point], list[int]]:
    """Runs one layout; returns the sums of the batch and the status words."""
    facts = oracle.curve(name)
    batch = options.get("batch", 1)
    shape = Shape(
        curve=oracle.shape_of(facts),
        n=len(scalars) // batch,
        points=len(points),
        lengths=lengths is not None,
        **options,
    )
    plan = lay_out(shape, tuning, device)
    buffers = {key: driver.aligned(size) for key, size in plan.buffers.items()}
    table = table_bytes(shape.curve, shape.table_points, shape.factor, shape.endomorphism)
    buffers["table"] = driver.aligned(table)
    place(buffers, "points", points)
    place(buffers, "scalars", scalars)
    if lengths is not None:
        place(buffers, "lengths", np.array(lengths, np.uint32))
    steps = lay_out_table(
        shape.curve,
        shape.table_points,
        montgomery=points_montgomery,
        check=check,
        endomorphism=shape.endomorphism,
        factor=shape.factor,
        shift=Sizes(shape, tuning).shift,
    )
    buffers["status"][:] = 0xFF
    machine(name).run(steps, buffers)
    bad_point = int(buffers["status"][:8].view(np.uint32)[1])
    buffers["status"][:] = 0xFF
    machine(name).run(plan.steps, buffers)
    assert (buffers["status"][:8] == 0xFF).all(), "the next call finds the status as this one did"
    status = [int(buffers["report"][:8].view(np.uint32)[0]), bad_point]
    limbs = shape.curve.limbs
    results = buffers["result"][: 12 * limbs * batch].view(np.uint32).reshape(batch, 3, limbs)
    return [oracle.affine(result, facts.field.modulus) for result in results], status


def uniform(name: str, n: int, seed: int) -> list[int]:
    rng = random.Random(seed)
    return [rng.randrange(oracle.curve(name).scalar.modulus) for _ in range(n)]


@lru_cache
def bases(name: str, n: int) -> oracle.Bases:
    return oracle.Bases.progression(oracle.curve(name), n, seed=n + 11)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("name", CURVES)
def test_uniform(name: str, path: str) -> None:
    check_uniform(name, path, 237)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("n", [1, 31])
def test_few_terms(path: str, n: int) -> None:
    check_uniform("bn254", path, n)


def check_uniform(name: str, path: str, n: int) -> None:
    tuning, options = PATHS[path]
    known, scalars = bases(name, n), uniform(name, n, n)
    sums, status = compute(name, known.raw(), oracle.words(scalars, 8), tuning, **options)
    assert sums == [known.expected(scalars)]
    assert status == [NO_INDEX, NO_INDEX]


def shapes_of_scalars(r: int, n: int) -> dict[str, Callable[[int], int]]:
    return {
        "zero": lambda i: 0,
        "one": lambda i: 1,
        "all r - 1": lambda i: r - 1,
        "all equal": lambda i: r // 3,
        "one hot": lambda i: 12345 if i == n // 2 else 0,
        "0 or 1": lambda i: i % 3 == 0,
        "half hot": lambda i: 7 if i % 2 else pow(5, i + 1, r),
        "powers of two": lambda i: 1 << (i % (r.bit_length() - 1)),
        "halves": lambda i: r // 2 + i % 2,
    }


@pytest.mark.parametrize("path", ["grouped", "glv", "pairs", "grouped-pairs", "precomputed"])
def test_shapes_of_scalars(path: str) -> None:
    name = "bn254"
    tuning, options = PATHS[path]
    n = 130
    known = bases(name, n)
    for label, scalar in shapes_of_scalars(oracle.curve(name).scalar.modulus, n).items():
        scalars = [int(scalar(i)) for i in range(n)]
        sums, _ = compute(name, known.raw(), oracle.words(scalars, 8), tuning, **options)
        assert sums == [known.expected(scalars)], label


def test_blocks_that_sort_several_tiles() -> None:
    """One multiprocessor, so that blocks take two tiles: scalars that are spread, then half of them in one bucket."""
    name, n, device = "bn254", 9000, DeviceShape(multiprocessors=1)
    known, rng = bases(name, n), np.random.default_rng(4)
    tuning = Tuning(windows=8, slice=40, run=1, grouped=False, pair_rounds=2, pair_run=4)
    shape = Shape(curve=oracle.shape_of(known.facts), n=n, scalar_bytes=8, subgroup=False)
    grids = {step.kernel: step.grid for step in lay_out(shape, tuning, device).steps if isinstance(step, Launch)}
    assert grids["msm_bin_scatter"] == grids["msm_bucket_scatter"] == (2, 8)
    spread = rng.integers(0, 1 << 64, n, dtype=np.uint64)
    for values in (spread, np.where(spread < 1 << 63, np.uint64(77), spread)):
        sums, _ = compute(name, known.raw(), values, tuning, device, scalar_bytes=8, subgroup=False)
        assert sums == [known.expected([int(v) for v in values])]


@pytest.mark.parametrize(
    ("name", "path"), [*(("bn254", path) for path in PATHS), ("bls12-377", "glv"), ("bls12-377", "pairs")]
)
def test_awkward_bases(name: str, path: str) -> None:
    """All equal, opposite pairs, all infinity, and a mixture, under one scalar so that all meet in the same buckets."""
    tuning, options = PATHS[path]
    n, scalar = 67, 0x1234567
    known = bases(name, n)
    r, p = known.facts.scalar.modulus, known.facts.field.modulus
    point, log = known.points[3], known.logs[3]
    assert point is not None
    opposite = (point[0], p - point[1])
    columns: dict[str, tuple[list[oracle.Point], list[int]]] = {
        "equal": ([point] * n, [log] * n),
        "pairs": (
            [point if i % 2 else opposite for i in range(n)],
            [log if i % 2 else -log for i in range(n)],
        ),
        "infinity": ([None] * n, [0] * n),
        "mixed": (
            [(None, point, opposite, known.points[i])[i % 4] for i in range(n)],
            [(0, log, -log, known.logs[i])[i % 4] for i in range(n)],
        ),
    }
    for label, (points, logs) in columns.items():
        mixed = oracle.Bases(known.facts, [k % r for k in logs], points)
        sums, status = compute(name, mixed.raw(), oracle.words([scalar] * n, 8), tuning, **options)
        assert sums == [mixed.expected([scalar] * n)], label
        assert status[1] == NO_INDEX


def test_lists_too_long_for_a_thread_to_hold() -> None:
    """One block groups 16,600 digits, of which its threads can keep 16,384 between counting and writing."""
    name, n = "bn254", 8300
    known, values = bases(name, n), np.random.default_rng(6).integers(0, 256, n, dtype=np.uint8)
    tuning = Tuning(windows=2, slice=40, run=1, grouped=True)
    sums, _ = compute(name, known.raw(), values, tuning, scalar_bytes=1, subgroup=False, factor=2)
    assert sums == [known.expected([int(v) for v in values])]


@pytest.mark.parametrize("slice_", [1, 3])
def test_buckets_over_few_slices(slice_: int) -> None:
    """Nine points a bucket: in slices of three one thread joins them, in slices of one many touch too many for it."""
    name, n = "bn254", 8300
    known, values = bases(name, n), np.random.default_rng(7).integers(0, 1 << 32, n, dtype=np.uint32)
    tuning = Tuning(windows=3, slice=slice_, run=1, grouped=True)
    sums, _ = compute(name, known.raw(), values, tuning, scalar_bytes=4, subgroup=False)
    assert sums == [known.expected([int(v) for v in values])]


@pytest.mark.parametrize("name", ["bn254", "bls12-377"])
@pytest.mark.parametrize("bits", [16, 20])
def test_accumulation_spreads_evenly_over_the_device(name: str, bits: int) -> None:
    """What the busiest multiprocessor has, the others have too, with lists as long as uniform scalars make them."""
    device = DeviceShape(132)
    shape = Shape(curve=oracle.shape_of(oracle.curve(name)), n=1 << bits, endomorphism=True)
    sizes = Sizes(shape, tune(shape, device))
    entries = Model(sizes, device).listed / sizes.sets
    slices = min(sizes.slices, entries / ceil(entries / sizes.slices) + 31)  # in warps
    blocks = sizes.sets * slices / 128
    assert blocks / (ceil(blocks / 132) * 132) > 0.9


@pytest.mark.parametrize("name", ["bn254", "bls12-377", "bls12-381"])
def test_many_short_lists_are_grouped_and_summed_in_pairs(name: str) -> None:
    """A block a list sorts a thousand of them faster than two levels do, and rounds of pairs pay for so many sums."""
    shape = Shape(curve=oracle.shape_of(oracle.curve(name)), n=1 << 12, batch=64, endomorphism=True)
    tuning = tune(shape, DeviceShape(132))
    assert tuning.grouped
    assert tuning.pair_rounds >= 2
    threads = Sizes(shape, tuning).sets * Sizes(shape, tuning).slices
    places = 132 * 128 * (ceil(threads / (132 * 128)))
    assert 0.9 < threads / places <= 1, "slices fill the places of every multiprocessor, and no more"


def test_slice_and_run_are_the_best_of_all_combinations() -> None:
    """They are chosen one by one, since neither changes what the other costs."""
    shape, device = Shape(curve=oracle.shape_of(oracle.curve("bn254")), n=1 << 16), DeviceShape(132)
    model = Model(Sizes(shape, tune(shape, device)), device)
    costs = [model.change(slice=length, run=run).cost().total for length in slices(model) for run in (1, 4, 8, 16)]
    assert min(costs) <= model.cost().total <= NEAR * min(costs)
    assert min(costs) < max(costs)


@pytest.mark.parametrize(("name", "path"), [("bn254", "glv"), ("bls12-381", "pairs")])
def test_a_thousand_and_twenty_five(name: str, path: str) -> None:
    tuning, options = PATHS[path]
    known, scalars = bases(name, 1025), uniform(name, 1025, 3)
    sums, _ = compute(name, known.raw(), oracle.words(scalars, 8), tuning, **options)
    assert sums == [known.expected(scalars)]


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("path", ["grouped", "glv", "pairs", "grouped-pairs", "precomputed"])
def test_batches_of_unequal_lengths(path: str, own: bool) -> None:
    tuning, options = PATHS[path]
    name, n, lengths = "bn254", 31, [31, 0, 7]
    known = bases(name, n * len(lengths) if own else n)
    scalars = uniform(name, n * len(lengths), 5)
    sums, _ = compute(
        name,
        known.raw(),
        oracle.words(scalars, 8),
        tuning,
        batch=len(lengths),
        own_bases=own,
        lengths=lengths,
        **options,
    )
    for k, length in enumerate(lengths):
        first = k * n if own else 0
        mine = oracle.Bases(known.facts, known.logs[first : first + length], [])
        assert sums[k] == mine.expected(scalars[k * n : k * n + length])


def test_pairs_of_more_sets_than_a_block_has_threads() -> None:
    """172 sets, 43 of them empty: each block finds where its share begins."""
    name, n, lengths = "bn254", 21, [21, 0, 3, 20]
    known, scalars = bases(name, n), uniform(name, n * len(lengths), 8)
    tuning = replace(PATHS["pairs"][0], sets_per_pass=0)
    sums, _ = compute(name, known.raw(), oracle.words(scalars, 8), tuning, batch=len(lengths), lengths=lengths)
    for k, length in enumerate(lengths):
        mine = oracle.Bases(known.facts, known.logs[:length], [])
        assert sums[k] == mine.expected(scalars[k * n : k * n + length])


@pytest.mark.parametrize("slice_", [1, 3])
@pytest.mark.parametrize("rounds", [0, 1])
def test_slices_of_sets_that_share_blocks_and_warps(rounds: int, slice_: int) -> None:
    """25 sets side by side: a full list, none, few entries, one bucket over hundreds of slices, half of them in one."""
    name, n, lengths = "bn254", 690, [690, 0, 7, 690, 433]
    known, rng = bases(name, n), np.random.default_rng(12)
    values = rng.integers(0, 1 << 32, (len(lengths), n), dtype=np.uint32)
    values[3] = 0x01010101
    values[4, ::2] = 5
    tuning = Tuning(windows=5, slice=slice_, run=1, grouped=True, pair_rounds=rounds, pair_run=2)
    shape = Shape(curve=oracle.shape_of(known.facts), n=n, batch=5, scalar_bytes=4, subgroup=False)
    sizes = Sizes(shape, tuning)
    launches = {step.kernel: step.grid for step in lay_out(shape, tuning, DEVICE).steps if isinstance(step, Launch)}
    blocks = (ceil(sizes.sets * sizes.slices / 128), 1)
    assert sizes.slices % 32
    assert launches["msm_accumulate_points" if rounds else "msm_accumulate"] == blocks
    assert launches.get("msm_join", blocks) == blocks
    assert ("msm_join" in launches) == (slice_ == 1)
    options: dict[str, Any] = {"batch": 5, "scalar_bytes": 4, "subgroup": False, "lengths": lengths}
    sums, _ = compute(name, known.raw(), values.ravel(), tuning, **options)
    for k, length in enumerate(lengths):
        mine = oracle.Bases(known.facts, known.logs[:length], [])
        assert sums[k] == mine.expected([int(v) for v in values[k, :length]])


@pytest.mark.parametrize("width", [1, 2, 4, 8])
def test_narrow_scalars(width: int) -> None:
    name, n = "bn254", 65
    rng = np.random.default_rng(width)
    values = rng.integers(0, 1 << (8 * width), n, dtype=np.uint64)
    values[0], values[1] = (1 << (8 * width)) - 1, 1 << (8 * width - 1)
    known = bases(name, n)
    tuning = Tuning(windows=2 * width, slice=4, run=1, grouped=True)
    narrow = values.astype(f"<u{width}")
    sums, _ = compute(name, known.raw(), narrow, tuning, scalar_bytes=width, subgroup=False)
    assert sums == [known.expected([int(v) for v in values])]


@pytest.mark.parametrize("name", CURVES)
def test_montgomery_operands(name: str) -> None:
    facts, n = oracle.curve(name), 33
    known, scalars = bases(name, n), uniform(name, n, 8)
    r, p, limbs = facts.scalar.modulus, facts.field.modulus, facts.field.limbs32
    scaled = [[c * facts.field.radix(32 * limbs) % p for c in (point or (0, 0))] for point in known.points]
    points = np.stack([oracle.words(pair, limbs) for pair in scaled])
    tuning, options = PATHS["glv"]
    shifted = oracle.words([s * pow(2, 256, r) % r for s in scalars], 8)
    sums, status = compute(name, points, shifted, tuning, points_montgomery=True, montgomery=True, **options)
    assert sums == [known.expected(scalars)]
    assert status == [NO_INDEX, NO_INDEX]


@pytest.mark.parametrize("name", ["bn254", "bls12-377"])
def test_bad_input_is_reported_with_its_lowest_index(name: str) -> None:
    """A scalar >= r is reported and reduced; a point off the curve or with a coordinate >= p is reported."""
    facts, n = oracle.curve(name), 40
    known, scalars = bases(name, n), uniform(name, n, 9)
    scalars[17], scalars[30] = (1 << 256) - 1, facts.scalar.modulus
    tuning, options = PATHS["grouped"]
    sums, status = compute(name, known.raw(), oracle.words(scalars, 8), tuning, **options)
    assert sums == [known.expected(scalars)]
    assert status == [17, NO_INDEX]
    points = known.raw()
    points[21, 1, 0] ^= 1
    points[29, 0] = oracle.words([facts.field.modulus], facts.field.limbs32)[0]
    _, status = compute(name, points, oracle.words(uniform(name, n, 9), 8), tuning, **options)
    assert status == [NO_INDEX, 21]
    _, status = compute(name, points, oracle.words(uniform(name, n, 9), 8), tuning, check=False, **options)
    assert status == [NO_INDEX, 29]


@pytest.mark.parametrize("path", ["any-order", "sorted"])
def test_points_of_order_two(path: str) -> None:
    """BLS12-377 has (-1, 0): bases outside the subgroup meet the one exception of the complete formulas."""
    tuning, options = PATHS[path]
    known = bases("bls12-377", 60)
    p, r = known.facts.field.modulus, known.facts.scalar.modulus
    two: oracle.Point = (p - 1, 0)
    points = [two if i % 3 == 0 else point for i, point in enumerate(known.points)]
    logs = [0 if i % 3 == 0 else log for i, log in enumerate(known.logs)]
    mixed = oracle.Bases(known.facts, logs, points)
    for scalars in ([1] * 60, [i % 2 for i in range(60)], uniform("bls12-377", 60, 4)):
        odd = sum(s for s in scalars[::3]) % 2
        expected = oracle.add(mixed.expected(scalars), two if odd else None, p)
        sums, _ = compute("bls12-377", mixed.raw(), oracle.words(scalars, 8), tuning, **{**options, "subgroup": False})
        assert sums == [expected], r
    sums, _ = compute("bls12-377", mixed.raw()[:1], oracle.words([1], 8), tuning, **{**options, "subgroup": False})
    assert sums == [two]
