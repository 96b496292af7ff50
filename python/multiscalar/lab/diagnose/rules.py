"""The causes, each with the arithmetic that bounds what it can explain.

A rule looks at one slow sample and says how many nanoseconds of its excess the cause can account for, on what
evidence, and whether that is proof or a coincidence (a suspicion). `RULES` is ordered from direct evidence to
indirect: an earlier rule takes its part first and later ones share what is left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from .baseline import Baseline
from .trace import IDLE_UTIL, Joined, Trace

__all__ = ["RULES", "Cause", "Part", "Rule"]

_LOW_PSTATE = 2  # P0 and P1 are the working states
_FULL_CPU = 0.7  # share of the wall time that counts as "the CPU did it"
_IDLE_CPU = 0.3  # and as "the CPU waited"
_SWING_BYTES = 64 << 20  # change of device memory inside a sample that means allocation
_THERMAL = frozenset({"sw-thermal", "hw-thermal"})
_POWER = frozenset({"sw-power-cap", "hw-power-brake", "hw-slowdown"})


class Cause(StrEnum):
    """Names of the causes, as findings print them."""

    FALLBACK = "silent CPU fallback"
    FIRST_CALL = "first-call costs"
    ALLOCATION = "allocation in the timed path"
    COPIES = "slow copies"
    THERMAL = "thermal cap"
    POWER = "power cap"
    CLOCK = "clock ramp or low P-state"
    CO_TENANT = "another process on the GPU"
    HOST = "host contention"
    OWN_CPU = "the subject's own CPU work"
    NETWORK = "licence or network wait"
    UTILISATION = "low SM utilisation"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True)
class Part:
    """Time of one sample that a cause accounts for."""

    ns: float
    evidence: str
    suspicion: bool = False


Rule = Callable[[Joined, Baseline, Trace], "Part | None"]


def fallback(j: Joined, base: Baseline, trace: Trace) -> Part | None:
    """The CPU answered for the GPU: the subject says so or launched nothing; or, of a subject that counts nothing, the
    driver saw an idle GPU while the CPU worked throughout, which is a suspicion.
    """
    if trace.place == "cpu":
        return None
    sample = j.sample
    excess = sample.wall_ns - base.wall_ns
    said = sample.evidence.get("fallback_reason") or (sample.evidence.get("backend") == "cpu" and "backend is cpu")
    if said:
        return Part(excess, f"the subject says so: {said}")
    used, util = sample.used_gpu, j.busy
    idle = used is False or (used is None and util is not None and util < IDLE_UTIL)
    if not idle or sample.cpu_ns is None or sample.cpu_ns <= _FULL_CPU * sample.wall_ns:
        return None
    shown = "no kernel launched, nothing on the device" if used is False else f"GPU utilisation {util:.0f} %"
    evidence = f"{shown} while {sample.cpu_ns / sample.wall_ns:.1f} CPUs worked the whole time"
    return Part(excess, evidence, suspicion=used is None)


def first_call(j: Joined, base: Baseline, trace: Trace) -> Part | None:
    """Context, module loading, compilation: all that the first calls of a process cost above later ones."""
    if not j.sample.first:
        return None
    return Part(j.sample.wall_ns - base.wall_ns, "first calls of the process (context, lazy loading, JIT)")


def allocation(j: Joined, base: Baseline, trace: Trace) -> Part | None:
    """Allocation inside the call: a measured phase, or device memory that swings in slow samples only."""
    phases = j.sample.evidence.get("detail", {}).get("phases_ns", {})
    measured = sum(ns for name, ns in phases.items() if name in ("alloc", "free", "allocate"))
    if measured > 0.05 * base.wall_ns:
        return Part(measured, f"the subject measured {measured / 1e6:.1f} ms of allocation")
    swing = j.spread.get("mem_used", 0.0)
    if swing >= _SWING_BYTES and (base.memory_swing or 0.0) < _SWING_BYTES / 4:
        gap = _host_gap(j, base)
        if gap > 0:
            return Part(
                gap, f"device memory moved by {swing / 2**20:.0f} MiB inside slow samples, not inside fast ones"
            )
    return None


def copies(j: Joined, base: Baseline, trace: Trace) -> Part | None:
    """Copies took longer than in fast samples: the measured difference and no more."""
    if not j.sample.copy_ns or not base.copy_ns:
        return None
    more = j.sample.copy_ns - base.copy_ns
    if more < 0.2 * base.copy_ns:
        return None
    moved = j.sample.evidence.get("bytes_moved")
    rate = f", {moved / j.sample.copy_ns:.1f} GB/s" if moved and j.sample.copy_ns else ""
    pinned = j.sample.evidence.get("detail", {}).get("pinned")
    kind = "pageable copies" if pinned is False else "copies"
    return Part(more, f"{kind} took {j.sample.copy_ns / base.copy_ns:.1f}x their fast time{rate}")


def _clock_ns(j: Joined, base: Baseline, trace: Trace) -> tuple[float, str]:
    """What a slower clock can explain: compute time stretched by the ratio of clocks."""
    now = j.number("sm_mhz")
    best = _nominal(base, trace)
    if trace.place == "cpu":
        now, best = j.number("host_cpu_mhz"), base.cpu_mhz
    if not now or not best or now > 0.97 * best:
        return 0.0, ""
    ratio = best / now
    at_fast = base.sm_mhz if trace.place != "cpu" else base.cpu_mhz
    stretch = base.compute_ns * ((at_fast or best) / now - (at_fast or best) / best)
    state = j.number("pstate")
    shown = f" (P{state:.0f})" if state is not None else ""
    return stretch, f"clock {now:.0f} of {best:.0f} MHz{shown}: explains at most {ratio:.2f}x"


def _nominal(base: Baseline, trace: Trace) -> float | None:
    """The clock a sample should have: that of fast samples, or the card's own when even those fall far short."""
    own = trace.facts.get("nominal_sm_mhz") or trace.facts.get("max_sm_mhz")
    if base.sm_mhz and own and base.sm_mhz < 0.75 * float(own):
        return float(own)
    return base.sm_mhz


def thermal(j: Joined, base: Baseline, trace: Trace) -> Part | None:
    """A lower clock that the driver calls thermal, or a card at 83 degrees and more where it gives no reason."""
    ns, text = _clock_ns(j, base, trace)
    if ns <= 0:
        return None
    reasons = set(j.state.get("reasons", ()))
    degrees = j.number("temperature_c")
    heat = f", {degrees:.0f} degrees C" if degrees is not None else ""
    if reasons & _THERMAL:
        return Part(ns, f"{text}; the driver says {', '.join(sorted(reasons & _THERMAL))}{heat}")
    if "reasons" not in j.state and degrees is not None and degrees >= 83 and (j.number("pstate") or 0) < _LOW_PSTATE:
        return Part(ns, f"{text}; no reason given{heat}", suspicion=True)
    return None


def power(j: Joined, base: Baseline, trace: Trace) -> Part | None:
    """A lower clock that the driver calls a power cap."""
    ns, text = _clock_ns(j, base, trace)
    reasons = set(j.state.get("reasons", ())) & _POWER
    if ns <= 0 or not reasons:
        return None
    watts = j.number("power_w")
    drawn = f", {watts:.0f} W" if watts is not None else ""
    return Part(ns, f"{text}; the driver says {', '.join(sorted(reasons))}{drawn}")


def clock(j: Joined, base: Baseline, trace: Trace) -> Part | None:
    """A lower clock without a cap: ramp from idle, low P-state, a limit set by somebody."""
    ns, text = _clock_ns(j, base, trace)
    return Part(ns, text) if ns > 0 else None


def co_tenant(j: Joined, base: Baseline, trace: Trace) -> Part | None:
    """Another process on the GPU: time slicing costs one share of compute time per process at most.

    One that fast samples do not show is evidence. One that is there throughout is a suspicion, and only where the
    device's own time grew: it may have been idle in the fast samples.
    """
    others = _foreign(j, trace)
    fresh = others - {pid for f in base.fast for pid in _foreign(f, trace)}
    if fresh:
        evidence = f"{len(fresh)} more process(es) on the GPU: explains at most {len(fresh) + 1}x"
        return Part(base.compute_ns * len(fresh), evidence)
    count = len(others) - (0 if trace.own_pids & set(j.state.get("pids", ())) else 1)  # ours under a foreign number
    device, usual = j.sample.device_ns, base.device_ns
    if count < 1 or not device or not usual or device < 1.2 * usual:
        return None
    evidence = f"{count} other process(es) on the GPU throughout, device time {device / usual:.1f}x"
    return Part(min(device - usual, usual * count), evidence, suspicion=True)


def _foreign(j: Joined, trace: Trace) -> set[int]:
    return set(j.state.get("pids", ())) - trace.own_pids


def host(j: Joined, base: Baseline, trace: Trace) -> Part | None:
    """CPU taken by the hypervisor or by others: the share of the call's CPU part that was not to be had."""
    steal = j.number("host_steal") or 0.0
    others = j.number("host_others_cpus") or 0.0
    cpus = float(trace.facts.get("host_usable_cpus") or trace.facts.get("host_logical_cpus") or 1)
    wanted = min(float(trace.threads), cpus)
    left = max(cpus * (1 - steal) - others, wanted * cpus / (wanted + others + 1e-9) * (1 - steal))
    share = max(0.0, 1 - min(1.0, left / wanted))
    if share < 0.05:
        return None
    on_cpu = trace.place == "cpu"
    ns = max(j.sample.wall_ns * share, _off_cpu_ns(j, base)) if on_cpu else _host_ns(j) * share
    stolen = f"{steal:.0%} stolen by the hypervisor" if steal >= 0.02 else ""
    taken = f"others used {others:.1f} of {cpus:.0f} CPUs" if others >= 0.2 else ""
    return Part(ns, "; ".join(filter(None, (stolen, taken))) or f"{share:.0%} of the CPU not to be had")


def _off_cpu_ns(j: Joined, base: Baseline) -> float:
    """Time in which a CPU subject did not run, by its own CPU clock: wall above that of a fast call of equal work."""
    if j.sample.cpu_ns is None or not base.cpu_ns:
        return 0.0
    return j.sample.wall_ns - base.wall_ns * max(1.0, j.sample.cpu_ns / base.cpu_ns)


def own_cpu(j: Joined, base: Baseline, trace: Trace) -> Part | None:
    """The subject itself computed more on the CPU: bounded by the CPU time it used above a fast call's."""
    if trace.place == "cpu" or j.sample.cpu_ns is None:
        return None
    more = j.sample.cpu_ns - (base.cpu_ns or 0)
    gap = _host_gap(j, base)
    ns = min(more, gap)
    if ns < 0.2 * (j.sample.wall_ns - base.wall_ns):
        return None
    used = j.sample.cpu_ns / j.sample.wall_ns
    return Part(ns, f"{more / 1e6:.0f} ms more CPU time than a fast call ({used:.1f} CPUs)")


def network(j: Joined, base: Baseline, trace: Trace) -> Part | None:
    """Neither GPU nor CPU worked while the subject held connections that fast samples do not show."""
    idle = _idle_ns(j, base)
    sockets = j.number("host_sockets") or 0
    usual = max((f.number("host_sockets") or 0 for f in base.fast), default=0)
    if idle <= 0 or sockets <= usual:
        return None
    return Part(idle, f"GPU and CPU idle with {sockets:.0f} network connection(s) open, {usual:.0f} in fast samples")


def utilisation(j: Joined, base: Baseline, trace: Trace) -> Part | None:
    """The GPU stood idle inside the call, more than in fast ones: where the time went, not yet why."""
    if trace.place == "cpu":
        return None
    util = j.busy
    if util is None:
        return None
    idle = j.sample.wall_ns * (1 - util / 100)
    usual = base.wall_ns * (1 - (base.gpu_util if base.gpu_util is not None else 100.0) / 100)
    if idle - usual <= 0 or util > 60:
        return None
    return Part(idle - usual, f"GPU busy {util:.0f} % of the call: idle for {idle / 1e6:.0f} ms, cause not visible")


def _host_ns(j: Joined) -> float:
    """Wall time outside device and copies, as far as the subject tells."""
    return max(0.0, j.sample.wall_ns - (j.sample.device_ns or 0) - (j.sample.copy_ns or 0))


def _host_gap(j: Joined, base: Baseline) -> float:
    """How much more time passed outside device and copies than in a fast sample."""
    usual = base.wall_ns - (base.device_ns or 0) - (base.copy_ns or 0)
    if j.sample.device_ns is None:
        util = j.busy
        busy = j.sample.wall_ns * (util or 0.0) / 100
        return max(0.0, j.sample.wall_ns - base.wall_ns - max(0.0, busy - base.wall_ns))
    return max(0.0, _host_ns(j) - usual)


def _idle_ns(j: Joined, base: Baseline) -> float:
    """Time in which neither device nor the subject's CPU worked."""
    cpu = j.sample.cpu_ns
    if cpu is None or cpu > _IDLE_CPU * j.sample.wall_ns:
        return 0.0
    return max(0.0, _host_gap(j, base) - cpu)


RULES: tuple[tuple[Cause, Rule], ...] = (
    (Cause.FALLBACK, fallback),
    (Cause.FIRST_CALL, first_call),
    (Cause.COPIES, copies),
    (Cause.ALLOCATION, allocation),
    (Cause.THERMAL, thermal),
    (Cause.POWER, power),
    (Cause.CLOCK, clock),
    (Cause.CO_TENANT, co_tenant),
    (Cause.HOST, host),
    (Cause.OWN_CPU, own_cpu),
    (Cause.NETWORK, network),
    (Cause.UTILISATION, utilisation),
)
