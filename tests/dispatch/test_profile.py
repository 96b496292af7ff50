"""Profiles as files: round trips, hostile text, merging under a lock, who may read what."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import subprocess
import sys
import tracemalloc
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import multiscalar as ms
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multiscalar import jsontext
from multiscalar.dispatch import store
from multiscalar.dispatch.profile import Machine, ProfileError, Series, from_json, to_json

from tests.patience import PATIENCE_S

from . import machines

HERE = Machine("cpu A", 2, "build1", "scalar", "GPU X", 132, None, "kern1", {"driver": "13.0"})


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULTISCALAR_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(store, "SITE", tmp_path / "site")
    monkeypatch.setattr(store, "_warned", set())


def profile(machine: Machine = HERE) -> Any:
    return machines.profile_of(machines.story_1(), machine)


def test_round_trip() -> None:
    once = from_json(to_json(profile()), "a test")
    assert from_json(to_json(once), "a test") == once
    assert once.id == from_json(to_json(once), "elsewhere").id


WHOLE = to_json(profile())
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_hostile_text_is_an_error_and_nothing_else(data: st.DataObject) -> None:
    body = json.loads(WHOLE)
    target = data.draw(st.sampled_from([body, body["machine"], body["series"][0], body["series"][0]["points"][0]]))
    target[data.draw(st.sampled_from(sorted(target)))] = data.draw(JUNK)
    text = json.dumps(body)
    with contextlib.suppress(ProfileError):
        from_json(text, "a test")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema": 2}', '{"schema": 1}', "[" * 100_000, "\0"])
def test_what_is_no_profile_is_refused(text: str) -> None:
    with pytest.raises(ProfileError):
        from_json(text, "a test")


def test_a_deep_text_is_refused_in_a_process_with_a_huge_recursion_limit() -> None:
    deep = "import sys; from multiscalar import jsontext; sys.setrecursionlimit(10**6); jsontext.parse('[' * 10**6)"
    done = subprocess.run([sys.executable, "-c", deep], capture_output=True, text=True)
    assert done.returncode == 1
    assert "ValueError: lists and objects nested more than 64 deep" in done.stderr


@pytest.mark.parametrize("text", ["[" * 100, "\\" * 99, '"' * 99, '\\"[' * 99, '\\\\"{[' * 99, "[]\\", "\n\t[\x00"])
def test_brackets_in_strings_are_not_depth(text: str) -> None:
    value = {text: [text, [1, {"k": text}]], "many": [[]] * 100}
    assert jsontext.parse(json.dumps(value)) == value
    deep = json.dumps([text, [text]])[:-2] + "[" * 65 + "]" * 67
    with pytest.raises(ValueError, match="more than 64 deep"):
        jsontext.parse(deep)


def test_a_site_folder_that_may_not_be_looked_into_has_no_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        def is_dir(self) -> bool:
            raise PermissionError("not for you")

    monkeypatch.setattr(store, "SITE", Closed())
    assert store.find(HERE) is None


def test_half_a_surrogate_pair_is_no_text() -> None:
    assert jsontext.parse('"\\ud83d\\ude00 \\u00e9"') == "\U0001f600 \u00e9"
    for text in ('"\\ud83d"', '["\\udc00 "]', '{"\\ud800": 1}'):
        with pytest.raises(ValueError, match="surrogates"):
            jsontext.parse(text)


@pytest.mark.parametrize("inside", ["a", "\\n", "\\\\", '\\"'], ids=["plain", "newlines", "backslashes", "quotes"])
def test_a_long_string_costs_a_few_times_its_length(inside: str) -> None:
    text = '["' + inside * (1 << 20) + '"' + ",[]" * 70 + "]"
    tracemalloc.start()
    try:
        jsontext.parse(text)
        assert tracemalloc.get_traced_memory()[1] < 8 * len(text)
    finally:
        tracemalloc.stop()


def test_save_find_and_merge() -> None:
    store.save(profile())
    other = replace(profile(), curves={Series("bn254", "cpu"): machines.story_1()[0]})
    path = store.save(other)
    found = store.find(HERE)
    assert found is not None
    assert {series.curve for series in found.curves} == {"bls12-377", "bn254"}
    assert path.parent == store.folder()


def test_another_machine_does_not_clobber_and_is_not_used() -> None:
    store.save(profile())
    there = replace(HERE, gpu="GPU Y")
    assert store.find(there) is None
    store.save(profile(there))
    assert store.find(HERE) is not None
    assert len(list(store.folder().glob("*.json"))) == 2


@pytest.mark.parametrize("change", [{"kernels": "kern2"}, {"core": "build2"}, {"isa": "ifma512"}, {"threads": 16}])
def test_a_stale_profile_is_not_used(change: dict[str, Any]) -> None:
    store.save(profile())
    assert store.find(replace(HERE, **change)) is None


def test_a_drift_is_noted_and_kept() -> None:
    store.save(profile())
    newer = replace(HERE, drifts={"driver": "13.1"})
    found = store.find(newer)
    assert found is not None
    assert found.machine.drift(newer) == {"driver": ("13.0", "13.1")}


def test_a_corrupt_file_warns_once_and_is_replaced() -> None:
    path = store.save(profile())
    path.write_text("{ not json")
    with pytest.warns(ms.errors.ProfileWarning, match="msm calibrate"):
        assert store.find(HERE) is None
    assert store.find(HERE) is None
    store.save(profile())
    assert store.find(HERE) is not None


def test_an_oversized_file_is_not_read() -> None:
    path = store.save(profile())
    with path.open("r+b") as file:
        file.truncate(1 << 30)
    with pytest.warns(ms.errors.ProfileWarning, match="larger"):
        assert store.find(HERE) is None


def test_off_and_a_named_file(tmp_path: Path) -> None:
    store.save(profile())
    with ms.using(profile="off"):
        assert store.find(HERE) is None
    named = tmp_path / "mine.json"
    named.write_text(to_json(profile(replace(HERE, gpu="GPU Z"))))
    with ms.using(profile=str(named)):
        found = store.find(HERE)
        assert found is not None
        assert found.machine.gpu == "GPU Z"
    for name, text, why in (
        ("absent", None, "No such file"),
        ("text", b"hi", "not JSON"),
        ("raw", b"\xff", "not UTF-8"),
    ):
        path = tmp_path / name
        if text is not None:
            path.write_bytes(text)
        with warnings.catch_warnings(), ms.using(profile=str(path)):
            warnings.simplefilter("error")  # the error says why, no warning beside it
            with pytest.raises(ms.errors.OptionError, match=rf"{name}.*\({why}"):
                store.find(HERE)


def test_a_site_profile_serves_who_has_none() -> None:
    store.SITE.mkdir()
    (store.SITE / "a.json").write_text(to_json(profile()))
    found = store.find(HERE)
    assert found is not None
    assert "site" in found.origin


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes anywhere")
def test_a_read_only_home_by_permission(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir(mode=0o500)
    with pytest.raises(ms.errors.OptionError, match="MULTISCALAR_STATE_DIR"):
        store.save(profile())


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder should be")
    with pytest.raises(ms.errors.OptionError, match="MULTISCALAR_STATE_DIR"):
        store.save(profile())


def _save(curve: str) -> None:
    store.save(machines.profile_of(machines.story_1(), HERE, curve))


def test_two_calibrations_at_once_lose_nothing() -> None:
    context = multiprocessing.get_context("fork")
    names = ["bn254", "bls12-377", "bls12-381"]
    for _ in range(5):
        workers = [context.Process(target=_save, args=(name,)) for name in names]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(PATIENCE_S)
        assert all(worker.exitcode == 0 for worker in workers)
        found = store.find(HERE)
        assert found is not None
        assert {series.curve for series in found.curves} == set(names)
        store.path_for(HERE).unlink()
