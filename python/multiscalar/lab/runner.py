"""Puts cases to subjects: warm-up, interleaved turns, checked results, attestation, a record of it all.

Steps per case: 1. open a cell per subject and let each prepare; 2. warm up; 3. rounds of turns in randomised ABBA
order until every cell's stopping rule is met; 4. close the cells with a status. Within a turn a subject takes as many
samples as fill 5 ms, after one untimed call where calls are short (`rewarm`). Nothing but the call is inside a timed
region; the collector is off while one runs.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from .attest import attest
from .record import Record
from .schedule import Interleaver
from .status import FAILURES, Status, SubjectError, failure
from .stopping import Stop, Stopping
from .subject import Case, Place, Sample, Subject, cell_id
from .telemetry.reading import Reading
from .warmup import ClockReading, Warmup, warm

__all__ = ["CellState", "Quiet", "Runner", "Watcher"]

_TURN_NS = 5_000_000
_MAX_BURST = 64
_DEVICE_REWARM_NS = 50_000_000


@dataclass
class CellState:
    """A cell in progress: what the watcher may show."""

    id: str
    case: Case
    subject: Subject
    inputs: Any
    wall_ns: list[int] = field(default_factory=list)
    checked: int = 0
    unverified: str = ""
    stop: Stop | None = None

    @property
    def open(self) -> bool:
        return self.stop is None


class Watcher(Protocol):
    """Told of progress; must return fast. The command line's progress bar is one."""

    def case_started(self, case: Case, cells: Sequence[CellState]) -> None: ...

    def turn_taken(self, cell: CellState, stopping: Stopping) -> None: ...

    def cell_finished(self, cell: CellState, status: Status, note: str) -> None: ...


class Quiet:
    """A watcher that shows nothing."""

    def case_started(self, case: Case, cells: Sequence[CellState]) -> None:
        """Nothing."""

    def turn_taken(self, cell: CellState, stopping: Stopping) -> None:
        """Nothing."""

    def cell_finished(self, cell: CellState, status: Status, note: str) -> None:
        """Nothing."""


def _loaded(case: Case) -> tuple[Any, SubjectError | None]:
    """The inputs of a case, or what kept them from being made: more terms than memory has room for."""
    try:
        return case.load(), None
    except FAILURES as error:
        return None, failure(error)


@contextmanager
def _no_collection() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class Runner:
    """Runs cases and writes the record. `done` holds cell ids to skip (`--resume`); `drain` gives telemetry.

    `rewarm`: turns of short calls begin with an untimed one; the doctor wants to see what idling does, and does not.
    """

    def __init__(
        self,
        record: Record,
        *,
        seed: int,
        warmup: Warmup,
        stopping: Stopping,
        watcher: Watcher | None = None,
        clock: ClockReading | None = None,
        done: frozenset[str] = frozenset(),
        drain: Callable[[], Iterable[Reading]] = tuple,
        rewarm: bool = True,
    ) -> None:
        self._record = record
        self._order = Interleaver(seed)
        self._warmup = warmup
        self._stopping = stopping
        self._watcher = watcher or Quiet()
        self._clock = clock
        self._done = done
        self._drain = drain
        self._rewarm = rewarm

    def run(self, case: Case, subjects: Sequence[Subject]) -> None:
        """Measure one case. Raises only KeyboardInterrupt and faults of the lab itself."""
        asked = [s for s in subjects if cell_id(case.labels, s.name) not in self._done]
        if not asked:
            return
        inputs, fault = _loaded(case)
        cells = [CellState(cell_id(case.labels, s.name), case, s, inputs) for s in asked]
        self._watcher.case_started(case, cells)
        try:
            for cell in cells:
                self._open(cell, fault)
            self._rounds([cell for cell in cells if cell.open])
        finally:
            for cell in cells:
                cell.subject.close()
            self._record.flush(sync=True)

    def _open(self, cell: CellState, fault: SubjectError | None) -> None:
        """Prepare and warm up; a failure, or one of loading the inputs, closes the cell."""
        subject, facts, report = cell.subject, {}, None
        samples: list[Sample] = []
        if fault is None:
            try:
                subject.prepare(cell.case, cell.inputs)
                facts = subject.describe()
                # the GPU's clock says nothing of a CPU's
                samples, report = warm(subject, self._warmup, None if subject.place is Place.CPU else self._clock)
            except FAILURES as error:
                fault = failure(error)
        self._record.append(
            "cell",
            cell=cell.id,
            path=subject.name,
            place=str(subject.place),
            labels=dict(cell.case.labels),
            subject=facts,
            warmup=asdict(report) if report else None,
        )
        for sample in samples:
            self._record.sample(cell.id, sample, warmup=True)
        if fault:
            self._close(cell, fault.status, fault.reason, Stop("failed"))
        else:
            self._judge(cell, samples)

    def _rounds(self, cells: list[CellState]) -> None:
        by_id = {cell.id: cell for cell in cells}
        while by_id:
            for name in self._order.round(list(by_id)):
                cell = by_id[name]
                self._turn(cell)
                if not cell.open:
                    del by_id[name]

    def _turn(self, cell: CellState) -> None:
        typical = min(cell.wall_ns[-_MAX_BURST:], default=_TURN_NS)
        limit = _TURN_NS / 5 if cell.subject.place is Place.CPU else _DEVICE_REWARM_NS
        rewarm = self._rewarm and typical < limit
        count = self._burst(cell, typical)
        try:
            with _no_collection():
                samples = cell.subject.take(count, 1 if rewarm else 0)
        except FAILURES as error:
            fault = failure(error)
            self._close(cell, fault.status, fault.reason, Stop("failed"))
            return
        for sample in samples:
            self._record.sample(cell.id, sample)
            cell.wall_ns.append(sample.wall_ns)
        self._keep_readings()
        self._judge(cell, samples)
        if cell.open:
            self._watcher.turn_taken(cell, self._stopping)
            stop = self._stopping.decide(cell.wall_ns)
            if stop:
                status = Status.UNVERIFIED if cell.unverified else Status.OK
                self._close(cell, status, cell.unverified, stop)

    def _keep_readings(self) -> None:
        for reading in self._drain():
            self._record.append("trace", at_ns=reading.at_ns, fields=dict(reading.fields))
        self._record.flush()

    def _burst(self, cell: CellState, typical: int) -> int:
        """Samples for one turn: as many as fill it, spread over at least four turns, never past the wanted count."""
        wanted = self._stopping.expected_count(cell.wall_ns) - len(cell.wall_ns)
        fair = max(1, self._stopping.repeats // 4)
        return max(1, min(wanted, _TURN_NS // max(typical, 1), fair, _MAX_BURST))

    def _judge(self, cell: CellState, samples: Sequence[Sample]) -> None:
        """Check results and evidence; closes the cell at the first fault."""
        for sample in samples:
            wrong = cell.case.verify(cell.inputs, sample.result)
            if wrong:
                self._close(cell, Status.MISMATCH, wrong, Stop("mismatch"))
                return
            cell.checked += 1
            status, reason = attest(cell.subject.place, sample.evidence, sample.wall_ns)
            if status is Status.NOT_ATTESTED:
                self._close(cell, status, reason, Stop("not attested"))
                return
            if status is Status.UNVERIFIED:
                cell.unverified = reason

    def _close(self, cell: CellState, status: Status, note: str, stop: Stop) -> None:
        cell.stop = stop
        self._record.append(
            "result",
            cell=cell.id,
            status=str(status),
            note=note[:4096] or None,
            checked=cell.checked,
            stop=asdict(stop),
        )
        self._watcher.cell_finished(cell, status, note)

    def run_all(self, plan: Iterable[tuple[Case, Sequence[Subject]]]) -> None:
        """Every case in turn."""
        for case, subjects in plan:
            self.run(case, subjects)
