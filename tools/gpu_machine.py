"""Check and measure the cuda backend on a GPU machine: one command, some nine minutes, a handful of files.

    python tools/gpu_machine.py --out DIR [--wheels DIR] [--stages compile,native,...] [--minutes N]

`--wheels` holds the project's wheel (abi3) and wheels that the machine lacks; nothing is downloaded. Without it the
package must be importable. Stages, in this order unless chosen; each stands for itself, and one that fails or hangs
takes nothing along:

    compile     the kernels of all curves side by side, cold, then from the cache
    native      the conformance suite on the GPU beside the sanitizers, and the GPU's own tests
    table       lab records: three curves, three scopes, 2^10 to 2^24 (table.jsonl)
    figures     benchmarks/gpu_figures.py: what a record has no row for (figures.jsonl)
    sanitize    compute-sanitizer memcheck, racecheck, synccheck on every kernel, a curve per limb width (in native too)
    tune        plans side by side, tools/gpu_tune.py (tune.md; not by default)
    profile     ncu on the heavy kernels at 2^20 and 2^24, share of the multiplier's pipe (profile.csv; not by default)

In DIR: summary.json (each command with exit code, seconds and last line), the records, and logs.tar.gz. Exit code: 1 if
a command failed, 2 for words that mean nothing here, 3 without a GPU. Nothing in these files names a place of the
machine.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CURVES = ("bn254", "bls12-377", "bls12-381")
SCOPES = ("resident", "resident-bases", "end-to-end")


@dataclass(frozen=True)
class Done:
    """One command that ran."""

    stage: str
    name: str
    code: int  # 124: it ran past its limit
    seconds: float
    last: str


@dataclass
class Session:
    """Runs commands with limits, keeps their logs, writes the summary after each."""

    out: Path
    deadline: float
    environment: dict[str, str]
    logs: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="gpu-machine-")))
    done: list[Done] = field(default_factory=list)
    _keeping: threading.Lock = field(default_factory=threading.Lock)

    def run(
        self,
        stage: str,
        name: str,
        command: Sequence[str],
        limit_s: float,
        *,
        keep: str | None = None,
        inside: Path = ROOT,
    ) -> int:
        """One command in folder `inside`; `keep` names the file of `out` that gets its stdout.

        When its time is over it is killed with all its children.
        """
        limit_s = min(limit_s, self.deadline - time.monotonic())
        if limit_s < 2:
            return self._note(Done(stage, name, 125, 0.0, "not run: no time was left"))
        log, started = self.logs / f"{stage}-{name}.log", time.monotonic()
        words = log.with_suffix(".out")
        with log.open("wb") as file, words.open("wb") if keep else contextlib.nullcontext(file) as stdout:
            process = subprocess.Popen(
                command, cwd=inside, env=self.environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=file,
                start_new_session=True,
            )  # fmt: skip
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = 124
            _end(process)
        if keep:
            self._append(keep, words.read_bytes())
        return self._note(Done(stage, name, code, round(time.monotonic() - started, 1), self.clean(_last_line(log))))

    def _append(self, keep: str, words: bytes) -> None:
        """Whole commands one after another: two that run side by side must not cut each other's lines."""
        with self._keeping, (self.out / keep).open("ab") as file:
            file.write(words)

    def _note(self, done: Done) -> int:
        with self._keeping:  # two that end at once would write one archive
            self.done.append(done)
            print(f"{done.stage:9} {done.name}: exit {done.code}, {done.seconds:.0f} s  {done.last}", flush=True)
            self.write()
        return done.code

    def side_by_side(self, commands: Sequence[Callable[[], int]]) -> None:
        with ThreadPoolExecutor(len(commands)) as pool:
            for command in [pool.submit(command) for command in commands]:
                command.result()

    def clean(self, text: str) -> str:
        """`text` without places of this machine."""
        for place, word in ((self.logs, "LOGS"), (self.out.resolve(), "OUT"), (ROOT, "ROOT"), (Path.home(), "~")):
            text = text.replace(str(place), word)
        return text.replace(tempfile.gettempdir(), "TMP").replace(sys.prefix, "PYTHON")

    def write(self) -> None:
        """summary.json and the logs, whole at any time: the machine may be taken away."""
        summary = {"commands": [asdict(one) for one in self.done]}
        _replace(self.out / "summary.json", json.dumps(summary, indent=1).encode())
        part = self.logs / "logs.part"
        with tarfile.open(part, "w:gz") as archive:
            for log in sorted(self.logs.glob("*.log")):
                copy = log.with_suffix(".clean")
                copy.write_text(self.clean(log.read_text(errors="replace")))
                archive.add(copy, arcname=log.name, filter=_anonymous)
        _replace(self.out / "logs.tar.gz", part.read_bytes())


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _replace(path: Path, data: bytes) -> None:
    part = path.with_suffix(".part")
    part.write_bytes(data)
    os.replace(part, path)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what the command has left behind, by the group that was made for it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


# --- stages -------------------------------------------------------------------------------------

PYTHON = sys.executable
COMPILE = """
import time, multiscalar as ms
from multiscalar.cuda import backend, compiled
start = time.monotonic(); backend.warm_up(ms.curves.names()); print("all", round(time.monotonic() - start, 2))
"""
FROM_CACHE = """
import time
start = time.monotonic()
import multiscalar as ms
from multiscalar.cuda.compiled import kernels
for name in ms.curves.names():
    begun = time.monotonic(); kernels(ms.curve(name)); print(name, round(time.monotonic() - begun, 3), end="; ")
print("with imports and CUDA", round(time.monotonic() - start, 3))
"""
SANITIZED = """
import sys, multiscalar as ms
curve = ms.curve(sys.argv[1])
cases = ((33, "uniform", None), (1000, "witness", None), (4096, "equal", None), (1000, "uniform", 3))
for n, shape, precompute in cases:
    points, scalars = curve.known_points(n, seed=1), curve.random_scalars(n, seed=2, shape=shape)
    bases = ms.Bases(points, backend="cuda", precompute=precompute)
    expected = curve.expected_sum(points, scalars)
    for path in (None, "grouped", "sorted", "pairs"):
        if path == "grouped" and precompute:
            continue
        for _ in range(2):
            assert bases.msm(scalars, path=path) == expected, (n, shape, path)
    for _ in range(6 if n < 4096 else 0):  # in the end as graphs, with copies beside them
        assert ms.msm(points.data, scalars.data, curve=curve, backend="cuda") == expected, n
print("right under the sanitizer")
"""
PROFILED = """
import sys, multiscalar as ms
name, n = sys.argv[1], int(sys.argv[2])
curve = ms.curve(name)
points, scalars = curve.known_points(n, seed=1), curve.random_scalars(n, seed=2)
assert ms.Bases(points, backend="cuda").msm(scalars) == curve.expected_sum(points, scalars)
"""


def compile_kernels(session: Session) -> None:
    """Cold into a cache of this session's own, then from it."""
    session.run("compile", "cold", [PYTHON, "-c", COMPILE], 150)
    session.run("compile", "from-cache", [PYTHON, "-c", FROM_CACHE], 60)
    session.run("compile", "info", [PYTHON, "-m", "multiscalar.cli", "info"], 60)


def table(session: Session) -> None:
    """One record of all curves and scopes; the large sizes last."""
    sizes = {"small": "2^10,1025,2^13,2^16,2^20", "large": "2^24"}
    for name, words in sizes.items():
        for curve in CURVES:
            for scope in SCOPES if name == "small" else SCOPES[:1]:
                command = [PYTHON, "-m", "multiscalar.cli", "bench", "--curve", curve, "--paths", "cuda"]
                command += ["--format", "csv"]
                command += ["--sizes", words, "--scope", scope, "--repeats", "15", "--record", "table.jsonl"]
                session.run("table", f"{name}-{curve}-{scope}", command, 60, inside=session.out)


def figures(session: Session) -> None:
    """Figure by figure in processes of their own, so that none takes the others along; what is short of time is the
    last curve. Inputs of 2^24 terms alone take a dozen seconds a curve to make.
    """
    groups = ("host time,neighbour,batches,plans", "shapes,steady", "host inputs,host copies,schedules", "precomputed")
    for group, limit in zip(groups, (60, 70, 140, 80), strict=True):
        command = [PYTHON, "benchmarks/gpu_figures.py", "--only", group, "--seconds", str(limit - 15)]
        command += ["--curves", ",".join(CURVES)]
        session.run("figures", group.replace(" ", "-").replace(",", "+"), command, limit, keep="figures.jsonl")


def native(session: Session) -> None:
    """Each file of the suite and each sanitizer in a process of its own, all at once: most of their time is the host's.
    Those that watch memory run alone, after the others.
    """
    pytest = [PYTHON, "-X", "faulthandler", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=-ra"]
    suite = sorted(path.name for path in (ROOT / "tests/conformance").glob("test_*.py"))

    def one(name: str, *words: str, limit: float = 150.0) -> Callable[[], int]:
        return lambda: session.run("native", name, [*pytest, *words], limit)

    conformance = [one(f"conformance-{name[5:-3]}", "-k", "cuda", f"tests/conformance/{name}") for name in suite]
    session.side_by_side([*conformance, *sanitizers(session)])
    one("steady", "tests/cuda/native/test_steady.py")()
    one("alone", "tests/cuda/native/test_alone.py", limit=240)()


def sanitizers(session: Session) -> list[Callable[[], int]]:
    """Each tool on each limb width; slow for itself, it leaves most of the GPU idle."""
    # Asking whether host memory is page-locked is answered by an error code for ordinary memory: not a fault.
    tool = ["compute-sanitizer", "--report-api-errors", "no", "--error-exitcode", "9", "--tool"]
    return [
        lambda kind=kind, curve=curve: session.run(
            "sanitize", f"{kind}-{curve}", [*tool, kind, PYTHON, "-c", SANITIZED, curve], 150
        )
        for kind in ("memcheck", "racecheck", "synccheck")
        for curve in ("bn254", "bls12-377")
    ]


def sanitize(session: Session) -> None:
    """The sanitizers alone."""
    session.side_by_side(sanitizers(session))


def tune(session: Session) -> None:
    """What docs/gpu-engine.md leaves to a measurement, in one table; large sizes in a process of their own."""
    small = "2^10,2^13,2^16,2^20"
    for rows, sizes, seconds in (("tried", small, 90), ("large", "2^24", 40)):
        command = [PYTHON, "tools/gpu_tune.py", "--rows", rows, "--sizes", sizes, "--seconds", str(seconds)]
        session.run("tune", rows, command, seconds + 30, keep="tune.md")
    print((session.out / "tune.md").read_text(), flush=True)


# Counters of one pass, so that a kernel runs once and none of its gigabytes is saved and restored.
METRICS = (
    "gpu__time_duration.sum",
    "sm__pipe_fmaheavy_cycles_active.avg.pct_of_peak_sustained_active",
    "sm__warps_active.avg.pct_of_peak_sustained_active",
)


def profile(session: Session) -> None:
    """The pair rounds and the accumulation of one call: four launches, time, pipe and resident warps of each."""
    for curve in ("bn254", "bls12-377"):
        for n in (1 << 20, 1 << 24):
            command = ["ncu", "--clock-control", "none", "--cache-control", "none", "--metrics", ",".join(METRICS)]
            command += ["-k", "regex:msm_(pairs|accumulate)", "--launch-count", "4", "--csv", "--page", "raw"]
            command += [PYTHON, "-c", PROFILED, curve, str(n)]
            session.run("profile", f"{curve}-{n}", command, 120, keep="profile.csv")
    print(shares((session.out / "profile.csv").read_text(errors="replace")), flush=True)


def shares(text: str) -> str:
    """ncu's pages of raw values, a line a launch: kernel, time, share of the pipe, share of the warps."""
    lines, columns, units = [], [""], [""]
    for row in csv.reader(line for line in text.splitlines() if line.startswith('"')):
        if "Kernel Name" in row:
            columns, units = row, []
        elif not units:
            units = row
        elif len(row) == len(columns):
            value = dict(zip(columns, row, strict=True))
            of = dict(zip(columns, units, strict=True))
            figures = ", ".join(f"{value[metric]} {of[metric]}" for metric in METRICS)
            lines.append(f"{value['Kernel Name'].split('(')[0]}: {figures}")
    return "\n".join(lines) or "no launch was profiled"


STAGES: dict[str, Callable[[Session], None]] = {
    "compile": compile_kernels,
    "native": native,
    "table": table,
    "figures": figures,
    "sanitize": sanitize,
    "tune": tune,
    "profile": profile,
}
USUAL = ("compile", "native", "table", "figures")


def perform(session: Session, stages: Sequence[str], known: dict[str, Callable[[Session], None]] = STAGES) -> int:
    """The stages in turn; the number of commands that failed. A stage that breaks is a failed command itself."""
    for name in stages:
        try:
            known[name](session)
        except Exception as error:  # a tool that is not installed, a full disk: the next stage may do
            session._note(Done(name, "stage", 126, 0.0, session.clean(f"{type(error).__name__}: {error}")))
    return sum(one.code != 0 for one in session.done)


def install(wheels: Path, site: Path) -> str:
    """Unpack the wheels beside the machine's own packages, which stay as they are. Why that failed; empty if not."""
    files = [str(path) for path in sorted(wheels.glob("*.whl"))]
    if not files:
        return f"there are no wheels in {wheels}"
    command = [PYTHON, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--no-compile", "--no-cache-dir"]
    done = subprocess.run([*command, "--upgrade", "--target", str(site), *files], capture_output=True, text=True)
    said = (done.stdout + done.stderr).strip().splitlines()
    return f"pip cannot unpack the wheels of {wheels}: {(said or ['no word'])[-1]}" if done.returncode else ""


def missing(environment: dict[str, str]) -> str:
    """What there is not to work with, a GPU or the package; empty if all is there."""
    program = "from multiscalar.lab.lacks import own_lack; print(own_lack('cuda') or '')"
    try:
        asked = subprocess.run([PYTHON, "-c", program], env=environment, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return "no GPU to work on: asking for it took over 300 s"
    lines = (asked.stdout + asked.stderr).strip().splitlines()
    if asked.returncode:
        return f"the package cannot be used ({(lines or ['no word'])[-1]}): install it, or name its wheel with --wheels"
    return f"no GPU to work on: {lines[-1]}" if lines else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--wheels", type=Path)
    parser.add_argument("--stages", default=",".join(USUAL))
    parser.add_argument("--minutes", type=float, default=9.0, help="nothing runs longer than this, all in all")
    arguments = parser.parse_args()
    stages = arguments.stages.split(",")
    if unknown := [name for name in stages if name not in STAGES]:
        parser.error(f"no stage is called {', '.join(unknown)}; there are {', '.join(STAGES)}")
    if not arguments.minutes > 0:
        parser.error(f"--minutes {arguments.minutes}: more than 0")
    deadline = time.monotonic() + 60 * arguments.minutes
    with tempfile.TemporaryDirectory(prefix="gpu-machine-") as home:
        site, cache = Path(home) / "site", Path(home) / "cache"
        path = [str(site)] if arguments.wheels else []
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([*path, str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "PYTHONUNBUFFERED": "1",
            "MULTISCALAR_CACHE_DIR": os.environ.get("MULTISCALAR_CACHE_DIR", str(cache)),
        }
        if arguments.wheels and (reason := install(arguments.wheels, site)):
            parser.error(reason)
        if reason := missing(environment):
            print(reason, file=sys.stderr)
            return 3
        try:
            arguments.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"--out {arguments.out}: {error.strerror}")
        return int(perform(Session(arguments.out, deadline, environment), stages) > 0)


if __name__ == "__main__":
    sys.exit(main())
