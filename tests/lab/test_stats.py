"""Statistics against known distributions and against what makes figures lie."""

from __future__ import annotations

import numpy as np
import pytest
from multiscalar.lab.stats import Outlier, classify, median_interval, ratio_interval, summarise
from multiscalar.lab.stopping import Stopping
from multiscalar.lab.warmup import Warmup, warm

from .fakes import Fake


def test_interval_covers_the_true_median_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(200):
        interval = median_interval(rng.lognormal(0, 0.3, 25))
        inside += interval.low <= 1.0 <= interval.high
    assert 180 <= inside <= 200


def test_ratio_of_equal_series_straddles_one_and_of_doubled_series_two():
    rng = np.random.default_rng(2)
    a, b = rng.normal(100, 3, 30), rng.normal(100, 3, 30)
    same, twice = ratio_interval(a, b), ratio_interval(2 * a, b)
    assert same.low < 1 < same.high
    assert 1.9 < twice.low < twice.value < twice.high < 2.1


def test_one_stall_moves_neither_median_nor_is_dropped():
    summary = summarise([10.0] * 20 + [7000.0])
    assert summary.median.value == 10
    assert summary.count == 21
    assert summary.maximum == 7000
    assert summary.variation == 700
    assert summary.outliers == {"high-severe": 1}


def test_tukey_classes_on_both_sides():
    values = [*range(100, 120), 60, 90, 128, 160]
    classes = dict(zip(values, classify(values), strict=True))
    assert classes[110] is Outlier.NONE
    assert classes[160] is Outlier.HIGH_SEVERE
    assert classes[60] is Outlier.LOW_SEVERE
    assert {classes[90], classes[128]} <= {Outlier.NONE, Outlier.LOW_MILD, Outlier.HIGH_MILD}


def test_same_samples_give_the_same_interval():
    assert median_interval([1.0, 2, 3, 9]) == median_interval([1.0, 2, 3, 9])


def test_no_samples_is_an_error():
    with pytest.raises(ValueError, match="at least one"):
        median_interval([])


def test_precision_goes_on_until_narrow_and_names_what_was_not_met():
    rng = np.random.default_rng(3)
    noisy = [float(v) for v in rng.normal(1e6, 1e5, 400)]
    rule = Stopping(repeats=5, precision=0.02, max_samples=10_000)
    assert rule.decide(noisy[:10]) is None
    stop = rule.decide(noisy)
    assert stop is not None
    assert stop.reason == "precision"
    limited = Stopping(repeats=5, precision=0.001, time_limit=0.01)
    stop = limited.decide(noisy[:20])
    assert stop is not None
    assert stop.reason == "time-limit"
    assert stop.unmet is not None
    assert "wanted ±0.1%" in stop.unmet


def test_fixed_count_stops_at_the_count_or_at_the_limit():
    assert Stopping(3).decide([1, 1]) is None
    assert Stopping(3).decide([1, 1, 1]).reason == "repeats"
    stop = Stopping(30, time_limit=1).decide([2e9])
    assert stop.unmet == "1 of 30 samples in 1 s"


def test_warm_up_waits_for_the_plateau_and_gives_up_at_its_bound(steady_time):
    ramp = iter([345, 700, 1200, 1900, 1980, 1980, 1980])
    samples, report = warm(Fake(), Warmup(1, plateau=True), lambda: float(next(ramp)))
    assert (report.calls, report.plateau, report.signal) == (6, True, "clock")
    assert len(samples) == 6
    flip = iter(float(i % 2 + 1) for i in range(10**9))
    _, report = warm(Fake(), Warmup(1, plateau=True, limit_s=0.02), lambda: next(flip))
    assert report.plateau is False
    assert report.calls == 21


def test_warm_up_without_a_clock_uses_the_calls_own_time(steady_time):
    _, report = warm(Fake(wall_ns=lambda i: 9_000_000 if i < 2 else 1_000_000), Warmup(1, plateau=True))
    assert (report.signal, report.calls, report.plateau) == ("call-time", 5, True)
