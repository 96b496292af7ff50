"""The table of ratios to the fastest peer, from lab records: one thread, median process CPU time.

    python tools/ratios.py results/cpu/bn254.jsonl ...

Every cell was checked when it was measured. A ratio of 3 means that the fastest peer took three times our time in the
same run; its name stands beside it.
"""

from __future__ import annotations

from collections import defaultdict

from records import figures, power
from tables import show

Key = tuple[str, str, int]  # curve, instruction set, n


def cpu_times(paths: list[str]) -> dict[Key, dict[str, float]]:
    """Median CPU time in ns by path, for each curve, instruction set and size."""
    found = figures(paths, "cpu_ns", lambda path, labels: (labels["curve"], labels["isa"], labels["n"], path))
    times: dict[Key, dict[str, float]] = defaultdict(dict)
    for (curve, isa, n, path), ns in found.items():
        times[curve, isa, n][path] = ns
    return times


def table(times: dict[Key, dict[str, float]]) -> str:
    """Markdown: a row for each curve and instruction set, a column for each size."""
    sizes = sorted({n for _, _, n in times})
    lines = ["| curve | arithmetic | " + " | ".join(power(n) for n in sizes) + " |"]
    lines.append("|---|---|" + "---:|" * len(sizes))
    for curve, isa in dict.fromkeys((curve, isa) for curve, isa, _ in times):
        cells = [_cell(times.get((curve, isa, n), {})) for n in sizes]
        lines.append(f"| {curve} | {isa} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(paths: dict[str, float]) -> str:
    peers = {name: ns for name, ns in paths.items() if name != "cpu"}
    if "cpu" not in paths or not peers:
        return ""
    name = min(peers, key=lambda peer: peers[peer])
    return f"{peers[name] / paths['cpu']:.2f}x {name}"


if __name__ == "__main__":
    show(__doc__, lambda files: table(cpu_times(files)))
