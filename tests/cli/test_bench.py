"""`msm bench` and `msm info` from outside: formats, exit codes, streams."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from tests.patience import PATIENCE_S


def msm(line, *files, expect=0):
    """Run `msm` with the words of `line`, in which {0}, {1}, ... are `files`."""
    words = [sys.executable, "-m", "multiscalar.cli", *(word.format(*files) for word in shlex.split(line))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == expect, done.stderr
    return done


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_starts_as_promised_and_notes_are_quoted():
    done = msm("bench --sizes 1,2^5 --repeats 2 --format csv --paths cpu")
    assert done.stdout.startswith("size,path,median_us,status,")
    assert [(row["size"], row["path"], row["status"]) for row in table(done.stdout)] == [
        ("1", "cpu", "ok"),
        ("32", "cpu", "ok"),
    ]
    assert all(float(row["median_us"]) > 0 for row in table(done.stdout))
    assert done.stdout.splitlines()[1].endswith(',""')


@pytest.mark.parametrize("scope", ["end-to-end", "first-call"])
def test_csv_names_the_threads_and_the_isa_that_ran(scope):
    words = f"bench --sizes 2^12 --repeats 1 --warmups 0 --paths cpu --scope {scope}"
    (row,) = table(msm(f"{words} --format csv").stdout)
    facts = json.loads(msm("info --json").stdout)["cpu"]
    assert row["isa"] == facts["isa_in_use"]
    assert 1 <= int(row["threads"]) <= facts["usable_cpus"]
    (asked,) = json.loads(msm(f"{words} --isa scalar --threads 1 --format json").stdout)["rows"]
    assert (asked["detail"]["isa"], asked["detail"]["threads"]) == ("scalar", 1)


def test_boundary_preset_has_the_eight_sizes():
    done = msm("bench --preset boundary --repeats 1 --warmups 0 --format csv --paths cpu")
    assert [row["size"] for row in table(done.stdout)] == [
        "512",
        "1024",
        "1025",
        "2048",
        "4096",
        "8192",
        "16384",
        "65536",
    ]


def test_a_path_asked_for_and_not_to_be_had_is_a_row_and_exit_3():
    if gpu_is_here():
        pytest.skip("a GPU is here: cuda is to be had")
    done = msm("bench --sizes 8 --repeats 1 --paths cpu,cuda --format csv", expect=3)
    by_path = {row["path"]: row for row in table(done.stdout)}
    assert by_path["cpu"]["status"] == "ok"
    assert by_path["cuda"]["status"] == "UNAVAILABLE"
    assert by_path["cuda"]["median_us"] == ""
    assert by_path["cuda"]["note"]


def test_a_path_not_asked_for_and_not_to_be_had_is_a_line_and_no_row():
    if gpu_is_here():
        pytest.skip("a GPU is here: cuda is measured by default")
    done = msm("bench --sizes 8 --repeats 1 --format csv")
    assert [row["path"] for row in table(done.stdout)] == ["cpu"]
    assert done.stderr.startswith("cuda: ")


def gpu_is_here():
    from multiscalar.engine import registry

    return registry.availability("cuda").usable


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--sizes banana", "'banana' is not a size"),
        ("--sizes 2^9..2^3", "must rise"),
        ("--curve p-256", "not one of"),
        ("--curve ''", "--curve names nothing"),
        ("--scope ,", "--scope names nothing"),
        (f"--seed {2**64}", "seed"),
        ("--paths gpu", "'gpu' is not one of cpu, cuda, auto"),
        ("--shape round", "not one of uniform"),
        ("--scope x", "end-to-end"),
        ("--sizes 8 --preset small", "not both"),
        ("--resume", "--resume needs --record"),
        ("--repeats 0", "repeats"),
    ],
)
def test_bad_usage_is_exit_2_and_one_reason(arguments, said):
    done = msm(f"bench {arguments}", expect=2)
    assert said in done.stderr
    assert not done.stdout
    assert "Traceback" not in done.stderr


def test_runs_format_has_the_story_s_lines():
    done = msm("bench --sizes 2^6 --repeats 3 --format runs --paths cpu")
    assert re.search(r"^Run 1/3: Total: [\d.]+ms \(Copy: [\d.]+ms, MSM: [\d.]+ms\)$", done.stdout, re.MULTILINE)
    assert "Average total:" in done.stdout
    assert re.search(r"^MSMs per second: [\d.]+$", done.stdout, re.MULTILINE)


def test_record_check_resume_and_json(tmp_path):
    record = tmp_path / "r.jsonl"
    line = "bench --sizes 4,8 --repeats 5 --paths cpu --inputs independent --record {0}"
    msm(line, record)
    before = record.read_text()
    again = msm(f"{line} --resume --format json", record)
    assert record.read_text().startswith(before), "append-only"
    document = json.loads(again.stdout)
    assert [len(row["wall_ns"]) for row in document["rows"]] == [5, 5]
    added = [json.loads(line)["kind"] for line in record.read_text()[len(before) :].splitlines()]
    assert added == ["run", "end"], "nothing was measured again"
    msm("check {0}", record)


def test_every_shape_scope_and_batch_is_right():
    shapes, scopes = "uniform,bits,witness,uint8,one-hot", "end-to-end,resident-bases"
    done = msm(f"bench --sizes 33 --repeats 1 --paths cpu --format csv --batch 2 --scope {scopes} --shape {shapes}")
    rows = table(done.stdout)
    assert len(rows) == 10
    assert {row["status"] for row in rows} == {"ok"}


def test_info_names_the_machine():
    facts = json.loads(msm("info --json").stdout)
    assert facts["cpu"]["isa_in_use"] in facts["cpu"]["isas_possible"]
    assert facts["cpu"]["usable_cpus"] >= 1
    assert facts["backends"]["cpu"] == "usable"


@pytest.mark.parametrize(
    ("gpu", "said"),
    [
        ({"driver": "580.159.04", "compute_capability": "9.0"}, "cu13"),
        ({"driver": "570.1", "compute_capability": "8.9"}, "cu12"),
        (
            {"name": "Tesla V100", "driver": "580.1", "compute_capability": "7.0"},
            "Tesla V100 has compute capability 7.0",
        ),
        ({"none": "no NVIDIA driver on this machine"}, "none (no NVIDIA driver on this machine)"),
        ({"none": "nvidia-ml-py is not installed", "driver_cuda": "13.0"}, "cu13: pip install 'cuda-core[cu13]"),
        ({"none": "nvidia-ml-py is not installed", "driver_cuda": "12.8"}, "cu12: pip install 'cuda-core[cu12]"),
        ({"name": "x", "compute_capability": "9.0", "driver_cuda": "13.1"}, "nvidia-ml-py>=12.575"),
        ({"name": "x"}, "cu12 or cu13"),
    ],
)
def test_the_extra_that_fits(gpu, said):
    from multiscalar.cli.info import fitting_extra

    assert said in fitting_extra(gpu)


def test_the_packages_of_an_extra_are_those_of_the_project():
    from multiscalar import extras

    project = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())["project"]
    assert {name: tuple(project["optional-dependencies"][name]) for name in extras.PACKAGES} == extras.PACKAGES
    assert all(extras.command(name) in extras.HINT for name in extras.PACKAGES)


@pytest.mark.parametrize(("version", "status", "facts"), [(13020, 0, {"driver_cuda": "13.2"}), (0, 3, {})])
def test_a_driver_without_packages_says_what_it_speaks(monkeypatch, version, status, facts):
    from multiscalar.lab import machine

    def speak(out):
        out._obj.value = version
        return status

    monkeypatch.setattr(machine.ctypes, "CDLL", lambda name: SimpleNamespace(cuDriverGetVersion=speak))
    assert machine.driver_facts() == facts
    monkeypatch.setattr(machine, "find_spec", lambda name: None)
    monkeypatch.setattr(machine, "watched_device", lambda: (None, "nvidia-ml-py is not installed"))
    monkeypatch.setattr(machine, "_cuda_device", lambda: None)
    why = "nvidia-ml-py is not installed" if facts else "no NVIDIA driver on this machine"
    assert machine.gpu_facts() == {"none": why, **facts}


@pytest.mark.parametrize(("first", "said"), [("no driver", "no driver"), (None, "cuda-core is missing")])
def test_no_package_is_missed_where_there_is_no_driver(monkeypatch, capsys, first, said):
    from multiscalar.cli import plan
    from multiscalar.engine.backend import Availability
    from multiscalar.lab import lacks

    monkeypatch.setattr(lacks, "gpu_lack", lambda: first and lacks.Lack(first, "Install one"))
    monkeypatch.setattr(lacks.registry, "availability", lambda _: Availability(False, "cuda-core is missing", "Get it"))
    assert [subject.name for subject in plan.own_subjects(None)] == ["cpu"]
    assert capsys.readouterr().err == f"cuda: {said}; not measured\n"
    with pytest.raises(typer.Exit) as left:
        plan.needed(["cpu", "cuda"])
    assert left.value.exit_code == 3
    advice = "Install one" if first else "Get it"
    assert f"cuda is not to be had here: {said}. {advice}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (None, "no NVIDIA driver"),
        (100, "sees no GPU"),
        (999, "does not start (CUDA_ERROR_UNKNOWN)"),
        (12345, "does not start (error 12345)"),
        (0, None),
    ],
)
def test_what_a_driver_says_of_a_gpu(monkeypatch, status, said):
    from multiscalar.lab import gpu

    def name_of(status, out):
        out._obj.value = b"CUDA_ERROR_UNKNOWN"
        return int(status != 999)

    def load(library):
        if status is None:
            raise OSError("cannot open shared object file")
        return SimpleNamespace(cuInit=lambda flags: status, cuGetErrorName=name_of)

    monkeypatch.setattr(gpu.ctypes, "CDLL", load)
    missing = gpu.gpu_lack()
    assert (missing is None) == (said is None)
    assert str(said or "") in str(missing or "")


def test_no_driver_says_nothing():
    from multiscalar.lab import machine

    assert machine.driver_facts("libnosuch.so.0") == {}


def test_first_call_is_measured_in_a_fresh_process():
    done = msm("bench --sizes 16 --repeats 1 --warmups 0 --paths cpu --scope first-call --format csv")
    (row,) = table(done.stdout)
    assert (row["status"], row["scope"]) == ("ok", "first-call")


def test_lists_of_threads_and_batches_and_the_control():
    done = msm("bench --sizes 9,17 --repeats 1 --paths cpu --threads 1,2 --batch 1,3 --control --format csv")
    rows = table(done.stdout)
    assert {row["status"] for row in rows} == {"ok"}
    known = {(row["size"], row["threads"], row["batch"]) for row in rows if row["inputs"] == "known-dlog"}
    assert known == {(n, t, b) for n in ("9", "17") for t in ("1", "2") for b in ("1", "3")}
    assert [row["inputs"] for row in rows].count("independent") == 1


def timed_samples(record):
    """How many samples the record of a run under way holds, warm-ups apart."""
    lines = record.read_text().splitlines() if record.exists() else []
    return sum('"sample"' in line and '"warmup"' not in line for line in lines)


def test_ctrl_c_keeps_what_was_measured(tmp_path):
    record = tmp_path / "r.jsonl"
    words = shlex.split("bench --sizes 2^14 --repeats 100000 --time-limit 5000 --paths cpu --format csv --record")
    command = [sys.executable, "-m", "multiscalar.cli", *words, str(record)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            deadline = time.monotonic() + PATIENCE_S
            while running.poll() is None and timed_samples(record) < 3 and time.monotonic() < deadline:
                time.sleep(0.05)
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=PATIENCE_S)
        finally:
            running.kill()
    assert running.returncode == 130
    assert "what was measured is kept" in err
    (row, *_) = table(out)
    assert row["status"] == "ok"
    assert row["note"].startswith("interrupted after ")
    assert json.loads(record.read_text().splitlines()[-1]) == {
        "kind": "end",
        "run": json.loads(record.read_text().splitlines()[0])["run"],
        "complete": False,
    }


def test_more_terms_than_memory_holds_is_a_row_and_the_record_says_so(tmp_path):
    record = tmp_path / "r.jsonl"
    done = msm("bench --sizes 4,2^50 --repeats 1 --paths cpu --format csv --record {0}", record, expect=3)
    assert [(row["size"], row["status"]) for row in table(done.stdout)] == [("4", "ok"), (str(2**50), "UNAVAILABLE")]
    assert "Traceback" not in done.stderr
    assert json.loads(record.read_text().splitlines()[-1])["complete"] is True


def test_what_no_command_foresaw_is_one_line(monkeypatch):
    monkeypatch.setenv("MULTISCALAR_THREADS", "many")
    done = msm("info", expect=2)
    assert done.stderr.startswith("msm: MULTISCALAR_THREADS = 'many'")
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
def test_a_full_disk_is_one_line():
    done = msm("bench --sizes 4 --repeats 1 --paths cpu --quiet --record /dev/full", expect=1)
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_record_may_go_to_a_pipe():
    done = msm("bench --sizes 4 --repeats 1 --paths cpu --quiet --format json --record /dev/stderr")
    assert [json.loads(line)["kind"] for line in done.stderr.splitlines()][::4] == ["run", "result"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has a device that is always full")
@pytest.mark.parametrize("line", ["info", "--version", "bench --sizes 4 --repeats 1 --paths cpu --quiet"])
def test_results_that_find_no_room_are_one_line(line):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "multiscalar.cli", *line.split()]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE_S)
    assert (done.returncode, done.stderr) == (1, "msm: output: No space left on device\n")


@pytest.mark.parametrize("closed", ["1", "2", "1 2"])
def test_closed_streams_hold_up_nothing(closed, tmp_path):
    """A service may start a program without stdout or stderr."""
    close = " ".join(f"{number}>&-" for number in closed.split())
    record = tmp_path / "run.jsonl"
    words = ["bench", "--sizes", "4", "--repeats", "1", "--paths", "cpu", "--record", str(record)]
    command = ["sh", "-c", f'exec "$0" "$@" {close}', sys.executable, "-m", "multiscalar.cli", *words]
    assert subprocess.run(command, check=False, timeout=PATIENCE_S).returncode == 0
    assert '"complete":true' in record.read_text()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_encoding_shows_the_table(encoding, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    monkeypatch.setenv("PYTHONUTF8", "0")
    words = ["bench", "--sizes", "4", "--repeats", "3", "--paths", "cpu", "--record", str(tmp_path / "\udcff.jsonl")]
    done = subprocess.run([sys.executable, "-m", "multiscalar.cli", *words], capture_output=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    assert b" ok" in done.stdout
