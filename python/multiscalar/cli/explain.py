"""`msm explain`: which backend `auto` takes for a call, and every number that the choice rests on."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..curves import curve as find_curve
from ..errors import MultiscalarError
from ..lab.subject import Scope
from . import options as o
from .calibrate import profile_first
from .exits import code_of

__all__ = ["command"]


def command(
    curve: Annotated[str, typer.Option("--curve", help="bn254, bls12-377 or bls12-381.")] = "bls12-377",
    size: Annotated[str, typer.Option("--size", help="Number of terms, e.g. 1025 or 2^16.")] = "2^16",
    scope: Annotated[Scope, typer.Option(help="What the call starts from.")] = Scope.END_TO_END,
    batch: Annotated[int, typer.Option(min=1, help="Vectors a call.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="The numbers as JSON.")] = False,
    plot: Annotated[Path | None, typer.Option("--plot", help="Write the two curves to this SVG file.")] = None,
) -> None:
    """Say what `auto` would do for this call on this machine, and why. Measures nothing, unless calibrate=once."""
    from ..dispatch.explain import explain

    if plot is not None:
        o.writable(plot)
    try:
        profile_first([find_curve(curve).name])
        found = explain(size, curve, scope=str(scope), batch=batch)
    except MultiscalarError as error:
        raise o.fail(str(error), code_of(error)) from None
    typer.echo(json.dumps(asdict(found), indent=1) if as_json else str(found))
    if plot is not None:
        from ..dispatch.plot import plot_curves

        try:
            plot_curves(found, plot)
        except (MultiscalarError, OSError) as error:
            raise o.fail(str(error)) from None
