"""Options that several commands share, with one wording, and the parsers behind them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from .. import curves
from ..engine.precompute import checked
from ..errors import MultiscalarError
from ..lab.formats import Format
from ..lab.msmcase import Kind
from ..lab.sizes import PRESETS, parse_sizes
from ..lab.subject import Scope

__all__ = [
    "Batch",
    "Control",
    "CurveNames",
    "Formats",
    "InputKind",
    "Isa",
    "IsaOption",
    "Paths",
    "Peers",
    "Precision",
    "Precompute",
    "Preset",
    "PresetOption",
    "Quick",
    "QuietFlag",
    "RecordFile",
    "Repeats",
    "Resume",
    "Scopes",
    "Seed",
    "Shapes",
    "Sizes",
    "Threads",
    "ThreadsList",
    "TimeLimit",
    "Warmups",
    "batches",
    "curve_names",
    "fail",
    "precomputes",
    "scopes",
    "sizes_of",
    "thread_counts",
    "words",
    "writable",
    "write",
]

T = TypeVar("T")


class Preset(StrEnum):
    """Names of size lists."""

    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"
    BOUNDARY = "boundary"


class Isa(StrEnum):
    """Instruction set of the CPU backend."""

    AUTO = "auto"
    SCALAR = "scalar"
    IFMA256 = "ifma256"
    IFMA512 = "ifma512"


CurveNames = Annotated[str, typer.Option("--curve", help="Curve, or a list: bn254, bls12-377, bls12-381.")]
Sizes = Annotated[str | None, typer.Option("--sizes", help="Numbers of terms: 1025, 2^10,2^16 or 2^8..2^18.")]
PresetOption = Annotated[
    Preset | None,
    typer.Option("--preset", help="Named sizes: 2^7, 2^15, 2^20, or the eight around snarkVM's cutoff."),
]
MOST_SEED = 2**64 - 1  # what a record can hold
Seed = Annotated[int, typer.Option("--seed", min=0, max=MOST_SEED, help="Seed of inputs and of the order of turns.")]
Warmups = Annotated[int, typer.Option("--warmups", min=0, help="Untimed calls before the samples.")]
Repeats = Annotated[int, typer.Option("--repeats", min=1, help="Samples a row (the least, with --precision).")]
Precision = Annotated[
    float | None,
    typer.Option(
        "--precision",
        min=0.0001,
        max=1.0,
        help="Go on until the interval of the median is within ± this share, e.g. 0.01.",
    ),
]
TimeLimit = Annotated[float, typer.Option("--time-limit", min=0.1, help="Most measured seconds a row.")]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, max=1024, help="CPU threads a call; default: all that affinity and cgroup allow."),
]
Paths = Annotated[str | None, typer.Option("--paths", help="Ours: cpu, cuda, auto (list). Default: what is here.")]
Peers = Annotated[str, typer.Option("--peers", help="Other libraries beside ours: gnark,arkworks,... (`msm peers`).")]
Shapes = Annotated[str, typer.Option("--shape", help="Scalars: uniform, small, bits, equal, ... (list).")]
Scopes = Annotated[
    str, typer.Option("--scope", help="What is timed: end-to-end, resident-bases, resident, first-call.")
]
IsaOption = Annotated[str, typer.Option("--isa", help="CPU instruction set: auto, scalar, ifma256, ifma512 (list).")]
ThreadsList = Annotated[
    str,
    typer.Option("--threads", help="CPU threads a call, or a list: all, 1, 2 (all: what affinity and cgroup allow)."),
]
Batch = Annotated[str, typer.Option("--batch", help="Scalar vectors a call over the same bases (list).")]
Precompute = Annotated[
    str, typer.Option("--precompute", help="Tables: none, a factor, a budget such as 2GiB, auto (list).")
]
Control = Annotated[bool, typer.Option("--control", help="Add a row a curve with independent points beside.")]
Formats = Annotated[Format, typer.Option("--format", help="How to print the rows.")]
RecordFile = Annotated[
    Path | None,
    typer.Option("--record", dir_okay=False, help="Append raw samples and machine facts to this JSONL file."),
]
InputKind = Annotated[
    Kind, typer.Option("--inputs", help="Points: in a known progression, or independent (the control).")
]
QuietFlag = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
Resume = Annotated[bool, typer.Option("--resume", help="Skip what the record already has.")]
Quick = Annotated[bool, typer.Option("--quick", help="3 repeats, 10 s a row: a first look, wide intervals.")]


def fail(message: str, code: int = 2) -> typer.Exit:
    """Print one line to stderr and make the exit to raise."""
    typer.echo(f"msm: {message}", err=True)
    return typer.Exit(code)


def writable(path: Path) -> Path:
    """`path`, where a file can be made; else the command ends, before the work whose result would have been lost."""
    folder = path.parent
    if not folder.is_dir():
        raise fail(f"cannot write {path}: there is no folder {folder}")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise fail(f"cannot write {path}: {'it is a folder' if path.is_dir() else 'permission denied'}")
    return path


def write(path: Path, data: str | bytes) -> None:
    """Write a file, or end the command with the reason."""
    try:
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    except OSError as error:
        raise fail(f"cannot write {path}: {error.strerror or error}", 1) from None


def words(text: str | None, parse: Callable[[str], T], accepted: str) -> list[T]:
    """A comma-separated list, each word parsed; a bad one ends the command with what would have been right."""
    out: list[T] = []
    for word in (part.strip() for part in (text or "").split(",")):
        if not word:
            continue
        try:
            out.append(parse(word))
        except (ValueError, MultiscalarError):
            raise fail(f"{word!r} is not one of {accepted}") from None
    return list(dict.fromkeys(out))


def _some(option: str, found: list[T]) -> list[T]:
    """An empty list measures nothing, which nobody means."""
    if not found:
        raise fail(f"{option} names nothing")
    return found


def curve_names(text: str) -> list[str]:
    """Canonical curve names."""
    return _some("--curve", words(text, lambda word: curves.curve(word).name, ", ".join(curves.names())))


def thread_counts(text: str) -> list[int | None]:
    """Thread counts; `all` is None."""
    return words(text, lambda word: None if word == "all" else _count(word), "all, or 1 to 1024")


def precomputes(text: str) -> list[str | None]:
    """Tables; `none` is None."""

    def table(word: str) -> str | None:
        return None if word == "none" or checked(word) is None else word

    return words(text, table, "none, auto, a factor from 1 to 64, a budget such as 2GiB")


def batches(text: str) -> list[int]:
    """Batch sizes."""
    return words(text, _count, "1 to 1024")


def _count(word: str) -> int:
    count = int(word)
    if not 1 <= count <= 1024:
        raise ValueError(word)
    return count


def scopes(text: str) -> list[Scope]:
    """Scopes by name."""
    return _some("--scope", words(text, Scope, ", ".join(Scope)))


def sizes_of(sizes: str | None, preset: Preset | None, default: Preset = Preset.MEDIUM) -> Sequence[int]:
    """Sizes from `--sizes` or `--preset`; both together are a mistake."""
    if sizes is not None and preset is not None:
        raise fail("give --sizes or --preset, not both")
    if sizes is None:
        return PRESETS[preset or default]
    try:
        return parse_sizes(sizes)
    except ValueError as error:
        raise fail(str(error)) from None
