"""Fakes of the lab's tests: subjects that behave, lie, fail or were never there, on a clock of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from multiscalar.lab.status import Status, SubjectError
from multiscalar.lab.subject import Case, Evidence, Place, Sample

RIGHT = [(1, 2)]


class Fake:
    """A subject whose wall times come from a function of the call's number."""

    def __init__(
        self,
        name: str = "fake",
        wall_ns: Callable[[int], int] = lambda i: 1_000_000 + i,
        *,
        place: Place = Place.CPU,
        result: object = RIGHT,
        evidence: Evidence | None = None,
    ) -> None:
        self.name, self.place = name, place
        self.calls = 0
        self.closed = 0
        self._wall_ns, self._result, self._evidence = wall_ns, result, evidence or Evidence()

    def describe(self) -> dict[str, Any]:
        return {"library": "fake"}

    def prepare(self, case: Case, inputs: Any) -> None:
        self.calls = 0

    def take(self, count: int, warmups: int) -> Sequence[Sample]:
        samples = []
        for _ in range(count):
            samples.append(Sample(self.calls, self._wall_ns(self.calls), 5, self._result, evidence=self._evidence))
            self.calls += 1
        return samples

    def close(self) -> None:
        self.closed += 1


class Failing(Fake):
    """Raises at the stage that its name says."""

    def __init__(self, stage: str, status: Status) -> None:
        super().__init__(f"fails-in-{stage}")
        self._stage, self._status = stage, status

    def prepare(self, case: Case, inputs: Any) -> None:
        super().prepare(case, inputs)
        if self._stage == "prepare":
            raise SubjectError(self._status, "no such library")

    def take(self, count: int, warmups: int) -> Sequence[Sample]:
        if self._stage == "take" and self.calls >= 3:
            raise SubjectError(self._status, "gone")
        return super().take(count, warmups)


def plain_case(n: int = 8, **labels: Any) -> Case:
    return Case(
        {"n": n, "curve": "bn254", "scope": "end-to-end", **labels},
        lambda: None,
        lambda _, result: None if result == RIGHT else "wrong point",
    )
