"""The charts: cost against size, all samples as strips, copy against compute, clock against sample time."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from ..crossover import Crossing
from ..diagnose.baseline import SLOW as SLOW_FACTOR
from ..formats.units import time_text
from ..record import Cell, Line
from ..rows import Row
from ..sizes import size_text
from .drawing import (
    GRID,
    INK,
    MARKERS,
    SLOW,
    figure,
    legend_above,
    row_lines,
    series_colour,
    size_axis,
    svg_of,
    time_axis,
)

__all__ = ["clock_chart", "cost_chart", "split_chart", "strip_chart"]

Palette = Mapping[str, int]

_MOST_STRIPS = 64
_MOST_CAPS = 24  # closer together, the ends of intervals run into each other
_MOST_READINGS = 1200


def cost_chart(rows: Sequence[Row], palette: Palette, found: Sequence[Crossing], salt: str) -> str:
    """Median time by size, one line a path, with 95 % intervals and the crossovers as bands.

    Wall time; CPU time when every row is a CPU row of one thread.
    """
    timed = [row for row in rows if row.wall is not None]
    by_cpu = all(row.serial for row in timed)
    medians = {id(row): (row.cpu if by_cpu and row.cpu else row.wall) for row in timed}
    with figure(1, 5.0) as (drawn, (axis,)):
        for path in dict.fromkeys(row.path for row in timed):
            mine = sorted((row for row in timed if row.path == path), key=lambda row: row.size)
            shown = [summary.median for row in mine if (summary := medians[id(row)])]
            values = np.array([median.value for median in shown])
            spans = np.array([[m.value - m.low for m in shown], [m.high - m.value for m in shown]])
            axis.errorbar(
                [row.size for row in mine], values, spans, label=path, color=series_colour(palette[path]),
                marker=MARKERS[palette[path] % len(MARKERS)], markersize=5, linewidth=1.6,
                capsize=2.5 if len(mine) <= _MOST_CAPS else 0,
            )  # fmt: skip
        for level, crossing in enumerate(found):
            axis.axvspan(crossing.low, crossing.high, color=GRID, alpha=0.6, linewidth=0)
            axis.axvline(crossing.n, color=INK, linewidth=1, linestyle=":")
            axis.annotate(
                f" {crossing.after} from {crossing.n:,.0f}", (crossing.n, 0.02 + 0.06 * level),
                xycoords=("data", "axes fraction"), fontsize=9.5,
            )  # fmt: skip
        size_axis(axis, [row.size for row in timed])
        time_axis(axis, "y", [summary.median.value for summary in medians.values() if summary])
        axis.set_ylabel("median CPU time, one thread" if by_cpu else "median wall time")
        legend_above(axis, 4)
        best = {row.size: min(timed, key=lambda r: (r.size != row.size, r.median_us or 0)).path for row in timed}
        told = ", ".join(f"{size_text(n)} {path}" for n, path in sorted(best.items()))
        return svg_of(drawn, salt, "Median time against number of terms", f"Fastest by size: {told}.")


def strip_chart(cells: Sequence[Cell], palette: Palette, salt: str, most_points: int) -> tuple[str, str]:
    """Every sample of every cell on a time axis; slow ones marked. Returns the SVG and what was left out."""
    shown = [cell for cell in sorted(cells, key=lambda c: (c.labels["n"], c.path)) if cell.samples][:_MOST_STRIPS]
    total = sum(len(cell.samples) for cell in shown)
    keep = min(1.0, most_points / max(total, 1))
    rng = random.Random(5090)
    with figure(1, 0.9 + (0.26 if len(shown) <= 24 else 0.19) * len(shown)) as (drawn, (axis,)):
        points: dict[tuple[str, bool], list[tuple[float, float]]] = {}  # one series a colour: few bytes, quickly drawn
        medians = []
        for place, cell in enumerate(shown):
            walls = np.array(cell.times()) / 1e3
            limit = SLOW_FACTOR * float(np.percentile(walls, 10, method="lower"))
            for wall in (w for w in walls if w > limit or rng.random() < keep):
                series = (SLOW if wall > limit else series_colour(palette[cell.path]), bool(wall > limit))
                points.setdefault(series, []).append((wall, place + rng.uniform(-0.25, 0.25)))
            medians.append(np.median(walls))
        for (colour, slow), both in points.items():
            marker = "x" if slow else "o"
            axis.plot(*zip(*both, strict=True), marker, color=colour, markersize=3.2, alpha=0.75, linestyle="none")
        places = np.arange(len(shown))
        axis.vlines(medians, places - 0.4, places + 0.4, color=INK, linewidth=1.4, zorder=2.5)
        row_lines(axis, len(shown))
        names = [f"{size_text(cell.labels['n'])}  {cell.path}" for cell in shown]
        axis.set_yticks(range(len(shown)), names)
        axis.set_ylim(len(shown) - 0.4, -0.6)
        time_axis(axis, "x", [ns / 1e3 for cell in shown for ns in cell.times()])
        axis.set_xlabel("wall time of each sample; bar: median; x: slow")
        drawn_count = f"{total:,} samples"
        svg = svg_of(drawn, salt, "All samples", f"{drawn_count} of {len(shown)} rows on a time axis.")
    left_out = f"Thinned to {keep:.0%} of the ordinary samples; every slow one is drawn. " if keep < 1 else ""
    if len(shown) < sum(bool(cell.samples) for cell in cells):
        left_out += f"The first {_MOST_STRIPS} rows are drawn."
    return svg, left_out


def split_chart(rows: Sequence[Row], salt: str) -> str:
    """Copy, device and other time of each row as stacked bars of its median."""
    split = [row for row in rows if row.copy_us is not None and row.median_us and row.place != "cpu"][:24]
    with figure(1, 1.2 + 0.3 * len(split)) as (drawn, (axis,)):
        totals = np.array([row.median_us or 1.0 for row in split])
        copy = np.minimum(1.0, [row.copy_us or 0.0 for row in split] / totals)
        device = np.minimum(1 - copy, [row.device_us or 0.0 for row in split] / totals)
        left = np.zeros(len(split))
        for index, (name, share) in enumerate(
            (("copies", copy), ("device", device), ("host and waiting", 1 - copy - device))
        ):
            axis.barh(range(len(split)), share, left=left, color=series_colour(index), label=name)
            left += share
        for place, row in enumerate(split):
            axis.annotate(f" {time_text(row.median_us)}", (1, place), va="center", fontsize=9.5)
        axis.set_yticks(range(len(split)), [f"{size_text(row.size)}  {row.path}" for row in split])
        row_lines(axis, len(split))
        axis.invert_yaxis()
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        legend_above(axis, 3)
        told = "; ".join(
            f"{size_text(r.size)} {r.path}: copies {time_text(r.copy_us)} of {time_text(r.median_us)}" for r in split
        )
        return svg_of(drawn, salt, "Time split into copies and computation", told)


def clock_chart(cell: Cell, traces: Sequence[Line], salt: str) -> str:
    """Sample times above, clock and P-state below, on one time axis; slow samples marked."""
    start = cell.samples[0]["at_ns"]
    end = max(s["at_ns"] + s["wall_ns"] for s in cell.samples)
    near = [t for t in traces if start - 1e8 <= t["at_ns"] <= end + 1e8]
    near = near[:: max(1, len(near) // _MOST_READINGS)]
    field = "sm_mhz" if any("sm_mhz" in t["fields"] for t in near) else "host_others_cpus"
    seconds = np.array([(s["at_ns"] - start) / 1e9 for s in cell.samples])
    walls = np.array(cell.times()) / 1e3
    slow = walls > SLOW_FACTOR * np.percentile(walls, 10, method="lower")
    with figure(2, 4.0, (3, 2)) as (drawn, (above, below)):
        above.plot(seconds[~slow], walls[~slow], "o", color=series_colour(0), markersize=3.5, label="fast")
        above.plot(seconds[slow], walls[slow], "x", color=SLOW, markersize=5, label="slow")
        time_axis(above, "y", walls)
        above.set_ylabel("sample")
        told = [(t["at_ns"], t["fields"][field]) for t in near if field in t["fields"]]
        below.step([(at - start) / 1e9 for at, _ in told], [v for _, v in told], where="post", color=series_colour(1))
        below.set_ylabel("SM clock, MHz" if field == "sm_mhz" else "CPUs used by others")
        for first, last, state in _low_states(near, start):
            below.axvspan(first, last, color=SLOW, alpha=0.15, linewidth=0)
            above.axvspan(first, last, color=SLOW, alpha=0.08, linewidth=0)
            below.plot([], [], color=SLOW, alpha=0.3, linewidth=6, label=f"P{state}")
        handles, names = above.get_legend_handles_labels()
        more = dict(zip(*reversed(below.get_legend_handles_labels()), strict=True))
        above.legend([*handles, *more.values()], [*names, *more], frameon=False, loc="lower left",
                     bbox_to_anchor=(0, 1.0), ncols=5, borderaxespad=0.2)  # fmt: skip
        below.set_xlabel("seconds since the first sample")
        title = f"{cell.path}, n = {cell.labels['n']:,}: samples against the state of the machine"
        return svg_of(drawn, salt, title, f"{int(slow.sum())} of {len(walls)} samples are slow.")


def _low_states(readings: Sequence[Line], start: int) -> list[tuple[float, float, int]]:
    """(from, to, P-state) of stretches in a low P-state, in seconds; at most 200."""
    out: list[tuple[float, float, int]] = []
    for before, after in pairwise(readings):
        state = before["fields"].get("pstate")
        if state is None or state < 2:
            continue
        first, last = (before["at_ns"] - start) / 1e9, (after["at_ns"] - start) / 1e9
        if out and out[-1][2] == state and first - out[-1][1] < 1e-6:
            out[-1] = (out[-1][0], last, state)
        else:
            out.append((first, last, int(state)))
    return out[:200]
