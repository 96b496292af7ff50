"""The scripts under benchmarks/: their commands are ones that `msm` takes, and the small ones run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from multiscalar.lab.check import Level, check
from multiscalar.lab.record import read_record

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "benchmarks").is_dir(), reason="benchmarks/ is not part of this checkout")


def python(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=env, capture_output=True, text=True, timeout=PATIENCE_S
    )


def test_every_command_for_a_gpu_machine_is_one_that_msm_takes(tmp_path: Path) -> None:
    """Stand-ins for `msm` and `python` ask for help with the same words: unknown options are refused first."""
    for name, words in (("msm", "-m multiscalar.cli"), ("python", "")):
        (tmp_path / name).write_text(f"#!/bin/sh\nexec '{sys.executable}' {words} \"$@\" --help\n")
        (tmp_path / name).chmod(0o755)
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.jsonl").touch()
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "benchmarks/gpu.sh", str(out)], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    asked = [line for line in done.stderr.splitlines() if line.startswith("+ msm")]
    assert len(asked) >= 13
    for words, said in (
        ([str(out), "doctor", "cutof"], "no part is called cutof; parts: dispatch"),
        ([], "usage: sh benchmarks/gpu.sh OUT"),
        ([str(out / "a.jsonl")], "a.jsonl"),
    ):
        refused = subprocess.run(["sh", "benchmarks/gpu.sh", *words], cwd=ROOT, env=env, capture_output=True, text=True)
        assert refused.returncode == 2
        assert said in refused.stderr
        assert "+ msm" not in refused.stderr, "no command was begun"


def test_all_cpu_libraries_at_hand_are_measured_judged_and_drawn(tmp_path: Path) -> None:
    pytest.importorskip("py_arkworks_bls12381")
    record = tmp_path / "peers.jsonl"
    env = {**os.environ, "MULTISCALAR_CACHE_DIR": str(tmp_path), "PATH": "/nonexistent"}
    words = ["--record", str(record), "--sizes", "2^4..2^5", "--repeats", "5", "--curves", "bls12-381"]
    done = python("benchmarks/peers.py", *words, env=env)
    assert done.returncode == 0, done.stderr
    measurements = read_record([record])
    assert {cell.path for cell in measurements.cells.values()} >= {"cpu", "py-arkworks"}  # and what else is installed
    assert {cell.labels["inputs"] for cell in measurements.cells.values()} == {"known-dlog", "independent"}
    # "clocks" compares the CPU time of a library's threads with wall time, which a busy virtual machine may charge late
    assert not [found for found in check(measurements) if found.level is Level.FAIL and found.rule != "clocks"]
    assert "py-arkworks" in record.with_suffix(".html").read_text()


@pytest.mark.parametrize(("name", "row"), [("overhead", "between two samples"), ("decision", "a decision of auto")])
def test_what_the_lab_costs_is_a_record_with_a_table(tmp_path: Path, name: str, row: str) -> None:
    record = tmp_path / f"{name}.jsonl"
    done = python("benchmarks/lab.py", name, "--record", str(record))
    assert done.returncode == 0, done.stderr
    assert not [finding for finding in check(read_record([record])) if finding.level is Level.FAIL]
    table = python("tools/lab_cost.py", str(record))
    assert row in table.stdout, table.stderr
