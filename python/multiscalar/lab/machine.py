"""Facts of this machine for records and `msm info`: CPU, ISA, quota, memory, GPU, versions.

Names nobody, no serials.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import cpus
from ..engine import registry
from .telemetry.nvml import Device as Nvml
from .telemetry.nvml import open_device

if TYPE_CHECKING:
    from ..cuda.device import Device as Cuda

__all__ = ["cgroup_quota", "cpu_facts", "gpu_facts", "machine_facts", "usable_cpus", "version_facts", "watched_device"]

_ISA_FLAGS = ("bmi2", "adx", "avx2", "avx512f", "avx512vl", "avx512ifma", "avx_ifma")
_PACKAGES = (
    "numpy",
    "cuda-core",
    "cuda-bindings",
    "nvidia-ml-py",
    "nvidia-cuda-nvrtc",
    "nvidia-cuda-nvrtc-cu12",
)


def _read(path: str | Path) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def cgroup_quota() -> float | None:
    """CPUs' worth of time the control group allows, or None without a limit. cgroup v2, then v1."""
    group = (_read("/proc/self/cgroup") or "").split("::")[-1].split("\n")[0].strip() or "/"
    for folder in dict.fromkeys((f"/sys/fs/cgroup{group}", "/sys/fs/cgroup")):
        limit = (_read(Path(folder) / "cpu.max") or "max").split()
        if limit[0] != "max":
            return int(limit[0]) / int(limit[1])
    quota, period = (_read(f"/sys/fs/cgroup/cpu/cpu.cfs_{name}_us") for name in ("quota", "period"))
    if quota and period and int(quota) > 0:
        return int(quota) / int(period)
    return None


def usable_cpus() -> int:
    """CPUs this process may use after affinity and cgroup quota, at least 1."""
    quota = cgroup_quota()
    return max(1, min(cpus.allowed(), round(quota)) if quota else cpus.allowed())


def cpu_facts() -> dict[str, Any]:
    """Model, features that matter here, counts, quota, governor, memory, virtualisation."""
    info = _read("/proc/cpuinfo") or ""
    lines = (line.split(":", 1) for line in info.split("\n\n")[0].splitlines() if ":" in line)
    entries = {key.strip(): value.strip() for key, value in lines}
    flags = entries.get("flags", "").split()
    facts: dict[str, Any] = {
        "model": entries.get("model name") or platform.processor() or platform.machine(),
        "family": " ".join(entries[k] for k in ("cpu family", "model", "stepping") if k in entries) or None,
        "architecture": platform.machine(),
        "features": [flag for flag in _ISA_FLAGS if flag in flags],
        "logical_cpus": os.cpu_count(),
        "usable_cpus": usable_cpus(),
        "cgroup_quota": cgroup_quota(),
        "governor": _read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        "hypervisor": "hypervisor" in flags or None,
        "memory_bytes": _memory(),
        "load1": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
    }
    return {key: value for key, value in facts.items() if value is not None}


def _memory() -> int | None:
    for line in (_read("/proc/meminfo") or "").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    return None


def gpu_facts() -> dict[str, Any]:
    """Facts of the GPU that CUDA uses, from NVML, else from CUDA itself; {"none": reason} without either, and the CUDA
    of a driver that waits for the packages to use it.
    """
    device, reason = watched_device()
    if device is not None:
        return device.facts()
    driver, card = {}, _cuda_device()
    if find_spec("pynvml") is None:
        driver = driver_facts()
        if not driver:
            reason = "no NVIDIA driver on this machine"
    if card is None:
        return {"none": reason, **driver}
    return {
        **driver,
        "name": card.name,
        "uuid_hash": hashlib.sha256(card.uuid.encode()).hexdigest()[:16],
        "compute_capability": ".".join(map(str, card.capability)),
        "memory_bytes": card.memory_bytes,
        "nvml": reason,
    }


def driver_facts(library: str = "libcuda.so.1") -> dict[str, str]:
    """The newest CUDA that the driver's own `library` speaks; empty without a driver. Touches no device."""
    version = ctypes.c_int()
    try:
        status = ctypes.CDLL(library).cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return {}
    return {"driver_cuda": f"{version.value // 1000}.{version.value % 1000 // 10}"} if status == 0 else {}


def watched_device() -> tuple[Nvml | None, str]:
    """The NVML device of the card that CUDA computes on, matched by UUID; without CUDA the first one."""
    card = _cuda_device()
    return open_device(card.uuid if card is not None else None)


def _cuda_device() -> Cuda | None:
    """Our CUDA device, where the backend is to be had."""
    if not registry.availability("cuda").usable:
        return None
    from ..cuda.device import open_device as open_cuda

    return open_cuda()


def system_name() -> str:
    """Operating system; WSL is named, since its driver answers less."""
    release = platform.release()
    wsl = " (WSL2)" if "microsoft" in release.lower() else ""
    return f"{platform.system()} {release}{wsl}"


def version_facts() -> dict[str, str]:
    """Versions of this package, its commit where it runs from a checkout, Python and what it stands on."""
    facts = {"python": platform.python_version(), "implementation": sys.implementation.name}
    for name in ("multiscalar", *_PACKAGES):
        try:
            facts[name] = version(name)
        except PackageNotFoundError:
            continue
    commit = _commit()
    if commit:
        facts["commit"] = commit
    return {**facts, **_digests()}


def _digests() -> dict[str, str]:
    """What was really run: digests of the native core and of the kernels' text, 16 hex digits each."""
    package = files("multiscalar")
    cores = [entry for entry in package.iterdir() if entry.name.startswith("_core") and entry.name.endswith(".so")]
    kernels = package / "cuda" / "kernels"
    texts = sorted(_texts(kernels)) if kernels.is_dir() else []
    return {
        "core_digest": hashlib.sha256(b"".join(entry.read_bytes() for entry in cores)).hexdigest()[:16],
        "kernels_digest": hashlib.sha256(b"\0".join(texts)).hexdigest()[:16],
    }


def _texts(folder: Traversable) -> Iterator[bytes]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _texts(entry)
        elif entry.name.endswith((".cu", ".cuh")):
            yield entry.read_bytes()


def _commit() -> str | None:
    """Short commit of the checkout this file lies in, with `+` for local changes; None for an installed package."""
    here = Path(__file__).resolve().parent
    if not any((parent / ".git").exists() for parent in here.parents):
        return None
    try:
        done = subprocess.run(
            ["git", "-C", str(here), "describe", "--always", "--dirty=+", "--abbrev=12"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


def machine_facts() -> dict[str, Any]:
    """All of it, as the record's `machine`."""
    return {"system": system_name(), "cpu": cpu_facts(), "gpu": gpu_facts()}
