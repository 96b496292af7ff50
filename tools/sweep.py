"""Wall time of the CPU backend from size to size, from lab records: where a cliff would show.

    python tools/sweep.py results/cpu/sweep.jsonl

A row a curve: the sizes, the steepest step of the median between neighbouring sizes over the ratio of these
sizes, and the dearest first term above a power of two: T(2^k + 1) / T(2^k).
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from statistics import median

Times = dict[str, dict[int, float]]  # curve -> n -> seconds


def wall_times(paths: list[Path]) -> Times:
    """The median sample of every cell, in seconds."""
    cells: dict[tuple[Path, str], tuple[str, int]] = {}
    samples: dict[tuple[str, int], list[int]] = defaultdict(list)
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry["kind"] == "cell" and entry["path"] == "cpu":
                cells[path, entry["cell"]] = entry["labels"]["curve"], entry["labels"]["n"]
            elif entry["kind"] == "sample" and not entry.get("warmup"):
                samples[cells[path, entry["cell"]]].append(entry["wall_ns"])
    times: Times = defaultdict(dict)
    for (curve, n), values in samples.items():
        times[curve][n] = median(values) / 1e9
    return times


def table(times: Times) -> str:
    """Markdown: a row for each curve."""
    lines = ["| curve | sizes | steepest step, time over size | at | 2^k + 1 over 2^k, at most | at |"]
    lines.append("|---|---|---:|---:|---:|---:|")
    for curve, row in sorted(times.items()):
        sizes = sorted(row)
        steps = {b: row[b] / row[a] / (b / a) for a, b in pairwise(sizes) if b > 1.01 * a}
        firsts = {n: row[n + 1] / row[n] for n in sizes if n & (n - 1) == 0 and n + 1 in row}
        steep, first = max(steps, key=steps.__getitem__), max(firsts, key=firsts.__getitem__)
        lines.append(
            f"| {curve} | {len(sizes)}, {sizes[0]:,} to {sizes[-1]:,} | {steps[steep]:.2f} | {steep:,} "
            f"| {firsts[first]:.3f} | {first:,} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(wall_times([Path(name) for name in sys.argv[1:]])))
