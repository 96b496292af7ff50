"""`msm report FILE… -o OUT.html`: one self-contained page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .options import fail, writable, write
from .session import read

__all__ = ["command"]


def command(
    files: Annotated[list[Path], typer.Argument(help="Records (JSONL).")],
    out: Annotated[Path, typer.Option("-o", "--out", help="The page to write.")] = Path("report.html"),
    title: Annotated[str, typer.Option("--title", help="Heading of the page.")] = "MSM benchmark",
) -> None:
    """Write one HTML page: cost against size, all samples, copy and compute, clocks, diagnosis, machine."""
    from ..lab.report.page import build_report

    writable(out)
    measurements = read(files)
    if not measurements.cells:
        raise fail("the record has no rows")
    text = build_report(measurements, title)
    write(out, text)
    typer.echo(f"{out}: {len(text.encode()) / 1000:.0f} kB, {len(measurements.cells)} rows", err=True)
