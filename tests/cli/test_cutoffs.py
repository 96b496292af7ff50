"""`msm calibrate --for PROVER` end to end over carried programs: a CPU and a card whose costs are formulas."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import typer
from multiscalar.cli import cutoffs
from multiscalar.engine.backend import Availability
from multiscalar.lab import lacks
from multiscalar.lab.check import Level, check
from multiscalar.lab.gpu import Lack
from multiscalar.lab.peers import build, recipes
from multiscalar.lab.peers.build import carried_folder
from multiscalar.lab.peers.registry import PEERS
from multiscalar.lab.record import read_record

CARD = Path(__file__).resolve().parents[1] / "lab/fake_peers/card.py"
MEET = 2222


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with a GPU and without toolchains, with an empty cache, and few sizes to measure."""
    monkeypatch.setattr(build, "gpu_lack", lambda: None)
    monkeypatch.setenv("MULTISCALAR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(recipes.shutil, "which", lambda _: None)
    monkeypatch.setitem(cutoffs.PRESETS, "boundary", (512, 1024, 1025, 2048, 4096))
    return tmp_path / "peers"


def carry(cache: Path, name: str, words: str) -> None:
    spec = PEERS[name]
    folder = carried_folder(spec, spec.recipe, cache)
    folder.mkdir(parents=True)
    (folder / "program").write_text(f"#!/bin/sh\nexec '{sys.executable}' '{CARD}' {words}\n")
    (folder / "program").chmod(0o755)
    (folder / "build.json").write_text(json.dumps({"program": "program", "carried": True, "cpu_flags": []}))


@pytest.mark.parametrize(
    ("prover", "parts", "paste", "loss"),
    [
        ("snarkvm", ("snarkvm", "sppark"), "if scalars.len() > 2_", "present constant of 1,024 costs 2.05x"),
        ("gnark", ("gnark", "icicle-v2"), "const gpuCutoff = 2", "present constant of 0 costs 4.01x"),
    ],
)
def test_the_cutoff_of_another_prover(
    cache: Path, capsys: pytest.CaptureFixture[str], prover: str, parts: tuple[str, str], paste: str, loss: str
) -> None:
    for name, words in zip(parts, ("cpu", "gpu"), strict=True):
        carry(cache, name, words)
    record = cache / "record.jsonl"
    assert cutoffs.cutoff_for(prover, quick=True, record=record) == 0
    said = capsys.readouterr()
    assert paste in said.out
    constant, size = loss.rsplit(" ", 1)
    assert constant in said.out
    cutoff = int(said.out.split("cutoff: ")[1].split(" ")[0].replace(",", ""))
    assert cutoff == pytest.approx(MEET, rel=0.05)
    assert float(said.out.split("costs ")[1].split("x")[0]) == pytest.approx(float(size[:-1]), rel=0.05)
    if prover == "snarkvm":
        assert "sppark, called as its wrapper calls it" in said.err
    assert not [f for f in check(read_record([record])) if f.level is Level.FAIL]


def test_a_card_that_lies_gives_no_cutoff(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    carry(cache, "snarkvm", "cpu")
    carry(cache, "sppark", "gpu liar")
    assert cutoffs.cutoff_for("snarkvm", quick=True) == 1
    said = capsys.readouterr()
    assert "MISMATCH" in said.err
    assert said.out == ""


def test_a_path_that_is_not_to_be_had_is_named(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    carry(cache, "snarkvm", "cpu")
    assert refused("snarkvm") == 3
    said = capsys.readouterr().err
    assert "snarkvm:cuda is not to be had here: the peer sppark is UNAVAILABLE (cargo is not installed" in said
    assert "snarkvm:batched is not" not in said


@pytest.mark.parametrize("prover", cutoffs.PROVERS)
def test_without_a_gpu_nothing_is_timed_and_the_driver_is_missed_first(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], prover: str
) -> None:
    for module in (build, lacks):
        monkeypatch.setattr(module, "gpu_lack", lambda: Lack("no driver", "Install one"))
    monkeypatch.setattr(lacks.registry, "availability", lambda name: Availability(name == "cpu", "no package", ""))
    monkeypatch.setattr(cutoffs, "measure", lambda *_: pytest.fail("measured"))
    assert refused(prover) == 3
    said = capsys.readouterr()
    assert f"msm: {cutoffs.PROVERS[prover].gpu} is not to be had here: no driver. Install one" in said.err
    assert "no package" not in said.err
    assert "compiler" not in said.err
    assert said.out == ""


def refused(prover: str) -> int:
    """The exit code of a calibration that ends before it measures."""
    with pytest.raises(typer.Exit) as left:
        cutoffs.cutoff_for(prover, quick=True)
    return left.value.exit_code
