"""The second story's table: every treatment with its status, typical, worst and variation before and after."""

from __future__ import annotations

from collections.abc import Sequence

from ..treatments.outcome import Outcome, Result, Spread
from .table import align
from .units import ratio_text, time_text

__all__ = ["recommendation", "to_treatments"]

HEADER = ("#", "treatment", "status", "typical", "worst", "variation", "note")


def _change(before: str, after: str) -> str:
    return f"{before} > {after}"


def _figures(result: Result) -> tuple[str, str, str]:
    if result.before is None or result.after is None:
        return "", "", ""
    b, a = result.before, result.after
    return (
        _change(time_text(b.typical), time_text(a.typical)),
        _change(time_text(b.worst), time_text(a.worst)),
        _change(ratio_text(b.variation), ratio_text(a.variation)),
    )


def to_treatments(results: Sequence[Result]) -> str:
    """The table; the number is the second story's, ours have none."""
    lines = [
        (str(r.story or ""), r.title, str(r.outcome), *_figures(r), r.note)
        for r in sorted(results, key=lambda r: (r.story is None, r.story or 0))
    ]
    return align(HEADER, lines, frozenset({"treatment", "status", "note"}))


def recommendation(name: str, untreated: Spread, results: Sequence[Result]) -> str:
    """Ranked advice: what ran, by its ninth decile, then its median; the untreated subject is one of the candidates."""
    ran = [(f"{name} with {r.title}", r.after) for r in results if r.after is not None]
    candidates = [(name + " as it is", untreated), *ran]
    ranked = sorted(candidates, key=lambda item: (item[1].high, item[1].typical))
    lines = ["Recommended, steadiest and fastest first:"]
    for place, (what, spread) in enumerate(ranked[:5], 1):
        lines.append(
            f"  {place}. {what}: typical {time_text(spread.typical)}, worst {time_text(spread.worst)}, "
            f"variation {ratio_text(spread.variation)}"
        )
    not_run = [r.title for r in results if r.outcome is Outcome.NOT_RUN]
    if not_run:
        lines.append(f"Not tried, since they change the machine for everybody: {', '.join(not_run)}.")
    return "\n".join(lines) + "\n"
