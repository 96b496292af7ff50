"""Check and measure the built wheel on a GPU machine, in stages of a few minutes each.

    python tools/gpu_machine.py --wheels DIR --out DIR --stage check|sanitize|bench|profile [--minutes N]

`--wheels` holds the project's wheel (abi3) and the wheels that the machine lacks; nothing is downloaded. Each
stage writes its logs and records to `--out` and prints a short summary last. Stages:

    check       facts of the machine, kernels compiled cold, the conformance suite and the GPU's own tests
    sanitize    compute-sanitizer memcheck, racecheck, synccheck on every kernel, one curve per limb width
    bench       the table of docs/gpu-engine.md: three curves, 2^10 to 2^24, scopes, shapes, steadiness
    profile     ncu on the accumulation at 2^20 and 2^24
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = Path("/tmp/multiscalar-site")
CURVES = ("bn254", "bls12-377", "bls12-381")


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(SITE), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}


def install(wheels: Path) -> None:
    """Unpack the wheels beside the machine's own packages, which stay as they are."""
    files = [str(path) for path in sorted(wheels.glob("*.whl"))]
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([*command, "--no-cache-dir", "--upgrade", "--target", str(SITE), *files], check=True)


def run(name: str, command: list[str], out: Path, limit_s: float, **more: str) -> int:
    """Run one command with a time limit, its output in a log of its own; prints its last line and its time."""
    started = time.monotonic()
    log = out / f"{name}.log"
    with log.open("w") as file:
        try:
            code = subprocess.run(
                command, cwd=ROOT, env={**environment(), **more}, stdout=file, stderr=subprocess.STDOUT, timeout=limit_s
            ).returncode
        except subprocess.TimeoutExpired:
            code = 124
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    print(f"{name}: exit {code}, {time.monotonic() - started:.0f} s: {lines[-1][:200] if lines else ''}", flush=True)
    return code


def msm(*words: str) -> list[str]:
    return [sys.executable, "-m", "multiscalar.cli", *words]


COMPILE = """
import time, multiscalar as ms
from concurrent.futures import ThreadPoolExecutor
from multiscalar.cuda.compiled import kernels
def one(name):
    start = time.monotonic(); kernels(ms.curve(name)); return name, round(time.monotonic() - start, 2)
for name in ("bn254", "bls12-377", "bls12-381"):
    print(*one(name))
"""


def check(out: Path, minutes: float) -> int:
    limit = 60 * minutes
    code = run("info", msm("info"), out, 60)
    code |= run("kernels-cold", [sys.executable, "-c", COMPILE], out, 200)
    code |= run("kernels-from-cache", [sys.executable, "-c", COMPILE], out, 60)
    pytest = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-o", "addopts="]
    suite = [*pytest, "-n", "6", "-k", "cuda", "tests/conformance"]
    code |= run("conformance", suite, out, limit / 2)
    code |= run("native", [*pytest, "tests/cuda/native"], out, limit / 2)
    return code


SANITIZED = """
import sys, multiscalar as ms
name = sys.argv[1]
curve = ms.curve(name)
cases = [(1, "uniform", None), (33, "uniform", None), (1000, "witness", None), (4096, "uniform", None)]
for n, shape, precompute in [*cases, (4096, "equal", None), (1000, "uniform", 3)]:
    points, scalars = curve.known_points(n, seed=1), curve.random_scalars(n, seed=2, shape=shape)
    bases = ms.Bases(points, backend="cuda", precompute=precompute)
    expected = curve.expected_sum(points, scalars)
    for path in (None, "grouped", "sorted", "pairs"):
        assert bases.msm(scalars, path=path) == expected, (n, shape, path)
print("right under the sanitizer:", name)
"""


def sanitize(out: Path, minutes: float) -> int:
    limit = 60 * minutes / 6
    code = 0
    for name in ("bn254", "bls12-377"):
        for tool in ("memcheck", "racecheck", "synccheck"):
            # Asking whether host memory is page-locked is answered by an error code for ordinary memory: not a fault.
            command = ["compute-sanitizer", "--tool", tool, "--report-api-errors", "no", "--error-exitcode", "9"]
            code |= run(f"{tool}-{name}", [*command, sys.executable, "-c", SANITIZED, name], out, limit)
    return code


def bench(out: Path, minutes: float) -> int:
    limit = 60 * minutes / 12
    code = 0
    sizes = "2^10,1025,2^13,2^16,2^20"
    for curve in CURVES:
        common = ("--curve", curve, "--paths", "cuda", "--format", "csv")
        for scope in ("resident", "resident-bases", "end-to-end"):
            words = ("bench", *common, "--sizes", sizes, "--scope", scope, "--repeats", "15")
            code |= run(f"{curve}-{scope}", msm(*words, "--record", str(out / f"{curve}.jsonl")), out, limit)
        words = ("bench", *common, "--sizes", "2^24", "--scope", "resident", "--repeats", "15")
        code |= run(f"{curve}-large", msm(*words, "--record", str(out / f"{curve}-large.jsonl")), out, limit)
    words = ("bench", "--curve", "bls12-377", "--preset", "boundary", "--paths", "cpu,cuda", "--format", "csv")
    return code | run("boundary", msm(*words, "--record", str(out / "boundary.jsonl")), out, limit)


PROFILED = """
import sys, multiscalar as ms
name, n = sys.argv[1], int(sys.argv[2])
curve = ms.curve(name)
points, scalars = curve.known_points(n, seed=1), curve.random_scalars(n, seed=2)
bases = ms.Bases(points, backend="cuda")
assert bases.msm(scalars) == curve.expected_sum(points, scalars)
"""


def profile(out: Path, minutes: float) -> int:
    code = 0
    pipe = "sm__inst_executed_pipe_fmaheavy.avg.pct_of_peak_sustained_active"
    metrics = f"{pipe},sm__throughput.avg.pct_of_peak_sustained_elapsed"
    for name in ("bn254", "bls12-377"):
        for n in (1 << 20, 1 << 24):
            command = ["ncu", "--clock-control", "none", "--metrics", f"gpu__time_duration.sum,{metrics}", "--csv"]
            command += ["-k", "regex:msm_(pairs|accumulate)", sys.executable, "-c", PROFILED, name, str(n)]
            code |= run(f"ncu-{name}-{n}", command, out, 60 * minutes / 4)
    return code


STAGES = {"check": check, "sanitize": sanitize, "bench": bench, "profile": profile}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wheels", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--stage", choices=STAGES, required=True)
    parser.add_argument("--minutes", type=float, default=8.0, help="time limit of the stage")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    install(arguments.wheels)
    return STAGES[arguments.stage](arguments.out, arguments.minutes)


if __name__ == "__main__":
    sys.exit(main())
