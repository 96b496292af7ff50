"""What the Python API costs and keeps: `python benchmarks/api.py [NAME...]` prints one line a figure, with its bound.

Names: import, one-term, ctrl-c, narrow, shapes, memory, arkworks (default: all that can be had). Short figures are the
least of many repeats and CPU time of one thread where that is meant, so that other load on the machine matters little;
every sum is checked. Exit code 1 if a figure misses its bound, 2 for a name that is none, 3 if what a named one needs
is not to be had here.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec

import ending
import multiscalar as ms
from multiscalar.shapes import ScalarShape

Row = tuple[str, float, str, float]  # name, figure, unit, bound (figures above it miss)


def least(work: Callable[[], object], repeats: int, clock: Callable[[], int] = time.process_time_ns) -> float:
    """Least time of one call in microseconds."""
    best = 1 << 62
    for _ in range(repeats):
        started = clock()
        work()
        best = min(best, clock() - started)
    return best / 1000


def import_time() -> Iterator[Row]:
    code = "import time; t = time.perf_counter(); import multiscalar; print(time.perf_counter() - t)"
    first = "import time; t = time.perf_counter(); import multiscalar; multiscalar.msm; print(time.perf_counter() - t)"
    for name, text in (("import multiscalar", code), ("import and first use of a name (numpy)", first)):
        runs = [float(subprocess.check_output([sys.executable, "-c", text])) for _ in range(7)]
        yield name, 1000 * min(runs), "ms", 150 if text is code else 1000


def one_term() -> Iterator[Row]:
    for name in ms.curves.names():
        curve = ms.curve(name)
        points, scalars = curve.known_points(1), curve.random_scalars(1)
        assert ms.msm(points, scalars) == curve.expected_sum(points, scalars)
        data, limbs, bases = points.data, scalars.data, ms.Bases(points)
        yield (
            f"one term, {name}, from arrays",
            least(lambda d=data, s=limbs, c=curve: ms.msm(d, s, curve=c), 500),
            "us",
            150,
        )
        yield f"one term, {name}, ready bases", least(lambda b=bases, s=limbs: b.msm(s), 500), "us", 150


def ctrl_c() -> Iterator[Row]:
    curve = ms.curve("bls12-381")
    bases, scalars = ms.Bases(curve.known_points(1 << 22)), curve.random_scalars(1 << 22)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    worst = 0.0
    for delay in (0.05, 0.3, 1.0, 2.0):
        sent: list[float] = []

        def send(sent: list[float] = sent) -> None:
            sent.append(time.monotonic())
            os.kill(os.getpid(), signal.SIGINT)

        threading.Timer(delay, send).start()
        try:
            bases.msm(scalars)
            print(f"ctrl-c after {delay} s came too late", file=sys.stderr)
            time.sleep(60)
        except KeyboardInterrupt:
            worst = max(worst, time.monotonic() - sent[0])
    yield "Ctrl-C in a call of 2^22 terms, latest return", 1000 * worst, "ms", 300


def narrow() -> Iterator[Row]:
    curve, n = ms.curve("bls12-377"), 1 << 18
    points = curve.known_points(n)
    bases = ms.Bases(points)

    def cost(shape: str) -> float:
        scalars = curve.random_scalars(n, shape=shape)
        assert bases.msm(scalars, threads=1) == curve.expected_sum(points, scalars)
        return least(lambda: bases.msm(scalars, threads=1), 3)

    full = cost("uniform")
    for shape, bound in (("bool", 0.12), ("uint8", 0.15), ("uint64", 0.40)):
        yield f"2^18 terms, {shape} over uniform", cost(shape) / full, "x", bound


def shapes() -> Iterator[Row]:
    curve, n = ms.curve("bn254"), 1 << 16
    points = curve.known_points(n)
    bases = ms.Bases(points)
    full = 0.0
    for shape in ScalarShape:
        scalars = curve.random_scalars(n, shape=shape)
        assert bases.msm(scalars, threads=1) == curve.expected_sum(points, scalars)
        taken = least(lambda s=scalars: bases.msm(s, threads=1), 3)
        full = full or taken
        yield f"2^16 terms, {shape} over uniform", taken / full, "x", 1.5


def memory() -> Iterator[Row]:
    """Peak beyond the inputs of one call, end to end, in a process of its own."""
    yield (
        "2^22 terms, peak memory beyond the inputs over the inputs",
        float(subprocess.check_output([sys.executable, __file__, "--peak"])),
        "x",
        1.5,
    )


def peak() -> None:
    curve = ms.curve("bls12-377")
    points, scalars = curve.known_points(1 << 22), curve.random_scalars(1 << 22)
    inputs = points.data.nbytes + scalars.data.nbytes
    with open("/proc/self/clear_refs", "w") as reset:
        reset.write("5")  # restart the peak
    before = resident()
    ms.msm(points, scalars)
    print((resident("VmHWM") - before) / inputs)


def resident(field: str = "VmRSS") -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith(field))


def arkworks() -> Iterator[Row]:
    """One thread at 2^16 from ready points, against py-arkworks-bls12381 on the same points and scalars."""
    import py_arkworks_bls12381 as ark

    curve, n = ms.curve("bls12-381"), 1 << 16
    points, scalars = curve.known_points(n), curve.random_scalars(n)
    data = points.to_bytes("zcash")
    theirs = [ark.G1Point.from_compressed_bytes_unchecked(data[i : i + 48]) for i in range(0, len(data), 48)]
    numbers = [ark.Scalar.from_le_bytes(row.tobytes()) for row in scalars.data]
    bases = ms.Bases(points)
    assert bytes(ark.G1Point.multiexp_unchecked(theirs, numbers).to_compressed_bytes()) == bases.msm(scalars).to_bytes(
        "zcash"
    )
    ours = least(lambda: bases.msm(scalars, threads=1), 5)
    other = least(lambda: ark.G1Point.multiexp_unchecked(theirs, numbers), 3)
    yield "2^16 terms of BLS12-381, our CPU time over py-arkworks-bls12381's", ours / other, "x", 0.2


FIGURES = {
    "import": import_time,
    "one-term": one_term,
    "ctrl-c": ctrl_c,
    "narrow": narrow,
    "shapes": shapes,
    "memory": memory,
    "arkworks": arkworks,
}


def lack(name: str) -> str:
    """What a figure needs and this machine has not; empty if nothing."""
    if name == "arkworks" and find_spec("py_arkworks_bls12381") is None:
        return f"{name}: the package is not installed; pip install py-arkworks-bls12381"
    return ""


def main(words: list[str]) -> int:
    if words == ["--peak"]:
        peak()
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    asked = parser.parse_args(words).names
    if unknown := [name for name in asked if name not in FIGURES]:
        parser.error(f"no figure is called {', '.join(unknown)}; there are {', '.join(FIGURES)}")
    lacks = [told for name in asked or FIGURES if (told := lack(name))]
    for told in lacks:
        print(told, file=sys.stderr)
    return 3 if lacks and asked else measure([name for name in asked or FIGURES if not lack(name)])


def measure(names: list[str]) -> int:
    """Print all figures; 1 if one misses its bound."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    missed = 0
    for name in names:
        for what, figure, unit, bound in FIGURES[name]():
            ok = figure <= bound
            missed += not ok
            print(
                json.dumps({"what": what, "figure": round(figure, 3), "unit": unit, "bound": bound, "ok": ok}),
                flush=True,
            )
    return 1 if missed else 0


if __name__ == "__main__":
    ending.run(lambda: main(sys.argv[1:]))
