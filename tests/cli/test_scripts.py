"""Scripts under tools/ and benchmarks/: what they cannot use is one clear line and exit code 2, what is not here 3."""

from __future__ import annotations

import importlib
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from multiscalar.lab.lacks import own_lack

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
TABLES = {
    "csv_table": "not a CSV file",
    "gpu_figures_table": "not JSON",
    "gpu_table": "line 1: not a line of a lab record",
    "ratios": "line 1: not a line of a lab record",
    "sweep": "line 1: not a line of a lab record",
    "threads": "line 1: not a line of a lab record",
    "regret_table": "line 1: not JSON",
    "lab_cost": "line 1: not JSON",
}
pytestmark = pytest.mark.skipif(not (ROOT / "tools").is_dir(), reason="tools/ is not part of this checkout")


def ended(words: list[str], code: int, said: str, inside: Path = ROOT) -> str:
    """The last line on stderr of a script that ends with `code` and says `said` there, without a traceback."""
    command = [sys.executable, str(ROOT / words[0]), *words[1:]]
    done = subprocess.run(command, cwd=inside, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    line = done.stderr.splitlines()[-1]
    assert said in line
    return line


@pytest.mark.parametrize("name", TABLES)
def test_what_no_table_can_be_made_of_is_a_line(tmp_path: Path, name: str) -> None:
    script = f"tools/{name}.py"
    junk, empty = tmp_path / "junk.txt", tmp_path / "empty.jsonl"
    junk.write_bytes(b"hello, world\n\xff\n")
    empty.touch()
    ended([script], 2, "required: FILE")
    ended([script, str(tmp_path / "none.jsonl")], 2, f"{name}.py: {tmp_path / 'none.jsonl'}: No such file")
    ended([script, str(junk)], 2, f"{junk}")
    junk.write_text("[" * 100_000)
    ended([script, str(junk)], 2, f"{junk}")
    junk.write_text("hello, world\n\n")
    ended([script, str(junk)], 2, TABLES[name])
    ended([script, str(empty)], 2, f"{empty}")


def test_a_record_of_something_else_is_a_line(tmp_path: Path) -> None:
    """A calibration would have these samples, a sweep and a pair of thread counts not; a prover's row has no isa."""
    cell = {"kind": "cell", "cell": "c", "path": "cpu", "place": "cpu", "labels": {"n": 4, "curve": "c", "threads": 1}}
    sample = {"kind": "sample", "cell": "c", "at_ns": 1, "wall_ns": 5, "cpu_ns": 5}
    record = tmp_path / "r.jsonl"
    record.write_text("".join(json.dumps(line) + "\n" for line in ({**cell, "subject": {}}, sample)))
    ended(["tools/gpu_table.py", str(record)], 2, "no samples for this table")
    ended(["tools/sweep.py", str(record)], 2, "a sweep has neighbouring sizes")
    ended(["tools/threads.py", str(record)], 2, "no size was measured with one thread and with two")
    ended(["tools/ratios.py", str(record)], 2, "not what this table is made of (KeyError('isa'))")
    ended(["tools/regret_table.py", str(record)], 2, "no calibration")
    ended(["tools/lab_cost.py", str(record)], 2, "no record of benchmarks/lab.py")
    record.write_text(json.dumps(sample) + "\n")
    ended(["tools/sweep.py", str(record)], 2, "not what this table is made of (KeyError('c'))")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("tools/gpu_tune.py --rows tried,nosuch", "no group of rows is called nosuch; there are tried, large"),
        ("tools/gpu_tune.py --curves ed25519", "no curve is called 'ed25519'; accepted: "),
        ("tools/gpu_tune.py --sizes 2^x", "'2^x' is not a size"),
        ("tools/gpu_tune.py --sizes 0", "at least one term"),
        ("tools/gpu_tune.py --batch 0", "--batch 0: at least 1"),
        ("tools/gpu_tune.py --with passes=absent.cuh", "FILE.cuh there"),
        ("tools/gpu_machine.py --out none --stages nosuch", "no stage is called nosuch"),
        ("tools/gpu_machine.py --out none --wheels none", "there are no wheels in none"),
        ("tools/gpu_machine.py --out none --minutes 0", "more than 0"),
        ("benchmarks/gpu_figures.py --only nosuch", "no figure is called nosuch; there are host time"),
        ("benchmarks/gpu_figures.py --curves ed25519", "no curve is called 'ed25519'"),
        ("benchmarks/gpu_figures.py --largest many", "'many' is not a size"),
        ("benchmarks/host_time.py --only nosuch", "no call is called nosuch; there are device again"),
        ("benchmarks/api.py nosuch", "no figure is called nosuch; there are import"),
        ("benchmarks/peers.py --record none.jsonl --curves bn254,ed25519", "no curve is called 'ed25519'"),
        ("benchmarks/lab.py overhead --record .", "cannot write the record"),
        ("benchmarks/lab.py calibration --record r.jsonl --output none/p.json", "there is no folder none"),
        ("benchmarks/lab.py telemetry --record r.jsonl --pairs 0", "more than 0"),
    ],
)
def test_words_that_mean_nothing_are_a_line_before_any_work(tmp_path: Path, line: str, said: str) -> None:
    ended(line.split(), 2, said, inside=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "line", ["tools/gpu_tune.py", "benchmarks/gpu_figures.py", "benchmarks/doctor_load.py --load gpu --record r.jsonl"]
)
def test_a_gpu_that_is_not_here_is_a_line(tmp_path: Path, line: str) -> None:
    if own_lack("cuda") is None:
        pytest.skip("a GPU is here")
    told = ended(line.split(), 3, str(own_lack("cuda")), inside=tmp_path)
    assert told.startswith("no ")
    assert list(tmp_path.iterdir()) == []


def test_a_setting_without_meaning_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULTISCALAR_THREADS", "many")
    ended(["benchmarks/api.py", "one-term"], 2, "MULTISCALAR_THREADS = 'many'")


def test_an_interrupt_is_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    ending = importlib.import_module("ending")

    def interrupted() -> int:
        raise KeyboardInterrupt

    for main, code, said in ((interrupted, 130, "interrupted\n"), (lambda: 1, 1, "")):
        with pytest.raises(SystemExit) as left:
            ending.run(main)
        assert (left.value.code, capsys.readouterr().err) == (code, said)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_a_full_disk_is_a_line() -> None:
    ended(["benchmarks/lab.py", "overhead", "--record", "/dev/full"], 1, "No space left on device")


def test_a_library_that_is_not_installed_is_a_line(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['py_arkworks_bls12381'] = None; sys.argv[1:] = ['arkworks']; import runpy; "
    hidden += f"sys.path.insert(0, {str(ROOT / 'benchmarks')!r}); "
    program = f"{hidden}runpy.run_path({str(ROOT / 'benchmarks/api.py')!r}, run_name='__main__')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout) == (3, ""), done.stderr
    assert done.stderr == "arkworks: the package is not installed; pip install py-arkworks-bls12381\n"


def test_the_tables_are_checked_from_any_folder(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "tools/generate.py"), "--check"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_curve_that_is_none_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "curves").mkdir()
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r}); import generate, os; "
        "os.chdir(sys.argv[1]); raise SystemExit(generate.write(check=True))"
    )
    for text, said in (("name = ", "no curve: "), ('name = "x"\n', "no curve: 'g1'")):
        (tmp_path / "curves/x.toml").write_text(text)
        command = [sys.executable, "-c", program, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
        assert done.returncode == 2, done.stderr
        assert done.stderr.startswith(f"curves/x.toml: {said}")
        assert done.stderr.count("\n") == 1


def test_the_checkout_may_lie_in_a_folder_with_a_blank(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "Cargo.toml", "python/multiscalar/_core.pyi"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text())
    done = subprocess.run(["make", "-n", "build"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    (line,) = (line for line in done.stdout.splitlines() if "maturin develop" in line)
    assert shlex.split(line)[0] == f"VIRTUAL_ENV={tmp_path}/.venv"
