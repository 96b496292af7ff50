"""Drawing for the page: one place for sizes, colours and the way from a matplotlib figure to inline SVG.

Colours are drawn as placeholder values and replaced by CSS variables; text stays text in the page's own font, so that
it can be searched, read aloud and restyled. Element ids get a salt per figure, since all figures share one document.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from ..formats.units import time_text
from ..sizes import size_text

__all__ = ["GRID", "INK", "MARKERS", "SLOW", "figure", "series_colour", "size_axis", "svg_of", "time_axis"]

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
    """A figure 7.2 inches wide with axes below each other, in the page's style."""
    style: dict[str, Any] = {
        "svg.fonttype": "none",
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
        drawn = Figure(figsize=(7.2, height), layout="constrained")
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
    text = re.sub(r'font: [^;"]*?([\d.]+)px [^;"]*', r"font-size: \1px", text)
    text = re.sub(r'id="(?!m|p)([a-z]+_?\d*)"', "", text)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, f"var({variable})")
    head = f'<svg role="img" aria-label="{_escape(title)}"'
    text = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", text, count=1)
    text = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", text, count=1)
    text = text.replace("<svg", head, 1)
    return re.sub(r">", f"><desc>{_escape(description)}</desc>", text, count=1)


def _escape(text: str) -> str:
    for char, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(char, entity)
    return text


def time_axis(axis: Axes, which: str) -> None:
    """Logarithmic time in microseconds, labelled in the unit that suits."""
    chosen = axis.xaxis if which == "x" else axis.yaxis
    (axis.set_xscale if which == "x" else axis.set_yscale)("log")
    chosen.set_major_formatter(FuncFormatter(lambda value, _: time_text(value)))
    chosen.set_minor_locator(NullLocator())


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
