"""The peer client against test peers that are right, lie, hang, crash, babble: always a value, never an exception."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from multiscalar.lab.peers import Fault, FaultKind, Hello, Peer, RunAnswer, open_program
from multiscalar.lab.peers.process import PeerProcess
from multiscalar.lab.peers.protocol import parse_object, parse_run

from tests.patience import PATIENCE_S

from .peer_inputs import FAKES, Workload, usual, workload

GOOD_RUN = {
    "samples": [{"wall_ns": 5, "cpu_ns": 4}],
    "result": {"x": "0x1", "y": "0x2", "is_infinity": False},
    "agree": True,
    "where": "cpu",
    "evidence": {},
}
HELLO = Hello("scripted", "1", ("bn254",), ("g1",), ("cpu",), ("cpu",), ("resident-bases",), (), "nothing")


def fake(name: str, *arguments: str) -> Peer:
    peer = open_program([sys.executable, str(FAKES / f"{name}.py"), *arguments])
    assert isinstance(peer, Peer), peer
    return peer


def scripted(*answers: str) -> PeerProcess:
    process = PeerProcess.start([sys.executable, str(FAKES / "scripted.py"), *answers])
    assert isinstance(process, PeerProcess)
    return process


@pytest.fixture
def terms(tmp_path: Path) -> Workload:
    return workload("bn254", usual("bn254", 5), tmp_path)


def load(peer: Peer, work: Workload) -> None:
    answer = peer.load(curve=work.curve, n=work.n, points=work.points, scalars=work.scalars, limit_s=PATIENCE_S)
    assert not isinstance(answer, Fault), answer


@pytest.mark.parametrize("curve", ["bn254", "bls12-377", "bls12-381"])
def test_a_right_peer_gives_samples_and_the_sum(curve: str, tmp_path: Path) -> None:
    work = workload(curve, usual(curve, 4), tmp_path)
    peer = fake("echo")
    try:
        load(peer, work)
        for n in (0, 1, 3, 4):
            answer = peer.run(n=n, repeats=3, warmups=1)
            assert isinstance(answer, RunAnswer), answer
            assert (answer.x, answer.y, answer.is_infinity) == work.expected(n)
            assert len(answer.samples) == 3
            assert answer.agree
        assert isinstance(peer.run(scope="end-to-end"), RunAnswer)
    finally:
        peer.close()


def test_a_lie_arrives_as_it_was_told(terms: Workload) -> None:
    """The client cannot know the truth: the lab compares, and this is what it gets to compare."""
    peer = fake("lying")
    load(peer, terms)
    answer = peer.run()
    peer.close()
    assert isinstance(answer, RunAnswer)
    assert answer.agree
    assert (answer.x, answer.y, answer.is_infinity) != terms.expected()


def test_silence_ends_at_the_limit_and_the_process_with_it(terms: Workload) -> None:
    peer = fake("hanging")
    load(peer, terms)
    answer = peer.run(limit_s=0.5)
    assert answer == Fault(FaultKind.TIMEOUT, "no answer within 0.5 s")
    with pytest.raises(ProcessLookupError):
        os.kill(peer.process.pid, 0)
    assert peer.run(limit_s=0.5) == answer


def test_a_death_names_the_signal_and_the_last_words(terms: Workload) -> None:
    peer = fake("crashing")
    load(peer, terms)
    answer = peer.run()
    assert answer == Fault(FaultKind.CRASHED, "died of SIGABRT: bucket 17 is not where it was")
    peer.close()


def test_flaky_replays_the_story_with_right_sums(terms: Workload) -> None:
    peer = fake("flaky")
    load(peer, terms)
    answer = peer.run(path="cuda", repeats=40, warmups=1)
    peer.close()
    assert isinstance(answer, RunAnswer)
    assert (answer.x, answer.y, answer.is_infinity) == terms.expected()
    times = [sample.wall_ns / 1e6 for sample in answer.samples]
    assert min(times) < 30
    assert 6000 < max(times) < 9200
    assert len(answer.evidence["telemetry"]) == 40


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("not json", FaultKind.ERROR),
        ("[1, 2]", FaultKind.ERROR),
        ("{" * 5000, FaultKind.ERROR),
        ('{"error": "text"}', FaultKind.ERROR),
        ('{"error": {"kind": "unsupported", "message": "no g2"}}', FaultKind.UNSUPPORTED),
        ('{"error": {"kind": "panic", "message": "unwrap on None"}}', FaultKind.CRASHED),
        ('{"error": {"kind": "device", "message": "no GPU"}}', FaultKind.UNAVAILABLE),
        ('{"error": {"kind": "new word", "message": "m"}}', FaultKind.ERROR),
    ],
)
def test_what_is_no_answer_becomes_a_fault(line: str, status: FaultKind) -> None:
    answer = parse_object(line.encode())
    assert isinstance(answer, Fault)
    assert answer.status == status


@pytest.mark.parametrize(
    "change",
    [
        {"samples": []},
        {"samples": [{"wall_ns": 5}, {"wall_ns": 5}]},
        {"samples": [{"wall_ns": -1}]},
        {"samples": [{"wall_ns": True}]},
        {"samples": [{"wall_ns": 1.5}]},
        {"samples": [{"wall_ns": 1 << 70}]},
        {"samples": [{"wall_ns": 1, "device_ns": "2"}]},
        {"samples": {"wall_ns": 1}},
        {"result": None},
        {"result": {"x": 1, "y": "0x2", "is_infinity": False}},
        {"result": {"x": "0x", "y": "0x2", "is_infinity": False}},
        {"result": {"x": "0x-1", "y": "0x2", "is_infinity": False}},
        {"result": {"x": "0x" + "f" * 300, "y": "0x2", "is_infinity": False}},
        {"result": {"x": "0x1", "y": "0x2", "is_infinity": 0}},
        {"agree": "yes"},
        {"where": None},
        {"evidence": []},
        {"evidence": {"log": "x" * 100_000}},
        {"evidence": {"temperature": float("nan")}},
        {"evidence": {"launches": 10**400}},
        {"evidence": {"phases_ns": {"alloc": "long"}}},
    ],
)
def test_an_answer_outside_its_ranges_is_refused(change: dict[str, object]) -> None:
    assert isinstance(parse_run(GOOD_RUN, 1), RunAnswer)
    answer = parse_run({**GOOD_RUN, **change}, 1)
    assert isinstance(answer, Fault)
    assert answer.status == FaultKind.ERROR


def test_junk_ends_the_peer() -> None:
    process = scripted("warning: something", json.dumps({"ok": True}))
    first = process.ask({"do": "hello"}, PATIENCE_S)
    assert isinstance(first, Fault)
    assert "warning: something" in first.reason
    assert process.ask({"do": "hello"}, PATIENCE_S) == first


def test_a_peer_that_speaks_unasked_is_ended() -> None:
    """Its second line would be taken for the answer to the next request."""
    process = scripted('{"ok": true}\n{"ok": true, "stale": 1}')
    assert process.ask({"do": "hello"}, PATIENCE_S) == {"ok": True}
    answer = process.ask({"do": "load"}, PATIENCE_S)
    assert isinstance(answer, Fault)
    assert "without being asked" in answer.reason


def test_an_answer_without_sense_ends_the_peer() -> None:
    peer = Peer(scripted('{"ok": true}', '{"ok": true, "ns": 7}'), HELLO)
    files = {"points": Path("p"), "scalars": Path("s")}
    first = peer.load(curve="bn254", n=1, **files)
    assert isinstance(first, Fault)
    assert first.reason.startswith("bad answer to load")
    assert peer.load(curve="bn254", n=1, **files) == first


def test_an_error_of_the_peer_does_not_end_it() -> None:
    process = scripted('{"error": {"kind": "usage", "message": "no"}}', '{"ok": true}')
    assert process.ask({"do": "load"}, PATIENCE_S) == Fault(FaultKind.ERROR, "no")
    assert process.ask({"do": "hello"}, PATIENCE_S) == {"ok": True}
    process.close()
    process.close()


def test_a_line_without_end_is_cut_off() -> None:
    answer = scripted("@flood").ask({"do": "hello"}, PATIENCE_S)
    assert isinstance(answer, Fault)
    assert "without the end of a line" in answer.reason


def test_an_exit_code_is_named() -> None:
    assert scripted("@leave:3").ask({"do": "hello"}, PATIENCE_S) == Fault(FaultKind.CRASHED, "exited with 3")


def test_a_missing_program_is_unavailable() -> None:
    answer = open_program(["/no/such/program"])
    assert isinstance(answer, Fault)
    assert answer.status == FaultKind.UNAVAILABLE


def test_what_the_peer_lacks_is_unsupported_without_asking_it(terms: Workload) -> None:
    peer = fake("echo")
    try:
        answer = peer.load(curve="pallas", n=terms.n, points=terms.points, scalars=terms.scalars)
        assert answer == Fault(FaultKind.UNSUPPORTED, "echo has no pallas")
        assert peer.run(scope="resident") == Fault(FaultKind.UNSUPPORTED, "echo has no scope resident")
        short = peer.load(curve="bn254", n=terms.n + 1, points=terms.points, scalars=terms.scalars)
        assert isinstance(short, Fault)
        assert "bytes" in short.reason
        refused = peer.run(repeats=1)
        assert refused == Fault(FaultKind.ERROR, "nothing is loaded")
    finally:
        peer.close()


def test_a_machine_without_room_for_its_log_has_no_peer(monkeypatch):
    def full(*_, **__):
        raise OSError("no usable temporary directory")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    fault = PeerProcess.start([sys.executable, "-c", ""])
    assert isinstance(fault, Fault)
    assert (fault.status, fault.reason) == (
        FaultKind.UNAVAILABLE,
        f"cannot start {sys.executable}: no usable temporary directory",
    )
