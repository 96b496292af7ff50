"""How many times one thread's wall time two threads save, from lab records.

python tools/threads.py results/cpu/threads.jsonl
"""

from __future__ import annotations

from records import figures, power
from tables import NoTableError, show

Key = tuple[str, int, int]  # curve, n, threads


def wall_times(paths: list[str]) -> dict[Key, float]:
    """Median nanoseconds by curve, size and threads."""
    return figures(paths, "wall_ns", lambda path, labels: (labels["curve"], labels["n"], labels["threads"]))


def table(times: dict[Key, float]) -> str:
    """Markdown: a row a curve, a column a size, the ratio of the figures."""
    ratios = {
        (curve, n): ns / times[curve, n, 2] for (curve, n, k), ns in times.items() if k == 1 and (curve, n, 2) in times
    }
    if not ratios:
        raise NoTableError("no size was measured with one thread and with two")
    sizes = sorted({n for _, n in ratios})
    lines = ["| curve | " + " | ".join(power(n) for n in sizes) + " |", "|---|" + "---:|" * len(sizes)]
    for curve in sorted({curve for curve, _ in ratios}):
        cells = (f"{ratios[curve, n]:.2f}x" if (curve, n) in ratios else "" for n in sizes)
        lines.append(f"| {curve} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    show(__doc__, lambda files: table(wall_times(files)))
