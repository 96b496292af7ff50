"""The protocol's server side in Python, for libraries that are Python packages (and for the lab's own tests).

A library supplies `Library`: its curves, two conversions, the call that is measured. Fixed cost a sample: two readings
of each clock. These libraries have one thread, which keeps every cap. stdout belongs to the protocol; what a library
prints goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Library", "RefusalError", "Session", "serve"]

_SCALAR_BYTES = 32


class RefusalError(Exception):
    """An answer of the form {"error": {"kind", "message"}}."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, kw_only=True)
class Library:
    """A Python library with a multi-scalar multiplication.

    `coordinate_bytes` gives each curve's coordinate size; `point` turns little-endian x and y into a base, `scalar` 32
    little-endian bytes into a scalar, `msm` is timed, `coordinates` reads (x, y) of a sum, None for infinity.
    """

    name: str
    version: str
    coordinate_bytes: Mapping[str, int]
    point: Callable[[str, bytes, bytes], Any]
    scalar: Callable[[str, bytes], Any]
    msm: Callable[[str, list[Any], list[Any]], Any]
    coordinates: Callable[[str, Any], tuple[int, int] | None]
    timed: str

    def hello(self) -> dict[str, Any]:
        """The answer to hello."""
        return {
            "ok": True,
            "name": self.name,
            "version": self.version,
            "curves": list(self.coordinate_bytes),
            "groups": ["g1"],
            "devices": ["cpu"],
            "paths": ["cpu"],
            "scopes": ["resident-bases", "end-to-end"],
            "options": [],
            "timed": self.timed,
        }


@dataclass
class Session:
    """One peer's loaded workload; `load` and `run` answer the requests of these names."""

    library: Library
    curve: str = ""
    raw: tuple[bytes, bytes] = (b"", b"")
    points: list[Any] = field(default_factory=list)
    scalars: list[Any] = field(default_factory=list)

    def load(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Read the files and convert them."""
        started = time.perf_counter_ns()
        self.curve = ""
        curve, n = asked["curve"], int(asked["n"])
        if curve not in self.library.coordinate_bytes or asked.get("group", "g1") != "g1":
            raise RefusalError("unsupported", f"{asked.get('group', 'g1')} of {curve}")
        if "montgomery" in (asked.get("form"), asked.get("scalar_form")):
            raise RefusalError("unsupported", "this peer reads canonical operands only")
        width = 2 * self.library.coordinate_bytes[curve]
        self.raw = (_read(asked["points"], n * width), _read(asked["scalars"], n * _SCALAR_BYTES))
        self.points, self.scalars = self._convert(curve)
        self.curve = curve
        return {"ok": True, "ns": time.perf_counter_ns() - started}

    def _convert(self, curve: str) -> tuple[list[Any], list[Any]]:
        size = self.library.coordinate_bytes[curve]
        points, scalars = self.raw
        pairs = ((points[at : at + size], points[at + size : at + 2 * size]) for at in range(0, len(points), 2 * size))
        bases = [self.library.point(curve, x, y) for x, y in pairs]
        pieces = (scalars[at : at + _SCALAR_BYTES] for at in range(0, len(scalars), _SCALAR_BYTES))
        return bases, [self.library.scalar(curve, piece) for piece in pieces]

    def run(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Warm-ups, then samples."""
        if not self.curve:
            raise RefusalError("usage", "nothing is loaded")
        if asked.get("options"):
            raise RefusalError("unsupported", "this peer has no options")
        n = int(asked.get("n", len(self.points)))
        whole = asked.get("scope") == "end-to-end"
        points, scalars = self.points[:n], self.scalars[:n]
        sums, samples = [], []
        for turn in range(int(asked.get("warmups", 0)) + int(asked.get("repeats", 1))):
            wall, cpu = time.perf_counter_ns(), time.process_time_ns()
            if whole:
                points, scalars = self._convert(self.curve)
            total = self.library.msm(self.curve, points, scalars) if n else None
            cpu, wall = time.process_time_ns() - cpu, time.perf_counter_ns() - wall
            sums.append(self.library.coordinates(self.curve, total) if n else None)
            if turn >= int(asked.get("warmups", 0)):
                samples.append({"wall_ns": wall, "cpu_ns": cpu})
        x, y = sums[0] or (0, 0)
        return {
            "ok": True,
            "samples": samples,
            "result": {"x": hex(x), "y": hex(y), "is_infinity": sums[0] is None},
            "agree": all(seen == sums[0] for seen in sums),
            "where": "cpu",
            "evidence": {"pid": os.getpid(), "threads_asked": asked.get("threads", 1), "threads": 1},
        }


def serve(library: Library) -> None:
    """Answer requests until `bye` or the end of stdin."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the library may print
    session = Session(library)
    for line in sys.stdin:
        try:
            asked = json.loads(line)
            do = asked["do"]
            if do == "bye":
                answer: dict[str, Any] = {"ok": True}
            else:
                answer = {"hello": lambda _: library.hello(), "load": session.load, "run": session.run}[do](asked)
        except RefusalError as refusal:
            answer = {"error": {"kind": refusal.kind, "message": str(refusal)}}
        except (KeyError, ValueError, TypeError) as error:
            answer = {"error": {"kind": "usage", "message": f"{type(error).__name__}: {error}"}}
        except BaseException as error:  # a Rust panic of the library arrives as one
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            answer = {"error": {"kind": "panic", "message": f"{type(error).__name__}: {error}"}}
        out.write(json.dumps(answer) + "\n")
        out.flush()
        if answer == {"ok": True}:
            return


def _read(path: str, size: int) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(size)
    except OSError as error:
        raise RefusalError("data", str(error)) from None
    if len(data) < size:
        raise RefusalError("data", f"{path}: {len(data)} bytes, {size} needed")
    return data
