"""Figures of inputs that come from the host: pageable, page-locked, cut in several ways, and copied by several threads.

`gpu_figures.py` runs them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from statistics import median
from typing import Any
from unittest.mock import patch

import multiscalar as ms
import numpy as np
from gpu_bench import Bench, Fact, device_ms, on_device
from multiscalar import _core


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


# Where the parts of a one-shot sum may end, in 128ths, beside the model's choice.
ENDS = {
    1 << 20: ((4, 36, 128), (12, 50, 128), (4, 18, 56, 128)),
    1 << 24: ((4, 10, 22, 44, 78, 128), (8, 21, 42, 77, 128), (6, 16, 36, 66, 96, 128)),
}


def schedules(bench: Bench, sizes: tuple[int, ...] = (1 << 20, 1 << 24)) -> Iterator[Fact]:
    """One-shot sums of page-locked arrays, cut in several ways, and with other things different, by name."""
    for n in (size for size in sizes if size <= bench.largest):
        scalars = bench.scalars(n)
        expected, data = bench.expected(scalars), [bench.pinned(one.data) for one in (bench.points(n), scalars)]
        for what, changes in variants(n):
            bench.forget()
            with ExitStack() as stack:
                for owner, name, value in changes:
                    stack.enter_context(patch.object(owner, name, value))
                taken, result = bench.times(lambda data=data: one_shot(bench, *data), 7)
            yield {
                "variant": what, "n": n, "ms": median(taken), "least_ms": min(taken),
                "phases_ns": dict(result.run.phases_ns), "parts": result.run.evidence.get("parts", 1),
                "ok": result == expected,
            }  # fmt: skip
        bench.forget()


def variants(n: int) -> Iterator[tuple[str, list[tuple[Any, str, Any]]]]:
    """What is different, and the names that are replaced for it."""
    from multiscalar.cuda import once, overlap
    from multiscalar.cuda.plan import Plan
    from multiscalar.cuda.shape import DeviceShape

    def at(ends: tuple[int, ...]) -> Any:
        terms = [high - low for low, high in pairwise(n * end // overlap.CELLS for end in (0, *ends))]
        return lambda *_: terms

    def spared(shape: Any, tuning: Any, device: DeviceShape, lay_out: Any = once.lay_out) -> Any:
        return lay_out(shape, tuning, DeviceShape(device.multiprocessors - 1))

    def all_stages(plan: Any, stream: Any, *_: Any) -> None:
        for stage in plan._stages:
            stage.run(stream)

    yield "chosen", []
    for ends in ENDS.get(n, ()):
        yield f"ends {' '.join(map(str, ends))}", [(once, "parts", at(ends))]
    yield "endomorphism to 2^22", [(overlap, "ENDOMORPHISM_MAX_N", 1 << 22)]
    yield "a multiprocessor left to tails", [(once, "lay_out", spared)]
    yield "sorted when the points are there", [(Plan, "sort", lambda *_: None), (Plan, "finish", all_stages)]


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


def host_copies(
    bench: Bench, sizes: tuple[int, ...] = (256 << 10, 512 << 10, 1 << 20, 8 << 20, 32 << 20)
) -> Iterator[Fact]:
    """Pageable memory into a page-locked slot by so many threads, which have slept for as long as a small sum takes."""
    if bench.curve.name != "bn254":
        return  # points of any curve are bytes
    for size in sizes:
        source = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8)
        slot = bench.runtime().pinned(size)
        for threads in (1, 2, 4, 8, 16):
            taken = []
            for _ in range(max(2, round(40 * bench.effort))):
                until = time.perf_counter() + 4e-4
                while time.perf_counter() < until:
                    pass
                start = time.perf_counter()
                _core.gather(slot, [source], size, threads)
                taken.append(time.perf_counter() - start)
            middle = median(taken)
            yield {
                "bytes": size, "threads": threads, "n": 0, "us": 1e6 * middle, "GB/s": size / middle / 1e9,
                "ok": bool((slot[:size] == source).all()),
            }  # fmt: skip
    for rows, size in ((64, 8 << 20), (1, 8 << 20), (1, 32 << 20)):
        yield from carried(bench, rows, size)


def carried(bench: Bench, rows: int, size: int) -> Iterator[Fact]:
    """Pageable memory to the device, from this many arrays, with threads that slept for 3 ms as between calls: in
    pieces filled and sent in turn, all of it the largest, and in pieces sent while others are filled; a copy alone.
    """
    from multiscalar.cuda import staging
    from multiscalar.cuda.compiled import kernels

    lane = kernels(bench.curve).lane
    runtime, stride = lane.runtime, size // rows
    arrays = list(np.random.default_rng(size).integers(0, 256, (rows, stride), dtype=np.uint8))
    slot, back = runtime.pinned(size), runtime.pinned(size)
    with lane.lock, runtime.current():
        target = runtime.allocate(size)

        def pieces() -> None:
            lane.staging.carry(
                arrays, staging.cut(staging.Piece(target, 0, rows, 0, stride), stride, size), stride, lane.copies
            )

        def in_turn() -> None:
            for low in range(0, size, staging.PIECE_BYTES):
                high = min(size, low + staging.PIECE_BYTES)
                if rows == 1:
                    some = [arrays[0][low:high]]
                else:
                    some = arrays[low // stride : high // stride]
                _core.gather(slot[low:high], some, min(stride, high - low), 0)
                runtime.copy_in(target + low, int(slot.ctypes.data) + low, high - low, lane.copies)

        def sent() -> None:
            runtime.copy_in(target, int(slot.ctypes.data), size, lane.copies)

        ways = [("in turn", in_turn, 1 << 20), ("in turn", in_turn, 4 << 20), ("in turn", in_turn, size)]
        ways += [("while filling", pieces, mib << 20) for mib in (1, 2, 4, 8)]
        for what, way, piece in [*ways, ("copy alone", sent, size)]:
            with patch.object(staging, "PIECE_BYTES", piece):
                taken = [once(way, lane) for _ in range(max(2, round(15 * bench.effort)))]
            middle = median(taken[1:])
            runtime.copy_out(int(back.ctypes.data), target, size, lane.copies)
            runtime.fill(target, 0, size, lane.copies)
            runtime.synchronize(lane.copies)
            yield {
                "bytes": size, "rows": rows, "through": what, "piece": piece, "n": 0, "us": 1e6 * middle,
                "GB/s": size / middle / 1e9, "ok": bool((back.reshape(rows, stride) == arrays).all()),
            }  # fmt: skip
        runtime.free(target)


def once(way: Callable[[], None], lane: Any) -> float:
    """Seconds until all that `way` copies has arrived."""
    time.sleep(0.003)
    start = time.perf_counter()
    way()
    lane.runtime.synchronize(lane.copies)
    taken = time.perf_counter() - start
    lane.staging.rewind()
    return taken
