"""Time what docs/gpu-engine.md leaves open on the GPU at hand: kernel texts and plans, by phase, every sum checked.

    python tools/gpu_tune.py [--texts chosen|others] [--curves bn254,bls12-377] [--sizes 2^20,2^24] [--repeats 5]

`--texts` picks files of `multiscalar.cuda.sources`: the chosen ones, or the others. A row is a plan: the cost model's,
then one choice changed at a time. Times are medians in microseconds: device events by phase, and wall; scalars and
bases are on the device.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import multiscalar as ms
from multiscalar.cuda import bases as cuda_bases
from multiscalar.cuda import compiled, sources
from multiscalar.cuda.device import open_device
from multiscalar.cuda.ondevice import OnDevice
from multiscalar.cuda.shape import Tuning

PHASES = ("digits", "sort", "accumulate", "reduce", "combine")
TEXTS = {"chosen": sources.SOURCES, "others": sources.with_others(*sources.OTHERS)}
Change = Callable[[Tuning], Tuning]
CHANGES: dict[str, Change] = {
    "model": lambda t: t,
    "tiles of 48": lambda t: replace(t, pair_run=48),
    "tiles of 24": lambda t: replace(t, pair_run=24),
    "a round more": lambda t: replace(t, pair_rounds=t.pair_rounds + 1),
    "a round fewer": lambda t: replace(t, pair_rounds=max(0, t.pair_rounds - 1)),
    "slices of half": lambda t: replace(t, slice=max(4, t.slice // 2)),
}


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


def measure(bases: Any, scalars: OnDevice, expected: ms.Point, repeats: int) -> dict[str, float]:
    """Medians after two calls that make the plan and its graph."""
    rows: list[dict[str, float]] = []
    for k in range(repeats + 2):
        started = time.perf_counter_ns()
        result = bases.msm(scalars)
        wall = (time.perf_counter_ns() - started) / 1e3
        if result != expected:
            raise SystemExit("WRONG: the sum is not the expected one")
        phases = {name: result.run.phases_ns.get(name, 0) / 1e3 for name in PHASES}
        if k >= 2:
            rows.append({**phases, "device": sum(phases.values()), "wall": wall})
    return {name: statistics.median(row[name] for row in rows) for name in rows[0]}


def forget_plans(curve: ms.Curve) -> None:
    """Of tables that lie where the next one may lie: a plan knows its table by that."""
    lane = compiled.kernels(curve).lane
    with lane.lock, lane.runtime.current():
        lane.release()


def table_of(curve: ms.Curve, n: int, text: str, points: Any, scalars: Any, repeats: int) -> None:
    """Print the rows of one curve and size."""
    expected, on_device = curve.expected_sum(points, scalars), OnDevice(scalars.data)
    seen: set[Tuning] = set()
    for name, change in CHANGES.items():
        with tuned(change) as used:
            bases = ms.Bases(points, backend="cuda")
            forget_plans(curve)
            row = measure(bases, on_device, expected, repeats)
        if used[-1] in seen:
            continue
        seen.add(used[-1])
        plan = used[-1]
        shape = f"W{plan.windows} R{plan.pair_rounds} p{plan.pair_run} s{plan.slice} r{plan.run}"
        cells = " | ".join(f"{row[key]:.0f}" for key in (*PHASES, "device", "wall"))
        print(f"| {curve.name} | {n} | {text} | {name} | {shape} | {cells} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", choices=TEXTS, default="chosen")
    parser.add_argument("--curves", default="bn254,bls12-377")
    parser.add_argument("--sizes", default="2^20,2^24")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing new after so long")
    arguments = parser.parse_args()
    started = time.monotonic()
    sources.SOURCES = TEXTS[arguments.texts]  # before any kernel is loaded
    curves = arguments.curves.split(",")
    sizes = [1 << int(word[2:]) if word.startswith("2^") else int(word) for word in arguments.sizes.split(",")]
    compile_all(curves)
    print("| curve | n | text | change | plan | " + " | ".join((*PHASES, "device", "wall")) + " |")
    print("|---" * (5 + len(PHASES) + 2) + "|")
    for name in curves:
        curve = ms.curve(name)
        points, scalars = curve.known_points(max(sizes), seed=1), curve.random_scalars(max(sizes), seed=2)
        for n in sizes:
            if time.monotonic() - started > arguments.seconds:
                print(f"{name}, {n}: not begun, out of time", file=sys.stderr)
                continue
            table_of(curve, n, arguments.texts, points[:n], scalars[:n], arguments.repeats)
    return 0


if __name__ == "__main__":
    sys.exit(main())
