"""`msm check`: rules that anyone can run on anyone's record.

What the record says must follow from what it holds.

Each rule is a function from measurements to findings. FAIL: the record does not prove its figures. WARN: it does, but
a reader should know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from .attest import attest
from .record import Cell, Line, Measurements
from .status import Status
from .subject import Evidence, Place

__all__ = ["RULES", "Finding", "Level", "check"]

LEAST_SAMPLES = 5
# A term has 32 bytes of scalar: no machine reads more than 10 TB/s, and no CPU thread handles one in 0.1 ns.
_MOST_BYTES_PER_NS = 10_000
_LEAST_NS_PER_TERM_THREAD = 0.1
# A thread that runs on another CPU is charged to the process at that CPU's tick only: up to 10 ms (HZ = 100) late, for
# each CPU, so that a short call may be charged what others of the process spent before it.
_TICK_NS = 10_000_000


class Level(StrEnum):
    """How bad a finding is."""

    FAIL = "FAIL"
    WARN = "WARN"


@dataclass(frozen=True)
class Finding:
    """One breach of a rule, with the place."""

    level: Level
    rule: str
    where: str
    text: str


Rule = Callable[[Measurements], Iterator[Finding]]


def _place(cell: Cell) -> str:
    return f"{cell.labels.get('curve', '')} n={cell.labels['n']} {cell.path}".strip()


def _ok_cells(measurements: Measurements) -> Iterator[Cell]:
    return (cell for cell in measurements.cells.values() if cell.status is Status.OK)


def completeness(measurements: Measurements) -> Iterator[Finding]:
    """Every run ends, every cell has a result; a run that says it was cut short may leave cells without one."""
    if not measurements.runs:
        yield Finding(Level.FAIL, "completeness", "record", "no run line: nothing says where this was measured")
    ended = {line["run"]: line["complete"] for line in measurements.ends}
    for run in measurements.runs:
        if not ended.get(run["run"], False):
            yield Finding(Level.WARN, "completeness", f"run {run['run']}", "interrupted or cut short")
    for cell in measurements.cells.values():
        if cell.result is None:
            level = Level.FAIL if ended.get(cell.run, False) else Level.WARN
            yield Finding(level, "completeness", _place(cell), f"no result; {len(cell.samples)} samples")


def statuses(measurements: Measurements) -> Iterator[Finding]:
    """No wrong results; failures are seen."""
    for cell in measurements.cells.values():
        if cell.status in (Status.MISMATCH, Status.NOT_ATTESTED):
            yield Finding(Level.FAIL, "statuses", _place(cell), f"{cell.status}: {cell.note}")
        elif cell.status not in (Status.OK, Status.UNSUPPORTED, None):
            yield Finding(Level.WARN, "statuses", _place(cell), f"{cell.status}: {cell.note}")


def sample_counts(measurements: Measurements) -> Iterator[Finding]:
    """Enough samples, all of them checked; unmet stopping criteria are repeated."""
    for cell in _ok_cells(measurements):
        result = cell.result or {}
        if len(cell.samples) < LEAST_SAMPLES:
            yield Finding(
                Level.WARN,
                "sample-counts",
                _place(cell),
                f"{len(cell.samples)} samples, fewer than {LEAST_SAMPLES}",
            )
        if result.get("checked", 0) < len(cell.samples) + len(cell.warmups):
            yield Finding(
                Level.FAIL, "sample-counts", _place(cell),
                f"{result.get('checked', 0)} results checked, {len(cell.samples)} samples and "
                f"{len(cell.warmups)} warm-ups taken",
            )  # fmt: skip
        if unmet := result.get("stop", {}).get("unmet"):
            yield Finding(Level.WARN, "sample-counts", _place(cell), f"stopping criterion unmet: {unmet}")


def attestation(measurements: Measurements) -> Iterator[Finding]:
    """The evidence in the samples, judged again."""
    names = set(Evidence.__dataclass_fields__)
    for cell in _ok_cells(measurements):
        for sample in cell.samples:
            known = {key: value for key, value in sample.get("evidence", {}).items() if key in names}
            status, reason = attest(Place(cell.place), Evidence(**known), sample["wall_ns"])
            if status is not Status.OK:
                yield Finding(Level.FAIL, "attestation", _place(cell), f"{status}: {reason}")
                break


def clocks(measurements: Measurements) -> Iterator[Finding]:
    """Clocks agree with each other, and the warm-up reached its plateau where it looked for one."""
    cpus = _logical_cpus(measurements)
    for cell in measurements.cells.values():
        if cell.timed_nothing:
            yield Finding(Level.FAIL, "clocks", _place(cell), cell.note)
    for cell in _ok_cells(measurements):
        for sample in cell.samples:
            fault = _clock_fault(sample, cpus)
            if fault:
                yield Finding(Level.FAIL, "clocks", _place(cell), fault)
                break
        if cell.warmup.get("plateau") is False:
            waited = f"{cell.warmup.get('seconds', 0):.1f} s of warm-up"
            text = f"no plateau of {cell.warmup.get('signal')} in {waited}"
            yield Finding(Level.WARN, "clocks", _place(cell), text)


def _logical_cpus(measurements: Measurements) -> int:
    found = [run["machine"].get("cpu", {}).get("logical_cpus") for run in measurements.runs]
    return max((count for count in found if isinstance(count, int)), default=1024)


def _clock_fault(sample: Line, cpus: int) -> str | None:
    wall = sample["wall_ns"]
    if sample.get("cpu_ns", 0) > wall * cpus * 1.05 + _TICK_NS * max(cpus, 2):
        return f"CPU time {sample['cpu_ns']} ns is more than {cpus} CPUs can spend in {wall} ns"
    if sample.get("device_ns", 0) > wall * 1.02 + 2_000:
        return f"device time {sample['device_ns']} ns exceeds the wall time {wall} ns"
    return None


def plausibility(measurements: Measurements) -> Iterator[Finding]:
    """No rate above a physical bound: an empty function, a dropped result or a cached answer shows here."""
    for cell in _ok_cells(measurements):
        n, times = cell.labels["n"], cell.times()
        if not times:
            continue
        work = n * int(cell.labels.get("batch") or 1)
        quick = min(times)
        if 32 * work / quick > _MOST_BYTES_PER_NS:
            yield Finding(
                Level.FAIL,
                "plausibility",
                _place(cell),
                f"{work:,} terms in {quick} ns: no memory is so fast",
            )
        elif cell.place == "cpu" and quick < work * _LEAST_NS_PER_TERM_THREAD / _logical_cpus(measurements):
            yield Finding(Level.FAIL, "plausibility", _place(cell), f"{work:,} terms in {quick} ns: no CPU is so fast")


def machine_facts(measurements: Measurements) -> Iterator[Finding]:
    """The record names machine and versions; a busy machine is pointed out."""
    for run in measurements.runs:
        where = f"run {run['run']}"
        cpu = run["machine"].get("cpu", {})
        if not cpu.get("model") or "multiscalar" not in run["versions"]:
            yield Finding(Level.FAIL, "machine-facts", where, "CPU model or package version missing")
        load, cpus = cpu.get("load1"), cpu.get("usable_cpus")
        if isinstance(load, int | float) and isinstance(cpus, int) and load > 0.5 * cpus:
            yield Finding(Level.WARN, "machine-facts", where, f"load {load:.1f} on {cpus} CPUs when the run began")


def inputs_named(measurements: Measurements) -> Iterator[Finding]:
    """Inputs are named; related points want an independent control somewhere in the record."""
    kinds = {cell.labels.get("inputs") for cell in _ok_cells(measurements)}
    if "known-dlog" in kinds and "independent" not in kinds:
        yield Finding(
            Level.WARN,
            "inputs",
            "record",
            "all points are related (known-dlog); no control with independent points",
        )


RULES: tuple[Rule, ...] = (
    completeness, statuses, sample_counts, attestation, clocks, plausibility, machine_facts, inputs_named,
)  # fmt: skip


def check(measurements: Measurements) -> list[Finding]:
    """All findings, failures first."""
    found = [finding for rule in RULES for finding in rule(measurements)]
    return sorted(found, key=lambda finding: finding.level is not Level.FAIL)
