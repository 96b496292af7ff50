"""One measuring session: a record, a plan under the runner, and what was measured kept on Ctrl-C."""

from __future__ import annotations

import shlex
import sys
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path

import typer

from ..lab.machine import machine_facts, version_facts, watched_device
from ..lab.record import SCHEMA_VERSION, Measurements, Record, RecordError, gather, read_record
from ..lab.runner import Runner
from ..lab.status import Status, exit_code
from ..lab.stopping import Stopping
from ..lab.subject import Place, process_ids
from ..lab.telemetry.sampler import Sampler
from ..lab.warmup import ClockReading, Warmup
from .options import fail
from .plan import Plan
from .progress import Progress

__all__ = ["Session", "begin", "measure", "read", "recorded", "verdict"]


@dataclass(frozen=True, kw_only=True)
class Session:
    """How to measure."""

    seed: int = 5090
    warmup: Warmup = field(default_factory=Warmup)
    stopping: Stopping = field(default_factory=Stopping)
    record: Path | None = None
    resume: bool = False
    quiet: bool = False
    telemetry: bool = False
    rewarm: bool = True


@contextmanager
def recorded(record: Record, seed: int, policy: dict[str, object]) -> Iterator[Record]:
    """One run of a record, complete if the block was; the record is closed behind it."""
    run, complete = begin(record, seed, policy), False
    try:
        yield record
        complete = True
    finally:
        record.append("end", run=run, complete=complete)
        record.close()


def measure(plan: Plan, session: Session) -> tuple[Measurements, bool]:
    """Run the plan. Returns all the record's measurements that belong to the plan, and whether it was completed."""
    done, earlier = _earlier(session)
    try:
        record = Record(session.record)
    except (OSError, RecordError) as error:
        raise fail(f"cannot write the record: {error}") from None
    try:
        complete = _run(plan, session, record, done)
    except BrokenPipeError:
        raise  # whoever read our output has seen enough
    except OSError as error:  # the disk is full: the figures to come could not be kept
        raise fail(f"cannot go on: {error}", 1) from None
    return gather([*earlier, *record.lines]), complete


def _run(plan: Plan, session: Session, record: Record, done: frozenset[str]) -> bool:
    """Measure into the record and close it; whether the plan was completed. Errors: `OSError` of the record."""
    policy = {"warmup": asdict(session.warmup), "stopping": asdict(session.stopping), "rewarm": session.rewarm}
    run = begin(record, session.seed, policy)
    progress = Progress(plan.sizes, quiet=session.quiet)
    sampler = Sampler(watched_device()[0], pids=lambda: process_ids(plan.subjects)) if session.telemetry else None
    runner = Runner(
        record,
        seed=session.seed,
        warmup=session.warmup,
        stopping=session.stopping,
        watcher=progress,
        clock=_clock(plan),
        done=done,
        drain=sampler.drain if sampler else tuple,
        rewarm=session.rewarm,
    )
    complete = False
    try:
        with sampler or nullcontext():
            runner.run_all((case, plan.subjects) for case in plan.cases)
        complete = True
    except KeyboardInterrupt:
        progress.close()
        hint = f" (--resume --record {session.record} goes on)" if session.record else ""
        typer.echo(f"interrupted: what was measured is kept{hint}", err=True)
    finally:
        progress.close()
        record.append("end", run=run, complete=complete)
        record.close()
    return complete


def begin(record: Record, seed: int, policy: dict[str, object]) -> str:
    """Write the line that begins a run: machine, versions, command. Returns the run's name, for its `end` line."""
    run = uuid.uuid4().hex[:16]
    record.append(
        "run",
        schema=SCHEMA_VERSION,
        run=run,
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        command=shlex.join(["msm", *sys.argv[1:]])[:4096],
        seed=seed,
        policy=policy,
        machine=machine_facts(),
        versions=version_facts(),
    )
    record.flush(sync=True)
    return run


def _earlier(session: Session) -> tuple[frozenset[str], Iterable[dict[str, object]]]:
    """Finished cells of the record when resuming, and its lines."""
    if not session.resume:
        return frozenset(), ()
    if session.record is None:
        raise fail("--resume needs --record FILE")
    if not session.record.exists():
        return frozenset(), ()
    from ..lab.record import read_lines

    try:
        lines = list(read_lines(session.record))
        cells = gather(lines).cells.values()
    except (OSError, RecordError) as error:
        raise fail(str(error)) from None
    return frozenset(cell.id for cell in cells if cell.result is not None), lines


def _clock(plan: Plan) -> ClockReading | None:
    """The SM clock as the warm-up's signal, when a GPU is measured and NVML answers."""
    if all(subject.place is Place.CPU for subject in plan.subjects):
        return None
    device, _ = watched_device()
    return device.sm_clock if device else None


def verdict(measurements: Measurements, complete: bool, only: Iterable[Status | None] | None = None) -> int:
    """Exit code of a session: 130 when interrupted, as shells expect. `only`: the statuses that count."""
    if not complete:
        return 130
    statuses = only if only is not None else (cell.status for cell in measurements.cells.values())
    return exit_code(status or Status.ERROR for status in statuses)


def read(paths: list[Path]) -> Measurements:
    """Records from files, or exit 2 with the reason."""
    try:
        return read_record(paths)
    except (OSError, RecordError) as error:
        raise fail(str(error)) from None
