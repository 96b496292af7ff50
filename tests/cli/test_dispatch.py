"""`msm calibrate` and `msm explain` from outside, on a machine with or without a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S


@pytest.fixture
def msm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Run a command with a state of its own."""
    monkeypatch.setenv("MULTISCALAR_STATE_DIR", str(tmp_path / "state"))

    def run(command: str, *files: Path) -> subprocess.CompletedProcess[str]:
        """The words of `command`, in which {0} is a file."""
        words = [word.format(*files) for word in command.split()[1:]]
        command_line = [sys.executable, "-m", "multiscalar.cli", *words]
        return subprocess.run(command_line, capture_output=True, text=True, timeout=PATIENCE_S)

    return run


def test_calibrate_then_explain(msm, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    before = msm("msm explain --curve bls12-377 --size 1025")
    assert before.returncode == 0
    assert "msm calibrate" in before.stdout
    # The page says `msm calibrate --quick`; one curve and a small budget measure the same way in less time.
    done = msm("msm calibrate --quick --curve bls12-377 --budget 4 --force")
    assert done.returncode == 0, done.stderr
    (profile,) = (tmp_path / "state" / "profiles" / "v1").glob("*.json")
    body = json.loads(profile.read_text())
    assert body["schema"] == 1
    assert {row["curve"] for row in body["series"]} == {"bls12-377"}
    after = msm("msm explain --curve bls12-377 --size 1025")
    assert "measured on this machine" in after.stdout
    assert "the first call of a process takes: cpu" in after.stdout
    assert json.loads(msm("msm explain --size 2^12 --json").stdout)["request"][1] == 4096


def test_output_goes_to_a_file(msm, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    target = tmp_path / "mine.json"
    done = msm("msm calibrate --curve bn254 --scope resident-bases --budget 2 --force --output {0}", target)
    assert done.returncode == 0, done.stderr
    assert target.exists()
    assert not (tmp_path / "state").exists()


def test_a_profile_that_cannot_be_used_is_one_line(msm, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    from multiscalar.dispatch.machine import this_machine
    from multiscalar.dispatch.store import path_for

    path = path_for(this_machine())
    path.parent.mkdir(parents=True)
    path.write_text("{")
    done = msm("msm explain --size 2^12")
    assert done.returncode == 0
    assert done.stderr.startswith(f"msm: warning: the profile {path} cannot be used (not JSON")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        "msm explain",
        "msm bench --paths cpu,auto --sizes 4",
        "msm compare --paths cpu,auto --sizes 4",
        "msm doctor --subject auto --size 4",
        "msm prove --backend auto --constraints 10 --variables 5 --depth 2",
    ],
)
def test_a_profile_by_setting_that_is_none_ends_the_command_first(
    msm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "p.json"
    path.write_text("{}")
    monkeypatch.setenv("MULTISCALAR_PROFILE", str(path))
    done = msm(command)
    refused(done, 2, f"profile = {str(path)!r} cannot be read (schema is None")
    assert done.stdout == ""


def test_with_a_cutoff_by_setting_no_profile_is_asked(msm, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("MULTISCALAR_PROFILE", "none.json")
    monkeypatch.setenv("MULTISCALAR_CROSSOVER", "1000")
    assert msm("msm bench --paths auto --sizes 4").returncode == 0


@pytest.mark.parametrize(
    ("command", "code", "word"),
    [
        ("msm calibrate --scope everywhere", 2, "resident-bases"),
        ("msm calibrate --curve ed25519", 2, "bn254"),
        ("msm calibrate --curve ,", 2, "--curve names nothing"),
        ("msm calibrate --budget -5", 2, "budget"),
        ("msm calibrate --budget nan", 2, "budget"),
        ("msm calibrate --for halo2", 2, "snarkvm"),
        ("msm explain --size many", 2, "many"),
    ],
)
def test_bad_usage(msm, command: str, code: int, word: str) -> None:  # type: ignore[no-untyped-def]
    refused(msm(command), code, word)


def refused(done: subprocess.CompletedProcess[str], code: int, word: str) -> None:
    assert done.returncode == code, done.stderr
    assert word in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ("msm explain --plot {0}/x.svg", "no profile"),
        ("msm explain --plot {0}/none/x.svg", "there is no folder"),
        ("msm explain --plot {0}", "it is a folder"),
        ("msm calibrate --budget 600 --output {0}/none/p.json", "there is no folder"),
    ],
)
def test_a_file_that_could_not_be_written_is_refused_first(msm, tmp_path: Path, command: str, word: str) -> None:  # type: ignore[no-untyped-def]
    refused(msm(command, tmp_path), 2, word)
