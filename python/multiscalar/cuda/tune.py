"""The free choices of a layout, by a model of its time: windows, slices, runs, rounds of pair addition.

The time of a call is a sum of phases; each is the larger of its work over the device's rate and its chain of
dependent operations over their latency:

    digits      entries t_digit
    sort        entries t_sort, a fixed cost of its launches
    accumulate  pair additions t_pair, mixed additions t_add; a slice of L entries is a chain of L
    reduce      2 sets buckets t_full; log2(buckets) additions one after the other
    combine     bits doublings and `groups` additions one after the other

Rates are per multiprocessor, so that a smaller card of the same kind is scaled; latencies are not. The constants
are fits to measurements on one H200 (docs/gpu-engine.md). They only rank choices: a constant that is off by a tenth
costs a percent or two, and every choice gives the same sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from ..errors import OptionError
from .layout import MAX_GROUPED_BUCKETS, CurveShape, DeviceShape, Shape, Sizes, Tuning, divide_up


@dataclass(frozen=True)
class Costs:
    """Microseconds. Rates are of one multiprocessor with enough warps; `*_chain` is one operation after another."""

    mixed: float  # mixed addition into a bucket
    pair: float  # affine addition with its share of an inversion
    full: float  # addition of two sums
    entry: float  # grouping of one entry
    mixed_chain: float
    full_chain: float
    octet_double: float  # one doubling by eight lanes
    octet_add: float
    threads: int  # that a multiprocessor holds in the accumulation


COSTS: Final = {
    8: Costs(0.0221, 0.0150, 0.0333, 0.0020, 4.4, 6.0, 1.0, 1.5, 512),
    12: Costs(0.0494, 0.0330, 0.0698, 0.0020, 9.2, 12.9, 2.0, 3.0, 384),
}
LAUNCH: Final = 3.0  # one more node of the graph, with its ramp
SINGLE_PASS_N: Final = 1 << 13  # up to here one block groups a window faster than the two-level sort
GLV_MAX_N: Final = 1 << 17  # above it the doublings that the endomorphism saves cost less than its larger table
MAX_WIDTH: Final = 23
MAX_PAIR_ROUNDS: Final = 5
FORCED_ROUNDS: Final = 2  # for a caller who wants pairs where the model would not
PATHS: Final = ("grouped", "sorted", "pairs")


def use_endomorphism(curve: CurveShape, n: int) -> bool:
    """Whether a table of n bases gets beta x (half as much memory again)."""
    return curve.glv_bits < curve.order_bits and n <= GLV_MAX_N


@lru_cache(maxsize=4096)
def tune(shape: Shape, device: DeviceShape, windows: int = 0, path: str | None = None) -> Tuning:
    """The tuning with the least modelled time.

    `windows` > 0 fixes their number (a table's, or the caller's); `path` fixes how buckets are filled: "grouped" (one
    block a window), "sorted" (two-level sort) or "pairs" (sorted, then rounds of affine pair addition).
    Errors: `OptionError` when the path cannot serve the shape.
    """
    counts = [windows] if windows else range(divide_up(shape.bits, MAX_WIDTH), divide_up(shape.bits, 3) + 1)
    best: tuple[float, Tuning] | None = None
    for count in counts:
        for tuning in _candidates(shape, device, count, path):
            time = predict(shape, tuning, device)
            if best is None or time < best[0]:
                best = time, tuning
    if best is None:
        raise OptionError(
            f"path = {path!r} with {windows or 'any'} windows and {shape.n} terms",
            accepted=f"{', '.join(PATHS)}, None; grouped to {SINGLE_PASS_N} terms, else windows of 3 bits or more",
            hint="Leave path out: the cost model knows which one is fastest.",
        )
    return best[1]


def _candidates(shape: Shape, device: DeviceShape, windows: int, path: str | None) -> list[Tuning]:
    draft = Tuning(windows=windows, slice=4, run=1, grouped=False)
    sizes = Sizes(shape, draft)
    found = []
    if path in (None, "grouped") and shape.n <= SINGLE_PASS_N and sizes.buckets <= MAX_GROUPED_BUCKETS:
        found.append(replace(draft, grouped=True))
    if path in (None, "sorted") and sizes.width >= 3:
        found.append(draft)
    if path in (None, "pairs") and sizes.width >= 3:
        load = sizes.candidates / sizes.buckets
        rounds = [k for k in range(1, MAX_PAIR_ROUNDS + 1) if load >= 4 << k or (path and k == FORCED_ROUNDS)]
        found += [replace(draft, pair_rounds=k) for k in rounds]
    return [_completed(shape, device, one) for one in found]


def _completed(shape: Shape, device: DeviceShape, tuning: Tuning) -> Tuning:
    """Slices that fill the device evenly, runs that leave the reduction enough threads."""
    costs, sizes = COSTS[shape.curve.limbs], Sizes(shape, tuning)
    resident = device.multiprocessors * costs.threads
    share = sizes.listed * sizes.sets_per_pass / resident
    slice_ = max(4, min(64, divide_up(round(share), 1) if share < 64 else 32))
    total = sizes.sets_per_pass * sizes.buckets
    run = 1
    while run < 16 and total // (2 * run) >= 2 * resident and sizes.buckets >= 64 * run:
        run *= 2
    return replace(tuning, slice=slice_, run=run)


def predict(shape: Shape, tuning: Tuning, device: DeviceShape) -> float:
    """Modelled device time of a call, in microseconds."""
    costs, sizes, sms = COSTS[shape.curve.limbs], Sizes(shape, tuning), device.multiprocessors
    entries = sizes.sets * sizes.candidates
    padded = sizes.sets * sizes.entries
    time = entries * costs.entry * (1 if tuning.grouped else 2) / sms + LAUNCH * (2 if tuning.grouped else 6)
    if tuning.grouped:
        time += sizes.candidates * 0.004  # one block walks a list: a chain, not a rate
    listed = padded
    for _ in range(tuning.pair_rounds):
        listed //= 2
        time += listed * costs.pair / sms + 8 * LAUNCH
    time += max(listed * costs.mixed / sms, tuning.slice * costs.mixed_chain) + LAUNCH
    levels, items = 0, 2 * sizes.slices
    while items > 2:
        items, levels = 2 * divide_up(items, 256), levels + 1
    time += levels * (2 * costs.full_chain + LAUNCH)
    buckets = sizes.sets * sizes.buckets
    depth = sizes.width + 2 * tuning.run
    time += max(2 * buckets * costs.full / sms, 0) + depth * costs.full_chain / 2 + 2 * LAUNCH
    chain = sizes.bits - sizes.width if shape.factor == 1 else sizes.width * (sizes.groups - 1)
    return time + chain * costs.octet_double + sizes.groups * costs.octet_add


def path_of(tuning: Tuning) -> str:
    """The word for how this tuning fills buckets."""
    return "grouped" if tuning.grouped else "pairs" if tuning.pair_rounds else "sorted"


def fewer_sets(shape: Shape, tuning: Tuning) -> Tuning | None:
    """The same tuning with half as many windows at a time, or None when one at a time is all there is."""
    if tuning.grouped:
        tuning = replace(tuning, grouped=False)
    now = Sizes(shape, tuning).sets_per_pass
    return None if now <= 1 else replace(tuning, sets_per_pass=divide_up(now, 2))
