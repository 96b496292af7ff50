"""Figures of the cuda backend that a lab record has no row for, every result checked: JSON lines on stdout.

    python benchmarks/gpu_figures.py [--seconds N] [--only NAME,NAME] [--curves ...]

What: a neighbour of a power of two, shapes of scalars, steadiness, the first call after idling, host inputs pageable
and page-locked beside device arrays and cut in several ways, batches, precomputation, host time around the device's
own, plans made anew. Each figure is one line {"figure", "curve", "n", ...} with times in milliseconds (medians unless
they say otherwise) and "ok"; a figure that fails is a line with "error", and the next one goes on. None starts after
`--seconds`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

import multiscalar as ms
import numpy as np
from multiscalar import curves
from multiscalar.settings import parse_size
from multiscalar.shapes import ScalarShape

Fact = dict[str, Any]


@dataclass
class Bench:
    """One curve: inputs of any size made once, bases on the device, timed calls."""

    curve: ms.Curve
    largest: int
    effort: float = 1.0  # scales the number of calls
    _points: Any = None
    _bases: dict[tuple[int, object], Any] = field(default_factory=dict)

    def points(self, n: int) -> Any:
        if self._points is None or len(self._points) < n:
            self._points = self.curve.known_points(n, seed=1)
        return self._points[:n]

    def scalars(self, n: int, shape: str = "uniform", seed: int = 2) -> Any:
        return self.curve.random_scalars(n, seed=seed, shape=shape)

    def expected(self, scalars: Any) -> ms.Point:
        return self.curve.expected_sum(self.points(len(scalars)), scalars)

    def bases(self, n: int, precompute: int | None = None) -> Any:
        key = (n, precompute)
        if key not in self._bases:
            self._bases.clear()  # one table at a time: the largest take tens of gigabytes
            self._bases[key] = ms.Bases(self.points(n), backend="cuda", precompute=precompute)
        return self._bases[key]

    def runtime(self) -> Any:
        from multiscalar.cuda.compiled import kernels

        return kernels(self.curve).runtime

    def pinned(self, array: np.ndarray) -> np.ndarray:
        """A copy in page-locked memory."""
        made = self.runtime().pinned(array.nbytes).view(array.dtype).reshape(array.shape)
        made[...] = array
        return made  # type: ignore[no-any-return]

    def forget(self) -> None:
        """Give back all plans: the next call of a shape makes its own."""
        from multiscalar.cuda.compiled import kernels

        lane = kernels(self.curve).lane
        with lane.lock:
            lane.release()

    def times(self, call: Callable[[], Any], count: int, warm: int = 3) -> tuple[list[float], Any]:
        """Milliseconds of `count` calls after `warm` untimed ones, and the last result."""
        taken, result = [], None
        warm, count = (round(self.effort * number) for number in (warm, count))
        for k in range(warm + max(1, count)):
            start = time.perf_counter()
            result = call()
            if k >= warm:
                taken.append(1e3 * (time.perf_counter() - start))
        return taken, result


def on_device(scalars: Any) -> Any:
    from multiscalar.cuda.ondevice import OnDevice

    data = scalars.data
    return OnDevice(data.view(np.uint8) if data.dtype == np.bool_ else data)


def device_ms(result: ms.Point) -> float:
    """The device's own time of a call."""
    assert result.run is not None
    return sum(result.run.phases_ns.values()) / 1e6


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


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


def host_inputs(bench: Bench, sizes: tuple[int, ...] = (1 << 10, 1 << 13, 1 << 20, 1 << 24)) -> Iterator[Fact]:
    """Device arrays, host arrays pageable and page-locked: scalars only, and points too.

    "ratio" is over the longer of the copy alone and the device figure: at 2^24 the bar is 1.15. "above_ms" is the
    time over the device figure: at 2^10 to 2^13 the bar is 0.15.
    """
    for n in (size for size in sizes if size <= bench.largest):
        count = 30 if n <= 1 << 16 else 7
        scalars = bench.scalars(n)
        bases, expected = bench.bases(n), bench.expected(scalars)
        places = {"device": on_device(scalars), "pageable": scalars.data, "pinned": bench.pinned(scalars.data)}
        copy, device = copy_ms(bench, places["pinned"]), 0.0
        for place, data in places.items():
            taken, result = bench.times(lambda data=data, bases=bases: bases.msm(data), count)
            device = device or median(taken)
            yield {
                "scalars": place, "n": n, "ms": median(taken), "device_ms": device_ms(result),
                "phases_ns": dict(result.run.phases_ns), "parts": result.run.evidence.get("parts", 1),
                **against(median(taken), copy, device), "ok": result == expected,
            }  # fmt: skip
        del places
        yield from points_too(bench, scalars, expected, device)


def points_too(bench: Bench, scalars: Any, expected: ms.Point, device: float) -> Iterator[Fact]:
    """One-shot calls, nothing prepared: from where, with which check; `device` is the figure without any copy."""
    n, points = len(scalars), bench.points(len(scalars)).data
    pinned = bench.pinned(points), bench.pinned(scalars.data)
    copy = sum(copy_ms(bench, data) for data in pinned)
    pageable = points, scalars.data
    for place, check, data in (("pageable", "none", pageable), ("pinned", "curve", pinned), ("pinned", "none", pinned)):
        taken, result = bench.times(
            lambda data=data, check=check: one_shot(bench, *data, check), 15 if n <= 1 << 16 else 5
        )
        yield {
            "points and scalars": place, "check": check, "n": n, "ms": median(taken),
            "phases_ns": dict(result.run.phases_ns), "parts": result.run.evidence.get("parts", 1),
            **against(median(taken), copy, device), "ok": result == expected,
        }  # fmt: skip


def one_shot(bench: Bench, points: np.ndarray, scalars: np.ndarray, check: str = "none") -> ms.Point:
    """Points and scalars as they lie, nothing prepared."""
    return ms.msm(points, scalars, curve=bench.curve, check=check, assume_subgroup=True, backend="cuda")  # type: ignore[no-any-return]


# Where the parts of a one-shot sum may end, in sixty-fourths, beside the model's choice.
ENDS = {
    1 << 20: ((2, 18, 64), (6, 25, 64), (3, 14, 35, 64)),
    1 << 24: ((2, 8, 18, 36, 64), (3, 8, 18, 33, 48, 64), (2, 5, 11, 22, 39, 64)),
}


def schedules(bench: Bench, sizes: tuple[int, ...] = (1 << 20, 1 << 24)) -> Iterator[Fact]:
    """One-shot sums of page-locked arrays, cut in several ways; the last row has the endomorphism in every part."""
    from multiscalar.cuda import once, overlap, tune

    chosen, most = once.parts, tune.GLV_MAX_N
    for n in (size for size in sizes if size <= bench.largest):
        scalars = bench.scalars(n)
        expected, data = bench.expected(scalars), [bench.pinned(one.data) for one in (bench.points(n), scalars)]
        more = ENDS.get(n, ())
        for ends, glv in [(None, most), *((ends, most) for ends in more), *((ends, n) for ends in more[-1:])]:
            bench.forget()
            cuts = [n * end // overlap.CELLS for end in (0, *(ends or ()))]
            terms = [high - low for low, high in pairwise(cuts)]
            once.parts = (lambda *_, terms=terms: terms) if ends else chosen
            tune.GLV_MAX_N = glv  # type: ignore[misc]
            try:
                taken, result = bench.times(lambda data=data: one_shot(bench, *data), 7)
            finally:
                once.parts, tune.GLV_MAX_N = chosen, most  # type: ignore[misc]
            yield {
                "ends": ends or "chosen", "endomorphism to": glv, "n": n, "ms": median(taken), "least_ms": min(taken),
                "phases_ns": dict(result.run.phases_ns), "parts": result.run.evidence.get("parts", 1),
                "ok": result == expected,
            }  # fmt: skip
        bench.forget()


def against(taken: float, copy: float, compute: float) -> Fact:
    """A call beside what it can hide behind each other: copying alone, and computing alone."""
    longer = max(copy, compute)
    return {"copy_ms": copy, "compute_ms": compute, "ratio": taken / longer, "above_ms": taken - compute}


def copy_ms(bench: Bench, data: np.ndarray) -> float:
    """What the link takes for a page-locked array, with nothing else going on."""
    runtime = bench.runtime()
    with runtime.current():
        stream, target = runtime.stream(), runtime.allocate(data.nbytes)

        def copy() -> None:
            runtime.copy_in(target, int(data.ctypes.data), data.nbytes, stream)
            runtime.synchronize(stream)

        taken, _ = bench.times(copy, 5)
        runtime.free(target)
    return median(taken)


def batches(bench: Bench, n: int = 1 << 12, batch: int = 64) -> Iterator[Fact]:
    """One batch beside as many calls: equal lengths, unequal ones, own bases, device arrays."""
    bases = bench.bases(n)
    equal = [bench.scalars(n, seed=k) for k in range(batch)]
    kinds: dict[str, tuple[list[Any], Any, bool]] = {
        "equal": (equal, bases, False),
        "unequal": ([vector[: n - 7 * k] for k, vector in enumerate(equal)], bases, False),
        "device": ([on_device(vector) for vector in equal], bases, False),
    }
    for kind, (vectors, over, own) in kinds.items():
        host = equal if kind == "device" else vectors
        expected = [bench.expected(vector) for vector in host]
        together, results = bench.times(lambda v=vectors, b=over, o=own: b.msm(v, own_bases=o), 9)
        apart, _ = bench.times(lambda v=vectors, b=over: [b.msm(vector) for vector in v], 3, warm=1)
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
    """Full tables: scalars from page-locked memory."""
    for n, factor in ((1 << 10, 24), (1 << 16, 17), (1 << 24, 12)):
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
    largest = parse_size(words.largest)
    benches = [Bench(ms.curve(name), largest) for name in words.curves.split(",")]
    wrong = 0
    for fact in figures(benches, words.only.split(","), words.seconds):
        wrong += not fact.get("ok", False)
        rounded = {key: round(value, 4) if isinstance(value, float) else value for key, value in fact.items()}
        print(json.dumps(rounded), flush=True)
    return min(wrong, 100)


if __name__ == "__main__":
    sys.exit(main())
