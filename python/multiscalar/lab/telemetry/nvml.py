"""NVML behind one adapter: every field optional, absent rather than zero when the driver does not answer.

Devices are mapped by UUID, never by index (CUDA_VISIBLE_DEVICES renumbers CUDA's indices, not NVML's). Without the
nvidia-ml-py package, a driver or a device, `open_device` gives the reason instead. About 100 µs a reading.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from typing import Any

from .gpm import Gpm

__all__ = ["EVENT_REASONS", "Device", "open_device", "usual_device"]

# Bits of nvmlDeviceGetCurrentClocksEventReasons (NVML API reference).
EVENT_REASONS = {
    0x1: "gpu-idle",
    0x2: "application-clocks",
    0x4: "sw-power-cap",
    0x8: "hw-slowdown",
    0x10: "sync-boost",
    0x20: "sw-thermal",
    0x40: "hw-thermal",
    0x80: "hw-power-brake",
    0x100: "display-clocks",
}

Fields = dict[str, Any]


class Device:
    """One GPU, read field by field."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self._nvml = nvml
        self._handle = handle
        self._silent: set[str] = set()
        self._gpm = Gpm(nvml, handle)

    def _put(self, out: Fields, name: str, read: Callable[[], Any]) -> None:
        """Set a field if the driver answers; one that does not is never asked again."""
        if name in self._silent:
            return
        try:
            value = read()
        except (self._nvml.NVMLError, AttributeError, UnicodeDecodeError):
            self._silent.add(name)
            return
        if value is not None:
            out[name] = value

    def sample(self) -> Fields:
        """Moving state: clocks in MHz, P-state, event reasons, power in W, temperature in °C, utilisation in %.

        PCIe throughput is left out: NVML measures it over 20 ms, in which the caller waits.
        """
        n, h, out = self._nvml, self._handle, Fields()
        self._put(out, "sm_mhz", lambda: n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM))
        self._put(out, "mem_mhz", lambda: n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_MEM))
        self._put(out, "pstate", lambda: n.nvmlDeviceGetPerformanceState(h))
        self._put(out, "reasons", lambda: _reasons(self._event_reasons(h)))
        self._put(out, "power_w", lambda: n.nvmlDeviceGetPowerUsage(h) / 1000)
        self._put(out, "temperature_c", lambda: n.nvmlDeviceGetTemperature(h, n.NVML_TEMPERATURE_GPU))
        self._put(out, "gpu_util", lambda: n.nvmlDeviceGetUtilizationRates(h).gpu)
        self._put(out, "mem_used", lambda: int(n.nvmlDeviceGetMemoryInfo(h).used))
        self._put(out, "pids", self._pids)
        out.update(self._gpm.read())
        return out

    def sm_clock(self) -> float | None:
        """SM clock in MHz, the plateau's signal."""
        out = Fields()
        self._put(out, "sm_mhz", lambda: self._nvml.nvmlDeviceGetClockInfo(self._handle, self._nvml.NVML_CLOCK_SM))
        return float(out["sm_mhz"]) if "sm_mhz" in out else None

    def _event_reasons(self, handle: Any) -> int:
        """By the call's name since driver 535, else by its older one."""
        names = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
        read = next(getattr(self._nvml, name) for name in names if hasattr(self._nvml, name))
        return int(read(handle))

    def _pids(self) -> list[int]:
        processes = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
        return sorted(int(p.pid) for p in processes)

    def bytes_held(self, pid: int) -> int | None:
        """Device memory that a process holds; None where the driver does not tell (WSL2, foreign namespaces)."""
        try:
            processes = self._nvml.nvmlDeviceGetComputeRunningProcesses(self._handle)
        except (self._nvml.NVMLError, AttributeError):
            return None
        held = [p.usedGpuMemory for p in processes if p.pid == pid]
        return int(held[0]) if held and held[0] else None

    def facts(self) -> Fields:
        """Standing facts for the machine record. The UUID is hashed: equal on equal cards, no serial number."""
        n, h, out = self._nvml, self._handle, Fields()
        self._put(out, "name", lambda: _text(n.nvmlDeviceGetName(h)))
        self._put(out, "uuid_hash", lambda: hashlib.sha256(_text(n.nvmlDeviceGetUUID(h)).encode()).hexdigest()[:16])
        self._put(out, "compute_capability", lambda: ".".join(map(str, n.nvmlDeviceGetCudaComputeCapability(h))))
        self._put(out, "memory_bytes", lambda: int(n.nvmlDeviceGetMemoryInfo(h).total))
        self._put(out, "mig", lambda: n.nvmlDeviceGetMigMode(h)[0] == 1)
        self._put(out, "ecc", lambda: n.nvmlDeviceGetEccMode(h)[0] == 1)
        self._put(out, "power_limit_w", lambda: n.nvmlDeviceGetPowerManagementLimit(h) / 1000)
        self._put(out, "max_sm_mhz", lambda: n.nvmlDeviceGetMaxClockInfo(h, n.NVML_CLOCK_SM))
        self._put(out, "max_mem_mhz", lambda: n.nvmlDeviceGetMaxClockInfo(h, n.NVML_CLOCK_MEM))
        self._put(out, "pcie_gen", lambda: n.nvmlDeviceGetCurrPcieLinkGeneration(h))
        self._put(out, "pcie_width", lambda: n.nvmlDeviceGetCurrPcieLinkWidth(h))
        self._put(out, "compute_mode", lambda: n.nvmlDeviceGetComputeMode(h))
        self._put(out, "persistence", lambda: n.nvmlDeviceGetPersistenceMode(h) == 1)
        self._put(out, "driver", lambda: _text(n.nvmlSystemGetDriverVersion()))
        self._put(out, "driver_cuda", lambda: _cuda(n.nvmlSystemGetCudaDriverVersion_v2()))
        return out


@cache
def usual_device() -> Device | None:
    """The card that `open_device()` finds, looked for once."""
    return open_device()[0]


def _is(target: str, index: int, uuid: str) -> bool:
    """Whether `target` means this card: a short number is an index, anything else the start of a UUID."""
    if target.isdigit() and len(target) <= 2:
        return target == str(index)
    return _bare(uuid).startswith(_bare(target))


def _bare(uuid: str) -> str:
    """A UUID without prefix and dashes: NVML and CUDA write them differently."""
    return uuid.lower().removeprefix("gpu-").replace("-", "")


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


def _cuda(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def _reasons(bits: int) -> list[str]:
    return [name for bit, name in EVENT_REASONS.items() if bits & bit]


def _wanted() -> str | None:
    """The UUID that CUDA_VISIBLE_DEVICES names first, if it names one; or its first index; None: the first device."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")[0].strip()
    return visible or None


def open_device(wanted: str | None = None) -> tuple[Device | None, str]:
    """(device, "") or (None, why not). `wanted` is a UUID, with or without its prefix, or an NVML index."""
    try:
        import pynvml
    except ImportError:
        return None, "nvidia-ml-py is not installed"
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError_LibraryNotFound:
        return None, "no NVIDIA driver on this machine"
    except pynvml.NVMLError as error:
        return None, f"NVML: {error}"
    target = wanted or _wanted()
    try:
        count = pynvml.nvmlDeviceGetCount()
        for index in range(count):
            handle = pynvml.nvmlDeviceGetHandleByIndex(index)
            uuid = _text(pynvml.nvmlDeviceGetUUID(handle))
            if target is None or _is(target, index, uuid):
                return Device(pynvml, handle), ""
    except pynvml.NVMLError as error:
        return None, f"NVML: {error}"
    return None, f"NVML lists {count} device(s), none is {target!r}" if target else "NVML lists no device"
