"""A comparison as text, CSV-like JSON, or Markdown: pairs with ratio, interval and verdict."""

from __future__ import annotations

import json

from ..compare import Comparison, Pair
from ..sizes import size_text
from .table import align
from .units import time_text

__all__ = ["verdicts_json", "verdicts_table"]

_LABELS = ("curve", "shape", "scope", "threads", "isa", "batch", "precompute")
_QUIET = {"uniform", "auto", 1, None}


def _question(pair: Pair) -> str:
    extra = [str(pair.labels[name]) for name in _LABELS if pair.labels.get(name) not in _QUIET]
    return " ".join(extra)


def verdicts_table(comparison: Comparison) -> str:
    """Pairs first, then what had no partner and what makes the sides unlike."""
    lines = [
        (
            size_text(pair.labels["n"]),
            pair.name,
            _question(pair),
            time_text(pair.a_us),
            time_text(pair.b_us),
            f"{pair.ratio.value:.3f} [{pair.ratio.low:.3f}, {pair.ratio.high:.3f}]",
            pair.clock.removesuffix("_ns"),
            str(pair.verdict),
        )
        for pair in comparison.pairs
    ]
    header = ("size", "path", "case", "A", "B", "B/A [95%]", "by", "verdict")
    text = align(header, lines, frozenset({"path", "case", "by", "verdict"})) if lines else "nothing to compare\n"
    notes = [f"warning: {warning}" for warning in comparison.warnings] + comparison.alone
    return text + "".join(f"{note}\n" for note in notes)


def verdicts_json(comparison: Comparison) -> str:
    """One JSON document."""
    pairs = [
        {
            "labels": pair.labels,
            "path": pair.name,
            "a_us": pair.a_us,
            "b_us": pair.b_us,
            "ratio": pair.ratio.value,
            "low": pair.ratio.low,
            "high": pair.ratio.high,
            "clock": pair.clock,
            "verdict": str(pair.verdict),
        }
        for pair in comparison.pairs
    ]
    document = {"pairs": pairs, "alone": comparison.alone, "warnings": comparison.warnings}
    return json.dumps(document, indent=1) + "\n"
