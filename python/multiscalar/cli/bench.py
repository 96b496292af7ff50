"""`msm bench`: time multi-scalar multiplications side by side, every result checked."""

from __future__ import annotations

import typer

from ..lab.formats import Format, render
from ..lab.msmcase import Kind
from ..lab.stopping import Stopping
from ..lab.subject import Place, Scope, Subject
from ..lab.warmup import Warmup
from ..shapes import ScalarShape
from . import options as o
from .calibrate import profile_first
from .plan import OWN, Plan, controls, own_subjects, peer_subjects, questions
from .session import Session, measure, verdict

__all__ = ["command"]


def _own_name(word: str) -> str:
    if word not in OWN:
        raise ValueError(word)
    return word


def command(
    curve: o.CurveNames = "bn254",
    sizes: o.Sizes = None,
    preset: o.PresetOption = None,
    seed: o.Seed = 5090,
    warmups: o.Warmups = 1,
    repeats: o.Repeats = 7,
    precision: o.Precision = None,
    time_limit: o.TimeLimit = 120.0,
    threads: o.ThreadsList = "all",
    paths: o.Paths = None,
    peers: o.Peers = "",
    shape: o.Shapes = "uniform",
    scope: o.Scopes = "end-to-end",
    isa: o.IsaOption = "auto",
    batch: o.Batch = "1",
    precompute: o.Precompute = "none",
    inputs: o.InputKind = Kind.KNOWN,
    control: o.Control = False,
    form: o.Formats = Format.TABLE,
    record: o.RecordFile = None,
    resume: o.Resume = False,
    quick: o.Quick = False,
    quiet: o.QuietFlag = False,
) -> None:
    """Time multi-scalar multiplications; every timed result is compared with an independent oracle in affine form.

    Rows go to stdout, progress to stderr. Exit 1 if a result was wrong, 3 if something asked for is not to be had.
    """
    timed = o.scopes(scope)
    if Scope.FIRST_CALL in timed and len(timed) > 1:
        raise o.fail("first-call has processes of its own: measure it apart from other scopes")
    cases = questions(
        curves=o.curve_names(curve),
        sizes=o.sizes_of(sizes, preset),
        shapes=o.words(shape, lambda word: str(ScalarShape(word)), ", ".join(ScalarShape)),
        scopes=timed,
        isas=o.words(isa, lambda word: str(o.Isa(word)), ", ".join(o.Isa)),
        seed=seed,
        threads=o.thread_counts(threads),
        batches=o.batches(batch),
        precomputes=o.precomputes(precompute),
        inputs=inputs,
    )
    subjects = _subjects(paths, peers, fresh=Scope.FIRST_CALL in timed)
    if not cases or not subjects:
        raise o.fail("nothing to measure: no curve, size, path or peer is left")
    if any(subject.name == "auto" for subject in subjects):
        profile_first(o.curve_names(curve))
    stopping = Stopping(3, time_limit=10.0) if quick else Stopping(repeats, precision, time_limit)
    warmup = Warmup(minimum=warmups, plateau=any(subject.place is not Place.CPU for subject in subjects))
    session = Session(seed=seed, warmup=warmup, stopping=stopping, record=record, resume=resume, quiet=quiet)
    plan = Plan([*cases, *controls(cases)] if control else cases, subjects)
    measurements, complete = measure(plan, session)
    typer.echo(render(measurements, form), nl=False)
    raise typer.Exit(verdict(measurements, complete))


def _subjects(paths: str | None, peers: str, *, fresh: bool) -> list[Subject]:
    """Ours, then the peers."""
    asked = o.words(paths, _own_name, ", ".join(OWN)) if paths is not None else None
    named = o.words(peers, str, "the peers that `msm peers` lists")
    return [*own_subjects(asked, fresh=fresh), *peer_subjects(named)]
