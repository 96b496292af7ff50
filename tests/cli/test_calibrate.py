"""Calibration through the lab with a GPU of a formula: record, table, report, first calls, comparison of profiles."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import log2
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from multiscalar.cli import calibrate as calibrating
from multiscalar.cli import main, metering
from multiscalar.cli.calibrate import _profile
from multiscalar.cli.metering import LabMeter, first_calls, restless
from multiscalar.cli.session import begin
from multiscalar.dispatch import calibrate as dispatching
from multiscalar.dispatch.agreement import Found, compare, found_in
from multiscalar.dispatch.calibrate import Grid, NotAttested, NotMeasured, Outcome, calibrate
from multiscalar.dispatch.profile import Series, from_json, to_json
from multiscalar.errors import DeviceError, OutOfMemoryError
from multiscalar.lab.calibration import judged, regret_rows
from multiscalar.lab.check import Level, check
from multiscalar.lab.record import Record, gather
from multiscalar.lab.report.page import build_report
from multiscalar.lab.status import Status, SubjectError
from multiscalar.lab.subject import Case, Evidence, Place, Sample
from multiscalar.lab.subjects.peer import ProgramSubject, own_program
from multiscalar.lab.warmup import Warmup

SERIES = Series("bn254", "cpu", "resident-bases")


@dataclass
class Formula:
    """A subject whose times are a formula: 100 us + 0.2 us a term on the card, 1 us a term on the CPU."""

    name: str
    place: Place = Place.CPU
    wrong: bool = False
    most: int = 1 << 30
    because: Exception = field(default_factory=lambda: OutOfMemoryError("out of memory"))
    inputs: Any = None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))

    def describe(self) -> dict[str, Any]:
        return {"library": "a formula"}

    def prepare(self, case: Case, inputs: Any) -> None:
        if int(case.labels["n"] or 0) > self.most:
            raise SubjectError(Status.ERROR, "out of memory") from self.because
        self.inputs = inputs

    def take(self, count: int, warmups: int) -> Sequence[Sample]:
        n = len(self.inputs.points)
        us = 100 + 0.2 * n + 3 * log2(n) if self.name == "cuda" else 1.0 * n
        walls = [int(us * 1e3 * self.rng.lognormal(0, 0.01)) for _ in range(count)]
        result = [(p.x, p.y + self.wrong) for p in self.inputs.expected]
        event = Evidence("cuda", launches=2, event_ns=1000) if self.name == "cuda" else Evidence("cpu")
        return [Sample(i, wall, wall, result, evidence=event) for i, wall in enumerate(walls)]

    def close(self) -> None:
        self.inputs = None


@pytest.fixture(autouse=True)
def _still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A formula takes no time: no budget ends before all is measured, however busy the machine."""
    monkeypatch.setattr(dispatching, "time", SimpleNamespace(monotonic=lambda: 0.0))


def make(**of_the_card: Any) -> Any:
    return lambda name: Formula(name, Place.GPU, **of_the_card) if name == "cuda" else Formula(name)


def run(record: Record, grid: Grid | None = None, **of_the_card: Any) -> Outcome:
    name = begin(record, 5090, {})
    meter = LabMeter(record, make=make(**of_the_card))
    outcome = calibrate(meter, SERIES, grid=grid or Grid(high=1 << 10, hold_out=44), budget_s=60, gpu=True)
    meter.close()
    record.append("end", run=name, complete=True)
    return outcome


def test_a_calibration_is_a_record_from_which_its_figures_follow() -> None:
    record = Record()
    outcome = run(record)
    assert len(outcome.hold_out) >= 40
    assert outcome.stable
    measurements = gather(record.lines)
    assert not [f for f in check(measurements) if f.level is Level.FAIL]
    (one,) = judged(measurements)
    assert one.found == outcome.found
    assert one.found[0].n == pytest.approx(163, rel=0.15)
    assert one.regrets == pytest.approx(outcome.hold_out)
    (row,) = regret_rows([one])
    middle, p95, worst = outcome.regrets()
    assert row[-4:] == (str(len(outcome.hold_out)), f"{middle:.1%}", f"{p95:.1%}", f"{worst:.1%}")
    page = build_report(measurements)
    assert ">Calibration</h2>" in page
    assert all(f"<td>{text}</td>" in page for text in row)
    short = page.split('id="short"')[1].split("</section>")[0]
    assert "resident-bases" in short
    assert "hold-out" not in short


def test_other_records_have_no_calibration() -> None:
    assert judged(gather([])) == []
    assert ">Calibration</h2>" not in build_report(gather([]))


def test_a_wrong_sum_voids_the_calibration_and_stays_in_the_record() -> None:
    record = Record()
    with pytest.raises(NotAttested, match="cuda on bn254 at n = 64"):
        run(record, wrong=True)
    assert [line["status"] for line in record.lines if line["kind"] == "result"] == ["MISMATCH"]


def test_a_curve_ends_where_the_memory_does() -> None:
    outcome = run(Record(), most=512)
    assert outcome.gpu is not None
    assert max(outcome.gpu.sizes) == 512
    assert outcome.stable
    assert outcome.notes == ["n = 1,024 and above were not measured: out of memory"]


def test_a_device_that_fails_ends_no_curve_but_the_calibration() -> None:
    with pytest.raises(NotAttested, match="cuda on bn254 at n = 1,024: out of memory"):
        run(Record(), most=512, because=DeviceError("the GPU fell off the bus"))


def test_a_clock_without_rest_is_a_problem_where_it_is_the_rule() -> None:
    flip = itertools.count()
    meter = LabMeter(Record(), clock=lambda: float(next(flip) % 2 + 1), make=make())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metering, "Warmup", lambda least, plateau: Warmup(least, plateau, limit_s=0.01))
        for n in (64, 128):
            meter.open(SERIES, n, "grid")
            assert meter.settled == {}, "the CPU has no such clock"
        meter.open(replace(SERIES, backend="cuda"), 128, "grid")
    assert meter.settled == {128: False}
    assert "no rest at 1 of 1 sizes, n = 128" in str(restless(meter.settled))
    assert restless({64: True, 128: True, 256: True, 512: False}) is None
    assert restless({}) is None


def test_a_subject_that_cannot_begin_measures_nothing() -> None:
    with pytest.raises(NotMeasured):
        run(Record(), most=8)


def test_first_calls_are_of_fresh_processes_and_kept_in_the_profile() -> None:
    record, processes = Record(), set()

    class Watched(ProgramSubject):
        def take(self, count: int, warmups: int) -> Sequence[Sample]:
            samples = super().take(count, warmups)
            processes.add(self.pid)
            return samples

    def watched(name: str) -> Any:
        subject = own_program(name)
        subject.__class__ = Watched
        return subject

    found = first_calls(record, "bn254", ("cpu",), n=16, make=watched)
    assert found.keys() == {"bn254/cpu"}
    assert len(processes) == len([line for line in record.lines if line["kind"] == "sample"]) == 3
    outcome = run(Record(), Grid(high=256, hold_out=0))
    again = from_json(to_json(_profile([outcome], found, False)), "text")
    assert again.first_call_us == pytest.approx(found, rel=1e-3)
    assert again.first_call_us["bn254/cpu"] > 0


def found(outcome: Outcome) -> Found:
    return found_in(_profile([outcome], {}, False))


def test_two_profiles_of_one_machine_agree_and_others_do_not() -> None:
    a, b = (run(Record(), Grid(high=1 << 10, hold_out=0)) for _ in range(2))
    same = compare(found(a), found(b))
    assert (same.series, same.share) == (1, 1.0)
    assert "100% of boundaries" in str(same)
    faster = run(Record(), Grid(high=1 << 10, hold_out=0))
    assert faster.gpu is not None
    faster.gpu = type(faster.gpu)({n: tuple(us / 3 for us in times) for n, times in faster.gpu.samples.items()})
    assert compare(found(a), found(faster)).share == 0.0


def test_the_command_compares_two_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outcome = run(Record(), Grid(high=1 << 10, hold_out=0))
    path = tmp_path / "a.json"
    path.write_text(to_json(_profile([outcome], {}, False)))
    with pytest.raises(SystemExit) as left:
        main(["calibrate", "--compare", str(path), str(path)])
    assert left.value.code == 0
    assert "bn254 resident-bases" in capsys.readouterr().out
    lines = Record(tmp_path / "a.jsonl")
    run(lines)
    lines.close()
    with pytest.raises(SystemExit) as left:
        main(["calibrate", "--compare", str(path), str(tmp_path / "a.jsonl")])
    assert left.value.code == 0
    assert "(1 series measured in both)" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main(["calibrate", "--compare", str(path), str(tmp_path / "none.json")])
    assert left.value.code == 2
    assert "is no profile (No such file" in capsys.readouterr().err
    (tmp_path / "text.json").write_text("hello")
    with pytest.raises(SystemExit) as left:
        main(["calibrate", "--compare", str(tmp_path / "text.json"), str(path)])
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert said.startswith(f"msm: {tmp_path / 'text.json'} is no profile (not JSON")
    assert said.count("\n") == 1, "one line, and no warning before it"


def test_once_means_before_the_first_command_that_lets_auto_choose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MULTISCALAR_STATE_DIR", str(tmp_path))
    monkeypatch.setattr(calibrating, "_usable_gpu", lambda: None)
    monkeypatch.setattr(calibrating, "watched_device", lambda: (None, "none"))
    monkeypatch.setattr(calibrating, "first_calls", lambda *_: {})
    monkeypatch.setattr(calibrating, "LabMeter", lambda record, clock: LabMeter(record, make=make()))
    monkeypatch.setattr(calibrating, "Grid", lambda high, hold_out: Grid(high=1 << 10, hold_out=2))
    command = ["explain", "--curve", "bn254", "--size", "1024"]

    def run_it() -> tuple[str, int]:
        with pytest.raises(SystemExit) as left:
            main(command)
        assert left.value.code == 0
        return capsys.readouterr().err, len(list(tmp_path.rglob("*.json")))

    assert run_it() == ("", 0), "never is the default"
    monkeypatch.setenv("MULTISCALAR_CALIBRATE", "once")
    said, files = run_it()
    assert "measuring it first" in said
    assert files == 1
    assert "measuring" not in run_it()[0]
    command[2] = "bls12-381"
    assert "for bls12-381: measuring" in run_it()[0]


def test_once_measures_nothing_without_a_gpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MULTISCALAR_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("MULTISCALAR_CALIBRATE", "once")
    monkeypatch.setattr(calibrating, "_usable_gpu", lambda: "no NVIDIA driver on this machine")
    monkeypatch.setattr(calibrating, "_measure", lambda *_: pytest.fail("measured"))
    calibrating.profile_first(["bn254"])


COMPARED = (
    ("msm calibrate --compare results/dispatch/simulated-a.jsonl results/dispatch/simulated-b.jsonl", 92),
    ("msm calibrate --compare results/dispatch/h200-a.jsonl results/dispatch/h200-b.jsonl", 100),
)


@pytest.mark.parametrize(("command", "percent"), COMPARED)
def test_the_recorded_calibrations_agree(
    command: str, percent: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commands of docs/dispatch.md."""
    root = Path(__file__).resolve().parents[2]
    if not (root / "results/dispatch").is_dir():
        pytest.skip("results/ is not part of this checkout")
    monkeypatch.chdir(root)
    with pytest.raises(SystemExit) as left:
        main(command.split()[1:])
    assert left.value.code == 0
    assert f"{percent}% of boundaries inside" in capsys.readouterr().out
