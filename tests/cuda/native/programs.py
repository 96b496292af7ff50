"""GPU tests that need a process of their own: they hold all memory, fork, or watch the process grow.

python -m tests.cuda.native.programs NAME      prints what it sees; exit code 0 when all is as it should be
"""

from __future__ import annotations

import faulthandler
import gc
import multiprocessing
import random
import sys
from collections.abc import Callable
from typing import Any, Final

import multiscalar as ms
import psutil
import pytest

from tests.cuda.held import held_back


def inputs(name: str, n: int, shape: str = "uniform") -> tuple[Any, Any, ms.Point]:
    """Points, scalars and the right sum."""
    curve = ms.curve(name)
    points, scalars = curve.known_points(n, seed=n + 1), curve.random_scalars(n, seed=n + 2, shape=shape)
    return points, scalars, curve.expected_sum(points, scalars)


def say(*words: object) -> None:
    print(*words, flush=True)


def memory_held_back() -> None:
    """Window groups, then parts of the terms, then an error with both numbers; then all is well again."""
    from multiscalar.cuda import compiled

    name, n = "bls12-377", 1 << 20
    points, scalars, expected = inputs(name, n)
    bases = ms.Bases(points, backend="cuda")
    made = compiled.kernels(ms.curve(name))
    lane, runtime = made.lane, made.runtime
    for path in (None, "sorted", "pairs"):  # every kernel has run: what the driver needs for it is allocated
        for size in (n, n // 2, n // 8):
            assert bases.msm(scalars[:size], path=path) == ms.curve(name).expected_sum(points[:size], scalars[:size])
    roomy = bases.msm(scalars)
    full = lane.scratch_bytes
    say(f"table {bases.nbytes:,}, scratch {full:,}, free {runtime.free_memory():,}, launches {roomy.run.launches}")
    for left in (full // 2, full // 4, full // 8):
        lane.release()
        with held_back(runtime, left):
            say(f"left {left:,}: free {runtime.free_memory():,}")
            try:
                result = bases.msm(scalars)
            finally:
                say(f"  scratch now {lane.scratch_bytes:,}, free {runtime.free_memory():,}")
                lane.release()
            say(f"  launches {result.run.launches}, parts {result.run.evidence.get('parts', 1)}")
            assert result == expected
            assert result.run.launches > roomy.run.launches
    lane.release()
    with held_back(runtime, 1 << 20):  # a sixty-fourth of the terms needs three times as much
        say(f"left 1 MiB: free {runtime.free_memory():,}")
        with pytest.raises(ms.errors.OutOfMemoryError) as caught:
            ms.msm(points, scalars, backend="cuda")
        say(f"  need {caught.value.need}, free {caught.value.free}: {caught.value}")
        assert caught.value.need
        assert caught.value.free is not None
    assert bases.msm(scalars) == expected
    assert ms.msm(points, scalars, backend="cuda") == expected


def mixed_calls_do_not_grow() -> None:
    """10,000 calls of 40 sizes, a bad one now and then: neither device nor host memory grows."""
    from multiscalar.cuda.device import open_device

    curve, most = ms.curve("bn254"), 1 << 14
    points, scalars, _ = inputs("bn254", most)
    bases = ms.Bases(points, backend="cuda")
    rng = random.Random(1)
    sizes = [rng.randrange(1, most) for _ in range(40)]
    expected = {n: curve.expected_sum(points[:n], scalars[:n]) for n in sizes}
    bad = scalars.data.copy()
    bad[5] = 2**64 - 1
    bases.msm(scalars)
    process, seen = psutil.Process(), []
    for k in range(10_000):
        n = sizes[k % len(sizes)]
        if k % 97 == 0:
            with pytest.raises(ms.errors.ScalarRangeError):
                bases.msm(bad)
        assert bases.msm(scalars.data[:n]) == expected[n]
        if k % 1000 == 999:
            gc.collect()
            seen.append((open_device(0).free_memory(), process.memory_info().rss))
            say("free on the device, resident on the host:", *(f"{value:,}" for value in seen[-1]))
    assert seen[0][0] - seen[-1][0] <= 32 << 20, "device memory shrank"
    assert seen[-1][1] - seen[2][1] <= 64 << 20, "host memory grew"


def _child(queue: Any) -> None:
    faulthandler.dump_traceback_later(40, exit=True)
    try:
        points, scalars, expected = inputs("bn254", 100)
        queue.put(("cpu", ms.msm(points, scalars, backend="cpu") == expected))
        ms.msm(points, scalars, backend="cuda")
        queue.put(("cuda", "answered"))
    except ms.errors.ForkError as error:
        queue.put(("cuda", str(error)))


def _children(method: str) -> list[tuple[str, object]]:
    context: Any = multiprocessing.get_context(method)
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,), daemon=True)
    child.start()
    try:
        answers = [queue.get(timeout=50), queue.get(timeout=50)]
    finally:
        child.join(5)
        if child.is_alive():
            child.kill()
    say(method, answers, "exit code", child.exitcode)
    return answers


def children() -> None:
    """A forked child gets an error for the GPU and an answer from the CPU; a spawned one gets both answers."""
    faulthandler.cancel_dump_traceback_later()  # a forked child has no such thread, and would wait for its end for ever
    points, scalars, expected = inputs("bn254", 100)
    assert ms.msm(points, scalars, backend="cuda") == expected
    (cpu, right), (cuda, words) = _children("fork")
    assert (cpu, right, cuda) == ("cpu", True, "cuda")
    assert "spawn" in str(words)
    assert _children("spawn") == [("cpu", True), ("cuda", "answered")]
    assert ms.msm(points, scalars, backend="cuda") == expected


def two_gpus() -> None:
    """One sum over two GPUs, and the second one alone."""
    points, scalars, expected = inputs("bls12-377", 100_001)
    assert ms.Bases(points, backend="cuda", devices=[0, 1]).msm(scalars) == expected
    assert ms.Bases(points, backend="cuda", devices=[1]).msm(scalars) == expected


PROGRAMS: Final[dict[str, tuple[Callable[[], None], float]]] = {  # with the seconds that each may take
    "memory-held-back": (memory_held_back, 100),
    "mixed-calls-do-not-grow": (mixed_calls_do_not_grow, 100),
    "children": (children, 120),
    "two-gpus": (two_gpus, 60),
}

if __name__ == "__main__":
    program, limit = PROGRAMS[sys.argv[1]]
    faulthandler.dump_traceback_later(limit - 5)
    program()
    say("as it should be")
