"""`msm story cutoff` and `msm story stability`: both stories by one command each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ..engine import registry
from ..lab.doctor import Therapy, treat
from ..lab.formats import Format, render
from ..lab.lacks import parts_of
from ..lab.record import Measurements
from ..lab.sizes import PRESETS
from ..lab.stopping import Stopping
from ..lab.stories.cutoff import PAIRS, cutoff_text, find_cutoff, series
from ..lab.stories.stability import stability_advice, stability_table
from ..lab.subject import Case, Subject
from ..lab.warmup import Warmup
from . import options as o
from .calibrate import profile_first
from .doctor import explain, treated_text
from .patients import patient
from .plan import Plan, known, own_subjects, peer_subjects, questions
from .session import Session, measure, verdict

__all__ = ["app"]

app = typer.Typer(help="The two stories, one command each.", add_completion=False, no_args_is_help=True)

_ICICLE = ("icicle-v2", "icicle-v3.2", "icicle-v3.9")
_STORY_SIZES = "2^7,2^15,2^20"


@app.command()
def cutoff(
    curve: o.CurveNames = "bls12-377",
    sizes: o.Sizes = None,
    seed: Annotated[
        int, typer.Option("--seed", envvar="MSM_SEED", min=0, max=o.MOST_SEED, help="Seed of the inputs.")
    ] = 5090,
    warmups: o.Warmups = 1,
    repeats: Annotated[int, typer.Option("--repeats", envvar="MSM_REPEATS", min=1, help="Samples a row.")] = 21,
    threads: o.Threads = None,
    peers: o.Peers = "",
    form: o.Formats = Format.CSV,
    record: o.RecordFile = None,
) -> None:
    """CPU, direct GPU and dispatch around snarkVM's cutoff: rows, crossover with interval, the sentence to paste.

    snarkVM's own paths run beside ours where they are built. Rows go to stdout, the sentence to stderr (to stdout with
    --format table).
    """
    typer.echo(f"MSM_SEED={seed} MSM_REPEATS={repeats}", err=True)
    names = o.curve_names(curve)
    asked = _asked(peers)
    profile_first(names)
    beside = _ready(PAIRS[1]) if "bls12-377" in names else []
    subjects = [*own_subjects(None), *peer_subjects([*asked, *(name for name in beside if name not in asked)])]
    chosen = o.sizes_of(sizes, None) if sizes else PRESETS["boundary"]
    session = Session(seed=seed, warmup=Warmup(warmups, plateau=_gpu_here()), stopping=Stopping(repeats), record=record)
    measurements, complete = measure(Plan(_cases(names, chosen, seed, threads), subjects), session)
    typer.echo(render(measurements, form), nl=False)
    for name in names:
        typer.echo(_sentences(measurements, name), err=form is not Format.TABLE, nl=False)
    raise typer.Exit(verdict(measurements, complete))


@app.command()
def stability(
    curve: o.CurveNames = "bn254",
    sizes: o.Sizes = None,
    seed: o.Seed = 5090,
    warmups: o.Warmups = 1,
    repeats: o.Repeats = 10,
    threads: o.Threads = None,
    peers: o.Peers = "",
    treatments: Annotated[bool, typer.Option("--treatments", help="Try the cures on the unsteadiest.")] = False,
    form: o.Formats = Format.RUNS,
    record: o.RecordFile = None,
) -> None:
    """Ours and ICICLE on the same inputs, copy and MSM of every run, typical, worst, variation, diagnosis, advice."""
    asked = _asked(peers)
    beside = [name for name in _ready(_ICICLE) if name not in asked]
    if _gpu_here():
        profile_first(o.curve_names(curve))
    subjects = [*own_subjects(None), *peer_subjects([*asked, *beside])]
    session = Session(
        seed=seed,
        warmup=Warmup(warmups),
        stopping=Stopping(repeats, time_limit=300),
        record=record,
        telemetry=True,
        rewarm=False,
    )
    chosen = o.sizes_of(sizes or _STORY_SIZES, None)
    measurements, complete = measure(Plan(_cases(o.curve_names(curve), chosen, seed, threads), subjects), session)
    typer.echo(render(measurements, form))
    typer.echo(stability_table(measurements))
    typer.echo(explain(measurements))
    typer.echo(stability_advice(measurements), nl=False)
    if treatments and complete:
        _treat(measurements, o.curve_names(curve), max(chosen), threads, session)
    raise typer.Exit(verdict(measurements, complete))


def _cases(names: Sequence[str], sizes: Sequence[int], seed: int, threads: int | None) -> list[Case]:
    return questions(
        curves=names,
        sizes=sizes,
        scopes=o.scopes("end-to-end"),
        seed=seed,
        threads=[threads],
    )


def _asked(peers: str) -> list[str]:
    """The peers of `--peers`, before any work that a wrong name would have been in vain for."""
    names = o.words(peers, str, "peers")
    known(names)
    return names


def _gpu_here() -> bool:
    return registry.availability("cuda").usable


def _ready(names: Sequence[str]) -> list[str]:
    """Peers that are built; one line on stderr for each that is not."""
    out = []
    for name in names:
        reasons = [_not_ready(base) for base in parts_of(name)]
        missing = "; ".join(filter(None, reasons))
        if missing:
            typer.echo(f"{name}: {missing}; not measured", err=True)
        else:
            out.append(name)
    return out


def _not_ready(base: str) -> str:
    """Why the peer cannot be measured now, or an empty text."""
    from ..lab.peers import Fault
    from ..lab.peers.build import no_device, status_of
    from ..lab.peers.registry import find

    spec = find(base)
    if isinstance(spec, Fault):
        return spec.reason
    status = status_of(spec)
    return "" if status.ready else no_device(spec) or f"{status.state}: {status.note}"


def _sentences(measurements: Measurements, curve: str) -> str:
    cells = {key: cell for key, cell in measurements.cells.items() if cell.labels.get("curve") == curve}
    times = series(Measurements(cells=cells))
    machine = measurements.runs[-1]["machine"] if measurements.runs else {}
    names = {"cpu": machine.get("cpu", {}).get("model"), "gpu": machine.get("gpu", {}).get("name")}
    known = {key: value for key, value in names.items() if value}
    found = [find_cutoff(times, *pair) for pair in PAIRS]
    text = "".join(cutoff_text(cutoff, curve, known) for cutoff in found if cutoff is not None)
    return text or f"{curve}: no GPU path was measured here, so there is no crossover to name.\n"


def _treat(measurements: Measurements, names: Sequence[str], size: int, threads: int | None, session: Session) -> None:
    """Try the cures on the subject with the largest variation at the largest size."""
    cells = [
        c for c in measurements.cells.values() if c.labels["n"] == size and len(c.samples) >= 3 and not c.timed_nothing
    ]
    if not cells:
        return
    worst = max(cells, key=lambda c: max(c.times()) / min(c.times())).path
    ill = patient(worst)
    therapy: Therapy = treat(ill)
    subjects: list[Subject] = [ill.make(None, {}), *(subject for _, subject in therapy.treated)]
    treated, _ = measure(Plan(_cases(names, [size], session.seed, threads), subjects), session)
    typer.echo(f"\nTreatments of {worst}:\n" + treated_text(treated, worst, therapy), nl=False)
