"""The two cost curves of one kind of call, with samples and crossovers, as SVG."""

from __future__ import annotations

from pathlib import Path

from ..errors import OptionError
from .chooser import chooser, nearest, series_of
from .explain import Explanation


def plot_curves(found: Explanation, path: Path) -> None:
    """Draw the curves behind `found`. Errors: `OptionError` when there is no profile to draw."""
    profile = chooser().profile()
    pair = nearest(profile, series_of(found.request))[0] if profile else None
    if pair is None:
        raise OptionError("there is no profile of this machine to draw", hint="Run `msm calibrate` first.")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), layout="constrained")
    axes = figure.add_subplot()
    for curve, name, colour in zip(pair, ("CPU", "GPU"), ("#3b6ea5", "#c8553d"), strict=True):
        sizes = [n for n in curve.sizes for _ in curve.samples[n]]
        times = [us for n in curve.sizes for us in curve.samples[n]]
        axes.scatter(sizes, times, s=6, color=colour, alpha=0.3, linewidths=0)
        axes.plot(curve.sizes, [curve.at(n) for n in curve.sizes], color=colour, label=name)
    for boundary in found.boundaries:
        axes.axvspan(boundary.low, boundary.high, color="#888888", alpha=0.2, linewidth=0)
        axes.axvline(boundary.n, color="#555555", linewidth=0.8, label=f"crossover {boundary.n:,}")
    axes.axvline(found.request.n, color="#222222", linestyle=":", label=f"n = {found.request.n:,}: {found.backend}")
    axes.set(xscale="log", yscale="log", xlabel="terms n", ylabel="time (µs)")
    axes.set_title(f"{found.request.curve}, {found.request.scope}")
    axes.legend(frameon=False)
    figure.savefig(path, format="svg")
