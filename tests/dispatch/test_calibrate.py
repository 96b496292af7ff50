"""Calibration on a modelled machine: regret, crossovers that repeat, what is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import multiscalar.dispatch.calibrate as calibrating
import numpy as np
import pytest
from multiscalar.dispatch.agreement import compare, found_in
from multiscalar.dispatch.calibrate import Grid, NotAttested, Outcome, calibrate
from multiscalar.dispatch.model import boundaries, regret, side_of
from multiscalar.dispatch.profile import Machine, Profile, Series

from .machines import KINDS, Modelled, modelled

HERE = Machine("cpu A", 16, "build1", "ifma512", "GPU X", 132, None, "kern1")
SERIES = Series("bls12-377", "cpu")
GRID = Grid(low=1 << 6, high=1 << 20, hold_out=44)


@pytest.fixture(autouse=True)
def _still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A modelled machine takes no time: a budget is spent only where a test moves the clock."""
    monkeypatch.setattr(calibrating, "time", SimpleNamespace(monotonic=lambda: 0.0))


def run(machine: Modelled, grid: Grid = GRID, gpu: bool = True):  # type: ignore[no-untyped-def]
    return calibrate(machine, SERIES, grid=grid, budget_s=60, gpu=gpu)


@pytest.mark.parametrize("noise", [0.01, 0.05])
@pytest.mark.parametrize(("curve", "scope"), list(KINDS))
def test_regret_off_the_grid_is_small(curve: str, scope: str, noise: float) -> None:
    """Judged twice: by the calibration's own hold-out, as measured, and by the right times at other sizes."""
    machine = modelled(curve, scope, noise)
    outcome = calibrate(machine, Series(curve, "cpu", scope), grid=GRID, budget_s=60, gpu=True)
    assert len(outcome.hold_out) >= 40
    assert outcome.found, "without a crossover this test says nothing"
    rng = np.random.default_rng(3)
    sizes = [int(2**x) | 1 for x in rng.uniform(6, 18, 60)]
    true = []
    for n in sizes:
        times = {name: machine.truth(name, n) for name in ("cpu", "cuda")}
        true.append(regret(times[side_of(outcome.cpu, outcome.gpu, n)], min(times.values())))
    for regrets in (true, list(outcome.hold_out.values())):
        assert np.median(regrets) <= 0.02
        assert np.percentile(regrets, 95) <= 0.10
        assert max(regrets) <= 0.15
    assert outcome.stable


@pytest.mark.parametrize("noise", [0.01, 0.03, 0.06])
def test_two_calibrations_agree_within_their_bands(noise: float) -> None:
    """Both ways, over all kinds of call; the bands stay narrow enough to say something."""
    profiles = []
    for seed in (1, 2):
        curves = {}
        for curve, scope in KINDS:
            machine = modelled(curve, scope, noise, seed)
            series = Series(curve, "cpu", scope)
            outcome = calibrate(machine, series, grid=Grid(high=1 << 16, hold_out=0), budget_s=60, gpu=True)
            assert all(b.high / b.low < 1.5 for b in outcome.found)
            curves |= {series: outcome.cpu, replace(series, backend="cuda"): outcome.gpu}
        profiles.append(Profile(HERE, "2026-11-30T00:00:00+00:00", curves))
    agreement = compare(*map(found_in, profiles))
    assert agreement.series == len(KINDS)
    assert len(agreement.meetings) >= len(KINDS)
    assert agreement.share >= 0.9


class Drifting(Modelled):
    """A shared machine: its CPU is up to 8 % slower or faster for half a minute at a time, alike for all samples."""

    def truth(self, backend: str, n: int) -> float:
        turn = len(self.taken) // 150
        wave = float(np.random.default_rng((self.seed, turn)).normal(0, 0.08)) if backend == "cpu" else 0.0
        return super().truth(backend, n) * (1 + wave)


def test_bands_know_of_a_machine_that_drifts() -> None:
    """What the samples of one moment cannot tell, the hold-out does: it was measured at other moments."""

    def calibrated(seed: int) -> Outcome:
        machine = Drifting(*KINDS["bn254", "end-to-end"], noise=0.01, seed=seed)
        return calibrate(machine, SERIES, grid=Grid(high=1 << 16, hold_out=44), budget_s=60, gpu=True)

    outcomes = [calibrated(seed) for seed in range(12)]
    told = [(x.found[0], y.found[0]) for x in outcomes for y in outcomes if x is not y]
    assert np.mean([y.low <= x.n <= y.high for x, y in told]) >= 0.9
    narrow = [boundaries(x.cpu, x.gpu)[0] for x in outcomes]
    assert np.mean([y.low <= x.n <= y.high for x in narrow for y in narrow if x is not y]) < 0.5
    steady = run(Modelled(noise=0.01), Grid(high=1 << 16, hold_out=44))
    assert steady.found[0].high / steady.found[0].low < 1.15


def test_the_hold_out_covers_the_range_early() -> None:
    sizes = Grid(low=1 << 6, high=1 << 18, hold_out=44).off_grid(1 << 18)
    assert len(set(sizes)) == 44
    assert all(n & 1 and 1 << 6 <= n <= 1 << 18 for n in sizes)
    early = sorted(np.log2(sizes[:8]))
    assert max(np.diff(early)) < 3, "eight of them leave no gap of a quarter of the range"


def test_a_budget_too_small_keeps_part_of_it_for_the_hold_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that only samples move, 2 ms each."""
    now = [0.0]
    monkeypatch.setattr(calibrating, "time", SimpleNamespace(monotonic=lambda: now[0]))

    class Slow(Modelled):
        def open(self, series: Series, n: int, role: str) -> Callable[[], float]:
            call = super().open(series, n, role)

            def sample() -> float:
                now[0] += 0.002
                return call()

            return sample

    outcome = calibrate(Slow(), SERIES, grid=Grid(high=1 << 20, hold_out=44), budget_s=1.0, gpu=True)
    assert 3 <= len(outcome.hold_out) < 44
    assert any(f"{len(outcome.hold_out)} of 44 hold-out sizes" in note for note in outcome.notes)


def test_the_bracket_is_narrow() -> None:
    machine = Modelled(noise=0.001)
    outcome = run(machine)
    (boundary,) = outcome.found
    true = next(n for n in range(64, 1 << 20) if machine.truth("cuda", n) * 1.03 < machine.truth("cpu", n))
    assert boundary.n == pytest.approx(true, rel=0.1)


def test_without_a_gpu_only_the_cpu_is_measured() -> None:
    machine = Modelled()
    outcome = run(machine, gpu=False)
    assert outcome.gpu is None
    assert outcome.found == []
    assert {backend for backend, _ in machine.taken} == {"cpu"}


def test_a_cpu_far_behind_is_left_alone() -> None:
    machine = Modelled(cpu_per_term_us=50.0)
    run(machine)
    largest = max(n for backend, n in machine.taken if backend == "cpu")
    assert largest < 1 << 14


class Liar(Modelled):
    """A machine whose GPU does not do the work."""

    def open(self, series: Series, n: int, role: str) -> Callable[[], float]:
        if series.backend == "cuda" and n >= 1 << 10:
            raise NotAttested("the GPU was asked for and shows no launches")
        return super().open(series, n, role)


def test_what_is_not_attested_is_not_a_calibration() -> None:
    with pytest.raises(NotAttested, match="no launches"):
        run(Liar())


class Restless(Modelled):
    """A GPU that is ten times slower off the grid: the choices there are wrong."""

    def truth(self, backend: str, n: int) -> float:
        time = super().truth(backend, n)
        return 40 * time if backend == "cuda" and n & 1 else time


def test_a_bad_hold_out_makes_it_unstable() -> None:
    outcome = run(Restless(), Grid(high=1 << 16, hold_out=16))
    assert not outcome.stable
    assert "regret" in outcome.problems[-1]


def test_order_is_abba() -> None:
    machine = Modelled()
    run(machine, Grid(low=256, high=512, hold_out=0))
    first = [backend for backend, n in machine.taken if n == 256]
    assert first[:4] == ["cpu", "cuda", "cuda", "cpu"]
