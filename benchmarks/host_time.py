"""The host's time of calls of the cuda backend, on a driver that does nothing: JSON lines on stdout. No GPU is needed.

    python benchmarks/host_time.py [--curve bls12-377] [--calls 1000] [--only "single device,..."]

"before" is what passes until the host waits for the device, "digits" until the first kernel is launched, "after" from
there to the result; medians, and of their sum the tenth of the calls that was fastest and the 99th percentile, in
microseconds: on a shared machine the fast tenth says more. All of Python and of the bindings is in it, nothing of CUDA.
It needs a C compiler, and the extra cu13, cu12 or nvrtc for the bindings; exit code 3 where one is missing.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import Any

import multiscalar as ms
import numpy as np
from multiscalar import curves

HERE = Path(__file__).resolve().parent
N, BATCH, SHORT = 1 << 12, 64, 1 << 6  # terms of a sum, vectors of a batch, terms where nothing is copied but a few
INSIDE = "--inside"


def build(folder: Path) -> None:
    """The driver that does nothing."""
    from multiscalar.cuda.sources import KERNELS

    names = ",".join(f'"{name}"' for name in KERNELS)
    compiler = os.environ.get("CC", "cc")
    command = [compiler, "-O2", "-shared", "-fPIC", "-w", f"-DKERNELS={names}", "-o", str(folder / "libcuda.so.1")]
    subprocess.run([*command, str(HERE / "idle_driver.c")], check=True)


class Watched:
    """When the first kernel of a call was launched, and when the host began and ended to wait. The wait brings an
    answer: every sum is the generator.
    """

    def __init__(self, curve: ms.Curve) -> None:
        from multiscalar.cuda import compiled, lane, plan

        compiled.machine_code = lambda curve, arch: [b"nothing"]
        self._answer = b"".join(
            number.to_bytes(8 * curve.limbs, "little") for number in (curve.generator.x, curve.generator.y, 1)
        )
        self._status, self._slot = lane.STATUS_BYTES, lane.ANSWER_BYTES * (lane.ANSWERS - 1)
        self.digits = self.begun = self.ended = 0
        wait, chunk, digits, again = lane.Lane.wait, plan.Plan.chunk, plan.Plan.digits, plan.Plan.again

        def waited(lane: Any) -> None:
            self.begun = time.perf_counter_ns()
            wait(lane)
            self._fill(lane._answers)
            self.ended = time.perf_counter_ns()

        def noted(work: Callable[..., None]) -> Callable[..., None]:
            def run(*arguments: Any) -> None:
                work(*arguments)
                self.digits = self.digits or time.perf_counter_ns()

            return run

        lane.Lane.wait, plan.Plan.chunk = waited, noted(chunk)  # type: ignore[method-assign]
        plan.Plan.digits, plan.Plan.again = noted(digits), noted(again)  # type: ignore[method-assign]

    def _fill(self, answers: Any) -> None:
        """Status words that name nothing bad, then sums."""
        first, place = self._slot + self._status, int(answers.ctypes.data)
        count = (answers.size - first) // len(self._answer)
        ctypes.memset(place + self._slot, 0xFF, self._status)
        ctypes.memmove(place + first, self._answer * count, count * len(self._answer))

    def times(self, call: Callable[[], Any], count: int) -> Any:
        """Microseconds before the first kernel, before the wait, and after it, a row a call."""
        rows = []
        for k in range(count + 50):
            self.digits, started = 0, time.perf_counter_ns()
            call()
            ended = time.perf_counter_ns()
            if k >= 50:
                rows.append((self.digits - started, self.begun - started, ended - self.ended))
        return np.array(rows) / 1e3


CALLS = ("device again", "single device", "single host", "batch device", "batch host", "batch short", "one-shot")


def calls(curve: ms.Curve) -> Iterator[Callable[[], Any]]:
    """What is called, in the order of `CALLS`."""
    from multiscalar.cuda.ondevice import OnDevice

    bases = ms.Bases(curve.known_points(N, seed=1), backend="cuda")
    host = [curve.random_scalars(N, seed=k).data for k in range(BATCH)]
    short = [vector[:SHORT].copy() for vector in host]
    device, points = [OnDevice(vector) for vector in host], curve.known_points(N, seed=1).data
    turns = cycle(device)
    yield lambda: bases.msm(device[0])
    yield lambda: bases.msm(next(turns))
    yield lambda: bases.msm(host[0])
    yield lambda: bases.msm(device)
    yield lambda: bases.msm(host)
    yield lambda: bases.msm(short)
    yield lambda: ms.msm(points, host[0], curve=curve, check="none", assume_subgroup=True, backend="cuda")


def figures(curve: ms.Curve, count: int, names: list[str]) -> Iterator[dict[str, Any]]:
    """A line for each kind of call."""
    watched = Watched(curve)
    for name, call in zip(CALLS, calls(curve), strict=True):
        if name not in names:
            continue
        rows = watched.times(call, count)
        digits, before, after = np.median(rows, axis=0)
        fast, middle, slow = np.percentile(rows[:, 1] + rows[:, 2], (10, 50, 99))
        yield {
            "figure": "host time", "curve": curve.name, "call": name, "digits": digits, "before": before,
            "after": after, "both": middle, "fast": fast, "p99": slow,
        }  # fmt: skip


def lack() -> str:
    """What this machine has not; empty if nothing."""
    if shutil.which(os.environ.get("CC", "cc")) is None:
        return "no C compiler (cc, or CC)"
    return (
        "" if find_spec("cuda") and find_spec("cuda.bindings") else "no package cuda-bindings: the extra nvrtc has it"
    )


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--curve", default="bls12-377", choices=curves.names())
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--only", default=",".join(CALLS), help="kinds of calls, with commas")
    parser.add_argument(INSIDE, action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args(words)
    names = asked.only.split(",")
    if unknown := [name for name in names if name not in CALLS]:
        parser.error(f"no call is called {', '.join(unknown)}; there are {', '.join(CALLS)}")
    if told := lack():
        print(told, file=sys.stderr)
        return 3
    if not asked.inside:
        with tempfile.TemporaryDirectory() as folder:
            build(Path(folder))
            path = os.pathsep.join(filter(None, (folder, os.environ.get("LD_LIBRARY_PATH"))))
            command = [sys.executable, str(Path(__file__).resolve()), *words, INSIDE]
            return subprocess.run(command, env={**os.environ, "LD_LIBRARY_PATH": path}).returncode
    for fact in figures(ms.curve(asked.curve), max(1, asked.calls), names):
        print(json.dumps({name: round(v, 1) if isinstance(v, float) else v for name, v in fact.items()}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
