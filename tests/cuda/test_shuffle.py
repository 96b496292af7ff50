"""The shim shows what a GPU may show: kernels that lack one statement are seen as wrong, and with it they are right.

Each fault but two is hidden when threads and blocks run in the order of their numbers (seed 0), which is asserted too:
so it is the shuffling that finds it. The other two are found by the poison in shared memory, whatever the order.
A block may happen to run in an order that does no harm; that all eight of a launch do has a chance below 1 in 10,000.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import driver
import multiscalar as ms
import numpy as np
import pytest
from multiscalar.cuda.steps import Launch, Ref

IN_ORDER, SEEDS = 0, range(1, 9)
WARP, THREADS, BLOCKS = 32, 128, 8
POISON = 0xA5A5A5A5
NUMBERS = list(range(THREADS))


@dataclass(frozen=True)
class Fault:
    """A kernel's body with CURE where the statement stands that it must not lack. `t` is the thread, `mine` the part of
    the results where its block has a word for each of its threads.
    """

    body: str
    cure: str
    right: list[int]
    hidden_in_order: bool = True
    threads: int = THREADS


NEIGHBOUR = """
    __shared__ unsigned held[128];
    held[t] = t;
    CURE
    mine[t] = t == 0 ? 0 : held[t - 1] + 1;
"""
FAULTS = {
    "no_block_barrier": Fault(NEIGHBOUR, "__syncthreads();", NUMBERS * BLOCKS),
    "no_warp_barrier": Fault(NEIGHBOUR, "__syncwarp();", NUMBERS[:WARP] * BLOCKS, threads=WARP),
    # Each warp is in step with itself, but not with the one whose numbers it reads.
    "warp_barrier_for_a_block": Fault(
        """
    __shared__ unsigned held[128];
    held[t] = t;
    __syncwarp();
    CURE
    mine[t] = t < 32 ? t : held[t - 32] + 32;
""",
        "__syncthreads();",
        NUMBERS * BLOCKS,
    ),
    # The first 64 threads read what the others, in order later, overwrite.
    "overwritten_too_early": Fault(
        """
    __shared__ unsigned held[64];
    if (t < 64) held[t] = t;
    __syncthreads();
    if (t < 64) mine[t] = held[t];
    CURE
    if (t >= 64 && t < 127) held[t - 64] = 1000;
    if (t >= 64) mine[t] = t;
""",
        "__syncthreads();",
        NUMBERS * BLOCKS,
    ),
    "uninitialised_shared": Fault(
        """
    __shared__ unsigned total;
    CURE
    __syncthreads();
    atomicAdd(&total, 1);
    __syncthreads();
    if (t == 0) out[blockIdx.x] = total;
""",
        "if (t == 0) total = 0;",
        [THREADS] * BLOCKS,
        hidden_in_order=False,
    ),
    "uninitialised_dynamic_shared": Fault(
        """
    DYNAMIC_SHARED(unsigned, total);
    CURE
    __syncthreads();
    atomicAdd(total, 1);
    __syncthreads();
    if (t == 0) out[blockIdx.x] = *total;
""",
        "if (t == 0) *total = 0;",
        [THREADS] * BLOCKS,
        hidden_in_order=False,
    ),
    # The cure is to do without the block before.
    "order_of_blocks": Fault(
        """
    unsigned b = blockIdx.x, before = b == 0 ? 0 : out[b - 1] + 1;
    CURE
    if (t == 0) out[b] = before;
""",
        "before = b;",
        NUMBERS[:BLOCKS],
        threads=WARP,
    ),
}
# Not faults: what the shim itself does.
PROBES = {
    "order_of_threads": "out[1 + atomicAdd(out, 1)] = blockIdx.x * blockDim.x + t;",
    "a_thread_that_leaves": "if (t == 5) return; __syncthreads(); out[t] = 1;",
    # Thread k alone votes in round k: a vote that is lost, or left over, shows.
    "votes_in_turn": """
    unsigned yes = 0;
    for (unsigned k = 0; k < 2 * blockDim.x; k++) yes += __syncthreads_or(k % 2 == 0 && t == k / 2);
    out[t] = yes;
""",
}


def kernel(name: str, body: str) -> str:
    names = "unsigned t = threadIdx.x, *mine = out + blockIdx.x * blockDim.x;"
    return f"void {name}(unsigned* out) {{ {names} {body} }}"


@pytest.fixture(scope="module")
def library() -> driver.ctypes.CDLL:
    bodies = dict(PROBES)
    for name, fault in FAULTS.items():
        bodies[name], bodies[f"{name}_cured"] = fault.body.replace("CURE", ""), fault.body.replace("CURE", fault.cure)
    text = ['#include "language.hpp"', '#include "launch.hpp"', *(kernel(*item) for item in bodies.items())]
    text.append("SHIM_ENTRY(" + " ".join(f"SHIM_KERNEL({name})" for name in bodies) + ")")
    return driver.compiled("faults", "\n".join(text) + "\n")


def run(library: driver.ctypes.CDLL, name: str, seed: int, count: int, threads: int, blocks: int = 1) -> list[int]:
    """The first `count` words that the kernel leaves in a buffer of zeros."""
    buffers = {"out": driver.aligned(4 * (count + 1))}
    buffers["out"][:] = 0
    launch = Launch(name, (blocks, 1), threads, (Ref("out"),), shared=16)
    driver.Machine(library, seed).run([launch], buffers)
    return [int(word) for word in buffers["out"].view(np.uint32)[:count]]


def results(library: driver.ctypes.CDLL, name: str, fault: Fault) -> dict[int, list[int]]:
    """By seed."""
    count, threads = len(fault.right), fault.threads
    return {seed: run(library, name, seed, count, threads, BLOCKS) for seed in (IN_ORDER, *SEEDS)}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_shows_with_every_seed(library: driver.ctypes.CDLL, name: str) -> None:
    fault = FAULTS[name]
    found = results(library, name, fault)
    assert (found[IN_ORDER] == fault.right) == fault.hidden_in_order
    assert [seed for seed in SEEDS if found[seed] == fault.right] == []


@pytest.mark.parametrize("name", FAULTS)
def test_with_its_cure_it_is_right_with_every_seed(library: driver.ctypes.CDLL, name: str) -> None:
    fault = FAULTS[name]
    assert fault.body.count("CURE") == 1
    for seed, found in results(library, f"{name}_cured", fault).items():
        assert found == fault.right, f"seed {seed}"


def test_what_was_never_written_is_poison_in_each_block(library: driver.ctypes.CDLL) -> None:
    """And not what the block before left there."""
    for name in ("uninitialised_shared", "uninitialised_dynamic_shared"):
        assert run(library, name, 1, BLOCKS, THREADS, BLOCKS) == [POISON + THREADS] * BLOCKS


def test_an_order_is_a_permutation_and_the_same_for_the_same_seed(library: driver.ctypes.CDLL) -> None:
    total = BLOCKS * THREADS

    def order(seed: int) -> list[int]:
        return run(library, "order_of_threads", seed, total + 1, THREADS, BLOCKS)[1:]

    assert order(IN_ORDER) == list(range(total))
    drawn = {seed: order(seed) for seed in SEEDS}
    for seed, found in drawn.items():
        assert sorted(found) == list(range(total))
        assert order(seed) == found
        blocks = [thread // THREADS for thread in found]
        assert [blocks[k] for k in range(0, total, THREADS)] != list(range(BLOCKS))
    assert len({tuple(found) for found in drawn.values()}) == len(SEEDS)


def test_a_barrier_that_a_thread_misses_is_a_deadlock_and_the_next_launch_is_right(library: driver.ctypes.CDLL) -> None:
    for seed in (IN_ORDER, *SEEDS):
        with pytest.raises(AssertionError, match="deadlock"):
            run(library, "a_thread_that_leaves", seed, THREADS, THREADS)
        assert run(library, "no_block_barrier_cured", seed, THREADS, THREADS) == NUMBERS


def test_votes_one_right_after_the_other_are_kept_apart(library: driver.ctypes.CDLL) -> None:
    """Half of the rounds have one vote, each of another thread; all threads hear of each, and of no more."""
    for seed in (IN_ORDER, *SEEDS):
        assert run(library, "votes_in_turn", seed, THREADS, THREADS) == [THREADS] * THREADS


@pytest.mark.parametrize("path", ["grouped", "sorted", "pairs"])
@pytest.mark.parametrize("seed", [IN_ORDER, 2, 3])
def test_sums_are_right_in_other_orders_than_that_of_all_tests(shim: Any, seed: int, path: str) -> None:
    assert seed != driver.SEED
    curve = ms.curve("bn254")
    points, scalars = curve.known_points(150, seed=1), curve.random_scalars(150, seed=2)
    shim(seed=seed)
    assert ms.Bases(points, backend="cuda").msm(scalars, path=path) == curve.expected_sum(points, scalars)
