"""One table of exit codes: what the code decides is what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest
from multiscalar import errors
from multiscalar.cli.exits import MEANING, code_of
from multiscalar.lab.status import Status, exit_code, failure

PAGE = Path(__file__).resolve().parents[2] / "docs/lab/index.md"


def test_the_page_shows_the_table_of_the_code() -> None:
    rows = [f"| {code} | {meaning} |" for code, meaning in MEANING.items()]
    assert "\n".join(["| code | meaning |", "|---:|---|", *rows]) + "\n\n" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.OptionError("no such option"), 2),
        (errors.CircuitError("no such circuit"), 2),
        (errors.BackendUnavailableError("no GPU"), 3),
        (errors.CoreError("no core"), 3),
        (errors.SrsError("no setup"), 3),
        (errors.OutOfMemoryError("too many terms"), 3),
        (errors.DeviceError("the device was lost"), 1),
        (errors.InternalError("a fault"), 1),
    ],
)
def test_an_error_has_one_code_as_the_end_of_a_command_and_as_a_row(error: errors.MultiscalarError, code: int) -> None:
    assert code_of(error) == code
    if not isinstance(error, errors.InputError | errors.SrsError):  # those end a command before it measures
        assert exit_code([Status.OK, failure(error).status]) == code


def test_memory_that_python_itself_was_refused_is_no_failure_of_ours() -> None:
    assert failure(MemoryError()).status is Status.UNAVAILABLE
    assert failure(OSError("disk full")).status is Status.ERROR
