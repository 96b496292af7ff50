"""What the lab measures: subjects, the cases put to them, and the samples they give.

A *subject* answers one case at a time: our backends in this process, a peer in its own, a prover. A *case* is one
question (curve, size, shape, scope, …) with its inputs and the test of a right answer. The runner knows nothing of
elliptic curves, so that anything with a checkable answer can be measured the same way.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

__all__ = ["Case", "Evidence", "Labels", "Place", "Sample", "Scope", "Subject", "cell_id", "process_ids"]

Labels = Mapping[str, "str | int | None"]


class Scope(StrEnum):
    """What the clock covers (blueprint section 3)."""

    END_TO_END = "end-to-end"
    RESIDENT_BASES = "resident-bases"
    RESIDENT = "resident"
    FIRST_CALL = "first-call"


class Place(StrEnum):
    """Where a subject was asked to compute; `ANY` leaves the choice to it."""

    CPU = "cpu"
    GPU = "gpu"
    ANY = "any"


@dataclass(frozen=True)
class Evidence:
    """What a subject knows about where one result was computed. Absent is None, never zero."""

    backend: str | None = None
    device: str | None = None
    launches: int | None = None
    event_ns: int | None = None
    bytes_moved: int | None = None
    device_bytes_held: int | None = None
    fallback_reason: str | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Only what is known, for the record."""
        return {key: value for key, value in vars(self).items() if value not in (None, {})}


@dataclass(frozen=True)
class Sample:
    """One timed call. Times in ns; `at_ns` is its start on this process's monotonic clock.

    `copy_ns` is time spent moving data to and from the device, `device_ns` the device's own time for the work without
    those copies; both absent where the subject does not tell.
    """

    at_ns: int
    wall_ns: int
    cpu_ns: int | None
    result: object
    copy_ns: int | None = None
    device_ns: int | None = None
    evidence: Evidence = Evidence()


@dataclass(frozen=True)
class Case:
    """One question. `load` makes the inputs when its turn comes; `verify` says what is wrong with a result, or None."""

    labels: Labels
    load: Callable[[], Any]
    verify: Callable[[Any, object], str | None]


class Subject(Protocol):
    """Something that can be measured. Every method may raise `SubjectError`, which becomes the row's status."""

    name: str

    @property
    def place(self) -> Place:
        """Where it was asked to compute."""
        ...

    def describe(self) -> dict[str, Any]:
        """Version, build flags, device: what the record keeps about the subject."""
        ...

    def prepare(self, case: Case, inputs: Any) -> None:
        """Load the case's inputs and do all that its scope leaves out of the clock."""
        ...

    def take(self, count: int, warmups: int) -> Sequence[Sample]:
        """`warmups` untimed calls, then `count` timed ones."""
        ...

    def close(self) -> None:
        """Give back memory and processes; the subject may be prepared again."""
        ...


def process_ids(subjects: Sequence[Subject]) -> list[int]:
    """Processes of the subjects that have one of their own, now. Wrappers are looked through."""
    out = []
    for subject in subjects:
        inner: Any = subject
        while hasattr(inner, "inner"):
            inner = inner.inner
        pid = getattr(inner, "pid", None)
        if isinstance(pid, int):
            out.append(pid)
    return out


def cell_id(labels: Labels, path: str) -> str:
    """Name of a cell, equal in every run that puts the same case to the same subject: 12 hex digits."""
    text = json.dumps({**labels, "path": path}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
