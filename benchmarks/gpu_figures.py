"""Figures of the cuda backend that a lab record has no row for, every result checked: JSON lines on stdout.

    python benchmarks/gpu_figures.py [--seconds N] [--only NAME,NAME] [--curves ...]

What: a neighbour of a power of two, shapes of scalars, steadiness, the first call after idling, host inputs pageable
and page-locked beside device arrays and cut in several ways, batches, precomputation, host time around the device's
own, plans made anew. Each figure is one line {"figure", "curve", "n", ...} with times in milliseconds (medians unless
they say otherwise) and "ok"; a figure that fails is a line with "error", and the next one goes on. None starts after
`--seconds`. Exit code: 1 if a figure failed or a result was wrong, 2 for words that mean nothing here, 3 without a GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

import ending
import multiscalar as ms
from gpu_bench import Bench, Fact, device_ms, on_device, percentile
from gpu_host_figures import host_copies, host_inputs, schedules
from multiscalar import curves
from multiscalar.lab.lacks import own_lack
from multiscalar.lab.sizes import parse_sizes
from multiscalar.shapes import ScalarShape


def host_time(bench: Bench, n: int = 1 << 10) -> Iterator[Fact]:
    """Wall time beside the device's own, at a size where it matters."""
    points, scalars = bench.points(n), bench.scalars(n)
    expected, bases, device = bench.expected(scalars), bench.bases(n), on_device(scalars)
    calls: dict[str, Callable[[], Any]] = {
        "device array": lambda: bases.msm(device),
        "host scalars": lambda: bases.msm(scalars),
        "one-shot": lambda: ms.msm(points, scalars, backend="cuda"),
    }
    for what, call in calls.items():
        taken, result = bench.times(call, 200, warm=20)
        wall, own = median(taken), device_ms(result)
        host, ok = 1e3 * (wall - own), result == expected
        yield {"inputs": what, "n": n, "ms": wall, "device_ms": own, "host_us": host, "ok": ok}


def neighbour(bench: Bench, n: int = 1 << 10) -> Iterator[Fact]:
    """n = 1,025 beside 1,024, in turns."""
    made = {}
    for size in (n, n + 1):
        scalars = bench.scalars(size)
        made[size] = (ms.Bases(bench.points(size), backend="cuda"), on_device(scalars), bench.expected(scalars), [])
    ok = True
    calls = max(2, round(60 * bench.effort))
    for k in range(calls):
        for bases, device, expected, taken in made.values():
            start = time.perf_counter()
            result = bases.msm(device)
            if k >= calls // 6:
                taken.append(1e3 * (time.perf_counter() - start))
            ok &= result == expected
    at, above = (median(made[size][3]) for size in (n, n + 1))
    yield {"n": n + 1, "ms": above, "at_power_of_two": at, "ratio": above / at, "ok": ok}


def shapes(bench: Bench, n: int = 1 << 20) -> Iterator[Fact]:
    """Every shape of scalars beside uniform ones, device arrays."""
    bases, base = bench.bases(n), 0.0
    for shape in sorted(ScalarShape, key=lambda shape: shape != "uniform"):
        scalars = bench.scalars(n, shape=shape, seed=4)
        device = on_device(scalars)
        taken, result = bench.times(lambda device=device: bases.msm(device), 7, warm=2)
        base = base or median(taken)
        ok = result == bench.expected(scalars)
        yield {"shape": str(shape), "n": n, "ms": median(taken), "ratio": median(taken) / base, "ok": ok}


def steady(bench: Bench, n: int = 1 << 16, calls: int = 1000, idle_s: float = 10.0) -> Iterator[Fact]:
    """Many calls in a row, by wall and by device events; then one after idling."""
    scalars = bench.scalars(n)
    bases, device, expected = bench.bases(n), on_device(scalars), bench.expected(scalars)
    bench.times(lambda: bases.msm(device), 50)
    wall, own, ok = [], [], True
    for _ in range(calls):
        start = time.perf_counter()
        result = bases.msm(device)
        wall.append(1e3 * (time.perf_counter() - start))
        own.append(device_ms(result))
        ok &= result == expected
    middle = median(wall)
    slow = [(k, round(ms_, 3), round(own[k], 3)) for k, ms_ in enumerate(wall) if ms_ > 1.1 * middle]
    for by, values in (("wall", wall), ("events", own)):
        centre = median(values)
        yield {
            "by": by, "n": n, "ms": centre, "p99": percentile(values, 0.99) / centre,
            "p99.9": percentile(values, 0.999) / centre, "max": max(values) / centre, "slower": slow[:20], "ok": ok,
        }  # fmt: skip
    time.sleep(idle_s)
    start = time.perf_counter()
    result = bases.msm(device)
    after = 1e3 * (time.perf_counter() - start)
    yield {"by": "after idle", "n": n, "idle_s": idle_s, "ms": after, "ratio": after / middle, "ok": result == expected}


def batches(bench: Bench, n: int = 1 << 12, batch: int = 64) -> Iterator[Fact]:
    """One batch beside as many calls, some of either in turns: equal lengths, unequal, own bases, device arrays."""
    bases = bench.bases(n)
    equal = [bench.scalars(n, seed=k) for k in range(batch)]
    kinds: dict[str, list[Any]] = {
        "equal": equal,
        "unequal": [vector[: n - 28 * (k % 16)] for k, vector in enumerate(equal)],  # a plan is kept for each length
        "device": [on_device(vector) for vector in equal],
    }
    for kind, vectors in kinds.items():
        host = equal if kind == "device" else vectors
        expected = [bench.expected(vector) for vector in host]
        together: list[float] = []
        apart: list[float] = []
        for _ in range(max(2, round(4 * bench.effort))):
            taken, results = bench.times(lambda v=vectors: bases.msm(v), 3, warm=1)
            together += taken
            taken, _ = bench.times(lambda v=vectors: [bases.msm(vector) for vector in v], 1, warm=1)
            apart += taken
        ratio = median(apart) / median(together)
        yield {
            "batch": batch, "kind": kind, "n": n, "ms": median(together), "apart_ms": median(apart), "ratio": ratio,
            "device_ms": device_ms(results[0]), "ok": results == expected,
        }  # fmt: skip
    everything, small = bench.points(n), n // batch
    parts = [equal[0][small * k : small * (k + 1)] for k in range(batch)]
    own_bases = ms.Bases(everything, backend="cuda")
    taken, results = bench.times(lambda: own_bases.msm(parts, own_bases=True), 9)
    total = results[0]
    for part in results[1:]:
        total = total + part
    ok = total == bench.expected(equal[0])
    yield {"batch": batch, "kind": "own bases", "n": small, "ms": median(taken), "ok": ok}


def precomputed(bench: Bench) -> Iterator[Fact]:
    """Full tables, one part a window that the cost model would take: scalars from page-locked memory."""
    for n, factor in ((1 << 10, 24), (1 << 16, 16), (1 << 24, 13)):
        if n > bench.largest:
            continue
        scalars = bench.scalars(n)
        start = time.perf_counter()
        bases = bench.bases(n, precompute=factor)
        made = time.perf_counter() - start
        data = bench.pinned(scalars.data)
        taken, result = bench.times(lambda b=bases, d=data: b.msm(d), 30 if n < 1 << 20 else 7)
        yield {
            "factor": factor, "n": n, "ms": median(taken), "device_ms": device_ms(result), "table_s": made,
            "table_bytes": bases.nbytes, "ok": result == bench.expected(scalars),
        }  # fmt: skip


def plans(bench: Bench, n: int = 1 << 16) -> Iterator[Fact]:
    """A shape of call for the first, the second and a later time: what making its plan and its graph adds."""
    scalars = bench.scalars(n)
    bases = bench.bases(n)
    bases.msm(scalars)
    first, second, later = [], [], []
    for k in range(1, 6):
        vector = scalars[: n - 100 * k]
        for taken in (first, second, later):
            start = time.perf_counter()
            bases.msm(vector)
            taken.append(1e3 * (time.perf_counter() - start))
    yield {
        "n": n, "plan_ms": median(first) - median(later), "graph_ms": median(second) - median(later),
        "ms": median(later), "ok": bases.msm(scalars) == bench.expected(scalars),
    }  # fmt: skip


FIGURES: dict[str, Callable[[Bench], Iterator[Fact]]] = {
    "host time": host_time,
    "neighbour": neighbour,
    "batches": batches,
    "plans": plans,
    "shapes": shapes,
    "steady": steady,
    "host inputs": host_inputs,
    "host copies": host_copies,
    "schedules": schedules,
    "precomputed": precomputed,
}


def figures(benches: list[Bench], names: list[str], seconds: float) -> Iterator[Fact]:
    """All lines, figure by figure, curve by curve."""
    started = time.monotonic()
    for name in names:
        for bench in benches:
            head = {"figure": name, "curve": bench.curve.name}
            if time.monotonic() - started > seconds:
                yield {**head, "error": "no time was left"}
                continue
            try:
                for fact in FIGURES[name](bench):
                    yield {**head, **fact}
            except Exception as error:  # whatever it is belongs into the record, and the next figure may be had
                yield {**head, "error": f"{type(error).__name__}: {error}"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=150.0)
    parser.add_argument("--only", default=",".join(FIGURES), help="figures, by name, with commas")
    parser.add_argument("--curves", default=",".join(curves.names()))
    parser.add_argument("--largest", default="2^24", help="no more terms than this")
    words = parser.parse_args()
    names = words.only.split(",")
    if unknown := [name for name in names if name not in FIGURES]:
        parser.error(f"no figure is called {', '.join(unknown)}; there are {', '.join(FIGURES)}")
    try:
        largest = max(parse_sizes(words.largest))
        benches = [Bench(ms.curve(name), largest) for name in words.curves.split(",")]
    except ValueError as error:
        parser.error(str(error))
    if missing := own_lack("cuda"):
        print(f"no GPU to work on: {missing}", file=sys.stderr)
        return 3
    wrong = 0
    for fact in figures(benches, names, words.seconds):
        wrong += not fact.get("ok", False)
        rounded = {key: round(value, 4) if isinstance(value, float) else value for key, value in fact.items()}
        print(json.dumps(rounded), flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    ending.run(main)
