"""What a treatment did: judged on the spread and the level of the samples beside the untreated ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

__all__ = ["Outcome", "Result", "Spread", "judge_treatment", "spread_of"]

_STEADY = 1.5  # maximum over minimum that counts as steady
_HALF = 0.5  # a spread cut in half is a partial cure
_MATTERS = 1.25  # change of level that matters


class Outcome(StrEnum):
    """Words of the table."""

    CURED = "cured"
    PARTIAL = "partial"
    NO_EFFECT = "no effect"
    WORSE = "worse"
    NOT_APPLICABLE = "not applicable"
    NOT_RUN = "not run"


@dataclass(frozen=True)
class Spread:
    """Typical (median), worst (maximum), variation (maximum / minimum) and ninth decile, times in us."""

    typical: float
    worst: float
    variation: float
    high: float


@dataclass(frozen=True)
class Result:
    """One line of the table; spreads are None for what was not run."""

    key: str
    title: str
    story: int | None
    outcome: Outcome
    before: Spread | None
    after: Spread | None
    note: str = ""


def spread_of(wall_ns: Sequence[int]) -> Spread:
    """The figures of the second story from raw samples."""
    values = np.asarray(wall_ns, dtype=np.float64) / 1e3
    return Spread(
        float(np.median(values)),
        float(values.max()),
        float(values.max() / max(values.min(), 1e-9)),
        float(np.percentile(values, 90)),
    )


def judge_treatment(before: Spread, after: Spread) -> Outcome:
    """Compare the treated with the untreated, both measured interleaved."""
    if after.high > _MATTERS * before.high and after.typical > _MATTERS * before.typical:
        return Outcome.WORSE
    best = before.worst / before.variation
    was_steady = before.variation <= _STEADY
    if not was_steady and after.variation <= _STEADY and after.typical <= _MATTERS * max(best, 1e-9):
        return Outcome.CURED
    calmer = (after.variation - 1) <= _HALF * (before.variation - 1) and not was_steady
    quicker = after.high <= _HALF * before.high or after.typical <= before.typical / _MATTERS
    return Outcome.PARTIAL if calmer or quicker else Outcome.NO_EFFECT
