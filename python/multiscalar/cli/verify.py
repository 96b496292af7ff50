"""`msm verify`: check proof files."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from .. import boundedfile, jsontext, varuna
from ..errors import MultiscalarError
from ..settings import parse_size
from ..varuna import srs
from ..varuna.scalars import MODULUS
from ..varuna.version import Version
from . import options as o
from .exits import code_of

__all__ = ["command"]

_MAX_FILE = 64 << 20
_MAX_DIGITS = 100  # an element of the field has 77


def command(
    proof: Annotated[Path, typer.Argument(help="Proof file: the bytes, or with Aleo's leading version byte.")],
    key: Annotated[Path, typer.Option(help="Verifying key: 664 bytes, or the 673 of Aleo.")],
    inputs: Annotated[Path, typer.Option(help='Public inputs, JSON: ["1", "5", …], the constant 1 first.')],
    version: Annotated[Version, typer.Option(case_sensitive=False, help="Version of the protocol.")] = Version.V3,
    srs_dir: Annotated[Path | None, typer.Option("--srs", help="Directory of the public setup (*.usrs).")] = None,
    insecure_setup: Annotated[
        str | None, typer.Option(help="SEED:POWERS of a seeded setup. For tests: it proves nothing.")
    ] = None,
) -> None:
    """Verify one proof. Prints `accepted` or `refused` with the time; exit 1 when refused or unreadable."""
    warning = version.warning(hiding=True)
    if warning:
        typer.echo(f"warning: {warning}", err=True)
    try:
        setup = _setup(srs_dir, insecure_setup)
        data = boundedfile.read(proof, _MAX_FILE)
        parsed = varuna.Proof.from_aleo_bytes(data) if len(data) % 4 else varuna.Proof.from_bytes(data)
        verifying = varuna.VerifyingKey.from_bytes(boundedfile.read(key, _MAX_FILE))
        public = _inputs(inputs)
        start = time.perf_counter()
        good = varuna.verify(setup, verifying, public, parsed, version=version)
        spent = time.perf_counter() - start
    except (MultiscalarError, OSError, ValueError) as error:
        absent = isinstance(error, MultiscalarError) and code_of(error) == 3  # the setup, or memory for it
        raise o.fail(str(error), 3 if absent else 1) from None
    typer.echo(f"{'accepted' if good else 'refused'} {version} {spent * 1e3:.1f} ms")
    raise typer.Exit(0 if good else 1)


def _setup(directory: Path | None, insecure: str | None) -> srs.Srs:
    if insecure is None:
        return srs.load(directory)
    seed, _, powers = insecure.partition(":")
    try:
        meant = seed.isdecimal() and parse_size(powers) > 0
    except ValueError:
        meant = False
    if not meant:
        raise o.fail(f"--insecure-setup {insecure!r}: write SEED:POWERS, e.g. 5090:32768")
    typer.echo("INSECURE SETUP: an accepted proof proves nothing", err=True)
    return srs.seeded(parse_size(powers), int(seed), warn=False)


def _inputs(path: Path) -> list[int]:
    try:
        found = jsontext.parse(boundedfile.read(path, _MAX_FILE))
    except ValueError as error:
        raise ValueError(f"{path}: not JSON ({error})") from None
    if not isinstance(found, list):
        raise ValueError(f"{path}: not a JSON list of numbers")
    values = [_number(value, i, path) for i, value in enumerate(found)]
    bad = next((i for i, value in enumerate(values) if not 0 <= value < MODULUS), None)
    if bad is not None:
        raise ValueError(f"{path}: input {bad} is not below the group order")
    return values


def _number(value: object, i: int, path: Path) -> int:
    """A whole number or its decimal digits, nothing that would have to be rounded: 1.9 is not a proof about 1."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) <= _MAX_DIGITS:
        return int(value)
    raise ValueError(f'{path}: not a JSON list of numbers: input {i} is neither 5 nor "5" as an integer is written')
