"""Time what docs/gpu-engine.md leaves open on the GPU at hand: plans and kernels, by phase, every sum checked.

    python tools/gpu_tune.py [--rows tried,large] [--curves bn254,bls12-377] [--sizes 2^10,2^20]
                             [--batch 64] [--precompute 12] [--repeats 5] [--seconds N] [--with passes=FILE.cuh]

A row is a plan: the cost model's, then one choice changed at a time; small sizes first. `--with` puts FILE.cuh in the
place of one of the kernels' files, here msm/passes.cuh, and can be given several times. Groups of rows can be asked
for in processes of their own, since after a fault the device is lost to its process. Times are medians in microseconds:
device events by phase, their sum, wall; and of the wall time what passes until the host waits for the device, and after
it has waited. Scalars and bases are on the device. Each size also gets the model's plan launch by launch, an event
after each. `--batch` sums so many vectors over the same bases at once, `--precompute` takes tables of so many parts,
whose windows are fixed. Exit code 1 if any sum was wrong, or a size could not be measured at all; 2 for words that mean
nothing here; 3 without a GPU, or memory for the inputs.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import multiscalar as ms
from multiscalar.cli.exits import code_of
from multiscalar.cuda import bases as cuda_bases
from multiscalar.cuda import compiled, sources
from multiscalar.cuda.device import open_device
from multiscalar.cuda.ondevice import OnDevice
from multiscalar.cuda.shape import Tuning
from multiscalar.cuda.steps import Fill, Layout, Step
from multiscalar.cuda.tune import path_of
from multiscalar.lab.lacks import own_lack
from multiscalar.lab.sizes import parse_sizes

PHASES = ("digits", "sort", "accumulate", "reduce", "combine")
HOST = ("device", "wall", "before", "after")
QUICK = 1 << 20  # up to this size a call is short: more repeats cost nothing
Change = Callable[[Tuning], Tuning]


class Case(NamedTuple):
    """What is computed: a curve's points and scalars, by which kernels' text, how often."""

    curve: ms.Curve
    n: int
    text: str
    points: Any
    scalars: Any  # of all sums of a batch, one after the other
    repeats: int
    batch: int = 1
    parts: int | None = None  # of a precomputed table

    @property
    def size(self) -> str:
        parts = f" in {self.parts} parts" if self.parts else ""
        return f"{self.n} x {self.batch}{parts}" if self.batch > 1 else f"{self.n}{parts}"

    def inputs(self) -> tuple[ms.Bases, Any, Any]:
        """Bases and scalars on the device, and what comes out: lists for a batch."""
        rows = [self.scalars[k * self.n : (k + 1) * self.n] for k in range(self.batch)]
        expected, on_device = (
            [self.curve.expected_sum(self.points, row) for row in rows],
            [OnDevice(row.data) for row in rows],
        )
        bases = ms.Bases(self.points, backend="cuda", precompute=self.parts)
        return (bases, on_device, expected) if self.batch > 1 else (bases, on_device[0], expected[0])


CHANGES: dict[str, Change] = {
    "model": lambda t: t,
    "tiles of 96": lambda t: replace(t, pair_run=96),
    "tiles of 48": lambda t: replace(t, pair_run=48),
    "a round more": lambda t: replace(t, pair_rounds=t.pair_rounds + 1),
    "a round fewer": lambda t: replace(t, pair_rounds=max(0, t.pair_rounds - 1)),
    "slices of half": lambda t: replace(t, slice=max(4, t.slice // 2)),
    "slices of double": lambda t: replace(t, slice=2 * t.slice),
    "runs of half": lambda t: replace(t, run=max(1, t.run // 2)),
    "runs of double": lambda t: replace(t, run=2 * t.run),
    "a window more": lambda t: replace(t, windows=t.windows + 1),
    "a window fewer": lambda t: replace(t, windows=t.windows - 1),
    "the other sort": lambda t: replace(t, grouped=not t.grouped),
}
# At 2^24 a row takes seconds: those that change what its long kernels do.
LARGE = ("model", "tiles of 96", "tiles of 48", "a round more", "a round fewer", "a window more", "a window fewer")
ROWS: dict[str, dict[str, Change]] = {"tried": CHANGES, "large": {name: CHANGES[name] for name in LARGE}}


def compile_all(curves: list[str]) -> None:
    """Fill the cubin cache, curves and units side by side."""
    arch, started = open_device().arch, time.monotonic()
    with ThreadPoolExecutor(len(curves)) as pool:
        list(pool.map(lambda name: compiled.machine_code(ms.curve(name), arch), curves))
    print(f"compiled or in the cache after {time.monotonic() - started:.0f} s", file=sys.stderr)


@contextmanager
def tuned(change: Change) -> Iterator[list[Tuning]]:
    """Plans made inside have `change` applied; the list gets the tunings that were used."""
    original, used = cuda_bases.tune, []

    def altered(*arguments: Any, **options: Any) -> Tuning:
        used.append(change(original(*arguments, **options)))
        return used[-1]

    cuda_bases.tune = altered
    try:
        yield used
    finally:
        cuda_bases.tune = original


def with_texts(replaced: list[str]) -> tuple[str, ...]:
    """`sources.SOURCES` with files on disk in the place of some, "passes=FILE.cuh"; ValueError if it cannot be."""
    files = list(sources.SOURCES)
    for words in replaced:
        name, _, file = words.partition("=")
        places = [k for k, known in enumerate(files) if known.split("/")[-1] == name]
        if not places or not file.endswith(".cuh") or not Path(file).is_file():
            raise ValueError(f"--with {words}: want NAME=FILE.cuh, NAME one of the kernels' files, FILE.cuh there")
        files[places[0]] = str(Path(file).resolve().with_suffix(""))
    return tuple(files)


class WrongSumError(Exception):
    """The sum is not the expected one."""


def measure(case: Case, inputs: tuple[ms.Bases, Any, Any]) -> dict[str, float]:
    """Medians after two calls that make the plan and its graph."""
    rows: list[dict[str, float]] = []
    bases, scalars, expected = inputs
    with waits_noted(case.curve) as waits:
        for k in range(case.repeats + 2):
            started = time.perf_counter_ns()
            result = bases.msm(scalars)
            ended = time.perf_counter_ns()
            if result != expected:
                raise WrongSumError("WRONG: the sum is not the expected one")
            if k < 2:
                continue
            run = (result[0] if case.batch > 1 else result).run
            phases = {name: spent / 1e3 for name, spent in run.phases_ns.items()}
            begun, over = waits[-1]
            host = (sum(phases.values()), (ended - started) / 1e3, (begun - started) / 1e3, (ended - over) / 1e3)
            rows.append({**phases, **dict(zip(HOST, host, strict=True))})
    return {name: statistics.median(row[name] for row in rows) for name in rows[0]}


@contextmanager
def waits_noted(curve: ms.Curve) -> Iterator[list[tuple[int, int]]]:
    """When the host began to wait for the device and when it went on, for each wait inside."""
    lane, waits = compiled.kernels(curve).lane, []
    wait = lane.wait

    def timed() -> None:
        begun = time.perf_counter_ns()
        wait()
        waits.append((begun, time.perf_counter_ns()))

    lane.wait = timed  # type: ignore[method-assign]
    try:
        yield waits
    finally:
        del lane.wait


@contextmanager
def launch_by_launch() -> Iterator[None]:
    """Plans made inside count every launch as a phase of its own, named by its place, kernel and grid."""
    original = cuda_bases.lay_out

    def named(*arguments: Any) -> Layout:
        layout = original(*arguments)
        layout.steps = [replace(step, phase=f"{k + 1} {words(step)}") for k, step in enumerate(layout.steps)]
        return layout

    cuda_bases.lay_out = named
    try:
        yield
    finally:
        cuda_bases.lay_out = original


def words(step: Step) -> str:
    if isinstance(step, Fill):
        return f"fill of {step.size:,} bytes"
    (columns, rows), shared = step.grid, f", {step.shared} shared" if step.shared else ""
    return f"{step.kernel}, {columns} x {rows} blocks of {step.block}{shared}"


def forget_plans(curve: ms.Curve) -> None:
    """Every call makes its plan anew, and none finds the one of a table that lay where the next one lies."""
    lane = compiled.kernels(curve).lane
    with lane.lock, lane.runtime.current():
        lane.release()


def table_of(case: Case, changes: dict[str, Change]) -> int:
    """Print a row for each change that makes another plan; returns how many sums were wrong."""
    curve, size, inputs = case.curve, case.size, case.inputs()
    seen: set[Tuning] = set()
    wrong = 0
    for name, change in changes.items():
        if case.parts and "window" in name:
            continue
        try:
            with tuned(change) as used:
                forget_plans(curve)
                row = measure(case, inputs)
        except Exception as error:  # a plan that cannot be, a driver that refuses it: the next row may do
            print(f"{curve.name}, {size}, {name}: {words_of(error)}", file=sys.stderr)
            wrong += isinstance(error, WrongSumError)
            continue
        if used[-1] in seen:
            continue
        seen.add(used[-1])
        cells = " | ".join(f"{row[key]:.0f}" for key in (*PHASES, *HOST))
        print(f"| {curve.name} | {size} | {case.text} | {name} | {describe(used[-1])} | {cells} |", flush=True)
    return wrong


def launches_of(case: Case) -> int:
    """Print what each launch of the model's plan takes; no sum was wrong, or it raises."""
    inputs = case.inputs()
    with launch_by_launch():
        forget_plans(case.curve)
        row = measure(case, inputs)
        forget_plans(case.curve)
    for launch in [key for key in row if key not in HOST]:
        print(f"{case.curve.name}, {case.size}, {case.text}: {row[launch]:7.1f}  {launch}", flush=True)
    return 0


def attempt(case: Case, work: Callable[[], int]) -> int:
    """What `work` returns; 1 if it breaks, which is printed, since the next case may do."""
    try:
        return work()
    except Exception as error:
        print(f"{case.curve.name}, {case.size}: {words_of(error)}", file=sys.stderr)
        return 1


def words_of(error: Exception) -> str:
    known = isinstance(error, (ValueError, ms.errors.MultiscalarError, WrongSumError))
    return str(error) if known else f"{type(error).__name__}: {error}"


def describe(plan: Tuning) -> str:
    return f"{path_of(plan)} W{plan.windows} R{plan.pair_rounds} p{plan.pair_run} s{plan.slice} r{plan.run}"


def asked() -> argparse.Namespace:
    """The words of the command line; those that mean nothing end the program."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=",".join(ROWS), help="groups of rows, with commas")
    parser.add_argument("--curves", default="bn254,bls12-377")
    parser.add_argument("--sizes", default="2^10,2^13,2^16,2^20,2^24")
    parser.add_argument("--batch", type=int, default=1, help="sums at once, over the same bases")
    parser.add_argument("--precompute", type=int, help="parts of the tables")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing new after so long")
    parser.add_argument("--with", dest="texts", action="append", default=[], metavar="NAME=FILE.cuh")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.rows.split(",") if name not in ROWS]:
        parser.error(f"no group of rows is called {', '.join(unknown)}; there are {', '.join(ROWS)}")
    for name in ("batch", "precompute", "repeats"):
        if (number := getattr(arguments, name)) is not None and number < 1:
            parser.error(f"--{name} {number}: at least 1")
    try:
        arguments.curves = [ms.curve(name).name for name in arguments.curves.split(",")]
        arguments.sizes = parse_sizes(arguments.sizes)
        sources.SOURCES = with_texts(arguments.texts)  # before any kernel is loaded
    except ValueError as error:
        parser.error(str(error))
    if min(arguments.sizes) < 1:
        parser.error("--sizes: at least one term")
    return arguments


def main() -> int:
    try:
        arguments = asked()
        if missing := own_lack("cuda"):
            print(f"no GPU to work on: {missing}", file=sys.stderr)
            return 3
        return tune(arguments)
    except ms.errors.MultiscalarError as error:  # memory for the inputs, a setting: what a row lacks is the row's
        print(error, file=sys.stderr)
        return code_of(error)


def tune(arguments: argparse.Namespace) -> int:
    """Print all rows; the exit code."""
    text = " ".join(f"{words.partition('=')[0]}={Path(words).stem}" for words in arguments.texts) or "package"
    started = time.monotonic()
    os.environ.setdefault("MULTISCALAR_LOG", "cuda")  # a driver that refuses early launches says so
    curves, sizes = arguments.curves, arguments.sizes
    compile_all(curves)
    columns = ("curve", "n", "text", "change", "plan", *PHASES, *HOST)
    print("| " + " | ".join(columns) + " |")
    print("|---" * len(columns) + "|")
    cases, wrong = [], 0
    for name in curves:
        curve = ms.curve(name)
        batch, parts = arguments.batch, arguments.precompute
        points, scalars = curve.known_points(max(sizes), seed=1), curve.random_scalars(batch * max(sizes), seed=2)
        for n in sizes:
            repeats = arguments.repeats * (5 if n * batch <= QUICK else 1)
            cases.append(Case(curve, n, text, points[:n], scalars[: n * batch], repeats, batch, parts))
    for group in arguments.rows.split(","):
        for case in sorted(cases, key=lambda case: case.n):
            if time.monotonic() - started > arguments.seconds:
                print(f"{case.curve.name}, {case.size}: not begun, out of time", file=sys.stderr)
                continue
            wrong += attempt(case, partial(table_of, case, ROWS[group]))
            if group in ("tried", "large"):
                wrong += attempt(case, partial(launches_of, case))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
