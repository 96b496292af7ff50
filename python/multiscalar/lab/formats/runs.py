"""The second story's format: a line per run, then averages with their shares and the rate.

Run 1/5: Total: 25.6ms (Copy: 6.1ms, MSM: 17.9ms)
"""

from __future__ import annotations

from statistics import fmean

from ..record import Cell, Line, Measurements
from ..rows import make_row
from ..sizes import size_text
from ..status import Status

__all__ = ["to_runs"]


def _ms(ns: float) -> str:
    return f"{ns / 1e6:.1f}ms" if ns < 1e9 else f"{ns / 1e9:.2f}s"


def _run_line(index: int, count: int, sample: Line) -> str:
    text = f"Run {index}/{count}: Total: {_ms(sample['wall_ns'])}"
    copy, msm = sample.get("copy_ns"), _msm_ns(sample)
    if msm is None:
        return text
    if copy is None:  # not measured apart: all that is not the device's own work
        return f"{text} (Copy and host: {_ms(max(0, sample['wall_ns'] - msm))}, MSM: {_ms(msm)})"
    return f"{text} (Copy: {_ms(copy)}, MSM: {_ms(msm)})"


def _msm_ns(sample: Line) -> int | None:
    """Time of the multiplication alone: the device's own where it is known, else what copying leaves of the wall."""
    if "device_ns" in sample:
        return int(sample["device_ns"])
    return max(0, int(sample["wall_ns"]) - int(sample["copy_ns"])) if "copy_ns" in sample else None


def _block(cell: Cell) -> str:
    row = make_row(cell)
    head = f"{cell.path}, {cell.labels.get('curve', '')}, {size_text(row.size)} = {row.size:,} elements"
    if row.status is not Status.OK:
        return f"{head}\n{row.status}: {row.note}\n"
    samples = cell.samples
    lines = [head, *(_run_line(i, len(samples), s) for i, s in enumerate(samples, 1))]
    total = fmean(s["wall_ns"] for s in samples)
    lines.append(f"Average total: {_ms(total)}")
    split = [(s.get("copy_ns", max(0, s["wall_ns"] - part)), part) for s in samples if (part := _msm_ns(s)) is not None]
    if split:
        copy, work = fmean(c for c, _ in split), fmean(m for _, m in split)
        name = "copy" if "copy_ns" in samples[0] else "copy and host"
        lines.append(f"Average {name}: {_ms(copy)} ({copy / total:.1%})")
        lines.append(f"Average MSM: {_ms(work)} ({work / total:.1%})")
    batch = int(cell.labels.get("batch") or 1)
    lines.append(f"MSMs per second: {batch * 1e9 / total:.2f}")
    return "\n".join(lines) + "\n"


def to_runs(measurements: Measurements) -> str:
    """A block per cell."""
    return "\n".join(_block(cell) for cell in measurements.cells.values()) or "no runs\n"
