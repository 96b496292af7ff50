"""Our own backends as a program that speaks the peer protocol: `python -m multiscalar.lab.subjects.program`.

For first calls, which need a fresh process each, and for cures that work through the environment. Answers exactly as
the peers do; stdout belongs to the protocol.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

import multiscalar as ms

from ..status import SubjectError
from ..subject import Case
from .own import Own

__all__ = ["main"]


@dataclass
class _Inputs:
    """What `Own` needs of a case's inputs."""

    points: Any
    scalars: list[Any]


@dataclass
class _Session:
    curve: str = ""
    inputs: _Inputs | None = None
    prepared: tuple[str, ...] = ()
    subject: Own | None = None

    def load(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        start = time.perf_counter_ns()
        curve, n = ms.curve(str(asked["curve"])), int(asked["n"])
        points = np.fromfile(asked["points"], dtype="<u8", count=n * 2 * curve.limbs).reshape(n, 2, curve.limbs)
        scalars = np.fromfile(asked["scalars"], dtype="<u8", count=n * 4).reshape(n, 4)
        self.inputs = _Inputs(curve.points(points, assume_subgroup=True), [curve.scalars(scalars)])
        self.curve, self.prepared = curve.name, ()
        return {"ok": True, "ns": time.perf_counter_ns() - start}

    def run(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        assert self.inputs is not None, "load first"
        subject = self._subject(asked)
        samples = subject.take(int(asked.get("repeats", 1)), int(asked.get("warmups", 0)))
        last = samples[-1]
        ((x, y),) = cast("list[tuple[int, int]]", last.result)
        clocks = ("wall_ns", "cpu_ns", "copy_ns", "device_ns")
        told = last.evidence.as_dict()
        return {
            "ok": True,
            "samples": [{name: getattr(s, name) for name in clocks if getattr(s, name) is not None} for s in samples],
            "result": {"x": hex(x), "y": hex(y), "is_infinity": (x, y) == (0, 0)},
            "agree": all(s.result == last.result for s in samples),
            "where": last.evidence.backend or "",
            "evidence": {key: value for key, value in told.items() if key != "backend"},
        }

    def _subject(self, asked: Mapping[str, Any]) -> Own:
        """The backend prepared for this scope; kept for later calls of the same kind."""
        path, scope = str(asked.get("path", "cpu")), str(asked.get("scope", "resident-bases"))
        options = dict(asked.get("options", {}))
        threads = int(asked.get("threads", 0)) or None
        key = (path, scope, str(threads), json.dumps(options, sort_keys=True))
        if self.subject is None or key != self.prepared:
            labels = {"scope": scope, "threads": threads, "isa": options.get("isa", "auto"),
                      "precompute": options.get("precompute")}  # fmt: skip
            self.subject = Own(path)
            self.subject.prepare(Case(labels, lambda: None, lambda *_: None), self.inputs)
            self.prepared = key
        return self.subject


def _hello() -> dict[str, Any]:
    return {
        "ok": True,
        "name": "multiscalar",
        "version": ms.__version__,
        "curves": ["bn254", "bls12-377", "bls12-381"],
        "groups": ["g1"],
        "devices": ["cpu", "cuda"],
        "paths": ["cpu", "cuda", "auto"],
        "scopes": ["end-to-end", "resident-bases", "resident"],
        "options": ["isa", "precompute"],
        "timed": "the call of the public API",
    }


def main() -> None:
    """Serve until `bye` or the end of input."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    session = _Session()
    doers: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
        "hello": lambda asked: _hello(),
        "load": session.load,
        "run": session.run,
    }
    for line in sys.stdin:
        asked = json.loads(line)
        if asked.get("do") == "bye":
            break
        try:
            answer = doers[asked["do"]](asked)
        except SubjectError as error:
            kind = {"UNSUPPORTED": "unsupported", "UNAVAILABLE": "device"}.get(error.status, "error")
            answer = {"error": {"kind": kind, "message": error.reason}}
        except (ms.errors.MultiscalarError, OSError, ValueError, KeyError, AssertionError) as error:
            answer = {"error": {"kind": "error", "message": f"{type(error).__name__}: {error}"}}
        out.write(json.dumps(answer) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
