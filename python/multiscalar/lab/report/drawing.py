"""Drawing for the page: one place for sizes, colours and the way from a matplotlib figure to inline SVG.

Colours are drawn as placeholder values and replaced by CSS variables; text stays text in the page's own font, so that
it can be searched, read aloud and restyled. Element ids get a salt per figure, since all figures share one document.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from ..formats.units import time_text
from ..sizes import size_text
from .lean import lean

__all__ = [
    "GRID",
    "INK",
    "MARKERS",
    "SLOW",
    "figure",
    "legend_above",
    "row_lines",
    "series_colour",
    "size_axis",
    "svg_of",
    "time_axis",
]

INK, GRID, SLOW, PAPER = "#010101", "#020202", "#030303", "#040404"
_SERIES = tuple(f"#0a0{i}0{i}" for i in range(8))
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
_VARIABLES = {INK: "--ink", GRID: "--grid", SLOW: "--slow", PAPER: "--paper"} | {
    colour: f"--series-{i}" for i, colour in enumerate(_SERIES)
}


def series_colour(index: int) -> str:
    """Placeholder colour of the index-th path."""
    return _SERIES[index % len(_SERIES)]


@contextmanager
def figure(rows: int, height: float, ratios: Sequence[float] | None = None) -> Iterator[tuple[Figure, Sequence[Axes]]]:
    """A figure 9.6 inches wide with axes below each other, in the page's style."""
    style: dict[str, Any] = {
        "svg.fonttype": "none",
        "text.parse_math": False,  # a path may have dollar signs
        "font.size": 10.5,
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": GRID,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": GRID,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    with matplotlib.rc_context(style):
        drawn = Figure(figsize=(9.6, height), layout="constrained")
        FigureCanvasSVG(drawn)
        axes = drawn.subplots(rows, 1, sharex=rows > 1, squeeze=False, height_ratios=ratios)[:, 0]
        for axis in axes:
            axis.grid(True, linewidth=0.6)
            axis.set_axisbelow(True)
        yield drawn, list(axes)


def svg_of(drawn: Figure, salt: str, title: str, description: str) -> str:
    """Inline SVG with a title and description for those who do not see it."""
    with matplotlib.rc_context({"svg.hashsalt": salt, "svg.fonttype": "none"}):
        out = io.StringIO()
        drawn.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, f"var({variable})")
    text = lean(text, salt)
    head = f'<svg role="img" aria-label="{_escape(title)}"'
    text = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", text, count=1)
    text = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", text, count=1)
    text = text.replace("<svg", head, 1)
    return re.sub(r">", f"><desc>{_escape(description)}</desc>", text, count=1)


def _escape(text: str) -> str:
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(char, entity)
    return text


def time_axis(axis: Axes, which: str, values: Iterable[float]) -> None:
    """Time in microseconds, labelled in the unit that suits; logarithmic when the values span a factor of three."""
    known = [value for value in values if value > 0]
    low, high = min(known, default=1.0), max(known, default=1.0)
    chosen = axis.xaxis if which == "x" else axis.yaxis
    if high > 3 * low:
        (axis.set_xscale if which == "x" else axis.set_yscale)("log")
        steps = (1.0, 2.0, 5.0) if high < 300 * low else (1.0,)
        chosen.set_major_locator(LogLocator(subs=steps, numticks=20))
        chosen.set_minor_locator(NullLocator())
    else:
        margin = 0.2 * (high - low) or 0.01 * high
        (axis.set_xlim if which == "x" else axis.set_ylim)(low - margin, high + margin)
        chosen.set_major_locator(MaxNLocator(5))
    chosen.set_major_formatter(FuncFormatter(_tick))


def _tick(us: float, _: object = None) -> str:
    """`5 ms` rather than `5.00 ms`."""
    number, unit = time_text(us).split(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def legend_above(axis: Axes, columns: int) -> None:
    """The legend in a line over the axes, where it hides nothing."""
    axis.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, borderaxespad=0.2)


def row_lines(axis: Axes, count: int) -> None:
    """A line for each of the rows 0 to count - 1 in place of the vertical axis's own grid and ticks."""
    axis.grid(False, axis="y")
    axis.tick_params(axis="y", length=0)
    ends = [((0, place), (1, place)) for place in range(count)]
    lines = LineCollection(ends, colors=GRID, linewidths=0.6, zorder=0.5, transform=axis.get_yaxis_transform())
    axis.add_collection(lines, autolim=False)


def size_axis(axis: Axes, sizes: Sequence[int]) -> None:
    """Logarithmic sizes, with ticks at measured ones that are not too close to each other."""
    axis.set_xscale("log", base=2)
    ticks: list[int] = []
    for n in sorted(sizes):
        if not ticks or n >= ticks[-1] * 1.7:
            ticks.append(n)
    axis.set_xticks(ticks, [size_text(n) for n in ticks])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xlabel("terms n")
