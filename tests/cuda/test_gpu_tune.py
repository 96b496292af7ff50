"""The tool that times plans side by side changes the plans it says it changes, and checks the sums."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import multiscalar as ms
import pytest

from tests.cuda.conftest import Attach

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import gpu_tune
from multiscalar.cuda.shape import Tuning


def test_a_row_for_each_plan_that_differs(
    shim: Attach, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shim()
    original = gpu_tune.cuda_bases.tune

    def small(*arguments: Any, **options: Any) -> Tuning:
        return replace(original(*arguments, **options), windows=2, slice=8, run=1, grouped=False, pair_rounds=0)

    monkeypatch.setattr(gpu_tune.cuda_bases, "tune", small)
    monkeypatch.setattr(gpu_tune, "OnDevice", lambda data: data)
    chosen = ("model", "a round more", "a round fewer", "the other sort")  # there is no round to leave out
    changes = {name: gpu_tune.CHANGES[name] for name in chosen}
    changes["what cannot be"] = lambda t: replace(t, grouped=True, pair_rounds=1)
    monkeypatch.setattr(gpu_tune, "CHANGES", changes)
    curve = ms.curve("bn254")
    gpu_tune.table_of(
        curve, 33, "chosen", curve.known_points(33, seed=1), curve.random_scalars(33, seed=2, shape="uint8"), 1
    )
    printed = capsys.readouterr()
    rows = [line.split(" | ") for line in printed.out.splitlines() if line.startswith("| ")]
    assert [(row[3], row[4]) for row in rows] == [
        ("model", "sorted W2 R0 p96 s8 r1"),
        ("a round more", "pairs W2 R1 p96 s8 r1"),
        ("the other sort", "grouped W2 R0 p96 s8 r1"),
    ]
    assert all(float(cell.rstrip(" |")) >= 0 for row in rows for cell in row[5:])
    assert all(len(row) == 5 + len(gpu_tune.PHASES) + len(gpu_tune.HOST) for row in rows)
    assert "what cannot be: pair rounds need" in printed.err
    launches = [line.split("  ")[-1] for line in printed.out.splitlines() if not line.startswith("| ")]
    assert launches[0] == "digits"
    kernels = [line.split()[1].rstrip(",") for line in launches[1:]]
    assert kernels[-1] == "msm_combine"
    assert kernels.count("msm_bucket_scatter") == 1
