"""A profile: cost curves of one machine, and what the machine was.

A profile is a JSON file that a person can read: raw medians and samples, when and how they were measured, and the
facts that must match for it to be used. It comes from the user's state directory, from a site directory, or shipped
with the package (measured on another machine of the same kind, and labelled so). Files are treated as hostile: bounded
in size, checked field by field, never executed; one that cannot be used is ignored with one warning.

What must match: schema, kernels, core build and instruction set, GPU name and multiprocessors, MIG, CPU model, number
of threads. What may drift, with a note in `msm explain`: driver, compiler, PCIe, power limit.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Final

from .. import jsontext
from .model import CostCurve

SCHEMA: Final = 1
MAX_BYTES: Final = 8 << 20
MAX_SERIES: Final = 4096
MAX_SIZES: Final = 512
MAX_SAMPLES: Final = 4096
# Scalars of a series (`chooser.series_of`) -> the shape that is measured for it: narrow ones as arrays of their type.
SHAPES: Final = {
    "1-bit": "bool", "8-bit": "uint8", "16-bit": "uint16", "32-bit": "uint32", "64-bit": "uint64", "full": "uniform"
}  # fmt: skip


class ProfileError(ValueError):
    """A file is no profile: the text says which field is wrong."""


@dataclass(frozen=True, order=True)
class Series:
    """What one cost curve is of. `precompute` and `batch` are 1 without tables and batches."""

    curve: str
    backend: str
    scope: str = "end-to-end"
    batch: int = 1
    precompute: int = 1
    scalars: str = "full"
    threads: int = 0

    def key(self) -> str:
        return "/".join(str(value) for value in asdict(self).values())


@dataclass(frozen=True)
class Machine:
    """The facts that decide whether a profile fits; `drifts` only cause a note."""

    cpu: str
    threads: int
    core: str
    isa: str
    gpu: str | None = None
    multiprocessors: int | None = None
    mig: str | None = None
    kernels: str | None = None
    drifts: Mapping[str, str] = field(default_factory=dict)

    def identity(self) -> dict[str, object]:
        facts = asdict(self)
        del facts["drifts"]
        return facts

    def mismatch(self, other: Machine) -> dict[str, tuple[object, object]]:
        """Facts that must match and do not: name -> (in this, in other)."""
        mine, theirs = self.identity(), other.identity()
        return {name: (mine[name], theirs[name]) for name in mine if mine[name] != theirs[name]}

    def drift(self, other: Machine) -> dict[str, tuple[str, str]]:
        """Facts that may differ and do."""
        names = sorted({*self.drifts, *other.drifts})
        pairs = {name: (self.drifts.get(name, "?"), other.drifts.get(name, "?")) for name in names}
        return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


@dataclass(frozen=True)
class Profile:
    """Curves by series, and the circumstances. `hold_out` (regrets) and `wobble` go by the key of the CPU's series;
    `origin` says where it was read from.
    """

    machine: Machine
    measured_at: str
    curves: Mapping[Series, CostCurve]
    first_call_us: Mapping[str, float] = field(default_factory=dict)
    hold_out: Mapping[str, Mapping[int, float]] = field(default_factory=dict)
    wobble: Mapping[str, float] = field(default_factory=dict)
    unstable: bool = False
    notes: tuple[str, ...] = ()
    origin: str = ""

    @cached_property
    def id(self) -> str:
        """Eight hex digits that name the measurements."""
        return hashlib.sha256(to_json(self).encode()).hexdigest()[:8]

    def pair(self, series: Series) -> tuple[CostCurve, CostCurve] | None:
        """CPU and GPU curves of one series, if both were measured."""
        found = [self.curves.get(_with_backend(series, backend)) for backend in ("cpu", "cuda")]
        return (found[0], found[1]) if found[0] is not None and found[1] is not None else None


def _with_backend(series: Series, backend: str) -> Series:
    return Series(**{**asdict(series), "backend": backend})


def to_json(profile: Profile) -> str:
    """The file's text; floats are microseconds rounded to a nanosecond."""
    body = {
        "schema": SCHEMA,
        "what": "cost curves of multiscalar on one machine, in microseconds",
        "machine": asdict(profile.machine),
        "measured_at": profile.measured_at,
        "unstable": profile.unstable,
        "notes": list(profile.notes),
        "first_call_us": {name: round(us, 3) for name, us in profile.first_call_us.items()},
        "hold_out": {name: {str(n): round(r, 5) for n, r in rows.items()} for name, rows in profile.hold_out.items()},
        "wobble": {name: round(value, 6) for name, value in profile.wobble.items()},
        "series": [
            {
                **asdict(series),
                "points": [
                    {"n": n, "samples_us": [round(float(us), 3) for us in curve.samples[n]]} for n in curve.sizes
                ],
            }
            for series, curve in sorted(profile.curves.items(), key=lambda item: item[0])
        ],
    }
    return json.dumps(body, indent=1)


def from_json(text: str, origin: str) -> Profile:
    """The profile in `text`. Errors: `ProfileError`, whatever the text is."""
    if len(text) > MAX_BYTES:
        raise ProfileError(f"larger than {MAX_BYTES:,} bytes")
    try:
        body = jsontext.parse(text)
    except ValueError as error:
        raise ProfileError(f"not JSON: {error}") from error
    table = _table(body, "the file")
    if table.get("schema") != SCHEMA:
        raise ProfileError(f"schema is {table.get('schema')!r}, this version reads {SCHEMA}")
    rows = _list(table.get("series"), "series", MAX_SERIES)
    return Profile(
        machine=_machine(_table(table.get("machine"), "machine")),
        measured_at=_text(table.get("measured_at"), "measured_at"),
        curves=dict(_series(_table(row, "series")) for row in rows),
        first_call_us=_numbers(table.get("first_call_us", {}), "first_call_us"),
        hold_out=_hold_out(_table(table.get("hold_out", {}), "hold_out")),
        wobble=_numbers(table.get("wobble", {}), "wobble", 0),
        unstable=table.get("unstable") is True,
        notes=tuple(_text(note, "notes") for note in _list(table.get("notes", []), "notes", 64)),
        origin=origin,
    )


def _numbers(value: object, name: str, least: float = 1e-6) -> dict[str, float]:
    return {str(key): _number(number, name, least) for key, number in _table(value, name).items()}


def _hold_out(table: Mapping[str, Any]) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    for name, rows in table.items():
        entries = _table(rows, "hold_out")
        if not all(str(n).isdecimal() and len(str(n)) < 13 for n in entries):
            raise ProfileError("hold_out has a size that is no number")
        found[str(name)] = {_count(int(n), "hold_out"): _number(r, "hold_out", 0) for n, r in entries.items()}
    return found


def _machine(table: Mapping[str, Any]) -> Machine:
    optional = {
        name: None if table.get(name) is None else _text(table[name], name) for name in ("gpu", "mig", "kernels")
    }
    units = table.get("multiprocessors")
    return Machine(
        cpu=_text(table.get("cpu"), "cpu"),
        threads=_count(table.get("threads"), "threads"),
        core=_text(table.get("core"), "core"),
        isa=_text(table.get("isa"), "isa"),
        multiprocessors=None if units is None else _count(units, "multiprocessors"),
        drifts={str(k): _text(v, "drifts") for k, v in _table(table.get("drifts", {}), "drifts").items()},
        **optional,
    )


def _series(row: Mapping[str, Any]) -> tuple[Series, CostCurve]:
    series = Series(
        curve=_text(row.get("curve"), "curve"),
        backend=_text(row.get("backend"), "backend"),
        scope=_text(row.get("scope"), "scope"),
        batch=_count(row.get("batch"), "batch"),
        precompute=_count(row.get("precompute"), "precompute"),
        scalars=_text(row.get("scalars"), "scalars"),
        threads=_count(row.get("threads"), "threads", 0),
    )
    points = _list(row.get("points"), "points", MAX_SIZES)
    if not points:
        raise ProfileError(f"series {series.key()} has no points")
    samples = {}
    for point in points:
        entry = _table(point, "points")
        values = _list(entry.get("samples_us"), "samples_us", MAX_SAMPLES)
        if not values:
            raise ProfileError("a point has no samples")
        samples[_count(entry.get("n"), "n")] = tuple(_number(us, "samples_us") for us in values)
    return series, CostCurve(samples)


def _table(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ProfileError(f"{name} is not an object")
    return value


def _list(value: object, name: str, most: int) -> list[Any]:
    if not isinstance(value, list) or len(value) > most:
        raise ProfileError(f"{name} is not a list of at most {most}")
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or len(value) > 500:
        raise ProfileError(f"{name} is not a short text")
    return value


def _count(value: object, name: str, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 40:
        raise ProfileError(f"{name} is not a whole number from {least} on")
    return value


def _number(value: object, name: str, least: float = 1e-6) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ProfileError(f"{name} is not a number")
    if not least <= value < 1e15:
        raise ProfileError(f"{name} = {value} is out of range")
    return float(value)
