"""What benchmarks/gpu_figures.py found, a row a figure, a column a curve.

python tools/gpu_figures_table.py results/h200/figures.json
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from tables import NoTableError, show

Fact = dict[str, Any]
CURVES = ("bn254", "bls12-377", "bls12-381")
BATCHES = {"figure": "batches"}
STEADY = {"figure": "steady", "by": "wall"}
DEVICE = {"figure": "steady", "by": "events"}
FROM_HOST = {"figure": "host inputs", "n": 1 << 24}
# What a row says, the bar it was set, the lines it is made of (what they must contain), the value, how it is written.
ROWS: tuple[tuple[str, str, Fact, str, str], ...] = (
    ("1,025 terms over 1,024", "1.03", {"figure": "neighbour"}, "ratio", "{:.3f}"),
    ("slowest shape of scalars over uniform, 2^20", "1.5", {"figure": "shapes"}, "ratio", "{:.2f}"),
    ("64 calls of 2^12 over one batch, host scalars", ">= 10", BATCHES | {"kind": "equal"}, "ratio", "{:.1f}"),
    ("64 calls of 2^12 over one batch, device arrays", ">= 10", BATCHES | {"kind": "device"}, "ratio", "{:.1f}"),
    ("making a plan, 2^16, ms", "50", {"figure": "plans"}, "plan_ms", "{:.0f}"),
    ("1,000 calls of 2^16, device time: p99 over median", "1.05", DEVICE, "p99", "{:.3f}"),
    ("device time: largest over median", "1.2", DEVICE, "max", "{:.3f}"),
    ("wall time: p99 over median", "1.10", STEADY, "p99", "{:.3f}"),
    ("wall time: p99.9 over median", "1.5", STEADY, "p99.9", "{:.3f}"),
    ("first call after 10 s idle over median", "4", {"figure": "steady", "by": "after idle"}, "ratio", "{:.2f}"),
    ("precomputed 2^10, pinned scalars, ms", "0.35 (377)", {"figure": "precomputed", "n": 1 << 10}, "ms", "{:.3f}"),
    ("precomputed 2^24, pinned scalars, ms", "75 (377)", {"figure": "precomputed", "n": 1 << 24}, "ms", "{:.1f}"),
    ("2^13, points and scalars pageable: ms above all on the device", "0.15",
     {"figure": "host inputs", "points and scalars": "pageable", "n": 1 << 13}, "above_ms", "{:.3f}"),
    ("2^24 over the longer of copy and compute: scalars pinned", "1.15",
     FROM_HOST | {"scalars": "pinned"}, "ratio", "{:.3f}"),
    ("2^24, scalars pageable", "2 x pinned", FROM_HOST | {"scalars": "pageable"}, "ratio", "{:.3f}"),
    ("2^24, points and scalars pinned", "1.15",
     FROM_HOST | {"points and scalars": "pinned", "check": "none"}, "ratio", "{:.3f}"),
    ("2^24, points and scalars pinned, points checked", "",
     FROM_HOST | {"points and scalars": "pinned", "check": "curve"}, "ratio", "{:.3f}"),
    ("2^24, points and scalars pageable", "2 x pinned",
     FROM_HOST | {"points and scalars": "pageable"}, "ratio", "{:.3f}"),
)  # fmt: skip


def table(facts: Iterable[Fact]) -> str:
    """Markdown; of several lines of a run the largest value, of several runs the median; empty where there is none."""
    facts = list(facts)
    lines = ["| | bar | " + " | ".join(CURVES) + " |", "|---|---|" + "---:|" * len(CURVES)]
    for words, bar, wanted, value, form in ROWS:
        cells = []
        for curve in CURVES:
            runs: dict[int, list[float]] = {}
            for fact in facts:
                if fact["curve"] == curve and all(fact.get(name) == one for name, one in wanted.items()):
                    runs.setdefault(fact.get("run", 1), []).append(fact[value])
            cells.append(form.format(median(max(found) for found in runs.values())) if runs else "")
        lines.append(f"| {words} | {bar} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def facts_of(path: Path) -> list[Fact]:
    """The lines of the benchmark, as one list."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise NoTableError(f"{path}: not JSON: {error}") from None
    if not isinstance(facts, list) or not all(isinstance(fact, dict) and "curve" in fact for fact in facts):
        raise NoTableError(f"{path}: not a list of figures, each with its curve")
    return facts


if __name__ == "__main__":
    show(__doc__, lambda files: table(facts_of(Path(files[0]))), files=1)
