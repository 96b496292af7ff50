"""Do two calibrations of one machine agree? At least 90 of 100 boundaries must lie inside the other's band.

Boundaries of a series are paired in rising n where both found the same sides; a boundary that the other calibration did
not find counts as outside. The band of a boundary is where another calibration is expected to find it (`model`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

from .model import Boundary, boundaries
from .profile import Profile, Series

WANTED: Final = 0.90

Found = Mapping[Series, Sequence[Boundary]]


@dataclass(frozen=True)
class Meeting:
    """One boundary in two calibrations; None where one of them did not find it."""

    series: Series
    a: Boundary | None
    b: Boundary | None

    @property
    def inside(self) -> tuple[bool, bool]:
        """(a in the band of b, b in the band of a)."""
        if self.a is None or self.b is None or self.a.after != self.b.after:
            return False, False
        return self.b.low <= self.a.n <= self.b.high, self.a.low <= self.b.n <= self.a.high


@dataclass(frozen=True)
class Agreement:
    """All boundaries of the series that both calibrations measured, and how many series that were."""

    meetings: Sequence[Meeting]
    series: int

    @property
    def share(self) -> float:
        """Share of boundaries inside the other's band, both ways; 1 where neither found any."""
        told = [yes for meeting in self.meetings for yes in meeting.inside]
        return sum(told) / len(told) if told else 1.0

    def __str__(self) -> str:
        lines = [f"{'series':<28} {'A':>30} {'B':>30}  inside"]
        for meeting in self.meetings:
            name = f"{meeting.series.curve} {meeting.series.scope}"
            within = " ".join("yes" if yes else "no" for yes in meeting.inside)
            lines.append(f"{name:<28} {_text(meeting.a):>30} {_text(meeting.b):>30}  {within}")
        lines.append(
            f"{self.share:.0%} of boundaries inside each other's bands ({self.series} series measured in both)"
        )
        return "\n".join(lines)


def found_in(profile: Profile) -> Found:
    """The boundaries of every series that a profile has both sides of."""
    pairs = {replace(series, backend="cpu"): profile.pair(series) for series in sorted(profile.curves)}
    return {
        series: boundaries(*pair, wobble=profile.wobble.get(series.key(), 0.0))
        for series, pair in pairs.items()
        if pair
    }


def compare(a: Found, b: Found) -> Agreement:
    """Boundaries of one calibration held against those of another, series by series."""
    shared = [series for series in a if series in b]
    return Agreement([meeting for series in shared for meeting in _meet(series, a[series], b[series])], len(shared))


def _meet(series: Series, a: Sequence[Boundary], b: Sequence[Boundary]) -> Iterator[Meeting]:
    return (Meeting(series, one, two) for one, two in zip_longest(a, b))


def _text(boundary: Boundary | None) -> str:
    return "none" if boundary is None else f"{boundary.n:,} [{boundary.low:,.0f}, {boundary.high:,.0f}]"
