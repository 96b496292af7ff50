"""The record: an append-only JSONL file of raw samples and machine facts, the source of every table.

`Record` writes (to memory, and to a file where one is named); `read_record` parses a file as hostile input. Lines are
flushed at the end of each turn and synced at each result, so that an interrupted run keeps what it measured. Schema:
`record.schema.json`. Cost: about 10 µs a sample, outside the timed region.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from .. import jsontext
from .schema import UNPRINTABLE, schema_fault
from .status import Status
from .subject import Sample

__all__ = [
    "SCHEMA_VERSION",
    "Cell",
    "Measurements",
    "Record",
    "RecordError",
    "gather",
    "read_lines",
    "read_record",
]

SCHEMA_VERSION = 1
_MAX_LINE = 1 << 20
_MAX_LINES = 5_000_000
_MOST_WORDS = 4096
_OPENING = b'{"kind":'

Line = dict[str, Any]


class RecordError(ValueError):
    """A file is not a lab record; says which line and why."""


@dataclass
class Cell:
    """Everything a record says of one subject on one case. Sample lines are kept raw."""

    id: str
    path: str
    place: str
    labels: dict[str, Any]
    subject: dict[str, Any]
    run: str
    samples: list[Line] = field(default_factory=list)
    warmups: list[Line] = field(default_factory=list)
    warmup: dict[str, Any] = field(default_factory=dict)
    result: Line | None = None

    @property
    def status(self) -> Status | None:
        """None while the cell is unfinished. What took no time was not timed, whatever the record says."""
        if self.timed_nothing:
            return Status.NOT_ATTESTED
        return Status(self.result["status"]) if self.result else None

    @property
    def timed_nothing(self) -> bool:
        """Whether a call has no duration."""
        return any(line["wall_ns"] <= 0 for calls in (self.samples, self.warmups) for line in calls)

    @property
    def note(self) -> str:
        """Reason of the status, or what an unfinished cell has."""
        if self.timed_nothing:
            return "a call of no duration"
        if self.result is None:
            return f"unfinished: {len(self.samples)} samples"
        return str(self.result.get("note", ""))

    def times(self, field_name: str = "wall_ns") -> list[int]:
        """All timed samples' values of one clock; samples without it are left out."""
        return [sample[field_name] for sample in self.samples if field_name in sample]


@dataclass
class Measurements:
    """A parsed record: runs in order, the last word on every cell, telemetry and events."""

    runs: list[Line] = field(default_factory=list)
    cells: dict[str, Cell] = field(default_factory=dict)
    traces: list[Line] = field(default_factory=list)
    events: list[Line] = field(default_factory=list)
    ends: list[Line] = field(default_factory=list)


class Record:
    """Collects the lines of a run; with a path they are appended to that file as well."""

    def __init__(self, path: Path | None = None) -> None:
        self.lines: list[Line] = []
        self._file: IO[str] | None = None
        self._on_disk = False
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            _mend(path)
            self._file = path.open("a", encoding="utf-8")
            self._on_disk = path.is_file()  # a pipe or a terminal takes the lines, but has nothing to sync

    def append(self, kind: str, **fields: Any) -> None:
        """Add a line; None values are left out, since absent is not zero."""
        line = {"kind": kind, **{key: value for key, value in fields.items() if value is not None}}
        if kind in ("run", "cell", "result"):
            line = _publishable(line, _home())
        self.lines.append(line)
        if self._file is not None:
            self._file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def sample(self, cell: str, sample: Sample, *, warmup: bool = False) -> None:
        """Add one sample."""
        evidence = sample.evidence.as_dict()
        if "fallback_reason" in evidence:  # the only words of others in it: a compiler's log, a peer's last line
            evidence["fallback_reason"] = _publishable(evidence["fallback_reason"], _home())[:_MOST_WORDS]
        self.append(
            "sample",
            cell=cell,
            at_ns=sample.at_ns,
            wall_ns=sample.wall_ns,
            cpu_ns=sample.cpu_ns,
            copy_ns=sample.copy_ns,
            device_ns=sample.device_ns,
            warmup=warmup or None,
            evidence=evidence or None,
        )

    def flush(self, *, sync: bool = False) -> None:
        """Hand what was written to the system, or to the disk."""
        if self._file is not None:
            self._file.flush()
            if sync and self._on_disk:
                os.fsync(self._file.fileno())

    def close(self) -> None:
        """Flush and close; the lines stay readable."""
        file, self._file = self._file, None
        if file is not None:
            with file:
                file.flush()
                if self._on_disk:
                    os.fsync(file.fileno())


def _mend(path: Path) -> None:
    """Drop a last line that a crash cut short, which readers leave out: the next line would be glued to it.

    Errors: `RecordError` when that line is not the beginning of one of ours, or the first line is none: then the file
    is somebody else's.
    """
    if not path.is_file():
        return
    with path.open("r+b") as file:
        first = file.readline(_MAX_LINE)
        if first.strip() and first.endswith(b"\n"):
            _parsed(first, path, 1)
        start = max(0, file.seek(0, os.SEEK_END) - _MAX_LINE)
        file.seek(start)
        whole, newline, rest = file.read().rpartition(b"\n")
        if rest and not rest.startswith(_OPENING[: len(rest)]):
            raise RecordError(f"{path} ends in something that is no line of a record")
        if rest:
            file.truncate(start + len(whole) + len(newline))


def _home() -> str:
    """The user's home folder; empty for a user without one (a container's, with neither HOME nor an account)."""
    try:
        return str(Path.home())
    except RuntimeError:
        return ""


def _publishable(value: Any, home: str) -> Any:
    """Texts without the user's home folder (`~` instead: paths in build flags name people) and without what steers a
    terminal (a peer's last words may be in colour)."""
    if isinstance(value, dict):
        return {key: _publishable(inner, home) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_publishable(inner, home) for inner in value]
    if not isinstance(value, str):
        return value
    return UNPRINTABLE.sub("\ufffd", value.replace(home, "~") if len(home) > 1 else value)


def read_lines(path: Path) -> Iterator[Line]:
    """Parsed and validated lines; the last line may be cut short by a crash and is then left out."""
    with path.open("rb") as stream:
        for number in range(1, _MAX_LINES + 2):
            raw = stream.readline(_MAX_LINE + 1)
            if not raw:
                return
            if number > _MAX_LINES or len(raw) > _MAX_LINE:
                raise RecordError(f"{path}, line {number}: beyond {_MAX_LINES:,} lines or {_MAX_LINE:,} bytes a line")
            if not raw.endswith(b"\n"):
                return
            yield _parsed(raw, path, number)


def _parsed(raw: bytes, path: Path, number: int) -> Line:
    try:
        line = jsontext.parse(raw)
    except ValueError as error:
        raise RecordError(f"{path}, line {number}: not JSON ({error})") from None
    fault = schema_fault(line)
    if fault:
        raise RecordError(f"{path}, line {number}: {fault}")
    parsed: Line = line
    return parsed


def gather(lines: Iterable[Mapping[str, Any]]) -> Measurements:
    """Lines to measurements. A cell that is opened again starts afresh: its last attempt counts."""
    out = Measurements()
    for raw in lines:
        line = dict(raw)
        match line["kind"]:
            case "run":
                out.runs.append(line)
            case "cell":
                run = out.runs[-1]["run"] if out.runs else ""
                out.cells[line["cell"]] = Cell(
                    line["cell"],
                    line["path"],
                    line["place"],
                    line["labels"],
                    line["subject"],
                    run,
                    warmup=line.get("warmup", {}),
                )
            case "sample":
                cell = _owner(out, line)
                (cell.warmups if line.get("warmup") else cell.samples).append(line)
            case "result":
                _owner(out, line).result = line
            case "trace":
                out.traces.append(line)
            case "event":
                out.events.append(line)
            case "end":
                out.ends.append(line)
    return out


def _owner(measurements: Measurements, line: Line) -> Cell:
    try:
        return measurements.cells[line["cell"]]
    except KeyError:
        raise RecordError(f"{line['kind']} of a cell {line['cell']!r} that was never opened") from None


def read_record(paths: Sequence[Path]) -> Measurements:
    """Measurements of one or more files, read in order."""
    return gather(line for path in paths for line in read_lines(path))
