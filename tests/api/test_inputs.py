"""Benchmark inputs and their oracle: deterministic, of the named shape, with logarithms that are true."""

from __future__ import annotations

import subprocess
import sys

import multiscalar as ms
import numpy as np
import pytest
from multiscalar import curves
from multiscalar.inputs import Stream, multiples
from multiscalar.shapes import ScalarShape

from tests.patience import PATIENCE_S


@pytest.fixture(params=curves.names())
def curve(request: pytest.FixtureRequest) -> ms.Curve:
    return ms.curve(request.param)


def test_known_points_have_their_logarithms(curve: ms.Curve) -> None:
    points = curve.known_points(1500, seed=7)
    for i in (0, 1, 2, 3, 511, 512, 513, 1023, 1024, 1499, -1):
        assert points[i] == points.logs[i] * curve.generator
    assert points.logs.a.bit_length() > 200
    assert points.logs.b.bit_length() > 200
    assert points.in_subgroup
    for part in (slice(100, 200), slice(None, None, -3), slice(5, 5)):
        assert list(points[part]) == [points[i] for i in range(1500)[part]]
        assert [points[part].logs[i] for i in range(len(points[part]))] == [points.logs[i] for i in range(1500)[part]]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 300, 1 << 14])
def test_random_points_have_their_logarithms(curve: ms.Curve, n: int) -> None:
    points = curve.random_points(n, seed=3)
    assert len(points) == n
    for i in {0, n // 2, n - 1} if n else ():
        assert points[i] == points.logs[i] * curve.generator


def test_multiples_of_awkward_numbers(curve: ms.Curve) -> None:
    ks = [0, 1, 2, 255, 256, 257, 1 << 64, (1 << 252) + 1, curve.r - 1, curve.r - 2]
    assert list(multiples(curve, curve.scalars(ks))) == [k * curve.generator for k in ks]


def test_a_seed_is_a_seed(curve: ms.Curve) -> None:
    """The same on every machine: these words are fixed, and a shorter draw is a prefix of a longer one."""
    assert [hex(word) for word in Stream(5090, "scalars").words(2).tolist()] == FIRST_WORDS
    a, b = curve.random_scalars(1000), curve.random_scalars(1000, seed=5091)
    assert list(a[:9]) == list(curve.random_scalars(9))
    assert list(a[:9]) != list(b[:9])
    np.testing.assert_array_equal(curve.known_points(40).data, curve.known_points(90)[:40].data)
    assert curve.known_points(1)[0] != curve.random_points(1)[0]


FIRST_WORDS = ["0xd8ad8ea26c22f86e", "0xa98089b4d81aaf23"]


@pytest.mark.parametrize("shape", list(ScalarShape))
def test_shapes(curve: ms.Curve, shape: ScalarShape) -> None:
    n, r = 1000, curve.r
    scalars = curve.random_scalars(n, shape=shape)
    values = list(scalars)
    assert len(values) == n
    assert all(0 <= value < r for value in values)
    zeros, ones = values.count(0), values.count(1)
    expected = {
        "uniform": len(set(values)) == n and max(v.bit_length() for v in values) == r.bit_length(),
        "small": max(values) < 1 << 16 and len(set(values)) > 900,
        "bits": set(values) == {0, 1} and 400 < ones < 600,
        "signed-bits": set(values) == {0, 1, r - 1} and 250 < ones < 420,
        "equal": len(set(values)) == 1 and values[0].bit_length() > 200,
        "zero": zeros == n,
        "one": ones == n,
        "minus-one": set(values) == {r - 1},
        "one-hot": zeros == n - 1,
        "one-huge": ones == n - 1 and r - 1 in values,
        "sparse": 850 < zeros < 950 and len(set(values)) > 50,
        "powers": all(value.bit_count() == 1 for value in values),
        "top": min(values) > r - 17,
        "witness": 400 < zeros + ones < 600 and 130 < sum(v.bit_length() > 200 for v in values) < 270,
    }
    if str(shape) in expected:
        assert expected[str(shape)]
        assert scalars.data.shape == (n, 4)
    else:
        assert scalars.data.dtype == np.dtype(str(shape))
        assert scalars.data.shape == (n,)
    assert len(curve.random_scalars(0, shape=shape)) == 0


@pytest.mark.parametrize("kind", ["known", "random"])
@pytest.mark.parametrize("shape", ["uniform", "top", "bool", "uint8", "uint64"])
def test_the_oracle_is_exact(curve: ms.Curve, kind: str, shape: str) -> None:
    """Against sums of Python ints, across the blocks of the exact float64 sums, for full limbs everywhere."""
    n = 70_000 if kind == "known" else 3000
    points = curve.known_points(n) if kind == "known" else curve.random_points(n)
    scalars = curve.random_scalars(n, shape=shape)
    total = sum(s * points.logs[i] for i, s in enumerate(scalars))
    assert points.logs.dot(scalars) == total % curve.r
    assert curve.expected_sum(points, scalars) == total % curve.r * curve.generator


def test_the_oracle_at_full_limbs(curve: ms.Curve) -> None:
    points = curve.random_points(4)
    full = ms.ScalarArray.unverified(np.full((4, 4), 2**64 - 1, dtype=np.uint64), curve)
    total = sum((2**256 - 1) * points.logs[i] for i in range(4))
    assert points.logs.dot(full) == total % curve.r
    raised = ms.ScalarArray.unverified(full.data, curve, ms.Form.MONTGOMERY)
    assert points.logs.dot(raised) == total * pow(1 << 256, -1, curve.r) % curve.r


QUIET = """
import os
from pathlib import Path
import multiscalar as ms

def ticks():
    \"""Processor time of this thread and of all others, in ticks. Source: proc(5), stat: fields 14 and 15.\"""
    found = [0, 0]
    for task in Path("/proc/self/task").iterdir():
        fields = (task / "stat").read_text().rpartition(")")[2].split()
        found[int(task.name) != os.getpid()] += int(fields[11]) + int(fields[12])
    return found

curve = ms.curve("bn254")
points, others, scalars = curve.known_points(2**16), curve.random_points(2**14), curve.random_scalars(2**16)
few = scalars[: 2**14]
before = ticks()
while ticks()[0] - before[0] < 40:
    curve.expected_sum(points, scalars), curve.expected_sum(others, few)
print(*(now - then for now, then in zip(ticks(), before)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")
def test_the_oracle_stays_on_its_thread() -> None:
    """Workers of a BLAS library spin after a product, and would compete with the call that is timed next."""
    told = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, timeout=PATIENCE_S)
    assert told.returncode == 0, told.stderr
    own, theirs = map(int, told.stdout.split())
    assert theirs <= own / 10
