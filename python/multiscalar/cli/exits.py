"""Exit codes of `msm`, one rule for all commands; docs/lab/index.md shows the same table."""

from __future__ import annotations

from typing import Final

from ..errors import BackendUnavailableError, InputError, MultiscalarError, OutOfMemoryError, SrsError

__all__ = ["MEANING", "code_of"]

MEANING: Final = {
    0: "all well",
    1: "a result was wrong, a proof refused or unreadable, a measurement or a gate failed, or output was not written",
    2: "bad usage: an option, a name, a setting or a file that cannot be used",
    3: "not to be had here: a backend, peer, setup or tool that was asked for, or memory for that many terms",
    130: "interrupted; what was measured is kept",
}


def code_of(error: MultiscalarError) -> int:
    """The exit code of a command that `error` ended."""
    if isinstance(error, BackendUnavailableError | OutOfMemoryError | SrsError):
        return 3
    return 2 if isinstance(error, InputError) else 1
