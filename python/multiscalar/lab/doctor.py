"""The doctor: which treatments a patient can have, and what the samples say of each. Pure over a record.

`treat` builds the treated subjects, which are measured interleaved with the untreated one; `results` judges them;
`diagnoses` explains every cell of a record that has samples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .diagnose.attribute import Diagnosis, diagnose
from .diagnose.trace import trace_of
from .record import Cell, Measurements
from .status import Status
from .subject import Subject
from .treatments.catalogue import CATALOGUE, Patient, Treatment
from .treatments.outcome import Outcome, Result, judge_treatment, spread_of

__all__ = ["Therapy", "diagnoses", "results", "treat"]


@dataclass(frozen=True)
class Therapy:
    """Treated subjects by treatment, and the lines of treatments that are not run."""

    treated: Sequence[tuple[Treatment, Subject]]
    skipped: Sequence[Result]


def treat(patient: Patient, catalogue: Sequence[Treatment] = CATALOGUE) -> Therapy:
    """Every treatment that the patient lets us apply; the rest with the reason or the command."""
    treated, skipped = [], []
    for treatment in catalogue:
        if treatment.apply is None:
            skipped.append(_line(treatment, Outcome.NOT_RUN, f"run it yourself: {treatment.command}"))
            continue
        made = treatment.apply(patient)
        if isinstance(made, str):
            skipped.append(_line(treatment, Outcome.NOT_APPLICABLE, made))
        else:
            treated.append((treatment, made))
    return Therapy(treated, skipped)


def _line(treatment: Treatment, outcome: Outcome, note: str) -> Result:
    return Result(treatment.key, treatment.title, treatment.story, outcome, None, None, note)


def results(measurements: Measurements, untreated: str, therapy: Therapy) -> list[Result]:
    """One line per treatment. A treated cell that failed is "not applicable" with its status."""
    by_path = {cell.path: cell for cell in measurements.cells.values()}
    before_cell = by_path.get(untreated)
    out = list(therapy.skipped)
    for treatment, subject in therapy.treated:
        cell = by_path.get(subject.name)
        if before_cell is None or not _timed(before_cell) or cell is None or not _timed(cell):
            note = f"{cell.status}: {cell.note}" if cell and cell.status else "not measured"
            out.append(_line(treatment, Outcome.NOT_APPLICABLE, note))
            continue
        before, after = spread_of(before_cell.times()), spread_of(cell.times())
        outcome = judge_treatment(before, after)
        out.append(Result(treatment.key, treatment.title, treatment.story, outcome, before, after, subject.name))
    return out


def _timed(cell: Cell) -> bool:
    return cell.status in (Status.OK, Status.UNVERIFIED, None) and len(cell.samples) >= 3


def diagnoses(measurements: Measurements) -> Iterator[tuple[Cell, Diagnosis]]:
    """Every cell with enough samples. A cell that is slow throughout is held against its fastest sibling."""
    cells = [cell for cell in measurements.cells.values() if _timed(cell)]
    for cell in cells:
        yield cell, diagnose(trace_of(measurements, cell), _expected(cell, cells))


def _expected(cell: Cell, cells: Sequence[Cell]) -> float | None:
    """A fast time known from a sibling: the same library on the same case, treated or another version of it."""
    library = cell.path.partition("+")[0].partition("-v")[0]
    kin = [c for c in cells if c.labels == cell.labels and c.path.partition("+")[0].partition("-v")[0] == library]
    fastest = min(min(c.times()) for c in kin)
    return float(fastest) if min(cell.times()) > 3 * fastest else None
