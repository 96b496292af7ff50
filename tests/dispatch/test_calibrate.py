"""Calibration on a modelled machine: regret, crossovers that repeat, what is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from multiscalar.dispatch.calibrate import Grid, NotAttested, calibrate
from multiscalar.dispatch.model import regret, side_of
from multiscalar.dispatch.profile import Series

from .machines import Modelled

SERIES = Series("bls12-377", "cpu")
GRID = Grid(low=1 << 6, high=1 << 20, hold_out=44)


def run(machine: Modelled, grid: Grid = GRID, gpu: bool = True):  # type: ignore[no-untyped-def]
    return calibrate(machine, SERIES, grid=grid, budget_s=60, gpu=gpu)


@pytest.mark.parametrize("per_term", [0.4, 0.9, 2.5])
def test_regret_off_the_grid_is_small(per_term: float) -> None:
    machine = Modelled(cpu_per_term_us=per_term)
    outcome = run(machine)
    assert len(outcome.hold_out) >= 40
    rng = np.random.default_rng(3)
    sizes = [int(2**x) | 1 for x in rng.uniform(6, 18, 60)]
    regrets = []
    for n in sizes:
        times = {name: machine.truth(name, n) for name in ("cpu", "cuda")}
        regrets.append(regret(times[side_of(outcome.cpu, outcome.gpu, n)], min(times.values())))
    assert np.median(regrets) <= 0.02
    assert np.percentile(regrets, 95) <= 0.10
    assert max(regrets) <= 0.15
    assert outcome.stable


def test_two_calibrations_agree_within_their_bands() -> None:
    inside, total = 0, 0
    for seed in range(6):
        first, second = (run(Modelled(seed=10 * seed + k), Grid(high=1 << 16, hold_out=4)) for k in range(2))
        assert len(first.found) == len(second.found) == 1
        (a,), (b,) = first.found, second.found
        inside += (b.low * 0.94 <= a.n <= b.high * 1.06) + (a.low * 0.94 <= b.n <= a.high * 1.06)
        total += 2
    assert inside >= 0.9 * total


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

    def open(self, series: Series, n: int) -> Callable[[], float]:
        if series.backend == "cuda" and n >= 1 << 10:
            raise NotAttested("the GPU was asked for and shows no launches")
        return super().open(series, n)


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
