"""A session in this process: what the record says of a run that a fault of the lab itself ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from multiscalar.cli.plan import Plan, own_subjects, questions
from multiscalar.cli.session import Session, measure
from multiscalar.lab.record import read_record
from multiscalar.lab.runner import Runner


def test_a_run_that_did_not_end_well_is_not_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a fault of the lab")

    monkeypatch.setattr(Runner, "run", broken)
    record = tmp_path / "r.jsonl"
    plan = Plan(questions(curves=["bn254"], sizes=[4], seed=1), own_subjects(["cpu"]))
    with pytest.raises(RuntimeError, match="a fault of the lab"):
        measure(plan, Session(record=record, quiet=True))
    (end,) = read_record([record]).ends
    assert end["complete"] is False
