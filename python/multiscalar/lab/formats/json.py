"""JSON: runs, rows with their summaries, and the raw times in ns, for programs that want one document."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from ..record import Cell, Measurements
from ..rows import make_row

__all__ = ["to_json"]


def _entry(cell: Cell) -> dict[str, Any]:
    row = make_row(cell)
    return {
        "size": row.size,
        "path": row.path,
        "status": str(row.status),
        "note": row.note,
        "labels": row.labels,
        "place": row.place,
        "median_us": row.median_us,
        "cpu_us": row.cpu_us,
        "copy_us": row.copy_us,
        "device_us": row.device_us,
        "wall_us": asdict(row.wall) if row.wall else None,
        "subject": cell.subject,
        "wall_ns": cell.times(),
        "detail": row.detail,
    }


def to_json(measurements: Measurements) -> str:
    """One JSON document."""
    runs = [{key: value for key, value in run.items() if key != "kind"} for run in measurements.runs]
    return json.dumps({"runs": runs, "rows": [_entry(c) for c in measurements.cells.values()]}, indent=1) + "\n"
