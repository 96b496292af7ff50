"""Synthetic traces with one planted cause each, and clean ones: what the doctor is tested on without the hardware.

Times are built from a model of the card (compute at a clock, copies, host part), not from the rules under test. Seeds
are fixed; jitter is 2 %.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from multiscalar.lab.diagnose.trace import Timed, Trace
from multiscalar.lab.telemetry.reading import Reading

MS = 1_000_000
OWN_PID = 4242
FACTS = {"max_sm_mhz": 2610, "nominal_sm_mhz": 2520, "name": "NVIDIA GeForce RTX 4090", "host_usable_cpus": 64}


@dataclass
class Machine:
    """Builds samples one after another with readings every 20 ms, whether a sample runs or not."""

    facts: dict[str, Any] = field(default_factory=lambda: dict(FACTS))
    threads: int = 1
    place: str = "gpu"
    seed: int = 1
    now: int = 0
    samples: list[Timed] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    silent: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)

    def jitter(self) -> float:
        return self.rng.uniform(0.98, 1.02)

    def call(
        self,
        *,
        device: float = 18,
        copy: float = 6,
        host: float = 1,
        cpu: float = 2,
        told: bool = True,
        first: bool = False,
        evidence: dict[str, Any] | None = None,
        state: Callable[[float], dict[str, Any]] | None = None,
        **fields: Any,
    ) -> None:
        """One call: device, copy and host parts in ms; `told` says whether the subject reports the first two."""
        parts = [int(x * MS * self.jitter()) for x in (device, copy, host)]
        wall = sum(parts)
        shown: dict[str, Any] = {"sm_mhz": 2520, "pstate": 0, "reasons": [], "temperature_c": 62, "power_w": 310.0,
                                 "gpu_util": 95, "mem_used": 3 << 30, "pids": [OWN_PID], "host_steal": 0.0,
                                 "host_others_cpus": 0.3, "host_sockets": 0}  # fmt: skip
        shown.update(fields)
        step = 20 * MS
        at = self.now
        while at < self.now + wall or at == self.now:
            here = {**shown, **(state((at - self.now) / wall) if state else {})}
            kept = {key: value for key, value in here.items() if key not in self.silent}
            self.readings.append(Reading(at, kept))
            at += step
        self.samples.append(
            Timed(
                self.now, wall, int(cpu * MS), parts[1] if told else None, parts[0] if told else None,
                evidence or {"backend": "cuda", "launches": 20}, first,
            )
        )  # fmt: skip
        self.now += wall + 5 * MS

    def trace(self) -> Trace:
        return Trace(self.samples, self.readings, self.place, self.facts, self.threads, frozenset({OWN_PID}))


def p0_p5_flips() -> Trace:
    """Story 2: fast at P0, seconds at P5 with the SMs 17 % busy; the clock accounts for 1.8x of 300x."""
    m = Machine()
    for i in range(20):
        if i % 3 == 1:
            m.call(device=5900, copy=90, host=1000, cpu=150, told=False, sm_mhz=1400, pstate=5, gpu_util=17)
        else:
            m.call(told=False)
    return m.trace()


def clock_flips() -> Trace:
    """The same card dropping to P5 and losing exactly what its clock says."""
    m = Machine()
    for i in range(30):
        if i % 3 == 1:
            m.call(device=18 * 2520 / 1400, sm_mhz=1400, pstate=5, reasons=["gpu-idle"])
        else:
            m.call()
    return m.trace()


def never_nominal() -> Trace:
    """A card held at 1,200 MHz throughout: no slow sample, and half of the speed missing."""
    m = Machine()
    for _ in range(20):
        m.call(device=18 * 2520 / 1200, sm_mhz=1200, pstate=2)
    return m.trace()


def thermal_decay() -> Trace:
    """The clock falls with the heat, and the driver says so."""
    m = Machine()
    for i in range(60):
        mhz = 2520 if i < 15 else max(1500, 2520 - 40 * (i - 15))
        hot = mhz < 2520
        m.call(device=18 * 2520 / mhz, sm_mhz=mhz, temperature_c=min(91, 60 + i), reasons=["sw-thermal"] if hot else [])
    return m.trace()


def power_cap() -> Trace:
    m = Machine()
    for i in range(30):
        if i < 15:
            m.call()
        else:
            m.call(device=18 * 1.6, sm_mhz=2520 / 1.6, power_w=450.0, reasons=["sw-power-cap"])
    return m.trace()


def co_tenant_burst() -> Trace:
    """A second process takes every other time slice for a while; clocks stay up."""
    m = Machine()
    for i in range(30):
        burst = 10 <= i < 20
        m.call(device=36 if burst else 18, pids=[OWN_PID, 777] if burst else [OWN_PID], gpu_util=99 if burst else 95)
    return m.trace()


def standing_co_tenant() -> Trace:
    """In a container: a process that is always listed works now and then, and ours bears another number."""
    m = Machine()
    for i in range(30):
        m.call(device=34 if i % 3 == 0 else 18, pids=[901, 902])
    return m.trace()


def allocator_stall() -> Trace:
    """Memory is given back and taken again inside slow calls; clocks stay up, GPU and CPU wait."""
    m = Machine()
    for i in range(24):
        if i % 4 == 2:
            m.call(host=160, cpu=4, gpu_util=12, state=lambda t: {"mem_used": (1 << 30) if t < 0.5 else (3 << 30)})
        else:
            m.call()
    return m.trace()


def cpu_fallback() -> Trace:
    """Some calls are answered by the CPU without a word: no launches, a silent GPU, all cores busy."""
    m = Machine(threads=64)
    for i in range(24):
        if i % 3 == 0:
            m.call(device=0, copy=0, host=100, cpu=6000, told=False, gpu_util=0, sm_mhz=1200, pstate=5,
                   evidence={"launches": 0})  # fmt: skip
        else:
            m.call(told=False)
    return m.trace()


def _short_calls(evidence: dict[str, Any]) -> Trace:
    """Calls of half a millisecond that keep a CPU busy waiting; some take longer. The driver's average says 0 %."""
    m = Machine(seed=5)
    for i in range(60):
        slow = i % 5 == 0
        m.call(device=0.3, copy=0.1, host=0.9 if slow else 0.1, cpu=1.3 if slow else 0.5, told=False,
               evidence=evidence, gpu_util=0)  # fmt: skip
    return m.trace()


def short_attested() -> Trace:
    """Launches counted by the subject: no fallback, whatever the driver's utilisation says."""
    return _short_calls({"backend": "cuda", "launches": 20, "event_ns": 400_000, "bytes_moved": 32 << 10})


def short_without_evidence() -> Trace:
    """A subject that counts nothing, with the CPU at work and the GPU at 0 %: to be suspected, not asserted."""
    return _short_calls({"detail": {"library": "says nothing of the device"}})


def licence_wait() -> Trace:
    """Nothing works while a connection is open."""
    m = Machine()
    for i in range(24):
        if i % 6 == 1:
            m.call(host=5000, cpu=20, gpu_util=1, host_sockets=1, sm_mhz=2100, pstate=2)
        else:
            m.call()
    return m.trace()


def slow_copies() -> Trace:
    m = Machine()
    for i in range(24):
        m.call(copy=95 if i % 4 == 1 else 6, gpu_util=60)
    return m.trace()


def first_calls() -> Trace:
    m = Machine()
    m.call(host=2500, cpu=1900, first=True)
    for _ in range(20):
        m.call()
    return m.trace()


def busy_host() -> Trace:
    """Others fill the CPUs of a CPU subject now and then."""
    m = Machine(place="cpu", threads=2, facts={"host_usable_cpus": 2})
    for i in range(40):
        busy = i % 4 == 0
        m.call(device=0, copy=0, host=100 if busy else 50, cpu=98, told=False, evidence={"backend": "cpu"},
               host_others_cpus=2.0 if busy else 0.0)  # fmt: skip
    return m.trace()


def stolen_cpu() -> Trace:
    m = Machine(place="cpu", threads=2, facts={"host_usable_cpus": 2})
    for i in range(40):
        busy = i % 4 == 0
        m.call(device=0, copy=0, host=83 if busy else 50, cpu=98, told=False, evidence={"backend": "cpu"},
               host_others_cpus=0.0, host_steal=0.4 if busy else 0.0)  # fmt: skip
    return m.trace()


def wsl2_driver() -> Trace:
    """WSL2: clocks and memory only; pinned memory ran out and copies went pageable."""
    m = Machine(silent=frozenset({"reasons", "power_w", "pids", "temperature_c", "pstate", "gpu_util"}))
    for i in range(24):
        slow = i % 4 == 1
        m.call(copy=60 if slow else 6, evidence={"backend": "cuda", "launches": 20, "bytes_moved": 96 << 20,
               "detail": {"pinned": not slow}})  # fmt: skip
    return m.trace()


def geforce_few_fields() -> Trace:
    """A GeForce card that answers clock and temperature only, and gets too hot."""
    m = Machine(silent=frozenset({"reasons", "power_w", "pids", "gpu_util", "pstate"}))
    for i in range(40):
        hot = i >= 15
        m.call(device=18 * (1.7 if hot else 1), sm_mhz=2520 / (1.7 if hot else 1), temperature_c=89 if hot else 65)
    return m.trace()


def clean_gpu() -> Trace:
    m = Machine(seed=7)
    for _ in range(40):
        m.call()
    return m.trace()


def clean_cpu() -> Trace:
    m = Machine(place="cpu", threads=2, facts={"host_usable_cpus": 2}, seed=8)
    for _ in range(40):
        m.call(device=0, copy=0, host=50, cpu=98, told=False, evidence={"backend": "cpu"}, host_others_cpus=0.1)
    return m.trace()


def clean_with_noisy_telemetry() -> Trace:
    """Clocks, memory and neighbours move, and the calls do not care."""
    m = Machine(seed=9)
    for i in range(40):
        m.call(
            sm_mhz=2520 - 60 * (i % 3), gpu_util=80 + i % 15, host_others_cpus=float(i % 5), temperature_c=60 + i % 9
        )
    return m.trace()


PLANTED: dict[str, Callable[[], Trace]] = {
    "low SM utilisation": p0_p5_flips,
    "clock ramp or low P-state": clock_flips,
    "clock ramp or low P-state, standing": never_nominal,
    "thermal cap": thermal_decay,
    "power cap": power_cap,
    "another process on the GPU": co_tenant_burst,
    "another process on the GPU, standing": standing_co_tenant,
    "allocation in the timed path": allocator_stall,
    "silent CPU fallback": cpu_fallback,
    "licence or network wait": licence_wait,
    "slow copies": slow_copies,
    "slow copies, WSL2": wsl2_driver,
    "thermal cap, GeForce": geforce_few_fields,
    "first-call costs": first_calls,
    "host contention": busy_host,
    "host contention, steal": stolen_cpu,
}
CLEAN = (clean_gpu, clean_cpu, clean_with_noisy_telemetry)


def planted() -> Iterator[tuple[str, Callable[[], Trace]]]:
    for label, make in PLANTED.items():
        yield label.split(",")[0], make
