"""Wall time of the CPU backend from size to size, from lab records: where a cliff would show.

    python tools/sweep.py results/cpu/sweep.jsonl

A row a curve: the sizes, the steepest step between neighbouring sizes over the ratio of these sizes, and the dearest
first term above a power of two, T(2^k + 1) / T(2^k). Of the fastest samples: a shared machine is slow at random for
seconds on end, which in medians of one size looks like a cliff.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from records import figures
from tables import NoTableError, show

Times = dict[str, dict[int, float]]  # curve -> n -> ns


def wall_times(paths: list[str]) -> Times:
    """The fastest sample of every size."""
    found = figures(paths, "wall_ns", lambda path, labels: (labels["curve"], labels["n"]), min)
    times: Times = defaultdict(dict)
    for (curve, n), ns in found.items():
        times[curve][n] = ns
    return times


def table(times: Times) -> str:
    """Markdown: a row for each curve."""
    lines = ["| curve | sizes | steepest step, time over size | at | 2^k + 1 over 2^k, at most | at |"]
    lines.append("|---|---|---:|---:|---:|---:|")
    for curve, row in sorted(times.items()):
        sizes = sorted(row)
        steps = {b: row[b] / row[a] / (b / a) for a, b in pairwise(sizes) if b > 1.01 * a}
        firsts = {n: row[n + 1] / row[n] for n in sizes if n & (n - 1) == 0 and n + 1 in row}
        if not steps or not firsts:
            raise NoTableError(f"{curve}: a sweep has neighbouring sizes, a power of two and the next n among them")
        steep, first = max(steps, key=steps.__getitem__), max(firsts, key=firsts.__getitem__)
        lines.append(
            f"| {curve} | {len(sizes)}, {sizes[0]:,} to {sizes[-1]:,} | {steps[steep]:.2f} | {steep:,} "
            f"| {firsts[first]:.3f} | {first:,} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    show(__doc__, lambda files: table(wall_times(files)))
