"""Many calls on a GPU: always the same bits, no growth, any thread, any order, also after failures."""

from __future__ import annotations

import gc
import multiprocessing
import random
import threading
from typing import Any

import multiscalar as ms
import numpy as np
import psutil
import pytest

CURVES = ["bn254", "bls12-377", "bls12-381"]


def inputs(name: str, n: int, shape: str = "uniform") -> tuple[Any, Any, ms.Point]:
    curve = ms.curve(name)
    points, scalars = curve.known_points(n, seed=n + 1), curve.random_scalars(n, seed=n + 2, shape=shape)
    return points, scalars, curve.expected_sum(points, scalars)


def free_memory() -> int:
    from multiscalar.cuda.device import open_device

    return open_device(0).free_memory()


@pytest.mark.parametrize("name", CURVES)
def test_2000_repeats_are_identical(name: str) -> None:
    points, scalars, expected = inputs(name, 1 << 12, "witness")
    bases = ms.Bases(points, backend="cuda")
    assert all(bases.msm(scalars) == expected for _ in range(2000))


def test_10000_mixed_calls_do_not_grow() -> None:
    curve = ms.curve("bn254")
    most = 1 << 14
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
            seen.append((free_memory(), process.memory_info().rss))
    assert seen[0][0] - seen[-1][0] <= 32 << 20, "device memory shrank"
    assert seen[-1][1] - seen[2][1] <= 64 << 20, "host memory grew"


@pytest.mark.parametrize("name", ["bn254", "bls12-377"])
def test_every_shape_at_a_large_size(name: str) -> None:
    curve = ms.curve(name)
    n = 1 << 18
    points = curve.known_points(n, seed=9)
    bases = ms.Bases(points, backend="cuda")
    for shape in ms.shapes.ScalarShape:
        scalars = curve.random_scalars(n, seed=4, shape=shape)
        assert bases.msm(scalars) == curve.expected_sum(points, scalars), shape


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("n", [(1 << 16) - 1, (1 << 16) + 1, 1 << 20, (1 << 20) + 1, 3_000_001])
def test_large_sizes(name: str, n: int) -> None:
    points, scalars, expected = inputs(name, n)
    assert ms.msm(points, scalars, backend="cuda") == expected


@pytest.mark.parametrize("precompute", [2, 4, 11])
def test_precomputed_tables(precompute: int) -> None:
    points, scalars, expected = inputs("bls12-377", 5000)
    assert ms.Bases(points, backend="cuda", precompute=precompute).msm(scalars) == expected


def test_device_arrays_in_place() -> None:
    cupy = pytest.importorskip("cupy", exc_type=ImportError)
    points, scalars, expected = inputs("bn254", 1000)
    bases = ms.Bases(points, backend="cuda")
    on_device = cupy.asarray(scalars.data)
    assert bases.msm(on_device) == expected
    assert bases.msm(on_device).run.copied_bytes == 0
    curve = ms.curve("bn254")
    assert bases.msm(on_device[3:77]) == curve.expected_sum(points[:74], scalars.data[3:77])
    narrow = cupy.arange(1000, dtype=cupy.uint8)
    assert bases.msm(narrow[1:]) == curve.expected_sum(points[:999], cupy.asnumpy(narrow)[1:])
    with cupy.cuda.Stream(non_blocking=True):
        fresh = cupy.asarray(scalars.data) + cupy.uint64(0)  # written on the caller's stream, not waited for
        assert bases.msm(fresh) == expected
    on_device_points = cupy.asarray(points.data)
    assert ms.msm(on_device_points, on_device, curve="bn254") == expected


def test_eight_threads() -> None:
    curve = ms.curve("bn254")
    points, scalars, _ = inputs("bn254", 5000)
    shared = ms.Bases(points, backend="cuda")
    wrong: list[object] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        own = ms.Bases(points[:100], backend="cuda")
        for _ in range(50):
            n = rng.randrange(1, 5000)
            if shared.msm(scalars[:n]) != curve.expected_sum(points[:n], scalars[:n]):
                wrong.append(n)
            if own.msm(scalars[: n % 100]) != curve.expected_sum(points[: n % 100], scalars[: n % 100]):
                wrong.append(-n)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_memory_held_back_means_parts_then_a_clear_error() -> None:
    from multiscalar.cuda.device import open_device
    from multiscalar.cuda.runtime import GpuRuntime

    points, scalars, expected = inputs("bls12-377", 1 << 20)
    bases = ms.Bases(points, backend="cuda")
    from multiscalar.cuda import compiled

    compiled._lanes[0].release()
    runtime = GpuRuntime(open_device(0))
    for left in (400 << 20, 150 << 20):
        block = runtime.allocate(free_memory() - left)
        try:
            assert bases.msm(scalars) == expected
        finally:
            compiled._lanes[0].release()
            runtime.free(block)
    block = runtime.allocate(free_memory() - (8 << 20))
    try:
        with pytest.raises(ms.errors.OutOfMemoryError) as caught:
            ms.msm(points, scalars, backend="cuda")
        assert caught.value.need
    finally:
        runtime.free(block)
    assert bases.msm(scalars) == expected


def _child(queue: Any) -> None:
    try:
        points, scalars, expected = inputs("bn254", 100)
        queue.put(("cpu", ms.msm(points, scalars, backend="cpu") == expected))
        ms.msm(points, scalars, backend="cuda")
        queue.put(("cuda", "answered"))
    except ms.errors.ForkError as error:
        queue.put(("cuda", str(error)))


def test_a_forked_child_gets_an_error_and_a_spawned_one_works() -> None:
    points, scalars, expected = inputs("bn254", 100)
    assert ms.msm(points, scalars, backend="cuda") == expected
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    assert queue.get(timeout=60) == ("cpu", True)
    assert "spawn" in queue.get(timeout=60)[1]
    child.join(60)
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=_child, args=(queue,))
    child.start()
    assert queue.get(timeout=120) == ("cpu", True)
    assert queue.get(timeout=120) == ("cuda", "answered")
    child.join(60)


def test_the_callers_device_stays_current() -> None:
    from multiscalar.cuda import driver

    points, scalars, expected = inputs("bn254", 100)
    ms.msm(points, scalars, backend="cuda")
    before = int(driver.call("cuCtxGetCurrent"))
    assert ms.msm(points, scalars, backend="cuda") == expected
    assert int(driver.call("cuCtxGetCurrent")) == before


def test_two_gpus_give_the_sum_of_one() -> None:
    from multiscalar.cuda.device import count

    if count() < 2:
        pytest.skip("one GPU here, this needs two")
    points, scalars, expected = inputs("bls12-377", 100_001)
    assert ms.Bases(points, backend="cuda", devices=[0, 1]).msm(scalars) == expected
    assert ms.Bases(points, backend="cuda", devices=[1]).msm(scalars) == expected


def test_hot_buckets_take_no_longer_paths() -> None:
    """One hot bucket of 2^20 equal terms, then alternating signs: right whatever the tree does."""
    curve = ms.curve("bls12-377")
    n = 1 << 20
    points = curve.known_points(n, seed=2)
    bases = ms.Bases(points, backend="cuda")
    scalars = np.zeros((n, 4), np.uint64)
    scalars[:, 0] = 1
    assert bases.msm(scalars) == curve.expected_sum(points, scalars)
    minus = np.frombuffer((curve.r - 1).to_bytes(32, "little"), np.uint64)
    scalars[1::2] = minus
    assert bases.msm(scalars) == curve.expected_sum(points, scalars)
