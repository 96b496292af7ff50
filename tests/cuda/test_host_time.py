"""The benchmark of the host's time runs where there is no GPU: on a driver that does nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "host_time.py"


@pytest.mark.skipif(not SCRIPT.exists(), reason="benchmarks/ is not part of this checkout")
def test_every_kind_of_call_has_a_line() -> None:
    command = [sys.executable, str(SCRIPT), "--calls", "2", "--curve", "bn254"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    if done.returncode == 3:
        pytest.skip(done.stderr)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["call"] for line in lines] == [
        "device again", "single device", "single host", "batch device", "batch host", "batch short", "one-shot",
    ]  # fmt: skip
    for line in lines:
        assert 0 < line["digits"] <= line["before"], line
        assert 0 < line["after"] < line["both"], line
