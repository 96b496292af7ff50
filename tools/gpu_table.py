"""Median wall time of the cuda backend by curve, scope and size, from lab records, in milliseconds.

python tools/gpu_table.py results/h200/table.jsonl ...
"""

from __future__ import annotations

from records import figures, power
from tables import show

SIZES = (1 << 10, 1 << 13, 1 << 16, 1 << 20, 1 << 24)

Key = tuple[str, str, int]  # curve, scope, n


def wall_times(paths: list[str]) -> dict[Key, float]:
    """Median nanoseconds by curve, scope and size."""

    def key(path: str, labels: dict[str, object]) -> Key | None:
        return (str(labels["curve"]), str(labels["scope"]), int(str(labels["n"]))) if path == "cuda" else None

    return figures(paths, "wall_ns", key)


def table(times: dict[Key, float]) -> str:
    """Markdown: a row for each curve and scope, a column for each of SIZES."""
    lines = ["| curve | scope | " + " | ".join(power(n) for n in SIZES) + " |"]
    lines.append("|---|---|" + "---:|" * len(SIZES))
    for curve, scope in sorted({(curve, scope) for curve, scope, _ in times}):
        cells = [f"{times[curve, scope, n] / 1e6:.3g}" if (curve, scope, n) in times else "" for n in SIZES]
        lines.append(f"| {curve} | {scope} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    show(__doc__, lambda files: table(wall_times(files)))
