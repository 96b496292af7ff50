"""`msm prove` and `msm verify` as a user calls them, on small circuits."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from multiscalar.cli import main
from multiscalar.cli.snarkvm import SnarkVm
from multiscalar.engine import registry
from multiscalar.lab.record import read_record
from multiscalar.lab.status import SubjectError

SMALL = ["--constraints", "20", "--variables", "25", "--depth", "3", "--quiet"]
SEEDED = "5090:36"  # what such a circuit gets: as many powers as its longest polynomial has coefficients


@pytest.fixture(autouse=True)
def _no_public_setup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MULTISCALAR_SRS_DIR", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    return int(ended.value.code or 0)


@pytest.mark.parametrize("version", ["v1", "v2", "v3"])
def test_the_line_of_the_story(capsys: pytest.CaptureFixture[str], version: str) -> None:
    assert run("prove", *SMALL, "--repeats", "3", "--version", version) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    expected = rf"varuna_{version}_prove_constraints=20_variables=25_repeats=3_median_us=\d+_verified=true"
    assert re.fullmatch(expected, lines[0])
    assert re.fullmatch(rf"varuna_{version}_phases_us_msm=\d+_ntt=\d+_hashing=\d+_rest=\d+", lines[1])
    assert f"INSECURE SETUP {SEEDED}" in err
    assert ("unsound" in err) == (version == "v2")


def test_saved_proofs_verify_and_altered_ones_do_not(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    prefix = tmp_path / "small"
    assert run("prove", *SMALL, "--repeats", "1", "--save", str(prefix)) == 0
    capsys.readouterr()
    proof, key, inputs = (prefix.with_suffix(f".{kind}") for kind in ("proof", "key", "inputs"))
    common = ["--key", str(key), "--inputs", str(inputs), "--insecure-setup", SEEDED]
    assert run("verify", str(proof), *common) == 0
    assert capsys.readouterr().out.startswith("accepted v3 ")
    assert run("verify", str(proof), *common, "--version", "v2") == 1
    assert capsys.readouterr().out.startswith("refused v2 ")
    data = proof.read_bytes()
    proof.write_bytes(b"\x01" + data)  # as Aleo has it
    assert run("verify", str(proof), *common) == 0
    proof.write_bytes(data[:-4])
    assert run("verify", str(proof), *common) == 1
    assert "bytes are needed" in capsys.readouterr().err
    proof.write_bytes(data)
    values = json.loads(inputs.read_text())
    inputs.write_text(json.dumps([*values[:-1], "7"]))
    assert run("verify", str(proof), *common) == 1
    true_ones = json.dumps(values)
    capsys.readouterr()
    for wrong in (
        '"x"',
        "1.9",
        "1.0",
        "Infinity",
        "1e400",
        "true",
        "null",
        '"1.0"',
        '" 1"',
        '"+1"',
        '"-1"',
        "-1",
        "{}",
    ):
        inputs.write_text(true_ones.replace('"1"', wrong, 1))
        assert run("verify", str(proof), *common) == 1, wrong
        out, err = capsys.readouterr()
        assert not out
        assert "not a JSON list of numbers: input 0" in err or "below the group order" in err, wrong
    for text in ('{"1": 1}', '"1"', "1", "[", "7" * 5000):
        inputs.write_text(text)
        assert run("verify", str(proof), *common) == 1
        assert "not" in capsys.readouterr().err
    inputs.write_text(json.dumps([int(value) for value in values]))
    assert run("verify", str(proof), *common) == 0
    capsys.readouterr()
    if Path("/dev/zero").exists():  # a file without an end
        assert run("verify", "/dev/zero", *common) == 1
        assert "not a regular file" in capsys.readouterr().err
    assert run("verify", str(proof), *common[:-1], "1:2^45") == 3
    assert "a seeded setup" in capsys.readouterr().err


@pytest.mark.parametrize("setup", ["5", "5:", ":5", "5:x", "5:0", "5:2^-1", "-5:8", "\u00b2:8"])
def test_a_setup_without_meaning_is_bad_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path, setup: str) -> None:
    (tmp_path / "p").write_bytes(b"")
    file = str(tmp_path / "p")
    assert run("verify", file, "--key", file, "--inputs", file, "--insecure-setup", setup) == 2
    assert "write SEED:POWERS" in capsys.readouterr().err


def test_verification_needs_a_setup(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(b"")
    assert run("verify", str(tmp_path / "p"), "--key", str(tmp_path / "p"), "--inputs", str(tmp_path / "p")) == 3
    assert "MULTISCALAR_SRS_DIR" in capsys.readouterr().err


def test_proving_is_recorded_like_any_subject(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    record = tmp_path / "run.jsonl"
    assert run("prove", *SMALL, "--repeats", "2", "--record", str(record), "--format", "csv") == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.startswith("size,path,median_us,status")
    assert re.match(r"20,auto,[\d.]+,ok", row)
    (cell,) = read_record([record]).cells.values()
    assert len(cell.samples) == 2
    assert set(cell.samples[0]["evidence"]["detail"]["phases_ns"]) == {"msm", "ntt", "hashing", "rest"}
    assert cell.labels["workload"] == "test-circuit"


def test_a_proof_that_could_not_be_kept_is_not_made(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multiscalar.cli.prove.measure", lambda *_: pytest.fail("it was proven first"))
    assert run("prove", *SMALL, "--save", str(tmp_path / "none" / "p")) == 2
    assert "there is no folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"verified": True, "proof": "zz", "samples": []},
        {"verified": True, "proof": 5, "samples": []},
        {"verified": True, "proof": "00", "samples": 7},
        {"verified": True, "proof": "00", "samples": [{"wall_ns": None, "cpu_ns": 1}]},
    ],
)
def test_a_bad_answer_of_snarkvm_is_a_failure_of_the_subject(answer: dict[str, object]) -> None:
    subject = SnarkVm(print)
    subject._process = SimpleNamespace(ask=lambda request, limit: answer)  # type: ignore[assignment]
    subject._request = {"do": "prove"}
    with pytest.raises(SubjectError, match="bad answer to prove"):
        subject.take(1, 0)


def test_bad_requests(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run("prove", "--workload", "nothing") == 2
    assert "transfer-private" in capsys.readouterr().err
    assert run("prove", "--depth", "50", "--variables", "20") == 2
    assert run("prove", "--constraints", str(10**13)) == 3
    assert "bytes and" in capsys.readouterr().err
    assert run("prove", *SMALL, "--peers", "gnark") == 2
    assert run("prove", *SMALL, "--srs", str(tmp_path)) == 3
    assert "no public SRS files" in capsys.readouterr().err


def test_cutoffs_need_a_gpu(capsys: pytest.CaptureFixture[str]) -> None:
    if registry.availability("cuda").usable:
        pytest.skip("this machine has a GPU: the refusal cannot be seen")
    assert run("prove", *SMALL, "--cutoffs", "1024,8192,auto") == 3
    assert "--cutoffs" in capsys.readouterr().err
