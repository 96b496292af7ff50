"""The table of ratios to the fastest peer, from lab records: one thread, median process CPU time.

    python tools/ratios.py results/cpu/*.jsonl

Every cell was checked when it was measured. A ratio of 3 means that the fastest peer took three times our time in the
same run; its name stands beside it.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

Key = tuple[str, str, int]  # curve, instruction set, n


def cpu_times(paths: list[Path]) -> dict[Key, dict[str, float]]:
    """Median CPU time in us by path, for each curve, instruction set and size."""
    cells: dict[tuple[Path, str], tuple[Key, str]] = {}
    samples: dict[tuple[Path, str], list[int]] = defaultdict(list)
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if entry["kind"] == "cell":
                labels = entry["labels"]
                cells[path, entry["cell"]] = (labels["curve"], labels["isa"], labels["n"]), entry["path"]
            elif entry["kind"] == "sample" and entry.get("cpu_ns") and not entry.get("warmup"):
                samples[path, entry["cell"]].append(entry["cpu_ns"])
    times: dict[Key, dict[str, float]] = defaultdict(dict)
    for place, values in samples.items():
        key, name = cells[place]
        times[key][name] = median(values) / 1e3
    return times


def table(times: dict[Key, dict[str, float]]) -> str:
    """Markdown: a row for each curve and instruction set, a column for each size."""
    sizes = sorted({n for _, _, n in times})
    lines = ["| curve | arithmetic | " + " | ".join(f"{_size(n)}" for n in sizes) + " |"]
    lines.append("|---|---|" + "---:|" * len(sizes))
    for curve, isa in dict.fromkeys((curve, isa) for curve, isa, _ in times):
        cells = [_cell(times.get((curve, isa, n), {})) for n in sizes]
        lines.append(f"| {curve} | {isa} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(paths: dict[str, float]) -> str:
    peers = {name: us for name, us in paths.items() if name != "cpu"}
    if "cpu" not in paths or not peers:
        return ""
    name = min(peers, key=lambda peer: peers[peer])
    return f"{peers[name] / paths['cpu']:.2f}x {name}"


def _size(n: int) -> str:
    return f"2^{n.bit_length() - 1}" if n >= 1024 and n & (n - 1) == 0 else str(n)


if __name__ == "__main__":
    print(table(cpu_times([Path(name) for name in sys.argv[1:]])))
