"""`msm peers`: other people's libraries that the lab measures; `msm peers build` makes them ready."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..lab.peers import Fault, PeerStatus, statuses
from ..lab.peers.build import build_peer, cache_folder, status_of
from ..lab.peers.cpu import LEVELS, NATIVE
from ..lab.peers.pack import pack as pack_peers
from ..lab.peers.registry import PEERS, PROVER, PeerSpec, find

__all__ = ["app"]

app = typer.Typer(help="Other people's libraries: status, build.", add_completion=False)

FORMATS = ("table", "json")

Cpu = Annotated[str, typer.Option("--cpu", help=f"{NATIVE}, or for a program that travels: {', '.join(LEVELS)}.")]


@app.callback(invoke_without_command=True)
def status(
    context: typer.Context,
    form: Annotated[str, typer.Option("--format", help="table or json")] = "table",
) -> None:
    """List the peers: ready, to build, or UNAVAILABLE with the reason."""
    if context.invoked_subcommand is not None:
        return
    if form not in FORMATS:
        typer.echo(f"--format {form}: accepted: {', '.join(FORMATS)}", err=True)
        raise typer.Exit(2)
    found = (*statuses(), status_of(PROVER))
    if form == "json":
        typer.echo(json.dumps([asdict(peer) for peer in found], indent=1))
    else:
        _table(found)


@app.command()
def build(
    names: Annotated[list[str] | None, typer.Argument(help="Peers to build; all that can be built, if none.")] = None,
    cpu: Cpu = NATIVE,
) -> None:
    """Build peers into the user's cache: release, link-time optimisation, native CPU."""
    specs = _specs(names)
    failed = [spec for spec in specs if not _build(spec, _known(cpu), strict=bool(names))]
    if failed:
        raise typer.Exit(3)


@app.command()
def pack(
    folder: Annotated[Path, typer.Argument(help="Folder that will serve as MULTISCALAR_CACHE_DIR elsewhere.")],
    names: Annotated[list[str] | None, typer.Argument(help="Peers to carry; all that are built, if none.")] = None,
    cpu: Cpu = NATIVE,
) -> None:
    """Copy built peers into a folder for a machine that cannot build them. With --cpu they are built for it first."""
    specs = _specs(names)
    if _known(cpu) != NATIVE:
        for spec in specs:
            _build(spec, cpu, strict=bool(names))
    try:
        carried = pack_peers(specs, folder, cpu)
    except OSError as error:
        typer.echo(f"cannot pack into {folder}: {error}", err=True)
        raise typer.Exit(1) from None
    for program in carried:
        typer.echo(program)
    if not carried:
        typer.echo("nothing is built; run: msm peers build", err=True)
        raise typer.Exit(3)


def _known(cpu: str) -> str:
    if cpu not in (NATIVE, *LEVELS):
        typer.echo(f"--cpu {cpu}: accepted: {', '.join((NATIVE, *LEVELS))}", err=True)
        raise typer.Exit(2)
    return cpu


def _specs(names: list[str] | None) -> list[PeerSpec]:
    asked = [PROVER if name == PROVER.name else find(name) for name in names or [*PEERS, PROVER.name]]
    unknown = [spec.reason for spec in asked if isinstance(spec, Fault)]
    for reason in unknown:
        typer.echo(reason, err=True)
    if unknown:
        raise typer.Exit(2)
    return [spec for spec in asked if not isinstance(spec, Fault)]


def _build(spec: PeerSpec, cpu: str, *, strict: bool) -> bool:
    """Build every variant of a peer. One that this machine cannot build is a failure only when it was named."""
    for recipe in (recipe.built_for(cpu) for recipe in spec.recipes):
        if recipe.sources is None and not recipe.missing():
            typer.echo(f"{spec.name}: ready, nothing to build")
            continue
        typer.echo(f"{spec.name}: building {recipe.key} into {cache_folder() / spec.name}", err=True)
        made = build_peer(spec, recipe)
        if isinstance(made, Fault):
            typer.echo(f"{spec.name}: {made.status}: {made.reason}", err=True)
            return not strict and recipe.missing() is not None
        typer.echo(f"{spec.name}: {made.command[0]}")
    return True


def _table(found: tuple[PeerStatus, ...]) -> None:
    """Aligned columns without wrapping, so that the table can be read in a pipe too."""
    rows = [("peer", "status", "on", "curves", "what")]
    rows += [(peer.name, peer.state, peer.place, " ".join(peer.curves), peer.title) for peer in found]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    for row, peer in zip(rows, (None, *found), strict=True):
        note = f"; {peer.note}" if peer is not None else ""
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        typer.echo("  ".join([*cells, row[4]]) + note)
