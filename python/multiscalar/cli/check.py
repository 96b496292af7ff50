"""`msm check FILE…`: judge records by rules that anyone can run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..lab.check import Level, check
from .session import read

__all__ = ["command"]


def command(
    files: Annotated[list[Path], typer.Argument(help="Records (JSONL).")],
    strict: Annotated[bool, typer.Option("--strict", help="Warnings count as failures.")] = False,
) -> None:
    """Judge a record: completeness, checks, attestation, clocks, plausibility. Exit 1 if a rule is broken."""
    measurements = read(files)
    findings = check(measurements)
    for finding in findings:
        typer.echo(f"{finding.level}  {finding.rule}: {finding.where}: {finding.text}")
    failures = sum(finding.level is Level.FAIL for finding in findings)
    warnings = len(findings) - failures
    typer.echo(f"{len(measurements.cells)} cells, {failures} failures, {warnings} warnings", err=True)
    raise typer.Exit(int(failures > 0 or (strict and warnings > 0)))
