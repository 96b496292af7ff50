"""The command for a GPU machine: stages stand for themselves, files are few and name no place; figures on the shim."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import multiscalar as ms
import pytest
from multiscalar.lab.lacks import own_lack

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "benchmarks")]
import gpu_figures  # noqa: E402
import gpu_host_figures  # noqa: E402
import gpu_machine  # noqa: E402
import gpu_tune  # noqa: E402

TURNS = range(1, 7)  # side by side: they end at about the same time, and each writes the summary


def session(tmp_path: Path, seconds: float = PATIENCE_S) -> gpu_machine.Session:
    out, logs = tmp_path / "out", tmp_path / "logs"
    out.mkdir()
    logs.mkdir()
    unbuffered = {**os.environ, "PYTHONUNBUFFERED": "1"}  # so that programs side by side write line by line, or less
    return gpu_machine.Session(out, time.monotonic() + seconds, unbuffered, logs)


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_a_stage_that_fails_or_hangs_takes_nothing_along(tmp_path: Path) -> None:
    made = session(tmp_path)

    def hangs(at: gpu_machine.Session) -> None:
        at.run("hangs", "sleep", ["sh", "-c", "echo asleep; exec sleep 600"], 5)  # a shell is up at once

    def breaks(at: gpu_machine.Session) -> None:
        at.run("breaks", "tool", ["a-tool-that-is-not-installed"], 5)

    def works(at: gpu_machine.Session) -> None:
        def turn(k: int) -> Callable[[], int]:
            return lambda: at.run("works", f"turn-{k}", python(f"print({k})"), PATIENCE_S, keep="lines.txt")

        at.side_by_side([turn(k) for k in TURNS])
        at.run("works", "place", python(f"print({str(ROOT)!r}); raise SystemExit(7)"), PATIENCE_S)

    stages = {"hangs": hangs, "breaks": breaks, "works": works}
    assert gpu_machine.perform(made, tuple(stages), stages) == 3
    summary = json.loads((made.out / "summary.json").read_text())
    codes = {(one["stage"], one["name"]): one["code"] for one in summary["commands"]}
    assert codes == {
        ("hangs", "sleep"): 124,
        ("breaks", "stage"): 126,
        **{("works", f"turn-{k}"): 0 for k in TURNS},
        ("works", "place"): 7,
    }
    assert sorted((made.out / "lines.txt").read_text().split()) == [str(k) for k in TURNS]
    assert len(list(made.out.iterdir())) <= 8
    with tarfile.open(made.out / "logs.tar.gz") as archive:
        texts = [archive.extractfile(member).read().decode() for member in archive.getmembers()]  # type: ignore[union-attr]
    assert any("asleep" in text for text in texts)
    for text in (*texts, (made.out / "summary.json").read_text()):
        assert str(ROOT) not in text


def test_nothing_starts_when_the_time_is_over(tmp_path: Path) -> None:
    made = session(tmp_path, seconds=0.0)
    assert made.run("late", "late", python("print(1)"), 10) == 125


def test_without_a_gpu_it_says_so(tmp_path: Path) -> None:
    if own_lack("cuda") is None:
        pytest.skip("a GPU is here")
    command = [sys.executable, "tools/gpu_machine.py", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 3
    assert done.stderr.startswith("no GPU to work on: ")
    assert not (tmp_path / "out").exists()


def test_every_stage_is_known_and_every_figure_is_in_one_group() -> None:
    assert set(gpu_machine.USUAL) < set(gpu_machine.STAGES)
    asked: list[str] = []

    class Recorder:
        out = Path()

        def run(self, stage: str, name: str, command: list[str], *_: object, **__: object) -> int:
            asked.extend(command[command.index("--only") + 1].split(","))
            return 0

    gpu_machine.figures(Recorder())  # type: ignore[arg-type]
    assert asked == list(gpu_figures.FIGURES)


def test_every_group_of_rows_is_tuned_in_a_process_of_its_own_within_ten_minutes(tmp_path: Path) -> None:
    asked: dict[str, float] = {}

    class Recorder:
        out = tmp_path

        def run(self, stage: str, name: str, command: list[str], limit_s: float, *, keep: str) -> int:
            with (tmp_path / keep).open("a") as file:
                file.write(name)
            asked[command[command.index("--rows") + 1]] = limit_s
            assert float(command[command.index("--seconds") + 1]) < limit_s
            return 0

    gpu_machine.tune(Recorder())  # type: ignore[arg-type]
    assert set(asked) == set(gpu_tune.ROWS)
    assert sum(asked.values()) <= 600


def test_the_figures_on_the_shim(shim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shim()
    bench = gpu_figures.Bench(ms.curve("bn254"), largest=8, effort=0.0)
    for module in (gpu_figures, gpu_host_figures):
        monkeypatch.setattr(module, "on_device", lambda scalars: scalars.data)
    small = {
        "host time": lambda b: gpu_figures.host_time(b, 5),
        "neighbour": lambda b: gpu_figures.neighbour(b, 4),
        "shapes": lambda b: gpu_figures.shapes(b, 5),
        "batches": lambda b: gpu_figures.batches(b, 6, 2),
        "plans": lambda b: (_ for _ in ()).throw(RuntimeError("broken on purpose")),
        "steady": lambda b: gpu_figures.steady(b, 5, calls=2, idle_s=0.0),
        "host inputs": lambda b: gpu_host_figures.host_inputs(b, (4, 1 << 20)),
        "host copies": lambda b: gpu_host_figures.host_copies(b, (1000,)),
        "schedules": lambda b: gpu_host_figures.schedules(b, (8, 1 << 20)),
    }
    monkeypatch.setattr(gpu_host_figures, "ENDS", {8: ((32, 80, 128),)})
    monkeypatch.setattr(gpu_figures, "FIGURES", small)
    facts = list(gpu_figures.figures([bench], list(small), PATIENCE_S))
    assert [fact["error"] for fact in facts if "error" in fact] == ["RuntimeError: broken on purpose"]
    assert all(fact["ok"] for fact in facts if "error" not in fact)
    assert {fact["figure"] for fact in facts} == set(small)
    json.dumps(facts)
    late = list(gpu_figures.figures([bench], ["plans"], -1.0))
    assert late[0]["error"] == "no time was left"


def test_the_programs_begin_on_a_bare_machine() -> None:
    """In processes of their own, as the stages start them: nothing that another test has imported helps."""
    late = ["benchmarks/gpu_figures.py", "--only", "plans", "--curves", "bn254", "--seconds", "-1"]
    done = subprocess.run([sys.executable, *late], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S)
    if own_lack("cuda") is None:
        assert json.loads(done.stdout) == {"figure": "plans", "curve": "bn254", "error": "no time was left"}
    else:
        assert (done.returncode, done.stdout) == (3, ""), done.stderr
        assert done.stderr.startswith("no GPU to work on: ")
    asked = [sys.executable, "tools/gpu_tune.py", "--help"]
    assert subprocess.run(asked, cwd=ROOT, capture_output=True, timeout=PATIENCE_S).returncode == 0


def test_the_profilers_pages_become_a_line_a_launch() -> None:
    columns = ",".join(f'"{name}"' for name in ("ID", "Kernel Name", *gpu_machine.METRICS))
    launches = (("us", "msm_pairs_entries", "1,420.5"), ("ms", "msm_accumulate", "1.4"))
    pages = "\n".join(
        f'==PROF== Connected\n{columns}\n"","","{unit}","%","%"\n"0","{kernel}(const int *)","{time}","63.2","31.0"'
        for unit, kernel, time in launches
    )
    assert gpu_machine.shares(pages).splitlines() == [
        "msm_pairs_entries: 1,420.5 us, 63.2 %, 31.0 %",
        "msm_accumulate: 1.4 ms, 63.2 %, 31.0 %",
    ]
    assert gpu_machine.shares("==ERROR== no permission\n") == "no launch was profiled"
