"""From a record to rows: the one step before every format. A pure function of the measurements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .record import Cell, Measurements
from .stats import Summary, summarise
from .status import Status

__all__ = ["Row", "make_row", "rows"]


@dataclass(frozen=True)
class Row:
    """One cell as a table shows it; times in microseconds, and only where the status is `ok`."""

    size: int
    path: str
    status: Status
    note: str
    labels: dict[str, Any]
    place: str
    wall: Summary | None = None
    cpu: Summary | None = None
    copy_us: float | None = None
    device_us: float | None = None
    detail: dict[str, Any] | None = None

    @property
    def median_us(self) -> float | None:
        """Median wall time, or None unless `ok`."""
        return self.wall.median.value if self.wall else None

    @property
    def cpu_us(self) -> float | None:
        """Median CPU time of the process, where the subject tells."""
        return self.cpu.median.value if self.cpu else None

    def ran(self, name: str) -> Any:
        """The `isa` or `threads` of the row: as asked; where that was left open, what the subject says it used."""
        asked = self.labels.get(name)
        if asked not in (None, "auto"):
            return asked
        told = (self.detail or {}).get(name)
        return told if isinstance(told, (int, str)) and told else None

    @property
    def serial(self) -> bool:
        """A CPU row of one thread: best judged by CPU time, which a busy machine hardly touches."""
        return self.place == "cpu" and self.labels.get("threads") == 1 and self.cpu is not None


def make_row(cell: Cell) -> Row:
    """The row of a cell. An interrupted cell with samples, all of them checked, is `ok` and says how many it has."""
    walls = cell.times()
    status, note = cell.status, cell.note
    if status is None:
        status = Status.OK if len(walls) >= 2 else Status.ERROR
        note = f"interrupted after {len(walls)} samples"
    base = Row(cell.labels["n"], cell.path, status, note, cell.labels, cell.place)
    if not walls:
        return base
    if status is Status.UNVERIFIED:
        unranked = float(np.median(walls)) / 1e3
        return Row(
            base.size,
            base.path,
            status,
            f"{note}; not ranked: median {unranked:.1f} us",
            cell.labels,
            cell.place,
        )
    if status is not Status.OK:
        return base
    stop = (cell.result or {}).get("stop", {})
    if stop.get("unmet"):
        note = "; ".join(part for part in (note, f"stopped early: {stop['unmet']}") if part)
    return Row(
        base.size,
        base.path,
        status,
        note,
        cell.labels,
        cell.place,
        wall=summarise(np.asarray(walls) / 1e3),
        cpu=summarise(np.asarray(cpus) / 1e3) if (cpus := cell.times("cpu_ns")) else None,
        copy_us=_median_us(cell, "copy_ns"),
        device_us=_median_us(cell, "device_ns"),
        detail=cell.samples[-1].get("evidence", {}).get("detail"),
    )


def _median_us(cell: Cell, field: str) -> float | None:
    values = cell.times(field)
    return float(np.median(values)) / 1e3 if values else None


def rows(measurements: Measurements | Iterable[Cell]) -> list[Row]:
    """All rows in the order in which the cells were measured."""
    cells = measurements.cells.values() if isinstance(measurements, Measurements) else measurements
    return [make_row(cell) for cell in cells]
