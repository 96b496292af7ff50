"""What benchmarks/gpu_figures.py found, a row a figure, a column a curve.

python tools/gpu_figures_table.py results/h200/figures.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Fact = dict[str, Any]
CURVES = ("bn254", "bls12-377", "bls12-381")
# What a row says, the lines it is made of (what they must contain), the value, how it is written.
ROWS: tuple[tuple[str, Fact, str, str], ...] = (
    ("1,025 terms over 1,024", {"figure": "neighbour"}, "ratio", "{:.3f}"),
    ("largest shape of scalars over uniform, 2^20", {"figure": "shapes"}, "ratio", "{:.2f}"),
    ("64 x 2^12 in a batch, host scalars: times 64 calls", {"figure": "batches", "kind": "equal"}, "ratio", "{:.1f}"),
    ("the same, device arrays", {"figure": "batches", "kind": "device"}, "ratio", "{:.1f}"),
    ("plan made, 2^16, ms", {"figure": "plans"}, "plan_ms", "{:.0f}"),
    ("1,000 calls of 2^16, device: p99 over median", {"figure": "steady", "by": "events"}, "p99", "{:.3f}"),
    ("largest over median", {"figure": "steady", "by": "events"}, "max", "{:.3f}"),
    ("wall: p99 over median", {"figure": "steady", "by": "wall"}, "p99", "{:.3f}"),
    ("p99.9 over median", {"figure": "steady", "by": "wall"}, "p99.9", "{:.3f}"),
    ("after 10 s idle over median", {"figure": "steady", "by": "after idle"}, "ratio", "{:.2f}"),
    ("precomputed 2^10, pinned scalars, ms", {"figure": "precomputed", "n": 1 << 10}, "ms", "{:.3f}"),
    ("precomputed 2^24, pinned scalars, ms", {"figure": "precomputed", "n": 1 << 24}, "ms", "{:.1f}"),
    ("points and scalars pageable, 2^13: ms above all on the device",
     {"figure": "host inputs", "points and scalars": "pageable", "n": 1 << 13}, "above_ms", "{:.3f}"),
    ("scalars pinned, 2^24: over the longer of copy and compute",
     {"figure": "host inputs", "scalars": "pinned", "n": 1 << 24}, "ratio", "{:.3f}"),
    ("scalars pageable",
     {"figure": "host inputs", "scalars": "pageable", "n": 1 << 24}, "ratio", "{:.3f}"),
    ("points and scalars pinned",
     {"figure": "host inputs", "points and scalars": "pinned", "check": "none", "n": 1 << 24}, "ratio", "{:.3f}"),
    ("the same, points checked",
     {"figure": "host inputs", "points and scalars": "pinned", "check": "curve", "n": 1 << 24}, "ratio", "{:.3f}"),
    ("points and scalars pageable",
     {"figure": "host inputs", "points and scalars": "pageable", "n": 1 << 24}, "ratio", "{:.3f}"),
)  # fmt: skip


def table(facts: Iterable[Fact]) -> str:
    """Markdown; of several lines the largest value, an empty cell where there is none."""
    facts = list(facts)
    lines = ["| | " + " | ".join(CURVES) + " |", "|---|" + "---:|" * len(CURVES)]
    for words, wanted, value, form in ROWS:
        cells = []
        for curve in CURVES:
            found = [
                fact[value]
                for fact in facts
                if fact["curve"] == curve and all(fact.get(name) == one for name, one in wanted.items())
            ]
            cells.append(form.format(max(found)) if found else "")
        lines.append(f"| {words} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(json.loads(Path(sys.argv[1]).read_text())))
