"""The verdict on a trace: findings ranked by the share of excess time they explain; what is left is said to be left.

Excess is the time of slow samples above the fast mode, plus what a card that never reaches its clock loses on every
sample. A rule can take no more than its arithmetic allows and no more than earlier rules left.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .baseline import Baseline, baseline
from .rules import RULES, Cause
from .trace import Joined, Trace, join

__all__ = ["Diagnosis", "Finding", "diagnose"]

# Less excess than this share of all time is what any machine shows: the timing is called steady.
_STEADY = 0.05
_LEAST_SHARE = 0.0005
_TELLING = ("sm_mhz", "pstate", "reasons", "temperature_c", "power_w", "gpu_util", "pids")


@dataclass(frozen=True)
class Finding:
    """One cause with its share of the excess time, the evidence, and whether it is more than a coincidence."""

    cause: Cause
    share: float
    ns: float
    samples: int
    evidence: str
    suspicion: bool


@dataclass(frozen=True)
class Diagnosis:
    """Findings in order of share. `steady` means: no excess worth explaining."""

    findings: list[Finding]
    excess_ns: float
    total_ns: float
    slow: int
    count: int
    typical_ns: float
    worst_ns: float
    best_ns: float
    steady: bool
    silent_fields: list[str] = field(default_factory=list)

    @property
    def variation(self) -> float:
        """Maximum over minimum."""
        return self.worst_ns / self.best_ns if self.best_ns else float("inf")


@dataclass
class _Tally:
    ns: float = 0.0
    samples: int = 0
    suspicious_ns: float = 0.0
    evidence: Counter[str] = field(default_factory=Counter)


def diagnose(trace: Trace, expected_ns: float | None = None) -> Diagnosis:
    """Findings of a trace. `expected_ns` is a fast time known from elsewhere, for traces without a fast sample."""
    joined = join(trace)
    if not joined:
        raise ValueError("no samples: nothing to diagnose")
    base = baseline(joined, expected_ns)
    standing = _standing(base, trace)
    tallies: dict[Cause, _Tally] = {}
    excess = 0.0
    slow = [j for j in joined if base.is_slow(j.sample.wall_ns)]
    for j in joined if standing else slow:
        over = j.sample.wall_ns - base.wall_ns if j in slow else 0.0
        over += standing
        excess += over
        _share_out(j, base, trace, over, tallies)
    total = float(sum(j.sample.wall_ns for j in joined))
    walls = sorted(j.sample.wall_ns for j in joined if not j.sample.first) or [0]
    steady = excess < _STEADY * total
    return Diagnosis(
        [] if steady else _ranked(tallies, excess), excess, total, len(slow), len(joined),
        float(walls[len(walls) // 2]), float(walls[-1]), float(walls[0]), steady,
        [name for name in _TELLING if name not in trace.answered()] if trace.place != "cpu" else [],
    )  # fmt: skip


def _standing(base: Baseline, trace: Trace) -> float:
    """What every sample loses because even fast ones run far below the card's clock."""
    own = trace.facts.get("nominal_sm_mhz") or trace.facts.get("max_sm_mhz")
    if trace.place == "cpu" or not own or not base.sm_mhz or base.sm_mhz >= 0.75 * float(own):
        return 0.0
    return base.compute_ns * (1 - base.sm_mhz / float(own))


def _share_out(j: Joined, base: Baseline, trace: Trace, excess: float, tallies: dict[Cause, _Tally]) -> None:
    left = excess
    for cause, rule in RULES:
        if left <= 0:
            return
        part = rule(j, base, trace)
        if part is None or part.ns <= 0:
            continue
        taken = min(part.ns, left)
        left -= taken
        tally = tallies.setdefault(cause, _Tally())
        tally.ns += taken
        tally.samples += 1
        tally.suspicious_ns += taken if part.suspicion else 0.0
        tally.evidence[part.evidence] += 1
    if left > 0:
        tally = tallies.setdefault(Cause.UNEXPLAINED, _Tally())
        tally.ns += left
        tally.samples += 1


def _ranked(tallies: dict[Cause, _Tally], excess: float) -> list[Finding]:
    found = [
        Finding(
            cause, tally.ns / excess, tally.ns, tally.samples,
            tally.evidence.most_common(1)[0][0] if tally.evidence else "no evidence for any known cause",
            tally.suspicious_ns > tally.ns / 2,
        )
        for cause, tally in tallies.items()
        if tally.ns >= _LEAST_SHARE * excess
    ]  # fmt: skip
    return sorted(found, key=lambda finding: finding.ns, reverse=True)
