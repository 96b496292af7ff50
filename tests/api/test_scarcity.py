"""A system that refuses threads, and calls that would take more than there is: an answer or an error, never a crash."""

from __future__ import annotations

import os
import subprocess
import sys

import multiscalar as ms
import pytest
from multiscalar.errors import CancelledError, OptionError

from tests.patience import PATIENCE_S

CURVE = ms.curve("bn254")

# No system has room for a stack of 2^48 bytes, so that every thread of native code is refused.
NO_THREADS = {**os.environ, "RUST_MIN_STACK": str(1 << 48)}

SUMS = """
import multiscalar as ms
curve = ms.curve("bls12-377")
points, scalars = curve.random_points(5000), curve.random_scalars(5000)  # both long: they ask for a thread
sum_ = ms.msm(points, scalars, backend="cpu", threads=2)
assert sum_ == curve.expected_sum(points, scalars)
assert curve.decode(points.to_bytes("arkworks"), "arkworks")[4999] == points[4999]
"""

VECTORS = """
import numpy as np
from multiscalar import _core
a = np.zeros((1 << 15, 4), dtype=np.uint64)
a[:, 0] = np.arange(1 << 15)
_core.snark.from_canonical(a, 2)
before = a.copy()
for _ in range(3):
    _core.snark.ntt(a, 2)
    assert (a != before).any()
    _core.snark.intt(a, 4)
    assert (a == before).all()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems check the size of a stack in other ways")
@pytest.mark.parametrize("code", [SUMS, VECTORS], ids=["sums", "vectors"])
def test_no_threads_to_be_had(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], env=NO_THREADS, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(("n", "window"), [((1 << 14) + 1, None), (1 << 14, 10)])
def test_straus_refuses_tables_that_would_not_fit(n: int, window: int | None) -> None:
    points = CURVE.known_points(1 << 15)
    with pytest.raises(OptionError, match=r"path straus|narrower window"):
        ms.msm(points[:n], CURVE.random_scalars(n), backend="cpu", path="straus", window=window)


def test_the_plain_oracle_can_be_stopped() -> None:
    points = CURVE.known_points(4000)
    with pytest.raises(CancelledError):
        ms.msm(points, CURVE.random_scalars(4000), backend="cpu", path="reference", stop=lambda: True)
