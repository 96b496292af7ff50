"""`msm doctor`: why is the timing unstable? Measures with telemetry, explains, and tries the cures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..engine import registry
from ..lab.diagnose.words import diagnosis_text
from ..lab.doctor import Therapy, diagnoses, results, treat
from ..lab.formats.treatments import recommendation, to_treatments
from ..lab.record import Measurements
from ..lab.sizes import size_text
from ..lab.stopping import Stopping
from ..lab.treatments.outcome import spread_of
from ..lab.warmup import Warmup
from . import options as o
from .calibrate import profile_first
from .patients import patient
from .plan import Plan, questions
from .session import Session, measure, read, verdict

__all__ = ["command", "explain"]

SubjectName = Annotated[str | None, typer.Option("--subject", help="cpu, cuda, auto or a peer. Default: cuda if here.")]
Size = Annotated[str, typer.Option("--size", help="Number of terms, e.g. 2^20.")]
Treatments = Annotated[bool, typer.Option("--treatments", help="Try the cures one by one beside the untreated.")]
FromFile = Annotated[list[Path] | None, typer.Option("--read", help="Diagnose records instead of measuring.")]


def command(
    subject: SubjectName = None,
    size: Size = "2^16",
    curve: o.CurveNames = "bn254",
    seed: o.Seed = 5090,
    repeats: o.Repeats = 40,
    time_limit: o.TimeLimit = 60.0,
    threads: o.Threads = None,
    scope: o.Scopes = "end-to-end",
    treatments: Treatments = False,
    files: FromFile = None,
    record: o.RecordFile = None,
) -> None:
    """Run multiplications while GPU and host are watched; rank what explains the slow samples.

    Every cause is held to its arithmetic; what is left over is called unexplained. Nothing on the machine is changed:
    cures that would are printed as commands.
    """
    if files:
        typer.echo(explain(read(files)), nl=False)
        return
    name = subject or ("cuda" if registry.availability("cuda").usable else "cpu")
    ill = patient(name)
    if name == "auto":
        profile_first(o.curve_names(curve))
    therapy = treat(ill) if treatments else Therapy([], [])
    cases = questions(
        curves=o.curve_names(curve),
        sizes=o.sizes_of(size, None),
        scopes=o.scopes(scope),
        seed=seed,
        threads=[threads],
    )
    plan = Plan(cases, [ill.make(None, {}), *(treated for _, treated in therapy.treated)])
    stopping = Stopping(repeats=repeats, time_limit=time_limit)
    session = Session(seed=seed, warmup=Warmup(1), stopping=stopping, record=record, telemetry=True, rewarm=False)
    measurements, complete = measure(plan, session)
    typer.echo(explain(measurements), nl=False)
    if treatments:
        typer.echo("\n" + treated_text(measurements, name, therapy), nl=False)
    untreated = [cell.status for cell in measurements.cells.values() if cell.path == name]
    raise typer.Exit(verdict(measurements, complete, only=untreated))


def explain(measurements: Measurements) -> str:
    """The diagnosis of every cell; a cell without samples gives its status."""
    parts = [
        f"{cell.path}, {cell.labels.get('curve', '')} {size_text(cell.labels['n'])}: {cell.status}: {cell.note}\n"
        for cell in measurements.cells.values()
        if not cell.samples
    ]
    for cell, diagnosis in diagnoses(measurements):
        parts.append(diagnosis_text(diagnosis, f"{cell.path}, {cell.labels.get('curve', '')} "
                                    f"{size_text(cell.labels['n'])}"))  # fmt: skip
    return "\n".join(parts) or "no samples: nothing to diagnose\n"


def treated_text(measurements: Measurements, name: str, therapy: Therapy) -> str:
    """The table of treatments and the recommendation."""
    found = results(measurements, name, therapy)
    text = to_treatments(found)
    times = [cell.times() for cell in measurements.cells.values() if cell.path == name and cell.samples]
    return text + ("\n" + recommendation(name, spread_of(times[0]), found) if times else "")
