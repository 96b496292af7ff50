"""What `result.run` says of a device, on the shim: it is read late, by whoever asks first, and stays right."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import threading
import time
import weakref
from itertools import count
from typing import Any

import multiscalar as ms
import pytest
from multiscalar.cuda import compiled, plan, stage, whole
from multiscalar.errors import MultiscalarError

from tests.children import in_child
from tests.cuda.test_backend import inputs
from tests.cuda.test_host_inputs import OnDevice
from tests.cuda.test_repeated import device_bases


class Readings:
    """The readings of a device's clocks: the k-th one finds k nanoseconds for each phase."""

    def __init__(self, runtime: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self._number, self.made = count(1), 0
        self.log: list[tuple[str, Any]] = []  # events as they are recorded, and the first one of each reading
        record = runtime.record

        def recorded(event: Any, *rest: Any) -> None:
            self.log.append(("recorded", event))
            record(event, *rest)

        def elapsed(marks: Any) -> list[int]:
            self.made = next(self._number)
            self.log.append(("read", marks[0]))
            return [self.made] * (len(marks) - 1)

        monkeypatch.setattr(runtime, "record", recorded)
        monkeypatch.setattr(runtime, "elapsed_ns", elapsed)


@pytest.fixture
def readings(shim: Any, monkeypatch: pytest.MonkeyPatch) -> Readings:
    return Readings(shim(), monkeypatch)


def spent(result: ms.Point) -> set[int]:
    assert result.run is not None
    return set(result.run.phases_ns.values())


def test_nobody_asks_nobody_reads(readings: Readings) -> None:
    bases, device, expected = device_bases()
    for _ in range(3):
        assert bases.msm(device) == expected
    assert readings.made == 0


def test_a_run_keeps_its_own_times_when_its_plan_runs_again(readings: Readings) -> None:
    bases, device, _ = device_bases()
    first = bases.msm(device)
    second = bases.msm(device)
    assert readings.made == 1, "somebody holds the first result: it is read before its events are used again"
    third = bases.msm(device)
    assert [spent(one) for one in (second, first, third, second)] == [{2}, {1}, {3}, {2}]
    assert readings.made == 3, "each run is read once"
    for run in (first.run, second.run, third.run):
        assert run.evidence["device_ns"] == sum(run.phases_ns.values()) > 0
        assert run.wall_ns > 0


@pytest.mark.parametrize("kind", ["device", "host", "turns"])
def test_runs_that_nobody_has_asked_yet_all_keep_their_times(shim: Any, kind: str) -> None:
    shim()  # whose clocks refuse, as a device's do, when an event is under way
    bases, device, expected = device_bases()
    other = OnDevice(device.array.copy())
    scalars = {"device": [device], "host": [device.array], "turns": [device, device, device, other]}[kind]
    begun = time.perf_counter_ns()
    results = [bases.msm(scalars[k % len(scalars)]) for k in range(12)]
    spent_ns = time.perf_counter_ns() - begun
    assert all(result == expected for result in results)
    runs = [result.run for result in results]
    assert sum(sum(run.phases_ns.values()) for run in runs) <= spent_ns
    assert all(sum(run.phases_ns.values()) <= run.wall_ns for run in runs)
    assert len({tuple(run.phases_ns.values()) for run in runs}) == len(runs), "each its own"


@pytest.mark.parametrize(("owner", "step"), [(plan.Plan, "digits"), (plan.Plan, "finish"), (stage.Stage, "run")])
def test_a_call_that_breaks_off_changes_no_times(
    readings: Readings, monkeypatch: pytest.MonkeyPatch, owner: type, step: str
) -> None:
    if owner is plan.Plan:
        monkeypatch.setattr(whole, "RUNS_BEFORE", 1 << 30)  # no run is one graph
    bases, device, expected = device_bases()
    scalars: Any = device if owner is stage.Stage else device.array
    for _ in range(4):
        bases.msm(scalars)
    first, since = bases.msm(scalars), len(readings.log)
    with monkeypatch.context() as broken:

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        broken.setattr(owner, step, interrupt)
        for made in (0, 1, 1):
            with pytest.raises(KeyboardInterrupt):
                bases.msm(scalars)
            assert readings.made == made, "after one that broke off the times are read before anything else"
    assert bases.msm(scalars) == expected
    assert spent(first) == {1}
    assert readings.made == 1
    log = readings.log[since:]
    begun = next(event for what, event in log if what == "read")
    assert ("recorded", begun) not in log[: log.index(("read", begun))], "read before its event is used again"


@pytest.mark.parametrize("step", ["begin", "read_times"])
def test_a_call_over_device_memory_that_breaks_off_changes_no_times(
    shim: Any, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    shim()  # whose clocks refuse when an event is under way or was dropped
    bases, device, expected = device_bases()
    results = [bases.msm(device) for _ in range(4)]
    other = OnDevice(device.array.copy()) if step == "begin" else device
    with monkeypatch.context() as broken:

        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        broken.setattr(plan.Plan, step, interrupt)
        with pytest.raises(KeyboardInterrupt):
            bases.msm(other)
    results += [bases.msm(other) for _ in range(3)]
    assert all(result == expected for result in results)
    assert all(sum(result.run.phases_ns.values()) <= result.run.wall_ns for result in results)


def test_a_plan_that_goes_leaves_the_times(readings: Readings) -> None:
    bases, device, _ = device_bases()
    result = bases.msm(device)
    lane = compiled.kernels(ms.curve("bn254")).lane
    with lane.lock:
        lane.release()
    assert readings.made == 1
    assert spent(result) == {1}


def test_a_device_that_is_lost_does_not_keep_a_plan_from_going(
    readings: Readings, shim: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    bases, device, _ = device_bases()
    result = bases.msm(device)
    lane = compiled.kernels(ms.curve("bn254")).lane

    def lost(_: object) -> None:
        raise MultiscalarError("lost")

    monkeypatch.setattr(lane.runtime, "elapsed_ns", lost)
    with lane.lock:
        lane.release()
    with pytest.raises(MultiscalarError, match="lost"):
        _ = result.run


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_can_read_the_parents_results(readings: Readings) -> None:
    bases, device, _ = device_bases()
    result = bases.msm(device)
    assert in_child(lambda: spent(result) == {1} and readings.made == 1), "read before the fork"
    assert readings.made == 1


def test_threads_that_ask_at_once_agree(readings: Readings) -> None:
    bases, device, _ = device_bases()
    for number in range(1, 6):
        result, found, start = bases.msm(device), [], threading.Barrier(4)

        def ask(result: ms.Point = result, found: list[Any] = found, start: Any = start) -> None:
            start.wait()
            found.append(spent(result))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [{number}] * 4


@pytest.mark.parametrize("lengths", [(33, 33), (33, 20, 33)])
def test_a_batch_shares_one_reading(readings: Readings, lengths: tuple[int, ...]) -> None:
    points, scalars, _ = inputs("bn254", 33)
    results = ms.Bases(points, backend="cuda").msm([scalars[:n] for n in lengths])
    assert [result.run.n for result in results] == list(lengths)
    assert readings.made == 1
    assert {id(result.run.phases_ns) for result in results} == {id(results[0].run.phases_ns)}


def test_a_result_travels_with_its_run(readings: Readings) -> None:
    bases, device, _ = device_bases()
    result = bases.msm(device)
    for other in (pickle.loads(pickle.dumps(result)), copy.copy(result), copy.deepcopy(result)):
        assert other == result
        assert other.run == result.run
    assert readings.made == 1


def test_a_result_keeps_nothing_of_its_call(shim: Any) -> None:
    shim()
    bases, device, _ = device_bases()
    gone = weakref.ref(device)
    result = bases.msm(device)
    del device, bases
    gc.collect()
    assert gone() is None
    assert result.run.launches > 0


def test_an_interrupt_while_the_times_of_the_run_before_are_read(shim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = shim()
    bases, device, expected = device_bases()
    kept = [bases.msm(device) for _ in range(4)]

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(runtime, "elapsed_ns", interrupt)
        with pytest.raises(KeyboardInterrupt):
            bases.msm(device)
    kept += [bases.msm(device) for _ in range(4)]
    assert all(result == expected for result in kept)
    assert all(0 < sum(result.run.phases_ns.values()) <= result.run.wall_ns for result in kept)


def test_an_interrupt_before_anything_is_submitted_changes_no_times(shim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shim()
    bases, device, expected = device_bases()
    other = OnDevice(device.array.copy())
    kept = [bases.msm(device) for _ in range(3)]

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(plan.Plan, "begin", interrupt)
        with pytest.raises(KeyboardInterrupt):
            bases.msm(other)
    kept.append(bases.msm(other))
    assert all(result == expected for result in kept)
    assert all(0 < sum(result.run.phases_ns.values()) <= result.run.wall_ns for result in kept)


def test_a_run_under_way_is_not_asked_for_its_times(readings: Readings, monkeypatch: pytest.MonkeyPatch) -> None:
    bases, device, _ = device_bases()
    runtime = compiled.kernels(ms.curve("bn254")).runtime
    bases.msm(device)
    synchronize = runtime.synchronize

    def forked(stream: Any) -> None:  # by another thread
        plan._read_all()
        synchronize(stream)

    monkeypatch.setattr(runtime, "synchronize", forked)
    assert spent(bases.msm(device)) == {1}


def test_the_collector_waits_for_no_call(shim: Any) -> None:
    shim()
    points, _, _ = inputs("bn254", 33)
    lane = compiled.kernels(ms.curve("bn254")).lane
    bases = ms.Bases(points, backend="cuda")
    held, ended = threading.Event(), threading.Event()

    def call() -> None:
        with lane.lock:
            held.set()
            assert ended.wait(10)

    thread = threading.Thread(target=call)
    thread.start()
    held.wait(10)
    free = lane.runtime.free_memory()
    del bases
    gc.collect()
    ended.set()
    thread.join()
    assert lane.runtime.free_memory() == free, "kept until somebody may look after it"
    with lane.lock:
        lane.release()
    assert lane.runtime.free_memory() > free
