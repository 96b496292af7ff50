"""What needs a process of its own runs in one, under a time limit that takes nothing else along."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cuda.native.programs import PROGRAMS

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", PROGRAMS)
def test_in_a_process_of_its_own(name: str) -> None:
    if name == "two-gpus":
        from multiscalar.cuda.device import count

        if count() < 2:
            pytest.skip("one GPU here, this needs two")
    command = [sys.executable, "-X", "faulthandler", "-m", "tests.cuda.native.programs", name]
    limit = PROGRAMS[name][1]
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=dict(os.environ),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired as late:
        said = late.stdout.decode(errors="replace") if isinstance(late.stdout, bytes) else late.stdout
        pytest.fail(f"{name} took more than {limit:.0f} s; it said:\n{said}")
    print(done.stdout)
    assert done.returncode == 0, f"{name} ended with {done.returncode}; it said:\n{done.stdout}"
