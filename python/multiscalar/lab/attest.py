"""Where was it computed? Rules that hold a subject's evidence against what it was asked.

A GPU result is attested by an event time that is positive and no longer than the wall time, with launches or bytes
moved where the subject counts them. A sign that it ran elsewhere makes the row NOT_ATTESTED: it enters no table. No
sign at all makes it UNVERIFIED: shown, marked, never ranked. NVML may corroborate (the process held device memory);
its silence, as under WSL2 or on GeForce cards, fails nobody.
"""

from __future__ import annotations

from .status import Status
from .subject import Evidence, Place

__all__ = ["attest"]

# Event and host clocks differ by rounding and drift; a device time beyond the wall by more than this is
# impossible.
_CLOCK_SLACK = 1.02
_CLOCK_SLACK_NS = 2_000


def attest(asked: Place, evidence: Evidence, wall_ns: int) -> tuple[Status, str]:
    """(ok | NOT_ATTESTED | UNVERIFIED, reason)."""
    if asked is Place.ANY:
        return Status.OK, ""
    if asked is Place.CPU:
        if evidence.backend in (None, "cpu"):
            return Status.OK, ""
        return Status.NOT_ATTESTED, f"asked for the CPU, ran on {evidence.backend}"
    against = _evidence_against(evidence, wall_ns)
    if against:
        return Status.NOT_ATTESTED, against
    if evidence.event_ns is not None or evidence.launches or evidence.device_bytes_held:
        return Status.OK, ""
    return Status.UNVERIFIED, "no evidence of where it ran: no event time, no launches, no device memory held"


def _evidence_against(evidence: Evidence, wall_ns: int) -> str:
    if evidence.backend == "cpu" or evidence.fallback_reason:
        reason = f": {evidence.fallback_reason}" if evidence.fallback_reason else ""
        return f"asked for the GPU, ran on the CPU{reason}"
    if evidence.launches == 0:
        return "asked for the GPU, launched no kernel"
    if evidence.event_ns is not None:
        if evidence.event_ns <= 0:
            return f"device event time is {evidence.event_ns} ns: nothing ran on the device"
        if evidence.event_ns > wall_ns * _CLOCK_SLACK + _CLOCK_SLACK_NS:
            return f"device event time {evidence.event_ns} ns exceeds the wall time {wall_ns} ns"
    if evidence.bytes_moved == 0:
        return "asked for the GPU, moved no byte to or from it"
    return ""
