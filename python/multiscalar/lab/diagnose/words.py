"""A diagnosis in words."""

from __future__ import annotations

from ..formats.units import ratio_text, time_text
from .attribute import Diagnosis, Finding

__all__ = ["diagnosis_text", "headline"]


def headline(diagnosis: Diagnosis) -> str:
    """Typical, worst, variation and how many samples are slow."""
    return (
        f"typical {_time(diagnosis.typical_ns)}, worst {_time(diagnosis.worst_ns)}, variation "
        f"{ratio_text(diagnosis.variation)}; {diagnosis.slow} of {diagnosis.count} samples slow"
    )


def diagnosis_text(diagnosis: Diagnosis, name: str = "") -> str:
    """Headline, findings in order, and what could not be judged."""
    lines = [f"{name}: {headline(diagnosis)}" if name else headline(diagnosis)]
    if diagnosis.steady:
        share = diagnosis.excess_ns / diagnosis.total_ns if diagnosis.total_ns else 0.0
        lines.append(f"  steady: {share:.1%} of the time is above the fast mode, nothing to explain")
    else:
        lines.append(f"  excess time {_time(diagnosis.excess_ns)}, explained by:")
        lines += [f"  {i}. {finding_text(finding)}" for i, finding in enumerate(diagnosis.findings, 1)]
    if diagnosis.silent_fields:
        lines.append(f"  not answered here: {', '.join(diagnosis.silent_fields)}; causes that need them are not judged")
    return "\n".join(lines) + "\n"


def finding_text(finding: Finding) -> str:
    """Share, cause, evidence."""
    kind = " (suspicion)" if finding.suspicion else ""
    return f"{finding.share:5.1%}  {finding.cause}{kind}: {finding.evidence} [{finding.samples} samples]"


def _time(ns: float) -> str:
    return time_text(ns / 1e3)
