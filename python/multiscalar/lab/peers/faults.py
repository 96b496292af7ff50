"""What a peer did wrong, as a value: the lab turns it into a row, never into an exception.

The kinds are the words of the `status` column (blueprint: status), for the part of them that a peer can cause.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["Fault", "FaultKind"]


class FaultKind(StrEnum):
    """Words equal to those of the lab's `Status`."""

    ERROR = "ERROR"
    TIMEOUT = "TIMEOUT"
    CRASHED = "CRASHED"
    UNSUPPORTED = "UNSUPPORTED"
    UNAVAILABLE = "UNAVAILABLE"


@dataclass(frozen=True, slots=True)
class Fault:
    """A peer could not or did not answer: `status` is the row's word, `reason` its note."""

    status: FaultKind
    reason: str
