"""Programs as subjects: a right one, liars, hangs and crashes become rows; `flaky` goes through the whole doctor."""

from __future__ import annotations

import sys
import threading

import pytest
from multiscalar.errors import DeviceError
from multiscalar.lab.check import Level, check
from multiscalar.lab.diagnose.rules import Cause
from multiscalar.lab.diagnose.words import diagnosis_text
from multiscalar.lab.doctor import diagnoses, results, treat
from multiscalar.lab.formats import Format, render
from multiscalar.lab.formats.treatments import recommendation, to_treatments
from multiscalar.lab.msmcase import Question, msm_case
from multiscalar.lab.peers import open_program
from multiscalar.lab.rows import rows
from multiscalar.lab.status import Status, exit_code
from multiscalar.lab.subject import Place, Scope
from multiscalar.lab.subjects.peer import ProgramSubject, own_program
from multiscalar.lab.treatments.catalogue import Patient
from multiscalar.lab.treatments.outcome import Outcome, Spread, judge_treatment, spread_of
from multiscalar.lab.treatments.wrappers import KeptAlive

from tests.patience import PATIENCE_S

from .fakes import Fake, plain_case
from .peer_inputs import FAKES

CASE = Question(curve="bn254", n=5, scope=Scope.RESIDENT_BASES, threads=1)


def fake(name, limit_s=PATIENCE_S, place=Place.CPU):
    command = [sys.executable, str(FAKES / f"{name}.py")]
    return ProgramSubject(name, lambda threads: open_program(command), place=place, limit_s=limit_s)


def test_right_lying_hanging_and_crashing_become_rows_side_by_side(run):
    found = run(fake("echo"), fake("lying"), fake("hanging", limit_s=0.3), fake("crashing"), case=msm_case(CASE),
                repeats=3)  # fmt: skip
    by_path = {row.path: row for row in rows(found)}
    assert by_path["echo"].status is Status.OK
    assert by_path["lying"].status is Status.MISMATCH
    assert "expected (0x" in by_path["lying"].note
    assert by_path["hanging"].status is Status.TIMEOUT
    assert by_path["crashing"].status is Status.CRASHED
    assert "bucket 17" in by_path["crashing"].note
    assert [row.median_us for row in by_path.values()].count(None) == 3
    assert exit_code(row.status for row in by_path.values()) == 1
    assert sum(f.level is Level.FAIL and f.rule == "statuses" for f in check(found)) == 1


def test_our_own_program_answers_like_the_peers(run):
    found = run(own_program("cpu"), case=msm_case(CASE), repeats=3)
    (cell,) = found.cells.values()
    assert cell.status is Status.OK
    assert cell.subject["library"] == "multiscalar"
    assert cell.samples[0]["evidence"]["backend"] == "cpu"


def test_flaky_goes_through_the_whole_doctor(run):
    found = run(fake("flaky", place=Place.GPU), case=msm_case(CASE), repeats=30)
    ((cell, diagnosis),) = diagnoses(found)
    assert cell.status is Status.OK
    assert diagnosis.variation > 200
    assert diagnosis.findings[0].cause is Cause.UTILISATION
    by_cause = {finding.cause: finding for finding in diagnosis.findings}
    assert by_cause[Cause.CLOCK].share < 0.01
    assert "explains at most 1." in by_cause[Cause.CLOCK].evidence
    assert by_cause[Cause.COPIES].share < 0.05
    text = diagnosis_text(diagnosis, "flaky")
    assert "low SM utilisation" in text
    assert "Run 1/30: Total: " in render(found, Format.RUNS)


def test_treatments_of_flaky_end_in_the_story_s_table(run):
    """Another version cures it; the eight treatments of the story are all in the table."""
    patient = Patient(
        "flaky",
        Place.GPU,
        lambda cure, options: fake("flaky", place=Place.GPU),
        siblings={"steady": lambda: _named(fake("echo", place=Place.ANY), "steady")},
        own_process=True,
    )
    therapy = treat(patient)
    subjects = [patient.make(None, {}), *(s for t, s in therapy.treated if t.key in ("version", "warm-up"))]
    found = run(*subjects, case=msm_case(CASE), repeats=20)
    table = results(found, "flaky", therapy)
    by_key = {result.key: result for result in table}
    assert {r.story for r in table if r.story} == set(range(1, 9))
    assert by_key["version"].outcome in (Outcome.CURED, Outcome.PARTIAL)
    assert by_key["warm-up"].outcome is not Outcome.CURED
    assert {by_key[k].outcome for k in ("lock-clocks", "exclusive", "mps")} == {Outcome.NOT_RUN}
    assert by_key["window"].outcome is Outcome.NOT_APPLICABLE
    text = to_treatments(table)
    assert "sudo nvidia-smi --lock-gpu-clocks" in text
    walls = next(cell for cell in found.cells.values() if cell.path == "flaky").times()
    advice = recommendation("flaky", spread_of(walls), table)
    assert advice.splitlines()[1].startswith("  1. flaky with another version of the library")


def _named(subject, name):
    subject.name = name
    return subject


@pytest.mark.parametrize(("held", "status"), [(1 << 20, Status.OK), (None, Status.UNVERIFIED)])
def test_nvml_corroborates_a_silent_gpu_peer_and_its_silence_fails_nobody(run, monkeypatch, held, status):
    """`echo` says "cpu", so a peer that says "cuda" and no more is made of it."""
    from dataclasses import replace as changed
    from types import SimpleNamespace

    from multiscalar.lab.subjects import peer

    monkeypatch.setattr(peer, "usual_device", lambda: SimpleNamespace(bytes_held=lambda pid: held))
    subject = fake("echo", place=Place.GPU)
    inner = peer._samples

    def says_cuda(answer, *times):
        return inner(changed(answer, where="cuda"), *times)

    monkeypatch.setattr(peer, "_samples", says_cuda)
    (row,) = rows(run(subject, case=msm_case(CASE), repeats=3))
    assert row.status is status


@pytest.mark.parametrize(
    ("before", "after", "outcome"),
    [
        ((7000, 9000, 400, 8500), (6000, 8000, 300, 7900), Outcome.NO_EFFECT),
        ((7000, 9000, 400, 8500), (20, 25, 1.3, 24), Outcome.CURED),
        ((7000, 9000, 400, 8500), (60, 199, 4, 190), Outcome.PARTIAL),
        ((20, 21, 1.05, 21), (40, 45, 1.1, 44), Outcome.WORSE),
        ((20, 21, 1.05, 21), (20, 21, 1.05, 21), Outcome.NO_EFFECT),
        ((20, 21, 1.05, 21), (10, 11, 1.05, 11), Outcome.PARTIAL),
    ],
)
def test_outcomes_of_the_story(before, after, outcome):
    assert judge_treatment(Spread(*before), Spread(*after)) is outcome


def test_a_batch_is_unsupported_by_peers(run):
    case = msm_case(Question(curve="bn254", n=3, batch=2, threads=1))
    (row,) = rows(run(fake("echo"), case=case))
    assert row.status is Status.UNSUPPORTED


def test_a_program_that_cannot_start_is_a_row(run):
    subject = ProgramSubject("ghost", lambda threads: open_program(["/no/such/program"]))
    (row,) = rows(run(subject, case=plain_case(scope="end-to-end", batch=1, threads=1)))
    assert row.status is Status.UNAVAILABLE
    assert "/no/such/program" in row.note


def test_a_cure_that_fails_is_not_taken_for_one_that_did_nothing(run):
    """The pulse that keeps the device awake runs on its own thread; its failure is the treated subject's."""
    beaten = threading.Event()

    def pulse():
        beaten.set()
        raise DeviceError("the GPU fell off the bus")

    class Slow(Fake):
        def take(self, count, warmups):
            assert beaten.wait(PATIENCE_S)
            return super().take(count, warmups)

    (row,) = rows(run(KeptAlive(Slow(), "keep-alive", pulse)))
    assert (row.status, row.note) == (Status.ERROR, "the GPU fell off the bus")
