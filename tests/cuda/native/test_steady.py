"""Many calls on a GPU: always the same bits, any size and shape, any thread, any operand."""

from __future__ import annotations

import random
import threading

import multiscalar as ms
import numpy as np
import pytest

from tests.cuda.native.programs import inputs

pytestmark = pytest.mark.timeout(90)
CURVES = ["bn254", "bls12-377", "bls12-381"]


@pytest.mark.parametrize("name", CURVES)
def test_2000_repeats_are_identical(name: str) -> None:
    points, scalars, expected = inputs(name, 1 << 12, "witness")
    bases = ms.Bases(points, backend="cuda")
    assert all(bases.msm(scalars) == expected for _ in range(2000))


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


@pytest.mark.parametrize("name", ["bn254", "bls12-381"])
@pytest.mark.parametrize("locked", [False, True])
def test_points_that_come_with_the_call(name: str, locked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In parts beside the work: submitted, captured, replayed; smaller calls between; a bad point in the last part."""
    from multiscalar.cuda import once
    from multiscalar.cuda.compiled import kernels

    curve, n = ms.curve(name), (1 << 20) + 77
    monkeypatch.setattr(once, "parts", lambda *_: [1 << 16, 1 << 18, n - (1 << 16) - (1 << 18)])
    runtime = kernels(curve).runtime

    def placed(array: np.ndarray) -> np.ndarray:
        if not locked:
            return array.copy()
        made = runtime.pinned(array.nbytes).view(array.dtype).reshape(array.shape)
        made[...] = array
        return made

    points = curve.known_points(n, seed=5)
    left = placed(points.data)
    for seed in range(4):
        scalars = curve.random_scalars(n, seed=seed)
        right = placed(scalars.data)
        for some in (n, 999):
            expected = curve.expected_sum(points[:some], scalars[:some])
            result = ms.msm(left[:some], right[:some], curve=curve, backend="cuda")
            assert result == expected
            assert result.run.evidence.get("parts", 1) == (3 if some == n else 1)
    left[n - 1, 1, 0] ^= 1
    with pytest.raises(ms.errors.NotOnCurveError) as refused:
        ms.msm(left, right, curve=curve, backend="cuda")
    assert refused.value.index == n - 1
    assert ms.msm(left[:999], right[:999], curve=curve, backend="cuda") == curve.expected_sum(
        points[:999], scalars[:999]
    )


@pytest.mark.parametrize("name", CURVES)
def test_one_shot_calls_that_say_the_same(name: str) -> None:
    """Through the slots of the call before, with other contents each time, and other calls in between."""
    curve, largest = ms.curve(name), 1 << 13
    points = [curve.known_points(largest, seed=seed) for seed in range(3)]
    scalars = [curve.random_scalars(largest, seed=seed) for seed in range(5)]
    for n in (1 << 10, largest):
        cases = [
            (left.data[:n], right.data[:n], curve.expected_sum(left[:n], right[:n]))
            for left in points
            for right in scalars
        ]
        for k in range(300):
            left, right, expected = cases[k % len(cases)]
            assert ms.msm(left, right, curve=curve, backend="cuda") == expected
            if k % 50 == 49:
                high = right.copy()
                high[n - 1] = 2**64 - 1
                with pytest.raises(ms.errors.ScalarRangeError):
                    ms.msm(left, high, curve=curve, backend="cuda")
                few = ms.msm(left[:99], right[:99], curve=curve, backend="cuda")
                assert few == curve.expected_sum(points[k % len(cases) // 5][:99], scalars[k % 5][:99])


@pytest.mark.parametrize("precompute", [2, 4, 11])
def test_precomputed_tables(precompute: int) -> None:
    points, scalars, expected = inputs("bls12-377", 5000)
    bases = ms.Bases(points, backend="cuda", precompute=precompute)
    assert bases.msm(scalars) == expected
    narrow = np.arange(5000, dtype=np.uint64) << np.uint64(40)
    assert bases.msm(narrow) == ms.curve("bls12-377").expected_sum(points, narrow)


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


def test_the_callers_device_stays_current() -> None:
    from multiscalar.cuda import driver

    points, scalars, expected = inputs("bn254", 100)
    ms.msm(points, scalars, backend="cuda")
    before = int(driver.call("cuCtxGetCurrent"))
    assert ms.msm(points, scalars, backend="cuda") == expected
    assert int(driver.call("cuCtxGetCurrent")) == before


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
