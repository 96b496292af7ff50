"""Cost curves, crossings and choices on curves whose right answer is known."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multiscalar.dispatch.model import CostCurve, boundaries, crossings, interpolate, monotone, side_of

from . import machines


def flat(value: float, sizes: range) -> CostCurve:
    return CostCurve({1 << k: (value,) * 5 for k in sizes})


def power(scale: float, slope: float, sizes: range) -> CostCurve:
    return CostCurve({1 << k: (scale * (1 << k) ** slope,) * 5 for k in sizes})


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=40))
def test_monotone_is_the_nearest_rising_sequence(values: list[float]) -> None:
    rising = monotone(values)
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(rising))
    assert sum(rising) == pytest.approx(sum(values), abs=1e-6)
    ours = sum((a - b) ** 2 for a, b in zip(values, rising, strict=True))
    for other in (sorted(values), [sum(values) / len(values)] * len(values), list(np.maximum.accumulate(values))):
        assert ours <= sum((a - b) ** 2 for a, b in zip(values, other, strict=True)) + 1e-6


def test_interpolation_is_a_line_in_logs_and_goes_on_outside() -> None:
    curve = power(2.0, 0.8, range(4, 12))
    for n in (16, 100, 1000, 2048):
        assert curve.at(n) == pytest.approx(2.0 * n**0.8)
    assert curve.at(1 << 14) == pytest.approx(2.0 * (1 << 14) ** 0.8)
    assert curve.predict(1 << 14).extrapolated
    assert not curve.predict(100).extrapolated
    steep = power(1.0, 1.5, range(4, 8))
    assert steep.at(1 << 10) == pytest.approx((1 << 7) ** 1.5 * 8), "beyond the end no steeper than linear"
    assert interpolate(np.array([1.0]), np.array([5.0]), np.array([9.0])) == 5.0
    lines = interpolate(np.array([1.0, 2.0]), np.array([[0.0, 0.5], [7.0, 7.0]]), np.array([0.0, 1.5, 4.0]))
    assert lines.tolist() == [[-0.5, 0.25, 1.5], [7.0, 7.0, 7.0]], "many lines at once"


@given(st.integers(0, 50))
@settings(max_examples=20, deadline=None)
def test_crossings_are_the_boundaries_without_their_bands(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cpu, gpu = (CostCurve({1 << k: tuple(np.exp(rng.normal(k * s, 1, 5))) for k in range(4, 12)}) for s in (0.7, 0.5))
    assert crossings(cpu, gpu) == [(b.n, b.after) for b in boundaries(cpu, gpu)]


def test_one_crossing_is_found_where_it_is() -> None:
    cpu, gpu = power(1.0, 1.0, range(4, 20)), flat(5000.0, range(4, 20))
    (boundary,) = boundaries(cpu, gpu)
    assert boundary.after == "cuda"
    assert boundary.n == pytest.approx(5150, rel=0.02)  # 3 % above: the dead zone belongs to the CPU
    assert boundary.low <= boundary.n <= boundary.high


def test_two_crossings_are_two_boundaries() -> None:
    sizes = [1 << k for k in range(6, 16)]
    cpu = CostCurve({n: (float(n),) * 5 for n in sizes})
    gpu = CostCurve({n: (float(n * (0.5 if 1 << 8 < n < 1 << 12 else 2.0)),) * 5 for n in sizes})
    assert [boundary.after for boundary in boundaries(cpu, gpu)] == ["cuda", "cpu"]


def test_sides_agree_with_the_boundaries_everywhere() -> None:
    cpu, gpu = machines.story_1()
    found = boundaries(cpu, gpu)
    for n in range(1024, 65_536, 317):
        side = "cpu"
        for boundary in found:
            if n > boundary.n:
                side = boundary.after
        if all(abs(n / boundary.n - 1) > 0.02 for boundary in found):
            assert side == side_of(cpu, gpu, n), n


def test_the_first_story_crosses_where_the_reporter_moved_the_cutoff() -> None:
    (boundary,) = boundaries(*machines.story_1())
    assert boundary.after == "cuda"
    assert 8_192 <= boundary.n <= 16_384


def test_the_second_story_avoids_the_unstable_gpu_when_the_tail_counts() -> None:
    cpu, gpu = machines.story_2()
    assert side_of(cpu, gpu, 1 << 20, "median") == "cuda"
    assert side_of(cpu, gpu, 1 << 20, "p95") == "cpu"
    assert boundaries(cpu, gpu, "p95") == []


def test_large_falls_are_reported() -> None:
    curve = CostCurve({64: (10.0,), 128: (20.0,), 256: (15.0,), 512: (30.0,)})
    assert curve.violations() == [(128, 256, 0.25)]


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 1 << 24), st.floats(0.1, 1e4), st.floats(0.3, 1.0))
def test_predictions_are_finite_and_inside_their_interval(n: int, scale: float, slope: float) -> None:
    prediction = power(scale, slope, range(5, 16)).predict(n)
    assert 0 < prediction.low <= prediction.us <= prediction.high < 1e18
