"""`msm calibrate --for PROVER`: the cutoff that another prover's dispatch should use on this machine.

Their CPU and GPU paths are measured through the peers, on the same inputs, interleaved, every result checked; then the
crossover of the two is the cutoff, and the loss of their present constant is what they pay today.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

import typer

from ..lab.crossover import crossings
from ..lab.record import Measurements
from ..lab.sizes import PRESETS
from ..lab.status import Status
from ..lab.stopping import Stopping
from ..lab.stories.cutoff import SNARKVM_CUTOFF, series
from ..lab.subject import Scope
from ..lab.warmup import Warmup
from .options import fail
from .plan import Plan, needed, own_subjects, peer_subjects, questions
from .session import Session, measure

__all__ = ["PROVERS", "Prover", "cutoff_for"]

_WRONG: Final = (Status.MISMATCH, Status.NOT_ATTESTED)

Times = Mapping[int, Sequence[float]]


@dataclass(frozen=True)
class Prover:
    """Whose dispatch, on which curve, between which two paths, and how the result is written into its source.

    `constant` is the cutoff of its present dispatch, None where it has none.
    """

    curve: str
    cpu: str
    gpu: str
    paste: str
    made_of: str
    constant: int | None


PROVERS: Final = {
    "snarkvm": Prover(
        "bls12-377",
        "snarkvm:batched",
        "snarkvm:cuda",
        "if scalars.len() > {cutoff} {{  // algorithms/src/msm/variable_base/mod.rs",
        "snarkVM's published CUDA crate cannot be built; its GPU path here is sppark, called as its wrapper calls it",
        SNARKVM_CUTOFF,
    ),
    "gnark": Prover(
        "bn254",
        "gnark",
        "icicle-v2",
        "const gpuCutoff = {cutoff} // CPU when len(scalars) <= gpuCutoff",
        "the CPU path is gnark-crypto, the GPU path ICICLE v2, to which gnark gives every size when it is switched on",
        0,
    ),
    "generic": Prover(
        "bls12-377",
        "cpu",
        "cuda",
        "cutoff = {cutoff}  # CPU when n <= cutoff, GPU above",
        "both paths are this package's",
        None,
    ),
}


def cutoff_for(name: str, *, quick: bool, record: Path | None = None, seed: int = 5090) -> int:
    """Measure, print the cutoff ready to paste; the exit code (3 when a path is not to be had)."""
    prover = PROVERS.get(name)
    if prover is None:
        raise fail(f"for = {name!r}; accepted: {', '.join(PROVERS)}")
    sizes: Sequence[int] = PRESETS["boundary"] if quick else [1 << k for k in range(8, 20)]
    paths = [prover.cpu, prover.gpu]
    needed([prover.gpu, prover.cpu], otherwise=f"; a cutoff for {name} takes both of {prover.cpu} and {prover.gpu}")
    subjects = own_subjects(paths) if name == "generic" else peer_subjects(paths)
    cases = questions(curves=[prover.curve], sizes=sizes, seed=seed, scopes=[Scope.END_TO_END])
    session = Session(seed=seed, warmup=Warmup(1), stopping=Stopping(7), record=record)
    measurements, complete = measure(Plan(cases, subjects), session)
    if bad := [cell for cell in measurements.cells.values() if cell.status in _WRONG]:
        for cell in bad:
            typer.echo(f"{cell.path} at n = {cell.labels['n']:,}: {cell.status}: {cell.note}", err=True)
        return 1
    times = series(measurements)
    if not times.get(prover.cpu, {}).keys() & times.get(prover.gpu, {}).keys():
        missing = {cell.path: cell.note for cell in measurements.cells.values() if not cell.samples}
        for path, note in missing.items():
            typer.echo(f"{path}: {note}", err=True)
        typer.echo(f"no cutoff for {name}: both of {prover.cpu} and {prover.gpu} are needed", err=True)
        return 3
    typer.echo(f"({name}: {prover.made_of})", err=True)
    typer.echo(_told(prover, times[prover.cpu], times[prover.gpu], measurements), nl=False)
    return 0 if complete else 130


def _told(prover: Prover, cpu: Times, gpu: Times, measurements: Measurements) -> str:
    """What was measured, the cutoff with its band, the loss of the present constant, and the line to paste."""
    shared = sorted(cpu.keys() & gpu.keys())
    span = f"from n = {shared[0]:,} to {shared[-1]:,}"
    last = max((c for c in crossings(cpu, gpu, (prover.cpu, prover.gpu)) if c.after == prover.gpu), default=None,
               key=lambda c: c.n)  # fmt: skip
    cutoff: int | None
    lines = [f"{prover.curve}, {prover.cpu} against {prover.gpu}, {span}, {_machine(measurements)}"]
    if last is not None:
        cutoff = _three_digits(last.n)
        lines.append(f"cutoff: {cutoff:,} [{last.low:,.0f}, {last.high:,.0f}]: the GPU is faster above")
    else:
        faster = prover.gpu if median(gpu[shared[-1]]) < median(cpu[shared[-1]]) else prover.cpu
        cutoff = 0 if faster == prover.gpu else None
        lines.append(f"no crossover: {faster} is faster {span}")
    if prover.constant is not None:
        lines.append(_loss(prover.constant, {n: (median(cpu[n]), median(gpu[n])) for n in shared}))
    if cutoff is not None:
        lines.append(prover.paste.format(cutoff=f"{cutoff:_}" if "scalars.len()" in prover.paste else cutoff))
    return "\n".join(lines) + "\n"


def _loss(constant: int, times: Mapping[int, tuple[float, float]]) -> str:
    """What the present constant costs at the measured sizes, at worst."""
    taken = {n: (gpu if n > constant else cpu) / min(cpu, gpu) for n, (cpu, gpu) in times.items()}
    n = max(taken, key=lambda size: taken[size])
    return f"the present constant of {constant:,} costs {taken[n]:.2f}x the better path at n = {n:,}, the worst size"


def _three_digits(n: float) -> int:
    """A crossover is not known better: 8,213.7 is 8,210."""
    whole = round(n)
    unit = int(10 ** max(0, len(str(whole)) - 3))
    return round(whole / unit) * unit


def _machine(measurements: Measurements) -> str:
    machine = measurements.runs[-1]["machine"] if measurements.runs else {}
    names = [machine.get(part, {}).get(key) for part, key in (("cpu", "model"), ("gpu", "name"))]
    return " and ".join(str(name) for name in names if name) or "unknown machine"
