"""The host's moving state from /proc: CPU shares since the last reading, frequency, load.

About 100 µs a reading.

On systems without /proc the fields are absent. `steal` is time a hypervisor gave to others; `others` is CPU time used
by processes that are not ours nor our children's, in CPUs.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Any

__all__ = ["HostSampler"]

_TICK_NS = 10_000_000  # USER_HZ is 100 on every Linux port


class HostSampler:
    """Call `sample` now and then; shares refer to the time since the call before."""

    def __init__(self, proc: Path = Path("/proc"), sys: Path = Path("/sys")) -> None:
        self._proc = proc
        self._frequencies = sorted(sys.glob("devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"))[:8]
        self._last = self._counters()
        self._last_own: int | None = None
        self._last_at = time.perf_counter_ns()

    def _counters(self) -> dict[str, int]:
        """Aggregate CPU times of the machine in ticks."""
        try:
            first = (self._proc / "stat").read_text().split("\n", 1)[0].split()
        except OSError:
            return {}
        names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
        return dict(zip(names, map(int, first[1:9]), strict=False))

    @staticmethod
    def _own_ns() -> int:
        times = os.times()
        return int((times.user + times.system) * 1e9)

    def sample(self, subjects_ns: int = 0) -> dict[str, Any]:
        """`subjects_ns`: CPU time so far of the subjects' own processes, which are not "others".

        Gives `steal`, `busy` (shares of all CPUs, 0..1), `others_cpus`, `load1`, `cpu_mhz`.
        """
        now, own, at = self._counters(), self._own_ns() + subjects_ns, time.perf_counter_ns()
        out: dict[str, Any] = {}
        total = sum(now.values()) - sum(self._last.values())
        if now and self._last and total > 0:
            delta = {name: now[name] - self._last.get(name, 0) for name in now}
            idle = delta.get("idle", 0) + delta.get("iowait", 0)
            out["steal"] = round(delta.get("steal", 0) / total, 4)
            out["busy"] = round(1 - idle / total, 4)
            used_ns = (total - idle - delta.get("steal", 0)) * _TICK_NS
            span = max(1, at - self._last_at)
            if self._last_own is not None:
                out["others_cpus"] = round(max(0.0, (used_ns - max(0, own - self._last_own)) / span), 2)
        self._last, self._last_own, self._last_at = now, own, at
        with contextlib.suppress(OSError):
            out["load1"] = round(os.getloadavg()[0], 2)
        mhz = [value for path in self._frequencies if (value := _khz(path))]
        if mhz:
            out["cpu_mhz"] = round(sum(mhz) / len(mhz) / 1000)
        return out


def _khz(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
