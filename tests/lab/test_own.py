"""Our own backends as subjects: what a GPU backend says of itself decides its row, through the public API."""

from __future__ import annotations

import pytest
from multiscalar.engine import registry
from multiscalar.engine.backend import Availability
from multiscalar.engine.cpu import backend as cpu_backend
from multiscalar.errors import DeviceError, OutOfMemoryError
from multiscalar.lab import lacks
from multiscalar.lab.formats import Format, render
from multiscalar.lab.msmcase import Kind, Question, msm_case
from multiscalar.lab.rows import rows
from multiscalar.lab.status import Status
from multiscalar.lab.subject import Scope
from multiscalar.lab.subjects.own import Own


class Prepared:
    def __init__(self, inner, told, fails):
        self._inner, self._told, self._fails = inner, told, fails

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def __len__(self):
        return len(self._inner)

    def msm(self, vectors, options):
        if self._fails:
            raise self._fails
        outcomes = self._inner.msm(vectors, options)
        return [outcome._replace(run=outcome.run._replace(**self._told)) for outcome in outcomes]


class FakeCuda:
    """Computes on the CPU and tells what a test wants it to tell."""

    name = "cuda"

    def __init__(self, fails=None, usable=True, **told):
        self._told, self._fails, self._usable = {"backend": "cuda", "device": "fake", **told}, fails, usable

    def availability(self):
        return Availability(self._usable, "" if self._usable else "no driver")

    def prepare(self, points, options):
        return Prepared(cpu_backend().prepare(points, options), self._told, self._fails)

    def msm(self, points, scalars, options):
        (outcome,) = self.prepare(points, options).msm([scalars], options)
        return outcome


def measured(monkeypatch, run, backend, **question):
    monkeypatch.setitem(registry._loaded, "cuda", backend)
    asked = {"curve": "bn254", "n": 40, "threads": 1, **question}
    found = run(Own("cuda"), case=msm_case(Question(**asked)), repeats=3)
    (row,) = rows(found)
    return row, found


HONEST = {"launches": 9, "phases_ns": {"digits": 20, "accumulate": 100}, "copied_bytes": 1280}


@pytest.mark.parametrize("scope", [Scope.END_TO_END, Scope.RESIDENT_BASES])
def test_an_honest_device_is_attested_and_its_time_is_split(monkeypatch, run, scope):
    row, found = measured(monkeypatch, run, FakeCuda(**HONEST), scope=scope)
    assert row.status is Status.OK
    assert row.device_us == 0.12
    assert row.copy_us is None
    assert "(Copy and host: " in render(found, Format.RUNS)


@pytest.mark.parametrize(
    ("told", "status"),
    [
        ({**HONEST, "backend": "cpu"}, Status.NOT_ATTESTED),
        ({**HONEST, "launches": 0}, Status.NOT_ATTESTED),
        ({**HONEST, "phases_ns": {"accumulate": 10**12}}, Status.NOT_ATTESTED),
        ({**HONEST, "fallback_reason": "device lost"}, Status.NOT_ATTESTED),
    ],
)
def test_a_device_that_was_not_used_enters_no_table(monkeypatch, run, told, status):
    row, _ = measured(monkeypatch, run, FakeCuda(**told))
    assert row.status is status
    assert row.median_us is None


def test_errors_and_absence_are_rows(monkeypatch, run):
    row, _ = measured(monkeypatch, run, FakeCuda(fails=OutOfMemoryError("8 GiB needed, 1 GiB free")))
    assert (row.status, row.note) == (Status.UNAVAILABLE, "8 GiB needed, 1 GiB free")
    row, _ = measured(monkeypatch, run, FakeCuda(fails=DeviceError("the device was lost")))
    assert (row.status, row.note) == (Status.ERROR, "the device was lost")
    monkeypatch.setattr(lacks, "gpu_lack", lambda: None)
    row, _ = measured(monkeypatch, run, FakeCuda(usable=False))
    assert (row.status, row.note) == (Status.UNAVAILABLE, "no driver")


def test_a_wrong_point_is_a_mismatch_with_both_points(monkeypatch, run):
    class Wrong(FakeCuda):
        def msm(self, points, scalars, options):
            outcome = super().msm(points, scalars, options)
            return outcome._replace(x=1, y=2)

    row, _ = measured(monkeypatch, run, Wrong(**HONEST))
    assert row.status is Status.MISMATCH
    assert "got (0x1, 0x2), expected (0x" in row.note


def test_options_reach_the_call_and_the_record(run):
    found = run(Own("cpu", name="cpu+window=5", options={"window": 5}), case=msm_case(Question(curve="bn254", n=700)))
    (cell,) = found.cells.values()
    assert cell.status is Status.OK
    assert cell.path == "cpu+window=5"
    assert cell.samples[0]["evidence"]["detail"]["window"] == 5


def test_files_hold_what_the_case_means():
    import numpy as np

    inputs = msm_case(Question(curve="bls12-377", n=7, shape="uint8", inputs=Kind.INDEPENDENT)).load()
    points, scalars = inputs.files()
    assert np.fromfile(points, "<u8").reshape(7, 2, 6).tolist() == inputs.points.data.tolist()
    wide = np.fromfile(scalars, "<u8").reshape(7, 4)
    assert wide[:, 0].tolist() == [int(s) for s in inputs.scalars[0]]
    assert not wide[:, 1:].any()
    inputs.remove_files()
    assert not points.exists()


@pytest.mark.parametrize("scope", [Scope.END_TO_END, Scope.RESIDENT_BASES])
def test_a_row_that_names_no_instruction_set_takes_the_users_setting(monkeypatch, run, scope):
    monkeypatch.setenv("MULTISCALAR_ISA", "scalar")
    asked = Question(curve="bn254", n=40, threads=1, scope=scope)
    (row,) = rows(run(Own("cpu"), case=msm_case(asked), repeats=3))
    assert (row.status, row.ran("isa")) == (Status.OK, "scalar")
