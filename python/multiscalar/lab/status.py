"""What became of a measurement: the word in the `status` column, and the exit code it leads to.

The words are those of every format, record and peer; a row has a time only where the word is `ok`.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from ..errors import BackendUnavailableError, MultiscalarError

__all__ = ["FAILURES", "Status", "SubjectError", "exit_code", "failure"]


class Status(StrEnum):
    """Outcome of one cell (a subject on one case)."""

    OK = "ok"
    MISMATCH = "MISMATCH"
    ERROR = "ERROR"
    TIMEOUT = "TIMEOUT"
    CRASHED = "CRASHED"
    UNSUPPORTED = "UNSUPPORTED"
    UNAVAILABLE = "UNAVAILABLE"
    NOT_ATTESTED = "NOT_ATTESTED"
    UNVERIFIED = "UNVERIFIED"


# A library that does not do a curve is a fact, not a failure; nor is a true result whose place is unproven.
_HARMLESS = frozenset({Status.OK, Status.UNSUPPORTED, Status.UNVERIFIED})


class SubjectError(Exception):
    """A subject could not do what it was asked; `status` and `reason` become its row."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(f"{status}: {reason}")
        self.status = status
        self.reason = reason


# What measuring may meet through no fault of the lab: refusals, memory or disk that is short. Each becomes a row.
FAILURES: Final = (SubjectError, MultiscalarError, MemoryError, OSError)


def failure(error: BaseException) -> SubjectError:
    """One of `FAILURES` as the status and reason of a row. Memory is not to be had as a backend may not be."""
    if isinstance(error, SubjectError):
        return error
    absent = isinstance(error, BackendUnavailableError | MemoryError)
    return SubjectError(Status.UNAVAILABLE if absent else Status.ERROR, str(error) or type(error).__name__)


def exit_code(statuses: Iterable[Status]) -> int:
    """0 all well, 1 a result was wrong or failed, 3 something asked for is not to be had (1 wins over 3)."""
    worst = 0
    for status in statuses:
        if status is Status.UNAVAILABLE:
            worst = worst or 3
        elif status not in _HARMLESS:
            return 1
    return worst
