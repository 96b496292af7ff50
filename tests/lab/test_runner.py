"""The runner: what becomes of subjects that behave, lie, fail, or were not where they said."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
from multiscalar.errors import OutOfMemoryError
from multiscalar.lab.record import Record, gather, read_record
from multiscalar.lab.rows import rows
from multiscalar.lab.runner import Runner
from multiscalar.lab.status import Status, SubjectError, exit_code
from multiscalar.lab.stopping import Stopping
from multiscalar.lab.subject import Evidence, Place
from multiscalar.lab.warmup import Warmup

from .fakes import Failing, Fake, plain_case


def only(measurements):
    (row,) = rows(measurements)
    return row


def test_good_subject_has_all_samples_and_is_checked(run):
    found = run(Fake(), repeats=7)
    (cell,) = found.cells.values()
    assert len(cell.samples) == 7
    assert len(cell.warmups) == 1
    assert cell.result["checked"] == 8, "the warm-up's result is checked too"
    assert only(found).status is Status.OK


def test_wrong_result_is_a_mismatch_without_a_time(run):
    row = only(run(Fake(result=[(1, 3)])))
    assert (row.status, row.median_us) == (Status.MISMATCH, None)
    assert exit_code([row.status]) == 1


def test_a_result_that_turns_wrong_midway_is_caught(run):
    subject = Fake()
    taken = subject.take

    def turning(count, warmups):
        subject._result = [(9, 9)] if subject.calls >= 5 else [(1, 2)]
        return taken(count, warmups)

    subject.take = turning
    assert only(run(subject)).status is Status.MISMATCH


@pytest.mark.parametrize("stage", ["prepare", "take"])
@pytest.mark.parametrize("status", [Status.UNAVAILABLE, Status.CRASHED, Status.TIMEOUT])
def test_failure_becomes_a_row_and_does_not_touch_others(run, stage, status):
    bad, good = Failing(stage, status), Fake("good")
    found = {row.path: row for row in rows(run(bad, good))}
    assert found[bad.name].status is status
    assert found[bad.name].note in ("no such library", "gone")
    assert found["good"].status is Status.OK
    assert bad.closed == good.closed == 1


@pytest.mark.parametrize(
    ("evidence", "status"),
    [
        (Evidence(backend="cuda", launches=4, event_ns=900_000), Status.OK),
        (Evidence(backend="cpu"), Status.NOT_ATTESTED),
        (Evidence(backend="cuda", fallback_reason="out of memory"), Status.NOT_ATTESTED),
        (Evidence(backend="cuda", launches=0), Status.NOT_ATTESTED),
        (Evidence(event_ns=0), Status.NOT_ATTESTED),
        (Evidence(event_ns=2_000_000), Status.NOT_ATTESTED),
        (Evidence(launches=3, bytes_moved=0), Status.NOT_ATTESTED),
        (Evidence(), Status.UNVERIFIED),
        (Evidence(device_bytes_held=1 << 20), Status.OK),
    ],
)
def test_gpu_rows_need_evidence(run, evidence, status):
    row = only(run(Fake(place=Place.GPU, evidence=evidence)))
    assert row.status is status
    assert (row.median_us is not None) == (status is Status.OK)


def test_cpu_subject_that_ran_on_the_gpu_is_not_attested(run):
    assert only(run(Fake(evidence=Evidence(backend="cuda")))).status is Status.NOT_ATTESTED


def test_unverified_is_marked_with_its_time_in_the_note(run):
    assert "not ranked: median 1000" in only(run(Fake(place=Place.GPU))).note


def test_turns_are_interleaved_in_mirrored_order(run):
    record = Record()
    run(Fake("a", lambda i: 10_000_000), Fake("b", lambda i: 10_000_000), record=record, repeats=8)
    names = {line["cell"]: line["path"] for line in record.lines if line["kind"] == "cell"}
    order = [names[line["cell"]] for line in record.lines if line["kind"] == "sample" and not line.get("warmup")]
    blocks = ["".join(order[i : i + 4]) for i in range(0, 16, 4)]
    assert set(blocks) <= {"abba", "baab"}


def test_resume_skips_finished_cells_and_redoes_unfinished_ones(tmp_path: Path):
    path = tmp_path / "r.jsonl"
    first = Record(path)
    first.append("run", schema=1, run="one", started="now", seed=1, machine={}, versions={})
    interrupting = Fake("slow")
    taken = interrupting.take

    def take(count, warmups):
        if interrupting.calls > 2:
            raise KeyboardInterrupt
        return taken(count, warmups)

    interrupting.take = take
    runner = Runner(first, seed=1, warmup=Warmup(1), stopping=Stopping(3))
    runner.run(plain_case(1), [Fake("quick")])
    with pytest.raises(KeyboardInterrupt):
        runner.run(plain_case(2), [interrupting])
    first.close()
    kept = read_record([path])
    assert [len(cell.samples) for cell in kept.cells.values()] == [3, 2]
    unfinished = rows(kept)[1]
    assert (unfinished.status, unfinished.note) == (Status.OK, "interrupted after 2 samples")

    done = frozenset(cell.id for cell in kept.cells.values() if cell.result)
    second = Record(path)
    again, slow = Fake("quick"), Fake("slow")
    runner = Runner(second, seed=1, warmup=Warmup(1), stopping=Stopping(3), done=done)
    runner.run(plain_case(1), [again])
    runner.run(plain_case(2), [slow])
    second.close()
    assert (again.calls, slow.calls) == (0, 4)
    assert [len(cell.samples) for cell in read_record([path]).cells.values()] == [3, 3]


def test_short_calls_are_taken_in_bursts_but_in_several_turns(run):
    record = Record()
    run(Fake("a", lambda i: 1_000), Fake("b", lambda i: 1_000), record=record, repeats=40)
    order = [line["cell"] for line in record.lines if line["kind"] == "sample" and not line.get("warmup")]
    changes = sum(a != b for a, b in itertools.pairwise(order))
    assert changes >= 3
    assert len(order) == 80


def test_gather_refuses_orphans():
    with pytest.raises(ValueError, match="never opened"):
        gather([{"kind": "sample", "cell": "x", "at_ns": 0, "wall_ns": 1}])


def test_the_gpu_s_clock_warms_no_cpu_subject(steady_time):
    """An SM clock that never stands still must not cost a CPU row its plateau."""
    flip = (float(i % 2 + 1) for i in itertools.count())
    record = Record()
    warmup = Warmup(1, plateau=True, limit_s=0.02)
    runner = Runner(record, seed=1, warmup=warmup, stopping=Stopping(3), clock=lambda: next(flip))
    gpu = Fake("gpu", place=Place.GPU, evidence=Evidence(launches=1))
    runner.run(plain_case(), [Fake("cpu"), gpu])
    reports = {cell.path: cell.warmup for cell in gather(record.lines).cells.values()}
    assert (reports["cpu"]["signal"], reports["cpu"]["plateau"]) == ("call-time", True)
    assert (reports["gpu"]["signal"], reports["gpu"]["plateau"]) == ("clock", False)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OutOfMemoryError("2^36 points need more", need=2, free=1), Status.UNAVAILABLE),
        (MemoryError(), Status.UNAVAILABLE),
        (OSError("no space left on device"), Status.ERROR),
        (SubjectError(Status.UNSUPPORTED, "no such circuit"), Status.UNSUPPORTED),
    ],
    ids=lambda part: type(part).__name__,
)
def test_inputs_that_cannot_be_made_are_rows_and_the_next_case_runs(error, status):
    """Of 2^10 and 2^36 terms the first has its time, whatever becomes of the second."""

    def load():
        raise error

    record = Record()
    runner = Runner(record, seed=1, warmup=Warmup(1), stopping=Stopping(3))
    impossible = replace(plain_case(1 << 36), load=load)
    subjects = [Fake("a"), Fake("b")]
    runner.run_all([(impossible, subjects), (plain_case(8), subjects)])
    found = rows(gather(record.lines))
    assert [row.status for row in found] == [status, status, Status.OK, Status.OK]
    assert found[0].note


@pytest.mark.parametrize("stage", ["prepare", "take"])
def test_a_disk_that_is_full_or_memory_that_is_short_is_a_row(run, stage):
    def fails(*_):
        raise OSError("no space left on device")

    bad = Fake("bad")
    setattr(bad, stage, fails)
    by_path = {row.path: row for row in rows(run(bad, Fake("good")))}
    assert (by_path["bad"].status, by_path["good"].status) == (Status.ERROR, Status.OK)
    assert "no space" in by_path["bad"].note
