"""The first story: where does the GPU overtake the CPU here, and what does a guessed cutoff cost?

From the cells of one record: crossings of the CPU and GPU curves with their intervals, the cutoff N (CPU when n <=
N), the loss of snarkVM's constant of 1,024, how far `auto` lies above the better of both, and the sentence to paste.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ..crossover import Crossing, crossings
from ..record import Measurements
from ..status import Status

__all__ = ["PAIRS", "SNARKVM_CUTOFF", "Cutoff", "cutoff_text", "find_cutoff", "series"]

SNARKVM_CUTOFF = 1024
# (CPU path, GPU path, path that chooses)
PAIRS = (("cpu", "cuda", "auto"), ("snarkvm:batched", "snarkvm:cuda", "snarkvm:dispatch"))


@dataclass(frozen=True)
class Cutoff:
    """What one library's two paths say. Losses are factors: 2.4 means 2.4 times the better path."""

    cpu: str
    gpu: str
    crossings: list[Crossing]
    cutoff: int | None
    loss_of_1024: tuple[int, float] | None
    chooser: str | None
    chooser_regret: tuple[int, float] | None
    sizes: Sequence[int]


def series(measurements: Measurements) -> dict[str, dict[int, list[int]]]:
    """path -> size -> wall times of cells that are ok."""
    out: dict[str, dict[int, list[int]]] = {}
    for cell in measurements.cells.values():
        if cell.status is Status.OK and cell.samples:
            out.setdefault(cell.path, {})[cell.labels["n"]] = cell.times()
    return out


def find_cutoff(times: Mapping[str, Mapping[int, Sequence[float]]], cpu: str, gpu: str, auto: str) -> Cutoff | None:
    """The cutoff of a CPU and a GPU path, or None when there is no size at which both were measured."""
    shared = sorted(times.get(cpu, {}).keys() & times.get(gpu, {}).keys())
    if not shared:
        return None
    found = crossings(times[cpu], times[gpu], (cpu, gpu))
    wins = [c for c in found if c.after == gpu]
    worse = [
        (n, median(times[gpu][n]) / median(times[cpu][n])) for n in shared if n > SNARKVM_CUTOFF
    ]  # what is dispatched to the GPU although the CPU may be faster
    loss = max(worse, key=lambda item: item[1], default=None)
    return Cutoff(
        cpu,
        gpu,
        found,
        _power_below(wins[-1].n) if wins else None,
        loss if loss and loss[1] > 1 else None,
        auto if times.get(auto) else None,
        _regret(times, cpu, gpu, auto),
        shared,
    )


def _power_below(n: float) -> int:
    return 1 << max(0, int(n).bit_length() - 1)


def _regret(
    times: Mapping[str, Mapping[int, Sequence[float]]], cpu: str, gpu: str, auto: str
) -> tuple[int, float] | None:
    """The size at which the chooser is furthest above the better path, and that factor."""
    chosen = times.get(auto, {})
    factors = [
        (n, median(chosen[n]) / min(median(times[cpu][n]), median(times[gpu][n])))
        for n in sorted(chosen.keys() & times[cpu].keys() & times[gpu].keys())
    ]
    return max(factors, key=lambda item: item[1], default=None)


def cutoff_text(cutoff: Cutoff, curve: str, machine: Mapping[str, object]) -> str:
    """The crossover and the sentence that a maintainer could paste into an issue."""
    where = f"On {machine.get('cpu', 'this CPU')} with {machine.get('gpu', 'this GPU')}, {curve} G1"
    if not cutoff.crossings:
        middle = cutoff.sizes[len(cutoff.sizes) // 2]
        return (
            f"{where}: {cutoff.cpu} and {cutoff.gpu} do not cross between n = {cutoff.sizes[0]:,} and "
            f"{cutoff.sizes[-1]:,} (looked at {len(cutoff.sizes)} sizes around {middle:,}).\n"
        )
    parts = [f"{c.after} is faster from n = {c.n:,.0f} [{c.low:,.0f}, {c.high:,.0f}] on" for c in cutoff.crossings]
    text = f"{where}: {'; '.join(parts)}."
    if cutoff.cutoff is not None:
        text += f" Suggested cutoff: {cutoff.cutoff:,} (CPU when n <= {cutoff.cutoff:,}, GPU above)."
    if cutoff.loss_of_1024 is not None:
        n, factor = cutoff.loss_of_1024
        text += f" A cutoff of 1,024 costs up to {factor:.1f}x (n = {n:,})."
    if cutoff.chooser_regret is not None:
        n, factor = cutoff.chooser_regret
        text += f" {cutoff.chooser} is at most {factor - 1:.0%} above the better path (n = {n:,})."
    return text + "\n"
