"""The two stories as records: the figures that two users published, with samples spread around them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

from multiscalar.lab.record import Measurements, gather
from multiscalar.lab.subject import cell_id

# n: (CPU batched, direct CUDA, public dispatch), ms
CUTOFF = {
    1024: (5.811, 19.422, 8.005),
    1025: (7.992, 16.263, 19.408),
    2048: (7.379, 22.902, 20.604),
    4096: (10.820, 19.476, 22.163),
    8192: (13.770, 20.857, 23.153),
    16384: (26.557, 25.219, 24.301),
    65536: (75.416, 34.897, 35.979),
}
# path: (typical ms, copy ms, slow ms, slow share)
STABILITY = {
    "icicle-v2": (18.0, 6.4, 100.0, 0.1),
    "icicle-v3.2": (20.0, 9.0, 7220.0, 0.5),
    "cuda": (4.4, 1.2, 4.5, 0.0),
}

_CPU = {"model": "Intel Core Ultra 7 270K Plus", "logical_cpus": 16, "usable_cpus": 16, "load1": 0.4}
_GPU = {"name": "GeForce RTX 5090", "max_sm_mhz": 2900, "nominal_sm_mhz": 2520}


def run_line(**machine: Any) -> dict[str, Any]:
    return {"kind": "run", "schema": 1, "run": "story", "started": "2026-01-01T00:00:00Z", "seed": 5090,
            "command": "msm story", "machine": {"system": "Linux", "cpu": _CPU, "gpu": _GPU, **machine},
            "versions": {"multiscalar": "0.1.0"}}  # fmt: skip


def labels(curve: str, n: int) -> dict[str, Any]:
    return {"curve": curve, "n": n, "group": "g1", "scope": "end-to-end", "shape": "uniform", "threads": 16, "batch": 1,
            "isa": "auto", "precompute": None, "inputs": "known-dlog", "seed": 5090}  # fmt: skip


def cell(curve: str, n: int, path: str, walls_ms: Iterable[float], place: str, start_ns: int = 0, copy: float = 0.0):
    """Lines of one cell whose samples follow each other 5 ms apart."""
    name = labels(curve, n)
    key = cell_id(name, path)
    yield {"kind": "cell", "cell": key, "path": path, "place": place, "labels": name, "subject": {"pids": [7]}}
    at, count = start_ns, 0
    for wall in walls_ms:
        line: dict[str, Any] = {"kind": "sample", "cell": key, "at_ns": at, "wall_ns": int(wall * 1e6), "cpu_ns": 10**6}
        if place == "gpu":
            device = int(wall * 0.6e6)
            line |= {"device_ns": device, "copy_ns": int(min(copy, wall * 0.39) * 1e6)}
            line["evidence"] = {"backend": "cuda", "launches": 20, "event_ns": device}
        yield line
        at += int(wall * 1e6) + 5_000_000
        count += 1
    yield {"kind": "result", "cell": key, "status": "ok", "checked": count, "stop": {"reason": "repeats"}}


def around(value: float, count: int, seed: int, spread: float = 0.03) -> list[float]:
    rng = random.Random(seed)
    return [value * rng.lognormvariate(0, spread) for _ in range(count)]


def cutoff_record(repeats: int = 21) -> Measurements:
    lines: list[dict[str, Any]] = [run_line()]
    for n, row in CUTOFF.items():
        best = min(row[:2])
        figures = {"snarkvm:batched": (row[0], "cpu"), "snarkvm:cuda": (row[1], "gpu"),
                   "snarkvm:dispatch": (row[2], "any"), "cpu": (row[0] / 2, "cpu"), "cuda": (row[1] / 3, "gpu"),
                   "auto": (min(row[0] / 2, row[1] / 3) if best else 0, "any")}  # fmt: skip
        for i, (path, (ms, place)) in enumerate(figures.items()):
            lines += cell("bls12-377", n, path, around(ms, repeats, n + i), place, copy=ms * 0.2)
    lines.append({"kind": "end", "run": "story", "complete": True})
    return gather(lines)


def stability_record(runs: int = 24) -> Measurements:
    """Slow calls of v3 at P5 and 1,400 MHz with the SMs 17 % busy; everything else at P0."""
    lines: list[dict[str, Any]] = [run_line()]
    start = 0
    for i, (path, (typical, copy, slow, share)) in enumerate(STABILITY.items()):
        rng = random.Random(i)
        walls = [w * (slow / typical if rng.random() < share else 1) for w in around(typical, runs, i)]
        made = list(cell("bn254", 2**20, path, walls, "gpu", start, copy))
        if path == "icicle-v3.2":
            for line in made:
                line.pop("device_ns", None)
        lines += made
        for sample in (line for line in made if line["kind"] == "sample"):
            bad = sample["wall_ns"] > 3 * typical * 1e6
            state = (
                {"sm_mhz": 1400, "pstate": 5, "gpu_util": 17} if bad else {"sm_mhz": 2520, "pstate": 0, "gpu_util": 92}
            )
            for at in range(sample["at_ns"], sample["at_ns"] + sample["wall_ns"], 20_000_000):
                lines.append({"kind": "trace", "at_ns": at, "fields": {**state, "pids": [7], "host_others_cpus": 0.1}})
        start = made[-2]["at_ns"] + made[-2]["wall_ns"] + 50_000_000
    lines.append({"kind": "end", "run": "story", "complete": True})
    return gather(lines)
