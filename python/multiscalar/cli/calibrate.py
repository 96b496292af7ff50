"""`msm calibrate`: measure where CPU and GPU win on this machine, and keep the profile that `auto` uses."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ..dispatch import store
from ..dispatch.calibrate import Grid, NotAttested, Outcome, calibrate
from ..dispatch.machine import this_machine
from ..dispatch.meter import EngineMeter, usable_gpu
from ..dispatch.profile import Profile, Series, to_json
from ..errors import MultiscalarError
from . import options as o

__all__ = ["command"]

QUICK_S, FULL_S = 20.0, 300.0
SCOPES = ("end-to-end", "resident-bases", "resident")


def command(
    curve: o.CurveNames = "bn254,bls12-377,bls12-381",
    scope: Annotated[str, typer.Option("--scope", help=f"Scopes: {', '.join(SCOPES)}.")] = "end-to-end,resident-bases",
    quick: Annotated[bool, typer.Option("--quick", help=f"About {QUICK_S:.0f} s a curve, to 2^18.")] = False,
    budget: Annotated[float | None, typer.Option("--budget", help="Seconds a curve instead.")] = None,
    threads: o.Threads = None,
    force: Annotated[bool, typer.Option("--force", help="Save even what is unstable, marked so.")] = False,
    output: Annotated[Path | None, typer.Option("--output", help="Write the profile here, not to the state.")] = None,
    for_: Annotated[
        str | None, typer.Option("--for", help="snarkvm, gnark or generic: the cutoff that their dispatch should use.")
    ] = None,
) -> None:
    """Measure cost curves of CPU and GPU, find the crossovers, judge them on sizes off the grid, save the profile."""
    if for_ is not None:
        from .cutoffs import cutoff_for

        raise typer.Exit(cutoff_for(for_, quick=quick))
    if output is not None:
        o.writable(output)
    try:
        seconds = budget or (QUICK_S if quick else FULL_S)
        outcomes = _measure(o.curve_names(curve), _scopes(scope), seconds, quick, threads)
    except NotAttested as error:
        raise o.fail(f"not saved: {error}", code=1) from None
    except MultiscalarError as error:
        raise o.fail(str(error), code=3) from None
    for outcome in outcomes:
        typer.echo(_summary(outcome))
    unstable = [outcome for outcome in outcomes if not outcome.stable]
    if unstable and not force:
        typer.echo("not saved (--force saves it marked unstable)", err=True)
        raise typer.Exit(1)
    profile = _profile(outcomes, bool(unstable))
    if output is not None:
        o.write(output, to_json(profile))
        typer.echo(f"profile {profile.id} written to {output}", err=True)
        return
    try:
        path = store.save(profile)
    except MultiscalarError as error:
        raise o.fail(str(error), code=1) from None
    typer.echo(f"profile {profile.id} saved to {path}", err=True)


def _scopes(text: str) -> list[str]:
    chosen = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in chosen if word not in SCOPES]
    if unknown or not chosen:
        raise o.fail(f"scope = {text!r}; accepted: a list of {', '.join(SCOPES)}")
    return chosen


def _measure(names: list[str], scopes: list[str], budget: float, quick: bool, threads: int | None) -> list[Outcome]:
    reason = usable_gpu()
    if reason is not None:
        typer.echo(f"CPU only: {reason}", err=True)
    meter = EngineMeter()
    grid = Grid(high=1 << 18, hold_out=6) if quick else Grid(high=1 << 22, hold_out=16)
    if reason is not None:
        grid = replace(grid, high=1 << 16)
    outcomes = []
    for name in names:
        for scope in scopes:
            if reason is not None and scope == "resident":
                continue
            series = Series(name, "cpu", scope, threads=threads or 0)
            share = budget / len(scopes)
            started = time.monotonic()
            outcomes.append(calibrate(meter, series, grid=grid, budget_s=share, gpu=reason is None, progress=_progress))
            _progress(f"{name} {scope}: {time.monotonic() - started:.0f} s")
    return outcomes


def _progress(text: str) -> None:
    typer.echo(text, err=True)


def _profile(outcomes: list[Outcome], unstable: bool) -> Profile:
    curves = {}
    for outcome in outcomes:
        curves[replace(outcome.series, backend="cpu")] = outcome.cpu
        if outcome.gpu is not None:
            curves[replace(outcome.series, backend="cuda")] = outcome.gpu
    return Profile(
        machine=this_machine(),
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        curves=curves,
        hold_out={replace(x.series, backend="cpu").key(): x.hold_out for x in outcomes if x.hold_out},
        unstable=unstable,
        notes=tuple(problem for outcome in outcomes for problem in outcome.problems),
    )


def _summary(outcome: Outcome) -> str:
    lines = [f"{outcome.series.curve} {outcome.series.scope}"]
    if outcome.gpu is None:
        lines.append("  CPU only: no crossover to find")
    for boundary in outcome.found:
        lines.append(f"  n = {boundary.n:,} [{boundary.low:,.0f}, {boundary.high:,.0f}]: {boundary.after} above")
    if outcome.gpu is not None and not outcome.found:
        lines.append("  one side wins everywhere in the measured range")
    if outcome.hold_out:
        middle, p95, worst = outcome.regrets()
        lines.append(
            f"  regret on {len(outcome.hold_out)} hold-out sizes: median {middle:.1%}, p95 {p95:.1%}, worst {worst:.1%}"
        )
    lines += [f"  unstable: {problem}" for problem in outcome.problems]
    return "\n".join(lines)
