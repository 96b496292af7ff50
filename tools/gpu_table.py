"""Median wall time of the cuda backend by curve, scope and size, from lab records, in milliseconds.

python tools/gpu_table.py results/h200/bn254.jsonl results/h200/large.jsonl ...
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

SIZES = (1 << 10, 1 << 13, 1 << 16, 1 << 20, 1 << 24)


def wall_times(paths: list[Path]) -> dict[tuple[str, str, int], float]:
    """Median milliseconds by curve, scope and size; cells of one record are told apart by their id."""
    cells: dict[str, tuple[str, str, int]] = {}
    samples: dict[tuple[str, str, int], list[int]] = defaultdict(list)
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry["kind"] == "cell" and entry["path"] == "cuda":
                labels = entry["labels"]
                cells[entry["cell"]] = (labels["curve"], labels["scope"], labels["n"])
            elif entry["kind"] == "sample" and entry["cell"] in cells and not entry.get("warmup"):
                samples[cells[entry["cell"]]].append(entry["wall_ns"])
    return {key: median(values) / 1e6 for key, values in samples.items()}


def table(times: dict[tuple[str, str, int], float]) -> str:
    """Markdown: a row for each curve and scope, a column for each of SIZES."""
    lines = ["| curve | scope | " + " | ".join(f"2^{n.bit_length() - 1}" for n in SIZES) + " |"]
    lines.append("|---|---|" + "---:|" * len(SIZES))
    for curve, scope in sorted({(curve, scope) for curve, scope, _ in times}):
        cells = [f"{times[curve, scope, n]:.3g}" if (curve, scope, n) in times else "" for n in SIZES]
        lines.append(f"| {curve} | {scope} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(wall_times([Path(name) for name in sys.argv[1:]])))
