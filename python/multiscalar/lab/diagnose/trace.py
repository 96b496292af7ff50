"""A trace: timed samples of one subject with the telemetry around them, and the join of the two.

Fields that a driver did not answer are absent. A reading belongs to a sample when it falls into the sample's time; a
sample shorter than the sampling period takes the nearest reading within `REACH_NS`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from ..record import Cell, Measurements
from ..telemetry.reading import Reading

__all__ = ["IDLE_UTIL", "Joined", "Timed", "Trace", "join", "trace_of"]

REACH_NS = 250_000_000
IDLE_UTIL = 5.0  # per cent
# NVML averages its utilisation over a sixth of a second to a second, by product (NVML API reference).
UTILISATION_WINDOW_NS = 1_000_000_000


@dataclass(frozen=True)
class Timed:
    """One timed call."""

    at_ns: int
    wall_ns: int
    cpu_ns: int | None = None
    copy_ns: int | None = None
    device_ns: int | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    first: bool = False

    @property
    def used_gpu(self) -> bool | None:
        """What the subject's own counts say: it did, it did not, or None where it counts nothing.

        Launches, event time and moved bytes are of this very call; NVML's utilisation is an average over up to a
        second, in which a call of half a millisecond is not to be seen.
        """
        counts = [self.evidence.get(name) for name in ("launches", "event_ns", "bytes_moved")]
        known = [count for count in (*counts, self.device_ns) if isinstance(count, int | float)]
        if self.evidence.get("launches") == 0 or (known and max(known) <= 0):
            return False
        return True if known else None


@dataclass(frozen=True)
class Trace:
    """Everything the rules may look at. `facts` are standing facts of GPU and host."""

    samples: Sequence[Timed]
    readings: Sequence[Reading]
    place: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1
    own_pids: frozenset[int] = frozenset()

    def answered(self) -> frozenset[str]:
        """Names of the telemetry fields that were answered at least once, by the driver or by the subject."""
        told = (sample.evidence.get("detail", {}).get("state", {}) for sample in self.samples)
        return frozenset(name for fields in (*(r.fields for r in self.readings), *told) for name in fields)


@dataclass(frozen=True)
class Joined:
    """A sample with the telemetry of its time: numbers averaged, lists united; `spread` is max - min of a number."""

    sample: Timed
    state: Mapping[str, Any]
    spread: Mapping[str, float]

    def number(self, name: str) -> float | None:
        """A numeric field, or None where the driver was silent."""
        value = self.state.get(name)
        return float(value) if isinstance(value, int | float) else None

    @property
    def busy(self) -> float | None:
        """How busy the GPU was, in per cent: GPM's share of SM time where it is known, else NVML's utilisation.

        Either is an average over more than a short call: there the subject's own event time takes its place, and
        "idle" beside launches and no event time means unknown.
        """
        fine = self.number("sm_util")
        told = fine if fine is not None else self.number("gpu_util")
        sample = self.sample
        if told is None or sample.wall_ns >= UTILISATION_WINDOW_NS or not sample.used_gpu:
            return told
        if sample.device_ns is not None:
            return 100 * min(1.0, sample.device_ns / sample.wall_ns)
        return told if told >= IDLE_UTIL else None


def join(trace: Trace) -> list[Joined]:
    """Every sample with its telemetry."""
    times = [reading.at_ns for reading in trace.readings]
    return [_joined(sample, trace.readings, times) for sample in trace.samples]


def _joined(sample: Timed, readings: Sequence[Reading], times: Sequence[int]) -> Joined:
    low = bisect_left(times, sample.at_ns)
    high = bisect_right(times, sample.at_ns + sample.wall_ns)
    inside = list(readings[low:high])
    if not inside:
        near = [r for r in readings[max(0, low - 1) : high + 1] if _distance(r, sample) <= REACH_NS]
        inside = [min(near, key=lambda r: _distance(r, sample))] if near else []
    state: dict[str, Any] = {}
    spread: dict[str, float] = {}
    for name in {name for reading in inside for name in reading.fields}:
        values = [reading.fields[name] for reading in inside if name in reading.fields]
        if isinstance(values[0], list):
            state[name] = sorted({item for value in values for item in value})
        elif isinstance(values[0], int | float):
            state[name] = fmean(values)
            spread[name] = float(max(values) - min(values))
    told = sample.evidence.get("detail", {}).get("state", {})  # what the subject itself saw beside the call
    return Joined(sample, {**state, **told}, spread)


def _distance(reading: Reading, sample: Timed) -> int:
    if reading.at_ns < sample.at_ns:
        return sample.at_ns - reading.at_ns
    return max(0, reading.at_ns - sample.at_ns - sample.wall_ns)


def trace_of(measurements: Measurements, cell: Cell) -> Trace:
    """The trace of a cell in a record. Its warm-up comes first; the very first call is marked as such."""
    warm = [_timed(line, first=i == 0) for i, line in enumerate(cell.warmups)]
    samples = [*warm, *(_timed(line) for line in cell.samples)]
    machines = [run["machine"] for run in measurements.runs if run["run"] == cell.run]
    machine = machines[0] if machines else {}
    facts = {**machine.get("gpu", {}), **{f"host_{k}": v for k, v in machine.get("cpu", {}).items()}}
    readings = [Reading(line["at_ns"], line["fields"]) for line in measurements.traces]
    threads = cell.labels.get("threads") or machine.get("cpu", {}).get("usable_cpus") or 1
    pids = frozenset(pid for pid in cell.subject.get("pids", []) if isinstance(pid, int))
    return Trace(samples, sorted(readings, key=lambda r: r.at_ns), _place(cell, samples), facts, int(threads), pids)


def _place(cell: Cell, samples: Sequence[Timed]) -> str:
    """Where the cell computed. A dispatch that chose the CPU for every call is a CPU subject, not a fallen GPU one."""
    chosen = {sample.evidence.get("backend") for sample in samples}
    fell = any(sample.evidence.get("fallback_reason") for sample in samples)
    return "cpu" if cell.place == "any" and chosen == {"cpu"} and not fell else cell.place


def _timed(line: Mapping[str, Any], first: bool = False) -> Timed:
    return Timed(
        line["at_ns"],
        line["wall_ns"],
        line.get("cpu_ns"),
        line.get("copy_ns"),
        line.get("device_ns"),
        line.get("evidence", {}),
        first,
    )
