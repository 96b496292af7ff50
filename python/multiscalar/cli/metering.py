"""Calibration through the lab: every sample is checked, attested and recorded like any other.

`LabMeter` is the dispatch's `Meter` over the lab's own subjects. What it measures is a lab record, from which the
report draws the curves and the regret (`lab.calibration`). First calls are timed in processes of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import Final

from ..arrays import PointArray
from ..curves import curve as find_curve
from ..dispatch.calibrate import GRID_ROLE, NotAttested, NotMeasured
from ..dispatch.profile import SHAPES, Series
from ..errors import OutOfMemoryError
from ..lab.attest import attest
from ..lab.msmcase import MsmInputs, Question, msm_case
from ..lab.record import Record
from ..lab.status import Status, SubjectError
from ..lab.subject import Case, Place, Sample, Scope, Subject, cell_id
from ..lab.subjects.own import Own
from ..lab.subjects.peer import own_program
from ..lab.warmup import ClockReading, Warmup, warm

__all__ = ["LabMeter", "first_calls", "restless"]

WARM_UPS: Final = 2
FIRST_CALLS: Final = 3


@dataclass
class _Cell:
    """One subject at one size, as far as it was measured."""

    id: str
    case: Case
    subject: Subject
    inputs: MsmInputs
    checked: int = 0


@dataclass
class LabMeter:
    """`calibrate.Meter`. Points with known logarithms are made once, for the largest n.

    `clock` is the GPU's, if it answers: `settled` says of each size whether it reached its plateau.
    """

    record: Record
    seed: int = 5090
    clock: ClockReading | None = None
    make: Callable[[str], Subject] = Own
    settled: dict[int, bool] = field(default_factory=dict)
    _points: dict[str, PointArray] = field(default_factory=dict)
    _open: dict[str, _Cell] = field(default_factory=dict)

    def open(self, series: Series, n: int, role: str) -> Callable[[], float]:
        """A warmed-up call of `series` at n; each call of the result checks, attests and times one sample in us."""
        case = self._case(series, n, role)
        subject = self.make(series.backend)
        key = cell_id(case.labels, subject.name)
        if any(cell.case.labels != case.labels for cell in self._open.values()):
            self.close()
        inputs = self._inputs(series, n)
        cell = self._open[key] = _Cell(key, case, subject, inputs)
        try:
            subject.prepare(case, inputs)
            clock = None if subject.place is Place.CPU else self.clock
            samples, report = warm(subject, Warmup(WARM_UPS, plateau=clock is not None), clock)
        except SubjectError as error:
            del self._open[key]
            raise _ended(error, series, n) from None
        if report.plateau is not None:
            self.settled[n] = report.plateau
        self.record.append(
            "cell", cell=key, path=subject.name, place=str(subject.place), labels=dict(case.labels),
            subject=subject.describe(), warmup=asdict(report),
        )  # fmt: skip
        for sample in samples:
            self._keep(cell, sample, warmup=True)
        return lambda: self._sample(cell, series, n)

    def _sample(self, cell: _Cell, series: Series, n: int) -> float:
        try:
            (sample,) = cell.subject.take(1, 0)
        except SubjectError as error:
            raise _ended(error, series, n) from None
        self._keep(cell, sample)
        return sample.wall_ns / 1e3

    def _keep(self, cell: _Cell, sample: Sample, *, warmup: bool = False) -> None:
        """Into the record, and judged: what is wrong, or was computed elsewhere, voids the calibration."""
        told = sample.evidence if warmup else replace(sample.evidence, detail={})  # the plan is that of the warm-up
        self.record.sample(cell.id, replace(sample, evidence=told), warmup=warmup)
        wrong = cell.case.verify(cell.inputs, sample.result)
        status, reason = attest(cell.subject.place, sample.evidence, sample.wall_ns)
        if wrong or status is not Status.OK:
            verdict = Status.MISMATCH if wrong else status
            self.record.append("result", cell=cell.id, status=str(verdict), note=wrong or reason, checked=cell.checked)
            where = f"{cell.subject.name} on {cell.case.labels['curve']} at n = {cell.case.labels['n']:,}"
            raise NotAttested(f"{where}: {wrong or reason}")
        cell.checked += 1

    def close(self) -> None:
        """End the cells in progress: all that they have is right."""
        for cell in self._open.values():
            cell.subject.close()
            self.record.append("result", cell=cell.id, status=str(Status.OK), checked=cell.checked)
        self._open.clear()
        self.record.flush()

    def _case(self, series: Series, n: int, role: str) -> Case:
        question = Question(
            curve=series.curve,
            n=n,
            seed=self.seed,
            shape=SHAPES[series.scalars],
            scope=Scope(series.scope),
            threads=series.threads or None,
            batch=series.batch,
            precompute=str(series.precompute) if series.precompute > 1 else None,
        )
        plain = msm_case(question)
        return Case({**plain.labels, "role": role}, plain.load, plain.verify)

    def _inputs(self, series: Series, n: int) -> MsmInputs:
        handle = find_curve(series.curve)
        made = self._points.get(series.curve)
        if made is None or len(made) < n:
            made = self._points[series.curve] = handle.known_points(n, self.seed)
        shape = SHAPES[series.scalars]
        vectors = [handle.random_scalars(n, self.seed + i, shape) for i in range(series.batch)]
        points = made[:n]
        return MsmInputs(handle, points, vectors, [handle.expected_sum(points, vector) for vector in vectors])


def restless(settled: Mapping[int, bool]) -> str | None:
    """What is wrong with a series whose GPU found no steady clock at more than a quarter of its sizes."""
    never = [n for n, yes in sorted(settled.items()) if not yes]
    if 4 * len(never) <= len(settled):
        return None
    return f"the GPU's clock came to no rest at {len(never)} of {len(settled)} sizes, n = {never[0]:,} among them"


def _ended(error: SubjectError, series: Series, n: int) -> NotMeasured | NotAttested:
    """Too little memory ends a curve; any other failure voids the calibration."""
    if isinstance(error.__cause__, OutOfMemoryError):
        return NotMeasured(error.reason)
    return NotAttested(f"{series.backend} on {series.curve} at n = {n:,}: {error.reason}")


def first_calls(
    record: Record, curve: str, backends: tuple[str, ...], n: int = 1024, make: Callable[[str], Subject] = own_program
) -> dict[str, float]:
    """Microseconds of the first call of a process by "curve/backend", the median of three; in the record as well.

    A backend whose process fails is left out. Errors: `NotAttested` for a wrong sum.
    """
    plain = msm_case(Question(curve=curve, n=n, scope=Scope.FIRST_CALL))
    case = Case({**plain.labels, "role": GRID_ROLE}, plain.load, plain.verify)
    inputs, found = case.load(), {}
    for backend in backends:
        subject = make(backend)
        try:
            subject.prepare(case, inputs)
            samples = [sample for _ in range(FIRST_CALLS) for sample in subject.take(1, 0)]
        except SubjectError:
            continue
        finally:
            subject.close()
        key = cell_id(case.labels, subject.name)
        described = {"library": "multiscalar", "backend": backend}
        record.append("cell", cell=key, path=subject.name, place=str(subject.place), labels=dict(case.labels),
                      subject=described)  # fmt: skip
        for sample in samples:
            record.sample(key, sample)
            if wrong := case.verify(inputs, sample.result):
                raise NotAttested(f"first call of {backend} on {curve}: {wrong}")
        record.append("result", cell=key, status=str(Status.OK), checked=len(samples))
        found[f"{curve}/{backend}"] = median(sample.wall_ns for sample in samples) / 1e3
    return found
