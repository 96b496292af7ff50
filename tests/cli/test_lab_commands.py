"""`msm check`, `compare`, `report`, `doctor`, `story` on records, and the overview."""

from __future__ import annotations

import json

import pytest

from tests.lab import stories

from .test_bench import gpu_is_here, msm, table


def write(path, measured_lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in measured_lines))
    return path


def lines(ms, path="cpu", place="cpu"):
    return [
        stories.run_line(),
        *stories.cell("bn254", 4096, path, stories.around(ms, 15, 1), place),
        {"kind": "end", "run": "story", "complete": True},
    ]


def test_overview_lists_the_commands_that_exist():
    text = msm("--help").stdout
    for name in ("info", "bench", "compare", "check", "report", "peers", "doctor", "story"):
        assert f" {name} " in text
    assert msm("--version").stdout.startswith("msm ")


def test_compare_gates_on_slower(tmp_path):
    a, b = write(tmp_path / "a.jsonl", lines(10.0)), write(tmp_path / "b.jsonl", lines(13.0))
    assert "SLOWER" in msm("compare {0} {1}", a, b, expect=1).stdout
    assert "FASTER" in msm("compare {0} {1}", b, a).stdout
    assert "SAME" in msm("compare {0} {0}", a).stdout
    (pair,) = json.loads(msm("compare {0} {1} --format json", a, b, expect=1).stdout)["pairs"]
    assert pair["verdict"] == "SLOWER"
    assert pair["low"] < pair["ratio"] < pair["high"]


def test_check_fails_on_a_record_that_proves_nothing(tmp_path):
    bad = lines(10.0)
    del bad[0]
    assert "completeness" in msm("check {0}", write(tmp_path / "bad.jsonl", bad), expect=1).stdout
    good = write(tmp_path / "good.jsonl", lines(10.0))
    msm("check {0}", good)
    assert "inputs" in msm("check --strict {0}", good, expect=1).stdout


@pytest.mark.parametrize("command", ["check", "compare {0}", "report", "doctor --read"])
def test_hostile_files_are_one_line_and_exit_2(tmp_path, command):
    path = tmp_path / "junk.jsonl"
    path.write_text("junk\n")
    done = msm(f"{command} {{0}}", path, expect=2)
    assert "line 1: not JSON" in done.stderr
    assert "Traceback" not in done.stderr
    missing = msm("check {0}", tmp_path / "none.jsonl", expect=2)
    assert "none.jsonl" in missing.stderr


@pytest.mark.parametrize(
    ("command", "ours"),
    [
        ("bench --paths cpu --peers nosuch --record {0}", ()),
        ("bench --paths cpu --peers gnark,nosuch:path --record {0}", ()),
        ("story cutoff --peers nosuch --record {0}", ()),
        ("story stability --peers nosuch --record {0}", ()),
        ("compare --paths cpu,nosuch --record {0}", ("cpu, cuda, auto",)),
        ("doctor --subject nosuch --record {0}", ("cpu, cuda, auto",)),
    ],
)
def test_a_peer_that_nobody_knows_is_refused_before_anything_is_measured(tmp_path, command, ours):
    record = tmp_path / "r.jsonl"
    done = msm(command, record, expect=2)
    *_, line = done.stderr.splitlines()
    assert line.startswith("msm: 'nosuch")
    for name in (*ours, "arkworks, blst, gnark", "zksnake"):
        assert name in line
    assert (done.stdout, record.exists()) == ("", False)


def test_report_writes_a_page(tmp_path):
    page = tmp_path / "out.html"
    msm("report {0} -o {1}", write(tmp_path / "a.jsonl", lines(10.0)), page)
    assert page.read_text().startswith("<!doctype html>")
    empty = write(tmp_path / "empty.jsonl", [stories.run_line()])
    assert "no rows" in msm("report {0} -o {1}", empty, page, expect=2).stderr


def test_doctor_reads_a_record_and_measures(tmp_path):
    found = msm("doctor --read {0}", write(tmp_path / "a.jsonl", lines(10.0))).stdout
    assert "steady" in found
    measured = msm("doctor --subject cpu --size 2^8 --repeats 5 --treatments").stdout
    assert "typical" in measured
    assert "sudo nvidia-smi" in measured
    assert "Recommended" in measured


def test_compare_paths_prints_the_story_s_table():
    done = msm("compare --paths cpu,auto --sizes 2^8 --quick")
    header, row = done.stdout.splitlines()
    assert header.split() == ["Degree", "Size", "CPU", "Time", "auto", "Time", "Result"]
    assert row.startswith("2^8")


@pytest.mark.parametrize("words", ["", " --paths cpu,cuda", " --paths cuda,cpu", " --paths cpu,icicle-v3.2"])
def test_compare_measures_nothing_where_one_of_the_two_is_not_to_be_had(words, tmp_path):
    if gpu_is_here():
        pytest.skip("a GPU is here: both have times")
    done = msm(f"compare{words} --record {{0}}", tmp_path / "r.jsonl", expect=3)
    assert "is not to be had here: " in done.stderr
    assert "--paths cpu,gnark" in done.stderr
    assert (done.stdout, list(tmp_path.iterdir())) == ("", [])


def test_story_cutoff_honours_the_story_s_environment(monkeypatch):
    monkeypatch.setenv("MSM_REPEATS", "2")
    monkeypatch.setenv("MSM_SEED", "7")
    done = msm("story cutoff --sizes 8,16")
    assert "MSM_SEED=7 MSM_REPEATS=2" in done.stderr
    assert [(row["size"], row["samples"], row["seed"]) for row in table(done.stdout) if row["path"] == "cpu"] == [
        ("8", "2", "7"),
        ("16", "2", "7"),
    ]


def test_story_stability_splits_copy_and_msm():
    done = msm("story stability --sizes 2^6 --repeats 3")
    assert "Run 1/3: Total:" in done.stdout
    assert "steadiest and fastest first" in done.stdout
