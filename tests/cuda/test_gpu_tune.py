"""The tool that times plans side by side changes the plans it says it changes, and checks the sums."""

from __future__ import annotations

import re
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
    changes["what cannot be"] = lambda t: replace(t, grouped=True, sets_per_pass=1)
    curve = ms.curve("bn254")
    points, scalars = curve.known_points(33, seed=1), curve.random_scalars(33, seed=2, shape="uint8")
    case = gpu_tune.Case(curve, 33, "package", points, scalars, 1)
    assert gpu_tune.table_of(case, changes) == 0
    gpu_tune.launches_of(case)
    printed = capsys.readouterr()
    rows = [line.split(" | ") for line in printed.out.splitlines() if line.startswith("| ")]
    assert [(row[3], row[4]) for row in rows] == [
        ("model", "sorted W2 R0 p192 s8 r1"),
        ("a round more", "pairs W2 R1 p192 s8 r1"),
        ("the other sort", "grouped W2 R0 p192 s8 r1"),
    ]
    assert all(float(cell.rstrip(" |")) >= 0 for row in rows for cell in row[5:])
    assert all(len(row) == 5 + len(gpu_tune.PHASES) + len(gpu_tune.HOST) for row in rows)
    assert "what cannot be: lists that are grouped" in printed.err
    launches = [line.split("  ")[-1] for line in printed.out.splitlines() if not line.startswith("| ")]
    assert launches[0] == "digits"
    kernels = [line.split()[1].rstrip(",") for line in launches[1:]]
    assert kernels[-1] == "msm_combine"
    assert kernels.count("msm_bucket_scatter") == 1


@pytest.mark.parametrize(("batch", "parts", "size"), [(3, None, "9 x 3"), (1, 2, "9 in 2 parts")])
def test_batches_and_precomputed_tables_have_rows(
    shim: Attach,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    batch: int,
    parts: int | None,
    size: str,
) -> None:
    """Every sum of a batch is checked; the windows of a precomputed table stay what it was made for."""
    shim()
    monkeypatch.setattr(gpu_tune, "OnDevice", lambda data: data)
    curve = ms.curve("bn254")
    points, scalars = (
        curve.known_points(9, seed=1),
        curve.random_scalars(9 * batch, seed=2, shape="uint8" if not parts else "uniform"),
    )
    case = gpu_tune.Case(curve, 9, "package", points, scalars, 1, batch, parts)
    changes = {name: gpu_tune.CHANGES[name] for name in ("model", "a window more")}
    assert gpu_tune.table_of(case, changes) == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert [row[1] for row in rows] == [size] * (1 if parts else 2)
    assert [row[3] for row in rows] == list(changes)[: len(rows)]


def test_a_wrong_sum_is_counted_and_the_next_row_comes(
    shim: Attach, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shim()
    monkeypatch.setattr(gpu_tune, "OnDevice", lambda data: data)
    curve = ms.curve("bn254")
    points, scalars = curve.known_points(9, seed=1), curve.random_scalars(9, seed=2, shape="uint8")
    case = gpu_tune.Case(curve, 9, "package", points, scalars, 1)
    monkeypatch.setattr(ms.Curve, "expected_sum", lambda *_: curve.generator)
    for rows in gpu_tune.ROWS.values():
        chosen = dict(list(rows.items())[:3])
        assert gpu_tune.table_of(case, chosen) == len(chosen)
        assert capsys.readouterr().err.count("WRONG") == len(chosen)


def test_whatever_breaks_costs_its_own_row_and_a_size_its_own_lines(
    shim: Attach, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shim()
    monkeypatch.setattr(gpu_tune, "OnDevice", lambda data: data)
    monkeypatch.setattr(gpu_tune, "compile_all", lambda curves: None)

    def breaks(_: Tuning) -> Tuning:
        raise TypeError("no such launch attribute")

    rows = {
        "tried": {"breaks": breaks, "model": lambda t: t},
        "large": {"tiles of 48": gpu_tune.CHANGES["tiles of 48"]},
    }
    monkeypatch.setattr(gpu_tune, "ROWS", rows)
    measured = gpu_tune.table_of

    def table_of(case: gpu_tune.Case, changes: dict[str, gpu_tune.Change]) -> int:
        if case.n == 3:
            raise AssertionError("a size that breaks")
        return measured(case, changes)

    monkeypatch.setattr(gpu_tune, "table_of", table_of)
    words = ["gpu_tune.py", "--curves", "bn254", "--sizes", "3,5", "--repeats", "1", "--rows", "tried,large"]
    monkeypatch.setattr(sys, "argv", words)
    monkeypatch.setattr(gpu_tune.sources, "SOURCES", gpu_tune.sources.SOURCES)
    monkeypatch.setenv("MULTISCALAR_LOG", "")
    assert gpu_tune.main() == 1
    printed = capsys.readouterr()
    found = [line.split(" | ")[1:4:2] for line in printed.out.splitlines() if line.startswith("| bn254")]
    assert found == [["5", "model"], ["5", "tiles of 48"]]
    assert printed.err.count("AssertionError: a size that breaks") == 2
    assert printed.err.count("bn254, 5, breaks: TypeError: no such launch attribute") == 1


def test_another_text_takes_the_place_of_a_file(tmp_path: Path) -> None:
    """The kernels are the same but for it, and what names no file of theirs, or none on disk, is an error."""
    sources, mine = gpu_tune.sources, tmp_path / "mine.cuh"
    mine.write_text("// mine\n")
    before = sources.kernel_source("bn254")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "SOURCES", gpu_tune.with_texts([f"passes={mine}"]))
        after = sources.kernel_source("bn254")
    theirs = (Path(sources.__file__).parent / "kernels/msm/passes.cuh").read_text()
    assert theirs in before
    assert after == before.replace(theirs, "// mine\n")
    assert gpu_tune.with_texts([]) == sources.SOURCES
    for wrong in (f"pairs={tmp_path}", f"nothing={mine}", "passes=absent.cuh", "passes"):
        with pytest.raises(ValueError, match=re.escape(f"--with {wrong}: want NAME=FILE.cuh")):
            gpu_tune.with_texts([wrong])
