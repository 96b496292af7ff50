"""How many times one thread's wall time two threads save, from lab records.

python tools/threads.py results/cpu/threads.jsonl
"""

from __future__ import annotations

import sys

from records import figures, power

Key = tuple[str, int, int]  # curve, n, threads


def table(times: dict[Key, float]) -> str:
    """Markdown: a row a curve, a column a size, the ratio of the figures."""
    sizes = sorted({n for _, n, _ in times})
    lines = ["| curve | " + " | ".join(power(n) for n in sizes) + " |", "|---|" + "---:|" * len(sizes)]
    for curve in sorted({curve for curve, _, _ in times}):
        ratios = [times[curve, n, 1] / times[curve, n, 2] for n in sizes]
        lines.append(f"| {curve} | " + " | ".join(f"{ratio:.2f}x" for ratio in ratios) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(
        table(figures(sys.argv[1:], "wall_ns", lambda path, labels: (labels["curve"], labels["n"], labels["threads"])))
    )
