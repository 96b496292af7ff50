"""`msm calibrate --for PROVER`: the cutoff that another prover's dispatch should use on this machine.

Their CPU and GPU paths are measured through the peers, on the same inputs, interleaved, every result checked; then the
crossover of the two is the cutoff, and the loss of their present constant is what they pay today.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import typer

from ..lab.sizes import PRESETS
from ..lab.stopping import Stopping
from ..lab.stories.cutoff import SNARKVM_CUTOFF, cutoff_text, find_cutoff, series
from ..lab.subject import Scope
from ..lab.warmup import Warmup
from .options import fail
from .plan import Plan, own_subjects, peer_subjects, questions
from .session import Session, measure

__all__ = ["PROVERS", "Prover", "cutoff_for"]


@dataclass(frozen=True)
class Prover:
    """Whose dispatch, on which curve, between which two paths, and how the result is written into its source."""

    curve: str
    cpu: str
    gpu: str
    paste: str
    made_of: str


PROVERS: Final = {
    "snarkvm": Prover(
        "bls12-377",
        "snarkvm:batched",
        "snarkvm:cuda",
        "if scalars.len() > {cutoff} {{  // algorithms/src/msm/variable_base/mod.rs",
        "its GPU path is sppark, constructed for each call as snarkVM's wrapper does",
    ),
    "gnark": Prover(
        "bn254",
        "gnark",
        "icicle-v2",
        "const gpuCutoff = {cutoff} // CPU when len(scalars) <= gpuCutoff",
        "its GPU path is ICICLE v2; the CPU path is gnark-crypto",
    ),
    "generic": Prover("bls12-377", "cpu", "cuda", "cutoff = {cutoff}  # CPU when n <= cutoff, GPU above", "ours"),
}


def cutoff_for(name: str, *, quick: bool, seed: int = 5090) -> int:
    """Measure, print the cutoff ready to paste; the exit code (3 when a path is not to be had)."""
    prover = PROVERS.get(name)
    if prover is None:
        raise fail(f"for = {name!r}; accepted: {', '.join(PROVERS)}")
    sizes: Sequence[int] = PRESETS["boundary"] if quick else [1 << k for k in range(8, 20)]
    paths = [prover.cpu, prover.gpu]
    subjects = own_subjects(paths) if name == "generic" else peer_subjects(paths)
    cases = questions(curves=[prover.curve], sizes=sizes, seed=seed, scopes=[Scope.END_TO_END])
    session = Session(seed=seed, warmup=Warmup(1), stopping=Stopping(7))
    measurements, _ = measure(Plan(cases, subjects), session)
    found = find_cutoff(series(measurements), prover.cpu, prover.gpu, "")
    if found is None:
        missing = {cell.path: cell.note for cell in measurements.cells.values() if not cell.samples}
        for path, note in missing.items():
            typer.echo(f"{path}: {note}", err=True)
        typer.echo(f"no cutoff for {name}: both of {prover.cpu} and {prover.gpu} are needed", err=True)
        return 3
    machine = measurements.runs[-1]["machine"] if measurements.runs else {}
    names = {"cpu": machine.get("cpu", {}).get("model"), "gpu": machine.get("gpu", {}).get("name")}
    typer.echo(cutoff_text(found, prover.curve, {k: v for k, v in names.items() if v}), nl=False)
    typer.echo(f"({name}: {prover.made_of}; its present constant is {SNARKVM_CUTOFF:,})", err=True)
    if found.cutoff is not None:
        typer.echo(prover.paste.format(cutoff=f"{found.cutoff:_}" if name == "snarkvm" else found.cutoff))
    return 0
