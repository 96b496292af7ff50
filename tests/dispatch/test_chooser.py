"""`auto`: who decides, in which order, and what a result says of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import multiscalar as ms
import pytest
from multiscalar.cli.metering import LabMeter
from multiscalar.dispatch import chooser as rules
from multiscalar.dispatch import explain as explaining
from multiscalar.dispatch import profile as profiles
from multiscalar.dispatch import store
from multiscalar.dispatch.model import CostCurve, side_of
from multiscalar.dispatch.profile import Machine, Profile, Series, from_json
from multiscalar.engine import registry
from multiscalar.engine.backend import Availability, Request
from multiscalar.lab.record import Record
from multiscalar.settings import setting

from tests.patience import PATIENCE_S

from . import machines

HERE = Machine("cpu A", 2, "build1", "scalar", "GPU X", 132, None, "kern1")


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> rules.ProfileChooser:
    """A chooser on the first story's machine."""
    monkeypatch.setenv("MULTISCALAR_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(rules, "this_machine", lambda: HERE)
    monkeypatch.setattr(explaining, "this_machine", lambda: HERE)
    store.save(machines.profile_of(machines.story_1(), HERE))
    return rules.ProfileChooser()


def request(n: int, **more: Any) -> Request:
    return Request("bls12-377", n, **more)


def test_the_profile_decides(policy: rules.ProfileChooser) -> None:
    assert policy.choose(request(1025)).backend == "cpu"
    assert policy.choose(request(8192)).backend == "cpu"
    assert policy.choose(request(65_536)).backend == "cuda"
    assert "profile" in policy.choose(request(65_536)).reason


def test_the_boundary_is_where_cpu_ends(policy: rules.ProfileChooser) -> None:
    (boundary,) = policy.decision(request(1)).found
    assert policy.choose(request(boundary.n)).backend == "cpu"
    assert policy.choose(request(boundary.n + 1)).backend == "cuda"


def test_a_cutoff_overrides_the_profile(policy: rules.ProfileChooser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULTISCALAR_CROSSOVER", "100")
    assert policy.choose(request(100)).backend == "cpu"
    assert policy.choose(request(101)).backend == "cuda"
    with ms.using(crossover=2**20):
        assert policy.choose(request(65_536)).backend == "cpu"


def test_without_a_profile_the_cpu(policy: rules.ProfileChooser) -> None:
    with ms.using(profile="off"):
        assert policy.choose(request(1 << 24)).backend == "cpu"
    assert policy.choose(request(65_536)).backend == "cuda", "settings are read at call time"


def test_another_curve_has_no_series(policy: rules.ProfileChooser) -> None:
    choice = policy.choose(Request("bn254", 1 << 20))
    assert choice.backend == "cpu"
    assert "no series" in choice.reason


def test_the_objective_changes_the_choice(policy: rules.ProfileChooser) -> None:
    store.save(machines.profile_of(machines.story_2(), HERE))
    fresh = rules.ProfileChooser()
    assert fresh.choose(request(1 << 20)).backend == "cuda"
    with ms.using(objective="p95"):
        assert fresh.choose(request(1 << 20)).backend == "cpu"


def test_a_choice_is_the_same_every_time(policy: rules.ProfileChooser) -> None:
    sizes = [int(1.07**k) for k in range(1, 260)]
    first = [policy.choose(request(n)) for n in sizes]
    assert [policy.choose(request(n)) for n in sizes] == first
    assert [rules.ProfileChooser().choose(request(n)) for n in sizes[::20]] == first[::20]


def test_after_the_first_a_decision_looks_nothing_up(
    policy: rules.ProfileChooser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file, no machine, no curve: what remains is a dictionary and a bisection."""
    first = [policy.choose(request(n)) for n in (1, 10_000, 1 << 20)]

    def forbidden(*_: object) -> None:
        raise AssertionError("looked up again")

    for name in ("find", "this_machine", "boundaries", "crossings", "side_of", "nearest", "setting"):
        monkeypatch.setattr(rules, name, forbidden)
    assert [policy.choose(request(n)) for n in (1, 10_000, 1 << 20)] == first


@pytest.mark.parametrize("variable", ["CROSSOVER", "PROFILE", "STATE_DIR", "OBJECTIVE", "THREADS", "ISA"])
def test_every_setting_it_rests_on_is_watched(
    policy: rules.ProfileChooser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str
) -> None:
    policy.choose(request(65_536))
    before = policy._policies[0]
    policy.choose(request(65_536))
    assert policy._policies[0] is before
    other = str(tmp_path / "other")
    values = {"CROSSOVER": "5", "PROFILE": "off", "STATE_DIR": other, "OBJECTIVE": "p95", "ISA": "scalar"}
    monkeypatch.setenv(f"MULTISCALAR_{variable}", values.get(variable, "1"))
    policy.choose(request(65_536))
    assert policy._policies[0] is not before


def test_batches_of_all_sizes_are_not_all_remembered(
    policy: rules.ProfileChooser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rules, "_MOST_KINDS", 8)
    choices = {policy.choose(request(65_536, batch=batch)).backend for batch in range(1, 50)}
    assert choices == {"cuda"}
    assert len(policy._policies[0].decisions) <= 8


def test_a_cap_on_threads_has_its_own_curves(policy: rules.ProfileChooser) -> None:
    """One thread is slower than sixteen: where it was measured, its crossover is another."""
    plain = machines.story_1()
    slower = CostCurve({n: tuple(8 * us for us in samples) for n, samples in plain[0].samples.items()})
    series = {"cpu": slower, "cuda": plain[1]}
    curves = {Series("bls12-377", name, threads=1): curve for name, curve in series.items()}
    store.save(Profile(HERE, "2026-11-30T00:00:00+00:00", curves))
    fresh = rules.ProfileChooser()
    assert [fresh.choose(request(4096, threads=t)).backend for t in (1, 2, None)] == ["cuda", "cpu", "cpu"]


def test_a_first_call_with_other_threads_settles_nothing(
    policy: rules.ProfileChooser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Threads and instruction set are facts of the machine that a profile is found by."""
    monkeypatch.setattr(rules, "this_machine", lambda: replace(HERE, threads=setting("threads") or 2, gpu="GPU Y"))
    store.save(machines.profile_of(machines.story_1(), replace(HERE, gpu="GPU Y")))
    with ms.using(threads=1):
        assert policy.choose(request(65_536)) == ("cpu", "no profile: CPU")
    assert policy.choose(request(65_536)).backend == "cuda"


def test_settings_in_turn_read_the_profile_once_each(
    policy: rules.ProfileChooser, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, found = [], rules.find
    monkeypatch.setattr(rules, "find", lambda machine: read.append(machine) or found(machine))
    for _ in range(10):
        assert policy.choose(request(65_536)).backend == "cuda"
        with ms.using(profile="off"):
            assert policy.choose(request(65_536)).backend == "cpu"
    assert len(read) == 2
    for cutoff in range(100):
        with ms.using(crossover=cutoff):
            policy.choose(request(65_536))
    assert len(policy._policies) == rules._MOST_POLICIES


def test_threads_with_settings_of_their_own_keep_them(policy: rules.ProfileChooser) -> None:
    """Two objectives of the unstable GPU disagree; no thread may be answered by another's."""
    store.save(machines.profile_of(machines.story_2(), HERE))
    wanted = {"median": "cuda", "p95": "cpu"}
    start = Barrier(4)

    def choose(objective: str) -> set[str]:
        with ms.using(objective=objective):
            start.wait(timeout=PATIENCE_S)
            return {policy.choose(request(1 << 20, batch=batch)).backend for batch in range(1, 200)}

    with ThreadPoolExecutor(4) as pool:
        for objective, chosen in [(name, pool.submit(choose, name)) for name in (*wanted, *wanted)]:
            assert chosen.result(timeout=PATIENCE_S) == {wanted[objective]}


SHIPPED = sorted((Path(rules.__file__).parent / "profiles").glob("*.json"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_profile_chooses_by_medians_and_draws_nothing(
    policy: rules.ProfileChooser, monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    """Bands cost a hundred times what a choice needs; batches that share a series share its crossings."""
    profile = from_json(path.read_text(encoding="utf-8"), "shipped")

    def drawn(*_: object) -> None:
        raise AssertionError("a choice drew a bootstrap")

    worked_out, found = [], rules.crossings
    monkeypatch.setattr(rules, "find", lambda machine: profile)
    monkeypatch.setattr(CostCurve, "_resampled", drawn)
    monkeypatch.setattr(rules, "crossings", lambda *pair: worked_out.append(pair) or found(*pair))
    for series in {replace(series, backend="cpu") for series in profile.curves}:
        pair = profile.pair(series)
        assert pair is not None
        asked = Request(series.curve, 1, series.scope, series.batch, threads=series.threads or None)
        edges = policy.decision(asked).at
        for n in (round(1.3**k) for k in range(1, 64)):
            if all(abs(n / edge - 1) > 0.02 for edge in edges):
                assert policy.choose(asked._replace(n=n)).backend == side_of(*pair, n), (series, n)
        for batch in range(1, 40):
            policy.choose(asked._replace(batch=batch))
    assert len(worked_out) <= len(profile.curves) // 2


def test_narrow_scalars_are_measured_under_the_name_they_are_asked_by() -> None:
    curve = ms.curve("bn254")
    for name, shape in profiles.SHAPES.items():
        bits = curve.random_scalars(3, 1, shape).bits
        assert rules.series_of(request(3, scalar_bits=bits)).scalars == name
        sample = LabMeter(Record()).open(Series("bn254", "cpu", scalars=name), 3, "grid")
        assert sample() > 0


def test_explain_says_it_all(policy: rules.ProfileChooser) -> None:
    text = str(explaining.explain("1,025", "bls12-377", policy=policy))
    assert "-> cpu" in text
    assert "CPU faster" in text
    assert "crossover at n" in text
    assert "overridden by: nothing" in text
    with ms.using(crossover=64):
        text = str(explaining.explain(1025, policy=policy))
    assert "-> cuda" in text
    assert "crossover=64 (using)" in text


def test_explain_without_a_profile(policy: rules.ProfileChooser) -> None:
    with ms.using(profile="off"):
        text = str(explaining.explain(2**16, policy=policy))
    assert "msm calibrate" in text


class Broken:
    """A GPU backend that fails when it is used."""

    name = "cuda"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def availability(self) -> Availability:
        return Availability(True)

    def prepare(self, *_: Any) -> Any:
        raise self.error

    msm = prepare


@pytest.fixture
def failing(policy: rules.ProfileChooser, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`auto` wants the GPU for every n, and the GPU fails with the error given."""

    def attach(error: Exception) -> None:
        monkeypatch.setitem(registry._loaded, "cuda", Broken(error))
        monkeypatch.setattr(registry, "_chooser", [policy])
        monkeypatch.setattr(registry, "_fallbacks", {})
        monkeypatch.setenv("MULTISCALAR_CROSSOVER", "0")

    return attach


@pytest.mark.parametrize(
    "error",
    [
        ms.errors.DeviceError("the GPU fell off the bus"),
        ms.errors.OutOfMemoryError("the GPU is out of memory", need=10, free=5),
        ms.errors.BackendUnavailableError("no NVIDIA driver on this machine"),
        ms.errors.ForkError("the GPU was used before this process was forked"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_auto_falls_back_aloud_and_cuda_raises(failing: Any, error: Exception) -> None:
    failing(error)
    curve = ms.curve("bls12-377")
    points, scalars = curve.known_points(10), curve.random_scalars(10)
    with pytest.warns(ms.errors.FallbackWarning, match="fell back"):
        result = ms.msm(points, scalars)
    assert result == curve.expected_sum(points, scalars)
    assert result.run.backend == "cpu"
    assert str(error) in result.run.fallback_reason
    ms.msm(points, scalars)  # the second one only counts
    assert registry.fallbacks() == {"cuda": 2}
    with pytest.raises(type(error)):
        ms.msm(points, scalars, backend="cuda")


def test_bad_input_is_no_reason_to_fall_back(failing: Any) -> None:
    failing(ms.errors.ScalarRangeError("scalar 3 is too large", index=3))
    with pytest.raises(ms.errors.ScalarRangeError):
        ms.msm([(1, 2)], [5], curve="bn254")
