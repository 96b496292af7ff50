"""How times and ratios are written for people."""

from __future__ import annotations

__all__ = ["ratio_text", "time_text"]


def time_text(us: float | None) -> str:
    """Three significant digits in the unit that suits: `812 us`, `4.21 ms`, `7.35 s`; empty for None."""
    if us is None:
        return ""
    for limit, scale, unit in ((1e3, 1.0, "us"), (1e6, 1e3, "ms")):
        if us < limit * 0.9995:
            return f"{_three(us / scale)} {unit}"
    return f"{_three(us / 1e6)} s"


def _three(value: float) -> str:
    return f"{value:.0f}" if value >= 99.95 else f"{value:.1f}" if value >= 9.995 else f"{value:.2f}"


def ratio_text(ratio: float) -> str:
    """`73x`, `1.34x`."""
    return f"{ratio:.0f}x" if ratio >= 9.95 else f"{ratio:.2f}x"
