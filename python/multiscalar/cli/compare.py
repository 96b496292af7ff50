"""`msm compare`: two records, two paths of one record, or CPU against GPU measured now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..lab.compare import THRESHOLD, Comparison, compare_paths, compare_records
from ..lab.formats import Format
from ..lab.formats.verdicts import verdicts_json, verdicts_table
from ..lab.formats.versus import to_versus
from ..lab.rows import rows
from ..lab.stopping import Stopping
from ..lab.subject import Subject
from ..lab.warmup import Warmup
from . import options as o
from .calibrate import profile_first
from .plan import OWN, Plan, known, needed, own_subjects, peer_subjects, questions
from .session import Session, measure, read, verdict

__all__ = ["command"]

Files = Annotated[list[Path] | None, typer.Argument(help="Two records A and B, or one with --paths.")]
TwoPaths = Annotated[
    str | None, typer.Option("--paths", help="Two paths, ours or peers: cpu,gnark. Default: cpu,cuda.")
]
Threshold = Annotated[float, typer.Option("--threshold", min=0.0, max=1.0, help="Difference that matters.")]
Clock = Annotated[str, typer.Option("--by", help="wall, cpu, or auto: cpu for one-thread CPU rows.")]


def command(
    files: Files = None,
    paths: TwoPaths = None,
    threshold: Threshold = THRESHOLD,
    by: Clock = "auto",
    curve: o.CurveNames = "bn254",
    sizes: o.Sizes = None,
    preset: o.PresetOption = None,
    seed: o.Seed = 5090,
    warmups: o.Warmups = 1,
    repeats: o.Repeats = 7,
    threads: o.Threads = None,
    scope: o.Scopes = "end-to-end",
    form: o.Formats = Format.TABLE,
    record: o.RecordFile = None,
    quick: o.Quick = False,
) -> None:
    """Say which is faster, by how much, and how sure that is.

    A and B: verdict of B against A for every row that both have; exit 1 if anything is SLOWER. Without files two
    paths are measured now and shown as CPU time, GPU time and the factor.
    """
    pair = o.words(paths or "cpu,cuda", str, "two paths")
    if len(pair) != 2:
        raise o.fail(f"--paths takes two paths, got {paths!r}")
    if by not in ("wall", "cpu", "auto"):
        raise o.fail(f"--by is wall, cpu or auto, not {by!r}")
    clock = by if by == "auto" else f"{by}_ns"
    if files:
        comparison = _of_files(files, pair, threshold, clock)
        typer.echo(verdicts_json(comparison) if form is Format.JSON else verdicts_table(comparison), nl=False)
        raise typer.Exit(comparison.exit_code)
    known(pair, ours=OWN)
    needed(pair, otherwise="; or name two others, e.g. --paths cpu,gnark")
    if "auto" in pair:
        profile_first(o.curve_names(curve))
    small = sizes or ("2^18..2^20" if preset is None else None)
    cases = questions(
        curves=o.curve_names(curve),
        sizes=o.sizes_of(small, preset),
        scopes=o.scopes(scope),
        seed=seed,
        threads=[threads],
    )
    stopping = Stopping(repeats=3 if quick else repeats, time_limit=10.0 if quick else 120.0)
    session = Session(seed=seed, warmup=Warmup(warmups, plateau=True), stopping=stopping, record=record)
    measurements, complete = measure(Plan(cases, _subjects(pair)), session)
    typer.echo(to_versus(rows(measurements), *pair), nl=False)
    raise typer.Exit(verdict(measurements, complete))


def _of_files(files: list[Path], pair: list[str], threshold: float, clock: str) -> Comparison:
    if len(files) == 1:
        return compare_paths(read(files), *pair, threshold=threshold, clock=clock)
    if len(files) != 2:
        raise o.fail(f"compare takes two records, got {len(files)}")
    return compare_records(read(files[:1]), read(files[1:]), threshold=threshold, clock=clock)


def _subjects(pair: list[str]) -> list[Subject]:
    return [subject for name in pair for subject in (own_subjects([name]) if name in OWN else peer_subjects([name]))]
