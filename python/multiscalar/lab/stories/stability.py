"""The second story: typical, worst and variation per library and size, and which to use.

Ranked by the ninth decile of the largest size: a library that is fast one time in ten is not fast.
"""

from __future__ import annotations

from statistics import fmean

from ..formats.table import align
from ..formats.units import ratio_text, time_text
from ..record import Cell, Measurements
from ..sizes import size_text
from ..status import Status
from ..treatments.outcome import spread_of

__all__ = ["stability_advice", "stability_table"]

HEADER = ("size", "path", "runs", "typical", "worst", "variation", "copy", "MSM", "status")


def stability_table(measurements: Measurements) -> str:
    """One line a library and size."""
    lines = [_line(cell) for cell in sorted(measurements.cells.values(), key=lambda c: c.labels["n"])]
    return align(HEADER, lines, frozenset({"path", "status"}))


def _line(cell: Cell) -> tuple[str, ...]:
    size = size_text(cell.labels["n"])
    status = cell.status or Status.ERROR
    if not cell.samples or status not in (Status.OK, Status.UNVERIFIED):
        return (size, cell.path, "", "", "", "", "", "", f"{status}: {cell.note}")
    spread = spread_of(cell.times())
    copies, device = cell.times("copy_ns"), cell.times("device_ns")
    total = fmean(cell.times())
    copy = fmean(copies) if copies else None
    work = fmean(device) if device else (total - copy if copy is not None else None)
    return (
        size,
        cell.path,
        str(len(cell.samples)),
        time_text(spread.typical),
        time_text(spread.worst),
        ratio_text(spread.variation),
        time_text(copy / 1e3) if copy else "",
        time_text(work / 1e3) if work is not None else "",
        str(status),
    )


def stability_advice(measurements: Measurements) -> str:
    """Libraries ranked at the largest size that they share with the first."""
    ok = [cell for cell in measurements.cells.values() if cell.status is Status.OK and cell.samples]
    if not ok:
        return "Nothing was measured: no advice.\n"
    largest = max(cell.labels["n"] for cell in ok)
    at = [(cell.path, spread_of(cell.times())) for cell in ok if cell.labels["n"] == largest]
    at.sort(key=lambda item: (item[1].high, item[1].typical))
    lines = [f"At {size_text(largest)}, steadiest and fastest first:"]
    for place, (path, spread) in enumerate(at, 1):
        calm = "steady" if spread.variation <= 1.5 else "unsteady"
        lines.append(
            f"  {place}. {path}: typical {time_text(spread.typical)}, worst {time_text(spread.worst)}, "
            f"variation {ratio_text(spread.variation)} ({calm})"
        )
    return "\n".join(lines) + "\n"
