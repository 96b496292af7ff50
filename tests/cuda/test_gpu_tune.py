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
    chosen = ("model", "a round more", "a round fewer")  # the last one is the first again: no round to leave out
    monkeypatch.setattr(gpu_tune, "CHANGES", {name: gpu_tune.CHANGES[name] for name in chosen})
    curve = ms.curve("bn254")
    gpu_tune.table_of(
        curve, 33, "chosen", curve.known_points(33, seed=1), curve.random_scalars(33, seed=2, shape="uint8"), 1
    )
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert [(row[3], row[4]) for row in rows] == [("model", "W2 R0 p96 s8 r1"), ("a round more", "W2 R1 p96 s8 r1")]
    assert all(float(cell.rstrip(" |")) >= 0 for row in rows for cell in row[5:])
