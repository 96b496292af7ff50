"""msm_group by itself: every bucket has its entries, no others, then padding; lists put together in either memory."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "shim")]
import driver  # noqa: E402
import oracle  # noqa: E402
from multiscalar.cuda.layout import lay_out  # noqa: E402
from multiscalar.cuda.shape import SHARED_BYTES, DeviceShape, Shape, Sizes, Tuning  # noqa: E402
from multiscalar.cuda.steps import Launch  # noqa: E402

SIGN, NONE = 0x80000000, 0xFFFFFFFF
JUNK = 0xA5A5A5A5
Digits = NDArray[np.uint32]


def planned(n: int, windows: int, rounds: int, batch: int = 1, factor: int = 1) -> tuple[Sizes, Launch]:
    """The launch of one-byte scalars in so many windows: 9 bits, so one window has 256 buckets and three have 4."""
    facts = oracle.curve("bn254")
    shape = Shape(
        curve=oracle.shape_of(facts), n=n, batch=batch, scalar_bytes=1, subgroup=False, points=2 * n, factor=factor
    )
    tuning = Tuning(windows=windows, slice=8, run=1, grouped=True, pair_rounds=rounds)
    steps = lay_out(shape, tuning, DeviceShape(3)).steps
    (launch,) = (step for step in steps if isinstance(step, Launch) and step.kernel == "msm_group")
    return Sizes(shape, tuning), launch


def check(sizes: Sizes, launch: Launch, digits: Digits) -> list[int]:
    """Runs it over digits[set][candidate]; returns the lengths of the lists."""
    facts = oracle.curve("bn254")
    machine = driver.Machine(driver.build(facts.module, oracle.constants(facts)))
    counts = {"digits": digits.size, "entries": sizes.sets * sizes.entries, "offsets": sizes.sets * (sizes.buckets + 1)}
    buffers = {name: driver.aligned(4 * count) for name, count in counts.items()}
    buffers["digits"][:] = digits.view(np.uint8).ravel()
    machine.run([launch], buffers)
    entries = buffers["entries"].view(np.uint32).reshape(sizes.sets, sizes.entries).tolist()
    offsets = buffers["offsets"].view(np.uint32).reshape(sizes.sets, sizes.buckets + 1).tolist()
    for row, list_, place in zip(digits.tolist(), entries, offsets, strict=True):
        expected: list[list[int]] = [[] for _ in range(sizes.buckets)]
        for j, digit in enumerate(row):
            part, i = divmod(j, sizes.shape.n)
            if digit & ~SIGN:
                expected[(digit & ~SIGN) - 1].append(digit & SIGN | part * sizes.shape.table_points + i)
        start = 0
        for b, wanted in enumerate(expected):
            assert place[b] == start
            assert place[b + 1] % sizes.pad == 0
            padding = -len(wanted) % sizes.pad
            found = list_[start : place[b + 1]]
            assert sorted(found[: len(wanted)]) == sorted(wanted), f"bucket {b}"
            assert found[len(wanted) :] == [NONE] * padding
            start = place[b + 1]
        assert set(list_[start:]) <= {JUNK}, "nothing is written beyond the list"
    return [place[-1] for place in offsets]


def spread(sizes: Sizes, seed: int, values: list[int] | None = None) -> Digits:
    """Random digits, a sixth of them zero, magnitudes among `values` or all there are."""
    rng = np.random.default_rng(seed)
    shape = (sizes.sets, sizes.candidates)
    digits = rng.choice(values or range(1, sizes.buckets + 1), shape) | rng.choice((0, SIGN), shape)
    return np.where(rng.random(shape) < 1 / 6, 0, digits).astype(np.uint32)


def staged(launch: Launch, sizes: Sizes) -> bool:
    """Whether the launch puts lists together in shared memory: it says so, and has the room."""
    said = launch.arguments[-3] == 1
    assert launch.shared == 4 * (sizes.buckets + said * sizes.entries)
    return said


@pytest.mark.parametrize("rounds", range(5))
@pytest.mark.parametrize("windows", [1, 3])
def test_every_bucket_is_padded(windows: int, rounds: int) -> None:
    """Three sums, so that lists lie beside each other; two parts, so that a list has candidates of both."""
    sizes, launch = planned(131, windows, rounds, batch=3, factor=2)
    assert staged(launch, sizes)
    check(sizes, launch, spread(sizes, seed=rounds))


@pytest.mark.parametrize("rounds", [0, 3])
def test_empty_buckets_and_empty_lists(rounds: int) -> None:
    sizes, launch = planned(97, 1, rounds, batch=3)
    digits = spread(sizes, 5, [2, 3, 200, 256])
    digits[1] = 0
    lengths = check(sizes, launch, digits)
    assert lengths[1] == 0
    assert min(lengths[0], lengths[2]) > 0


@pytest.mark.parametrize("rounds", [1, 2, 3, 4])
@pytest.mark.parametrize("more", [0, 1, 2])
def test_a_list_that_takes_all_its_room(rounds: int, more: int) -> None:
    """Each bucket has an entry more than a multiple of the padding, the most that padding can add."""
    pad = 1 << rounds
    count = 1 + more * pad
    sizes, launch = planned(4 * count, 3, rounds)
    order = random.Random(count).sample([1, 2, 3, 4] * count, 4 * count)
    digits = np.array([order] * sizes.sets, np.uint32)
    assert check(sizes, launch, digits) == [sizes.entries] * sizes.sets


@pytest.mark.parametrize("rounds", [0, 3])
def test_all_entries_in_one_bucket(rounds: int) -> None:
    sizes, launch = planned(1500, 3, rounds)
    check(sizes, launch, np.full((sizes.sets, sizes.candidates), 3 | SIGN, np.uint32))


@pytest.mark.parametrize("rounds", [0, 2])
@pytest.mark.parametrize(("n", "threads_hold"), [(12_300, True), (16_500, False)])
def test_lists_without_room_in_shared_memory(n: int, threads_hold: bool, rounds: int) -> None:
    """Written one by one: from what the threads hold, or read a second time where they cannot hold it all."""
    sizes, launch = planned(n, 3, rounds)
    assert not staged(launch, sizes)
    assert (16 * launch.block >= n) == threads_hold
    check(sizes, launch, spread(sizes, n))


def test_what_is_staged_is_held_and_fits() -> None:
    """For every length: beside 256 bytes of its own, and never more candidates than its threads can keep."""
    longest = 0
    for n in range(1, 13_000, 37):
        for rounds in (0, 4):
            sizes, launch = planned(n, 1, rounds)
            if staged(launch, sizes):
                longest = max(longest, n)
                assert launch.shared + 256 <= SHARED_BYTES
                assert 16 * launch.block >= sizes.candidates
    assert longest > 11_000
