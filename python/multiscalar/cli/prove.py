"""`msm prove`: prove a circuit with Varuna, timed, every proof verified; beside snarkVM and over cutoffs if asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..errors import MultiscalarError, SrsError
from ..lab.formats import Format, render
from ..lab.lacks import own_lack
from ..lab.record import Cell, Measurements
from ..lab.rows import make_row
from ..lab.stats import ratio_interval
from ..lab.status import Status
from ..lab.stopping import Stopping
from ..lab.subject import Labels, Subject
from ..lab.warmup import Warmup
from ..settings import parse_size
from ..varuna import circom, indexer, srs, workloads
from ..varuna.r1cs import Assignment, R1cs
from ..varuna.scalars import integers
from ..varuna.version import Version
from . import options as o
from .calibrate import profile_first
from .exits import code_of
from .plan import Plan
from .proving import Job, OwnProver, case_of
from .session import Session, measure, verdict

__all__ = ["command"]

TEST = "test-circuit"
_PHASES = ("msm", "ntt", "hashing", "rest")


class Backend(StrEnum):
    """Where the multiplications run."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


def command(
    constraints: Annotated[int, typer.Option(help="Rows of the test circuit.")] = 10_000,
    variables: Annotated[int, typer.Option(help="Variables of the test circuit.")] = 2_500,
    depth: Annotated[int, typer.Option(help="Depth of the test circuit: its public inputs.")] = 100,
    workload: Annotated[
        str, typer.Option(help=f"{TEST}, or a stand-in of the same shape: {', '.join(workloads.SHAPES)}.")
    ] = TEST,
    r1cs: Annotated[Path | None, typer.Option(help="A circom circuit over bls12-377 instead; needs --wtns.")] = None,
    wtns: Annotated[Path | None, typer.Option(help="Its witness.")] = None,
    version: Annotated[Version, typer.Option(case_sensitive=False, help="Version of the protocol.")] = Version.V3,
    hiding: Annotated[bool, typer.Option(help="Hide the witness (zero knowledge).")] = True,
    seed: o.Seed = 5090,
    warmups: o.Warmups = 1,
    repeats: o.Repeats = 7,
    threads: o.Threads = None,
    backend: Annotated[Backend, typer.Option(help="Where the multiplications run.")] = Backend.AUTO,
    cutoffs: Annotated[
        str | None, typer.Option(help="Cutoffs to compare, interleaved: 1024,8192,auto. Needs a GPU.")
    ] = None,
    peers: Annotated[str, typer.Option(help="snarkvm: its own prover on the same circuit, interleaved.")] = "",
    srs_dir: Annotated[Path | None, typer.Option("--srs", help="Directory of the public setup (*.usrs).")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the last proof to PREFIX.proof, with PREFIX.key, PREFIX.inputs.")
    ] = None,
    form: Annotated[Format | None, typer.Option("--format", help="Rows instead of lines.")] = None,
    record: o.RecordFile = None,
    quiet: o.QuietFlag = False,
) -> None:
    """Prove a circuit, `repeats` times after the warm-ups; only `prove` is timed, every proof is verified.

    One line a path on stdout, then its phases in microseconds; with several paths their ratios with intervals. Exit
    1 if a proof was wrong, 3 if something asked for is not to be had.
    """
    if save is not None:
        o.writable(Path(f"{save}.proof"))
    warning = version.warning(hiding=hiding)
    if warning:
        typer.echo(f"warning: {warning}", err=True)
    circuit, assignment = _from_circom(r1cs, wtns) if r1cs else _circuit(workload, depth, constraints, variables, seed)
    workload = r1cs.name if r1cs else workload
    job = Job(workload, circuit, assignment, version, hiding, threads, _Setup(srs_dir, hiding, seed))
    subjects = _subjects(backend, cutoffs, peers)
    if backend is Backend.AUTO:
        profile_first(["bls12-377"])
    labels = _labels(job, depth if workload == TEST else None, seed)
    session = Session(
        seed=seed,
        warmup=Warmup(minimum=warmups),
        stopping=Stopping(repeats=repeats, time_limit=3600.0),
        record=record,
        quiet=quiet,
    )
    case = _Kept(job, labels)
    measurements, complete = measure(Plan([case.case], subjects), session)
    if form is not None:
        typer.echo(render(measurements, form), nl=False)
    else:
        _print(measurements, job, len(subjects) > 1)
    if save is not None:
        case.save(save)
    raise typer.Exit(verdict(measurements, complete))


def _circuit(workload: str, depth: int, constraints: int, variables: int, seed: int) -> tuple[R1cs, Assignment]:
    try:
        if workload == TEST:
            return workloads.test_circuit(depth, constraints, variables, seed)
        circuit = workloads.stand_in(workload, seed)
    except MultiscalarError as error:
        raise o.fail(str(error), code_of(error)) from None
    typer.echo(f"{workload}: a random circuit of the published shape, standing in for the real one", err=True)
    return circuit


def _from_circom(r1cs: Path, wtns: Path | None) -> tuple[R1cs, Assignment]:
    if wtns is None:
        raise o.fail("--r1cs needs --wtns, the witness")
    try:
        circuit = circom.read_r1cs(r1cs.read_bytes())
        return circuit, circom.read_witness(wtns.read_bytes(), circuit)
    except (MultiscalarError, OSError) as error:
        raise o.fail(str(error)) from None


class _Setup:
    """The public setup where it is found and long enough, else a seeded one, which says so. A directory that was
    named must hold the public one.
    """

    def __init__(self, directory: Path | None, hiding: bool, seed: int) -> None:
        self._directory, self._hiding, self._seed = directory, hiding, seed

    def __call__(self, circuit: R1cs) -> srs.Srs:
        info, _ = indexer.padded(circuit, hiding=self._hiding)
        powers = info.powers
        reason = f"the public files hold {2 * srs.FILE_POINTS:,} powers, this circuit needs {powers:,}"
        if powers <= 2 * srs.FILE_POINTS:
            try:
                return srs.load(self._directory)
            except SrsError as error:
                if self._directory is not None:
                    raise o.fail(str(error), 3) from None
                reason = error.what
        typer.echo(
            f"INSECURE SETUP {self._seed}:{powers} (seed:powers): good for timing, proves nothing ({reason})", err=True
        )
        return srs.seeded(powers, self._seed, warn=False)


def _subjects(backend: Backend, cutoffs: str | None, peers: str) -> list[Subject]:
    subjects: list[Subject] = []
    if cutoffs is None:
        subjects.append(OwnProver(str(backend), str(backend)))
    else:
        if missing := own_lack("cuda"):
            raise o.fail(f"--cutoffs compares where the GPU takes over: {missing}", 3)
        for word in o.words(cutoffs, str, "sizes or auto"):
            try:
                size = None if word == "auto" else parse_size(word)
            except ValueError:
                raise o.fail(f"--cutoffs {word!r} is not a size and not auto") from None
            subjects.append(OwnProver(f"cutoff:{word}", "auto", size))
    for name in o.words(peers, str, "snarkvm"):
        if name.lower() != "snarkvm":
            raise o.fail(f"no prover is called {name!r}; known: snarkvm")
        from .snarkvm import SnarkVm

        subjects.append(SnarkVm(lambda line: typer.echo(line, err=True)))
    return subjects


def _labels(job: Job, depth: int | None, seed: int) -> Labels:
    return {
        "subject": "prove", "curve": "bls12-377", "workload": job.name, "n": job.circuit.constraints,
        "variables": job.circuit.variables, "depth": depth, "version": str(job.version),
        "hiding": "yes" if job.hiding else "no", "threads": job.threads, "seed": seed,
    }  # fmt: skip


class _Kept:
    """The case, remembering what it was loaded with and the last proof that was found right."""

    def __init__(self, job: Job, labels: Labels) -> None:
        case = case_of(job, labels)
        self._job = job
        self._files: dict[str, bytes] = {}

        def verify(ready: object, result: object) -> str | None:
            wrong = case.verify(ready, result)
            if wrong is None and isinstance(result, bytes):
                self._files["proof"] = result
                self._files["key"] = ready.key.verifying.to_bytes()  # type: ignore[attr-defined]
            return wrong

        self.case = type(case)(case.labels, case.load, verify)

    def save(self, prefix: Path) -> None:
        """The last good proof, its key and inputs, as `msm verify` takes them."""
        inputs = [str(value) for value in integers(self._job.assignment.public)]
        files = {**self._files, "inputs": json.dumps(inputs).encode()}
        for kind, data in files.items():
            o.write(Path(f"{prefix}.{kind}"), data)


def _print(measurements: Measurements, job: Job, several: bool) -> None:
    cells = list(measurements.cells.values())
    for cell in cells:
        row = make_row(cell)
        if row.median_us is None:
            typer.echo(f"{cell.path}: {row.status}: {row.note}", err=True)
            continue
        typer.echo(
            f"varuna_{job.version}_prove_constraints={job.circuit.constraints}_variables={job.circuit.variables}"
            f"_repeats={len(cell.samples)}_median_us={row.median_us:.0f}_verified=true"
            + (f"_path={cell.path}" if several else "")
        )
        phases = _phases(cell)
        if phases:
            shares = "_".join(f"{name}={phases.get(name, 0) / 1e3:.0f}" for name in _PHASES)
            typer.echo(f"varuna_{job.version}_phases_us_{shares}" + (f"_path={cell.path}" if several else ""))
    _ratios([cell for cell in cells if cell.status is Status.OK])


def _phases(cell: Cell) -> dict[str, int]:
    """The phases of the sample in the middle, so that they add up."""
    ranked = sorted(cell.samples, key=lambda sample: int(sample["wall_ns"]))
    detail = ranked[len(ranked) // 2].get("evidence", {}).get("detail", {})
    return dict(detail.get("phases_ns", {}))


def _ratios(cells: Sequence[Cell]) -> None:
    """Every other path over the first, with the 95 % interval."""
    for cell in cells[1:]:
        ratio = ratio_interval(cell.times(), cells[0].times())
        typer.echo(f"{cell.path} / {cells[0].path}: {ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]")
