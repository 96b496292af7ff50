"""`msm calibrate`: measure where CPU and GPU win on this machine, and keep the profile that `auto` uses."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ..dispatch import store
from ..dispatch.agreement import WANTED, Found, compare, found_in
from ..dispatch.calibrate import Grid, NotAttested, NotMeasured, Outcome, calibrate
from ..dispatch.machine import this_machine
from ..dispatch.profile import Profile, ProfileError, Series, to_json
from ..errors import MultiscalarError
from ..lab.calibration import judged
from ..lab.lacks import own_lack
from ..lab.machine import watched_device
from ..lab.record import Record, RecordError
from ..settings import setting
from . import options as o
from .metering import LabMeter, first_calls, restless
from .session import read, recorded

__all__ = ["command", "profile_first"]

QUICK_S, FULL_S = 20.0, 300.0
QUICK_HOLD_OUT, FULL_HOLD_OUT = 6, 44
SCOPES = ("end-to-end", "resident-bases", "resident")


def command(
    curve: o.CurveNames = "bn254,bls12-377,bls12-381",
    scope: Annotated[str, typer.Option("--scope", help=f"Scopes: {', '.join(SCOPES)}.")] = ",".join(SCOPES),
    quick: Annotated[bool, typer.Option("--quick", help=f"About {QUICK_S:.0f} s a curve, to 2^18.")] = False,
    budget: Annotated[float | None, typer.Option("--budget", min=0.1, help="Seconds a curve instead.")] = None,
    threads: o.Threads = None,
    force: Annotated[bool, typer.Option("--force", help="Save even what is unstable, marked so.")] = False,
    output: Annotated[Path | None, typer.Option("--output", help="Write the profile here, not to the state.")] = None,
    record: o.RecordFile = None,
    both: Annotated[
        tuple[Path, Path] | None, typer.Option("--compare", help="Measure nothing: do two profiles or records agree?")
    ] = None,
    for_: Annotated[
        str | None, typer.Option("--for", help="snarkvm, gnark or generic: the cutoff that their dispatch should use.")
    ] = None,
) -> None:
    """Measure cost curves of CPU and GPU, find the crossovers, judge them on sizes off the grid, save the profile."""
    if for_ is not None:
        from .cutoffs import cutoff_for

        raise typer.Exit(cutoff_for(for_, quick=quick, record=record))
    if both is not None:
        raise typer.Exit(_compared(*both))
    if output is not None:
        o.writable(output)
    names, scopes = o.curve_names(curve), _scopes(scope)
    seconds = budget or (QUICK_S if quick else FULL_S)
    try:
        with _recording(record) as lines:
            outcomes, first = _measure(lines, names, scopes, seconds, quick, threads)
    except (NotAttested, NotMeasured) as error:
        raise o.fail(f"not saved: {error}", code=1) from None
    except MultiscalarError as error:
        raise o.fail(str(error), code=3) from None
    except OSError as error:  # of the record: the disk is full
        raise o.fail(f"cannot go on: {error}", code=1) from None
    for outcome in outcomes:
        typer.echo(_summary(outcome))
    unstable = [outcome for outcome in outcomes if not outcome.stable]
    if unstable and not force:
        typer.echo("not saved (--force saves it marked unstable)", err=True)
        raise typer.Exit(1)
    _keep(_profile(outcomes, first, bool(unstable)), output)


def profile_first(curves: Sequence[str]) -> None:
    """For commands that let `auto` choose: with the setting calibrate=once a missing profile is measured now, quickly.

    Missing: none of this machine has these curves. Without a GPU there is nothing to choose, and nothing is measured.
    Errors: `OptionError` for a profile by setting that is none, before it would spoil every row of `auto`.
    """
    if setting("crossover") is None:
        store.named()
    if setting("calibrate") != "once" or _usable_gpu() is not None:
        return
    here = this_machine()
    known = store.read(store.path_for(here), "measured on this machine")
    have = {series.curve for series in known.curves} if known and not known.machine.mismatch(here) else set()
    wanted = [name for name in curves if name not in have]
    if not wanted:
        return
    typer.echo(f"no profile of this machine for {', '.join(wanted)}: measuring it first (calibrate=once)", err=True)
    try:
        outcomes, first = _measure(Record(), wanted, SCOPES, QUICK_S, True, None)
    except (NotAttested, NotMeasured, MultiscalarError) as error:
        typer.echo(f"not saved: {error}", err=True)
        return
    if unstable := [problem for outcome in outcomes for problem in outcome.problems]:
        typer.echo(f"not saved: {unstable[0]}; msm calibrate takes more time", err=True)
        return
    _keep(_profile(outcomes, first, False), None)


def _keep(profile: Profile, output: Path | None) -> None:
    if output is not None:
        o.write(output, to_json(profile))
        typer.echo(f"profile {profile.id} written to {output}", err=True)
        return
    try:
        path = store.save(profile)
    except MultiscalarError as error:
        raise o.fail(str(error), code=1) from None
    typer.echo(f"profile {profile.id} saved to {path}", err=True)


def _compared(a: Path, b: Path) -> int:
    """Print how far two calibrations agree; 0 if as far as two of one machine should."""
    agreement = compare(_found(a), _found(b))
    if not agreement.series:
        raise o.fail("the two have no series with CPU and GPU in common")
    typer.echo(str(agreement))
    return int(agreement.share < WANTED)


def _found(path: Path) -> Found:
    """The boundaries of a calibration, from its record or its profile."""
    if path.suffix == ".jsonl":
        return {Series(one.curve, "cpu", one.scope): one.found for one in judged(read([path]))}
    try:
        return found_in(store.load(path, str(path)))
    except ProfileError as error:
        raise o.fail(f"{path} is no profile ({error}); `msm calibrate --output FILE` writes one") from None


def _scopes(text: str) -> list[str]:
    chosen = [word.strip() for word in text.split(",") if word.strip()]
    unknown = [word for word in chosen if word not in SCOPES]
    if unknown or not chosen:
        raise o.fail(f"scope = {text!r}; accepted: a list of {', '.join(SCOPES)}")
    return chosen


@contextmanager
def _recording(path: Path | None) -> Iterator[Record]:
    """A lab record, in the file if one was named; its run is complete if the block was."""
    try:
        record = Record(path)
    except (OSError, RecordError) as error:
        raise o.fail(f"cannot write the record: {error}") from None
    with recorded(record, 5090, {"calibration": True}):
        yield record


def _usable_gpu() -> str | None:
    """None if the GPU can be calibrated, else why not."""
    missing = own_lack("cuda")
    return str(missing) if missing else None


def _measure(
    record: Record, names: Sequence[str], scopes: Sequence[str], budget: float, quick: bool, threads: int | None
) -> tuple[list[Outcome], dict[str, float]]:
    """Every curve in every scope, and the first call of a process by "curve/backend"."""
    reason = _usable_gpu()
    if reason is not None:
        typer.echo(f"CPU only: {reason}", err=True)
    device = watched_device()[0] if reason is None else None
    meter = LabMeter(record, clock=device.sm_clock if device else None)
    grid = Grid(high=1 << 18, hold_out=QUICK_HOLD_OUT) if quick else Grid(high=1 << 22, hold_out=FULL_HOLD_OUT)
    if reason is not None:
        grid = replace(grid, high=1 << 16)
        scopes = [scope for scope in scopes if scope != "resident"]
    outcomes, first = [], {}
    for name in names:
        first.update(first_calls(record, name, ("cpu", "cuda") if reason is None else ("cpu",)))
        for scope in scopes:
            series = Series(name, "cpu", scope, threads=threads or 0)
            started = time.monotonic()
            outcome = calibrate(meter, series, grid=grid, budget_s=budget / len(scopes), gpu=reason is None,
                                progress=_progress)  # fmt: skip
            meter.close()
            outcome.problems += filter(None, [restless(meter.settled)])
            meter.settled.clear()
            outcomes.append(outcome)
            _progress(f"{name} {scope}: {time.monotonic() - started:.0f} s")
    return outcomes, first


def _progress(text: str) -> None:
    typer.echo(text, err=True)


def _profile(outcomes: Sequence[Outcome], first: dict[str, float], unstable: bool) -> Profile:
    curves = {}
    for outcome in outcomes:
        curves[replace(outcome.series, backend="cpu")] = outcome.cpu
        if outcome.gpu is not None:
            curves[replace(outcome.series, backend="cuda")] = outcome.gpu
    return Profile(
        machine=this_machine(),
        measured_at=datetime.now(UTC).isoformat(timespec="seconds"),
        curves=curves,
        first_call_us=first,
        hold_out={replace(x.series, backend="cpu").key(): x.hold_out for x in outcomes if x.hold_out},
        wobble={replace(x.series, backend="cpu").key(): x.wobble for x in outcomes if x.hold_out},
        unstable=unstable,
        notes=tuple(text for outcome in outcomes for text in (*outcome.problems, *outcome.notes)),
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
    lines += [f"  note: {note}" for note in outcome.notes]
    return "\n".join(lines)
