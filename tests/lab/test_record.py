"""The record as hostile input, and the rules of `check` against planted faults (MI-60 among them)."""

from __future__ import annotations

import contextlib
import copy
import json
import re
import subprocess
import sys
from functools import reduce
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from multiscalar.lab import record as records
from multiscalar.lab.calibration import judged, regret_rows
from multiscalar.lab.check import Level, check
from multiscalar.lab.compare import compare_paths, compare_records
from multiscalar.lab.diagnose.words import diagnosis_text
from multiscalar.lab.doctor import diagnoses
from multiscalar.lab.formats import Format, render
from multiscalar.lab.formats.verdicts import verdicts_json, verdicts_table
from multiscalar.lab.formats.versus import to_versus
from multiscalar.lab.record import Record, RecordError, gather, read_lines, read_record
from multiscalar.lab.rows import rows
from multiscalar.lab.schema import schema_fault
from multiscalar.lab.status import Status
from multiscalar.lab.stories.cutoff import cutoff_text, find_cutoff, series
from multiscalar.lab.stories.stability import stability_advice, stability_table
from multiscalar.lab.subject import Evidence, Sample

from tests.patience import PATIENCE_S

from . import stories
from .fakes import Failing, Fake

GOOD = [
    stories.run_line(),
    *stories.cell("bn254", 4096, "cpu", stories.around(10, 7, 1), "cpu"),
    *stories.cell("bn254", 4096, "cuda", stories.around(10, 7, 2), "gpu"),
    {"kind": "end", "run": "story", "complete": True},
]
GOOD[1]["labels"]["inputs"] = "independent"


def altered(change):
    lines = copy.deepcopy(GOOD)
    change(lines)
    return gather(lines)


def failures(measurements):
    return {finding.rule for finding in check(measurements) if finding.level is Level.FAIL}


def warnings(measurements):
    return {finding.rule for finding in check(measurements) if finding.level is Level.WARN}


def samples(lines):
    return [line for line in lines if line["kind"] == "sample"]


def test_a_good_record_has_no_finding():
    assert check(gather(GOOD)) == []


def drop(kind):
    return lambda lines: lines.remove(next(line for line in lines if line["kind"] == kind))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (drop("result"), "completeness"),
        (drop("run"), "completeness"),
        (lambda lines: lines[-2].update(status="MISMATCH"), "statuses"),
        (lambda lines: lines[-2].update(checked=3), "sample-counts"),
        (lambda lines: samples(lines)[-1].pop("evidence"), "attestation"),
        (lambda lines: samples(lines)[-1]["evidence"].update(launches=0), "attestation"),
        (lambda lines: samples(lines)[-1]["evidence"].update(backend="cpu"), "attestation"),
        (lambda lines: samples(lines)[0].update(wall_ns=0), "clocks"),
        (lambda lines: samples(lines)[0].update(cpu_ns=10**12), "clocks"),
        (lambda lines: samples(lines)[-1].update(device_ns=10**9), "clocks"),
        (lambda lines: samples(lines)[0].update(wall_ns=10, cpu_ns=1), "plausibility"),
        (lambda lines: lines[0].update(versions={}), "machine-facts"),
    ],
)
def test_planted_faults_fail_their_rule(change, rule):
    assert rule in failures(altered(change))


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda lines: lines[-1].update(complete=False), "completeness"),
        (lambda lines: lines[-2].update(stop={"reason": "time-limit", "unmet": "width"}), "sample-counts"),
        (lambda lines: lines[0]["machine"]["cpu"].update(load1=15), "machine-facts"),
        (lambda lines: lines[1].update(warmup={"plateau": False, "signal": "clock", "seconds": 3.0}), "clocks"),
        (lambda lines: lines[1]["labels"].update(inputs="known-dlog"), "inputs"),
    ],
)
def test_what_a_reader_should_know_is_a_warning(change, rule):
    found = altered(change)
    assert not failures(found)
    assert rule in warnings(found)


@pytest.mark.parametrize(("late", "fails"), [(15 * 4_000_000, False), (17 * 10_000_000, True)])
def test_each_cpu_may_charge_one_tick_late(late, fails):
    """Threads on the other CPUs are charged when those tick: 15 of 4 ms each were seen in a call of 1.6 ms."""

    def charged(lines):
        sample = samples(lines)[-1]
        sample["cpu_ns"] = sample["wall_ns"] * 16 + late

    found = altered(charged)
    assert found.runs[0]["machine"]["cpu"]["logical_cpus"] == 16
    assert ("clocks" in failures(found)) is fails


@pytest.mark.parametrize(("complete", "judged"), [(False, warnings), (True, failures)])
def test_a_cell_without_result_is_a_fault_of_a_completed_run_only(complete, judged):
    def cut(lines):
        drop("result")(lines)
        lines[-1].update(complete=complete)

    found = altered(cut)
    assert judged(found) >= {"completeness"}
    assert complete or not failures(found)


COMMITTED = sorted((Path(__file__).parents[2] / "results").rglob("*.jsonl"))


@pytest.mark.skipif(not COMMITTED, reason="results/ is not part of this checkout")
def test_every_committed_record_passes():
    broken = {
        str(path): faults
        for path in COMMITTED
        if (faults := [f.text for f in check(read_record([path])) if f.level is Level.FAIL])
    }
    assert not broken


def test_round_trip_leaves_out_what_is_unknown(tmp_path):
    path = tmp_path / "deep" / "r.jsonl"
    record = Record(path)
    record.append("run", schema=1, run="r", started="now", seed=1, machine={}, versions={})
    record.append("cell", cell="c", path="cpu", place="cpu", labels={"n": 4, "curve": None}, subject={})
    record.sample("c", Sample(5, 7, None, [(1, 2)], evidence=Evidence(backend="cpu")))
    record.close()
    (cell,) = read_record([path]).cells.values()
    assert cell.samples == [
        {"kind": "sample", "cell": "c", "at_ns": 5, "wall_ns": 7, "evidence": {"backend": "cpu"}},
    ]
    assert list(read_lines(path)) == record.lines


def test_the_user_s_home_is_not_published(monkeypatch):
    home = "/home/somebody"
    monkeypatch.setattr(records, "_home", lambda: home)
    record = Record()
    build = {"command": f"cc -o {home}/x/y", "flags": [f"-I{home}"]}
    record.append("cell", cell="c", path="p", place="cpu", labels={"n": 1}, subject={"build": build})
    assert record.lines[0]["subject"]["build"] == {"command": "cc -o ~/x/y", "flags": ["-I~"]}


def test_what_steers_a_terminal_is_not_published():
    """A peer's last words may be in colour, an argument may be no text at all."""
    record = Record()
    record.append("result", cell="c", status="CRASHED", note="\x1b[31mpanicked\x1b[0m at 7\n\ton thread 1")
    record.append("run", command="msm bench --record \udcff")
    evidence = Evidence(fallback_reason="CRASHED: \x1b[31m" + "x" * 10_000)
    record.sample("c", Sample(1, 2, None, None, evidence=evidence))
    assert [schema_fault(line) for line in record.lines[::2]] == [None, None]
    assert record.lines[0]["note"] == "\ufffd[31mpanicked\ufffd[0m at 7\n\ton thread 1"
    assert record.lines[1]["command"] == "msm bench --record \ufffd"


def test_a_user_without_a_home_can_record():
    """A container's user may have neither HOME nor an account; importing the lab must not need one."""
    lines = [
        "import pathlib",
        "def homeless(*_): raise RuntimeError('Could not determine home directory.')",
        "pathlib.Path.home = homeless",
        "from multiscalar.lab.record import Record",
        "Record().append('cell', cell='c', path='p', place='cpu', labels={'n': 1}, subject={'build': '/x'})",
    ]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr


def test_a_record_goes_on_after_a_line_that_a_crash_cut_short(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in GOOD) + '{"kind":"sam')
    record = Record(path)
    record.append("end", run="again", complete=True)
    record.close()
    assert list(read_lines(path)) == [*GOOD, {"kind": "end", "run": "again", "complete": True}]


@pytest.mark.parametrize("text", ["to do:\n- measure", "to do:\n- measure\n", '{"schema": 1,\n}\n', "[]\n", "to do"])
def test_nothing_is_appended_to_a_file_of_another_kind(tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(RecordError, match=r"no line of a record|line 1: "):
        Record(path)
    assert path.read_text() == text


def test_a_last_line_cut_short_is_left_out(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in GOOD) + '{"kind": "sam')
    assert len(list(read_lines(path))) == len(GOOD)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, 2]\n", "not object"),
        ("{}\n", "lacks 'kind'"),
        ('{"kind": "spell"}\n', "not one of"),
        ("nonsense\n", "not JSON"),
        ("[" * 100_000 + "\n", "not JSON"),
        ('{"kind": "sample", "cell": "c", "at_ns": 1}\n', "lacks 'wall_ns'"),
        ('{"kind": "sample", "cell": "c", "at_ns": 1, "wall_ns": -4}\n', "below 0"),
        ('{"kind": "sample", "cell": "c", "at_ns": 1, "wall_ns": true}\n', "not integer"),
        ('{"kind": "sample", "cell": "' + "x" * 2_000_000 + '"}\n', "bytes a line"),
        ('{"kind": "result", "cell": "c", "status": "fine"}\n', "not one of"),
        (
            '{"kind": "run", "schema": 9, "run": "", "started": "", "seed": 1, "machine": {}, "versions": {}}\n',
            "above 1",
        ),
        ('{"kind": "sample", "cell": "c", "at_ns": 1, "wall_ns": 4}\n', "never opened"),
    ],
)
def test_hostile_lines_are_refused_with_place_and_rule(tmp_path, text, said):
    path = tmp_path / "r.jsonl"
    path.write_text(text)
    with pytest.raises(RecordError, match=said):
        read_record([path])


CELL = {"kind": "cell", "cell": "c", "path": "p", "place": "cpu", "labels": {"n": 4}, "subject": {}}
SAMPLE = {"kind": "sample", "cell": "c", "at_ns": 1, "wall_ns": 4}


@pytest.mark.parametrize(
    ("line", "place", "junk", "said"),
    [
        (CELL, "labels.batch", "x", "labels.batch is str, not integer or null"),
        (CELL, "labels.threads", 0, "labels.threads is 0, below 1"),
        (CELL, "labels.curve", {}, "labels.curve is dict"),
        (CELL, "labels.curve", [["bn254"]], "labels.curve is list"),
        (CELL, "subject.pids", ["7"], r"subject.pids\[0\] is str"),
        (CELL, "warmup", {"seconds": "x"}, "warmup.seconds is str"),
        (SAMPLE, "wall_ns", 10**400, "above"),
        (SAMPLE, "evidence", {"event_ns": "abc"}, "evidence.event_ns is str"),
        (SAMPLE, "evidence", {"detail": 5}, "evidence.detail is int"),
        (SAMPLE, "evidence", {"detail": {"phases_ns": {"alloc": None}}}, "phases_ns.alloc is NoneType"),
        (SAMPLE, "evidence", {"detail": {"state": {"sm_mhz": "fast"}}}, "state.sm_mhz is str"),
        (SAMPLE, "evidence", {"detail": {"free": [{"deep": float("nan")}]}}, "not finite"),
        (GOOD[0], "machine.cpu", "s", "machine.cpu is str"),
        (GOOD[0], "machine.cpu", {"memory_bytes": 10**400}, "not finite or beyond"),
        (GOOD[0], "machine.gpu", {"max_sm_mhz": float("inf")}, "not finite"),
        (GOOD[0], "versions", {"numpy": 2}, "versions.numpy is int"),
        ({"kind": "trace", "at_ns": 1}, "fields", {"reasons": "hot"}, "fields.reasons is str"),
        ({"kind": "result", "cell": "c", "status": "ok"}, "stop", [1], "stop is list"),
        ({"kind": "result", "cell": "c", "status": "ok"}, "note", "\x1b[2J", "control character"),
        (CELL, "path", "\x00", "control character"),
        (CELL, "subject", {"build": [{"\x1b": 1}]}, "control character"),
        ({"kind": "trace", "at_ns": 1, "fields": {}}, "fields", None, "fields is NoneType"),
    ],
)
def test_what_is_used_of_a_line_is_described_by_the_schema(line, place, junk, said):
    altered = copy.deepcopy(line)
    *way, name = place.split(".")
    reduce(lambda inner, step: inner[step], way, altered)[name] = junk
    assert re.search(said, schema_fault(json.loads(json.dumps(altered))) or "")


_NUMBERS = (
    st.integers(-5, 5) | st.floats() | st.sampled_from([0, 1, 63, 10**6, 10**9, 10**15, 2**62, 2**64 - 1, 10**400])
)
_WORDS = st.text(max_size=5) | st.sampled_from(["cpu", "gpu", "any", "icicle-v2", "bn254", "UNVERIFIED", "x" * 65])
_JUNK = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_LIKE = {int: _NUMBERS, float: _NUMBERS, str: _WORDS}


def _rich():
    """A short record with all that a reader looks at."""
    lines = [stories.run_line(), *stories.cell("bn254", 4096, "cpu", [10.0, 10.1, 10.0, 31.0], "cpu"),
             *stories.cell("bn254", 4096, "icicle-v2", [9.0, 9.1, 9.0, 90.0], "gpu", 10**9, 1.0)]  # fmt: skip
    for line in lines:
        line.get("labels", {}).update(role="grid")
    for sample in [line for line in lines if line["kind"] == "sample"]:
        state = {"sm_mhz": 1400, "pstate": 5, "reasons": ["sw-thermal"], "pids": [7, 8], "gpu_util": 40, "mem_used": 1}
        lines.append({"kind": "trace", "at_ns": sample["at_ns"] + 9, "fields": {**state, "host_steal": 0.1}})
        sample["evidence"] = sample.get("evidence", {}) | {
            "detail": {"phases_ns": {"alloc": 5}, "state": {"temperature_c": 90}, "pinned": False}
        }
    return copy.deepcopy([*lines, {"kind": "end", "run": "story", "complete": True}])


def _places(value, way=()):
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inner:
        yield (*way, name)
        yield from _places(item, (*way, name))


def _all_that_reads(found):
    check(found)
    for form in Format:
        render(found, form)
    to_versus(rows(found), "cpu", "icicle-v2")
    for clock in ("auto", "cpu_ns", "wall_ns"):
        verdicts_table(compare_paths(found, "cpu", "icicle-v2", clock=clock))
        verdicts_json(compare_records(found, gather(_rich()), clock=clock))
    for _, diagnosis in diagnoses(found):
        diagnosis_text(diagnosis)
    times = series(found)
    cutoff = find_cutoff(times, "cpu", "icicle-v2", "cuda")
    assert cutoff is None or cutoff_text(cutoff, "bn254", {})
    regret_rows(judged(found))
    stability_table(found)
    stability_advice(found)


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_what_the_schema_lets_through_breaks_no_reader(data):
    """Words of a good record replaced, mostly by others of their type; what the schema refuses is put back."""
    lines = _rich()
    for _ in range(data.draw(st.integers(1, 6))):
        line = data.draw(st.sampled_from(lines))
        *way, name = data.draw(st.sampled_from([place for place in _places(line) if place != ("kind",)]))
        owner = reduce(lambda inner, step: inner[step], way, line)
        before = owner[name]
        owner[name] = data.draw(_LIKE.get(type(before), _JUNK) | _JUNK)
        if schema_fault(json.loads(json.dumps(line))):
            owner[name] = before
    with contextlib.suppress(RecordError):
        _all_that_reads(gather(lines))


def test_binary_junk_is_refused(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(bytes(range(256)) + b"\n")
    with pytest.raises(RecordError, match="line 1"):
        read_record([path])


def test_every_line_we_write_fits_the_published_schema(run):
    record = Record()
    run(Fake(), Failing("prepare", Status.UNAVAILABLE), record=record)
    assert [schema_fault(json.loads(json.dumps(line))) for line in record.lines if line["kind"] != "run"] == [None] * (
        len(record.lines) - 1
    )


def test_a_cell_opened_again_starts_afresh():
    again = list(stories.cell("bn254", 4096, "cpu", [3.0, 3.0], "cpu"))
    found = gather([*GOOD, GOOD[0], *again])
    row = next(row for row in rows(found) if row.path == "cpu")
    assert row.wall is not None
    assert row.wall.count == 2


@pytest.mark.parametrize("change", [{"n": 0}, {"curve": None}, {"n": 1}])
def test_a_calibration_of_odd_labels_is_judged_or_left_out(change):
    lines = _rich()
    for line in lines:
        line.get("labels", {}).update(change)
    for line in lines:
        line.get("labels", {}).pop("scope", None)
    assert len(regret_rows(judged(gather(lines)))) == (change != {"n": 0})
