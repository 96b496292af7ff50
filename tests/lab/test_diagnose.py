"""The doctor on traces with planted causes: the right one first, bounded by its arithmetic, and nothing on clean
ones.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multiscalar.lab.diagnose.attribute import diagnose
from multiscalar.lab.diagnose.rules import Cause
from multiscalar.lab.diagnose.trace import Timed, Trace, trace_of
from multiscalar.lab.doctor import diagnoses
from multiscalar.lab.record import Cell, Measurements, read_record
from multiscalar.lab.telemetry.reading import Reading

from . import traces


def shares(diagnosis):
    return {finding.cause: finding.share for finding in diagnosis.findings}


@pytest.mark.parametrize(("cause", "make"), list(traces.planted()), ids=list(traces.PLANTED))
def test_planted_cause_is_the_first_finding(cause, make):
    found = diagnose(make())
    assert found.findings, "nothing was found"
    assert str(found.findings[0].cause) == cause
    assert found.findings[0].share > 0.5
    assert sum(f.share for f in found.findings) <= 1.0 + 1e-9


@pytest.mark.parametrize("make", traces.CLEAN)
def test_clean_traces_have_no_cause(make):
    found = diagnose(make())
    assert found.steady
    assert all(finding.share <= 0.10 for finding in found.findings)


def test_story_two_clock_explains_its_ratio_and_no_more():
    found = diagnose(traces.p0_p5_flips())
    clock = next(f for f in found.findings if f.cause is Cause.UTILISATION)
    assert clock.share > 0.7
    by_clock = shares(found).get(Cause.CLOCK, 0.0)
    assert by_clock < 0.01, "a clock ratio of 1.8 explains 0.8 of 25 ms, not seconds"
    assert found.variation > 200


def test_without_any_telemetry_everything_is_unexplained_and_said_so():
    full = traces.p0_p5_flips()
    found = diagnose(dataclasses.replace(full, readings=[]))
    assert [f.cause for f in found.findings] == [Cause.UNEXPLAINED]
    assert found.findings[0].share == pytest.approx(1.0)
    assert "sm_mhz" in found.silent_fields


def test_inferred_heat_is_a_suspicion_and_a_stated_one_is_not():
    assert diagnose(traces.geforce_few_fields()).findings[0].suspicion
    assert not diagnose(traces.thermal_decay()).findings[0].suspicion


def test_launches_outweigh_a_utilisation_of_nought():
    found = diagnose(traces.short_attested())
    assert not found.steady, "there is excess to be explained, or this test says nothing"
    causes = shares(found)
    assert Cause.FALLBACK not in causes
    assert Cause.UTILISATION not in causes, "an average over a second does not see half a millisecond"


def test_without_evidence_a_utilisation_of_nought_is_a_suspicion():
    first = diagnose(traces.short_without_evidence()).findings[0]
    assert first.cause is Cause.FALLBACK
    assert first.suspicion
    assert "utilisation 0 %" in first.evidence


@pytest.mark.parametrize("proof", [{"launches": 3}, {"event_ns": 9_000}, {"bytes_moved": 4096}])
def test_each_count_of_the_subject_is_proof_enough(proof):
    bare = traces.short_without_evidence()
    samples = [dataclasses.replace(s, evidence=proof) for s in bare.samples]
    assert Cause.FALLBACK not in shares(diagnose(dataclasses.replace(bare, samples=samples)))


@pytest.mark.parametrize("nothing", [{"launches": 0}, {"event_ns": 0}, {"bytes_moved": 0}])
def test_a_count_of_nought_proves_the_fallback(nothing):
    bare = traces.short_without_evidence()
    samples = [dataclasses.replace(s, evidence=nothing) for s in bare.samples]
    first = diagnose(dataclasses.replace(bare, samples=samples)).findings[0]
    assert first.cause is Cause.FALLBACK
    assert not first.suspicion


@pytest.mark.parametrize("fell", [False, True])
def test_a_dispatch_that_chose_the_cpu_did_not_fall_back(fell):
    evidence = {"backend": "cpu", **({"fallback_reason": "out of memory"} if fell else {})}
    cell = Cell("c", "auto", "any", {"n": 512}, {}, "r")
    cell.samples = [
        {"at_ns": i * 10**8, "wall_ns": 10**7 * (3 if i % 4 == 0 else 1), "cpu_ns": 10**7, "evidence": evidence}
        for i in range(20)
    ]
    causes = shares(diagnose(trace_of(Measurements(), cell)))
    assert causes
    assert (Cause.FALLBACK in causes) is fell


def test_two_causes_share_the_excess():
    m = traces.Machine()
    for i in range(40):
        if i % 4 == 1:
            m.call(device=18 * 1.8, copy=26, sm_mhz=1400, pstate=5)
        else:
            m.call()
    found = shares(diagnose(m.trace()))
    assert 0.3 < found[Cause.CLOCK] < 0.55
    assert 0.45 < found[Cause.COPIES] < 0.7


def test_expected_time_makes_a_wholly_slow_trace_speak():
    m = traces.Machine()
    for _ in range(10):
        m.call(device=5900, copy=90, host=1000, told=False, gpu_util=17, sm_mhz=1400, pstate=5)
    alone = diagnose(m.trace())
    assert [f.cause for f in alone.findings] == [Cause.CLOCK], "against itself only the low clock shows"
    assert alone.excess_ns < 0.1 * alone.total_ns
    found = diagnose(m.trace(), expected_ns=25e6)
    assert found.findings[0].cause is Cause.UTILISATION


def test_a_load_made_on_purpose_is_named():
    """benchmarks/doctor_load.py kept both CPUs of a real machine busy in bursts."""
    record = Path(__file__).parents[2] / "results/lab/doctor-host-load.jsonl"
    ((_, diagnosis),) = diagnoses(read_record([record]))
    assert (diagnosis.findings[0].cause, diagnosis.findings[0].suspicion) == (Cause.HOST, False)
    assert diagnosis.findings[0].share > 0.9


def test_no_samples_is_an_error():
    with pytest.raises(ValueError, match="nothing to diagnose"):
        diagnose(Trace([], [], "gpu"))


FIELDS = ("sm_mhz", "pstate", "reasons", "temperature_c", "power_w", "gpu_util", "mem_used", "pids", "host_steal",
          "host_others_cpus", "host_sockets")  # fmt: skip


@given(st.sampled_from(list(traces.PLANTED)), st.sets(st.sampled_from(FIELDS)), st.sampled_from([1, 2, 5, 1000]))
@settings(max_examples=60, deadline=None)
def test_any_driver_and_any_sampling_rate_give_a_sane_answer(label, silent, thinning):
    """Whatever is not answered: no exception, shares that add up, and no cause that needs what is missing."""
    full = traces.PLANTED[label]()
    readings = [
        Reading(r.at_ns, {name: value for name, value in r.fields.items() if name not in silent})
        for r in full.readings[::thinning]
    ]
    found = diagnose(dataclasses.replace(full, readings=readings))
    assert sum(f.share for f in found.findings) == pytest.approx(1.0, abs=0.02) or found.steady
    assert all(0 <= f.share <= 1 for f in found.findings)
    causes = {f.cause for f in found.findings}
    if "sm_mhz" in silent and full.place == "gpu":
        assert not causes & {Cause.CLOCK, Cause.THERMAL, Cause.POWER}
    if "pids" in silent:
        assert Cause.CO_TENANT not in causes
    if "gpu_util" in silent:
        assert Cause.UTILISATION not in causes


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=40))
@settings(max_examples=100, deadline=None)
def test_any_times_can_be_diagnosed(walls):
    samples, at = [], 0
    for wall in walls:
        samples.append(Timed(at, wall, wall // 2, wall // 3, wall // 3, {"launches": 1}))
        at += wall
    found = diagnose(Trace(samples, [], "gpu"))
    assert found.steady or found.findings
    assert found.excess_ns <= found.total_ns
