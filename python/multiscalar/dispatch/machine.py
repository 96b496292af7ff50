"""The facts of this machine that a profile is keyed by."""

from __future__ import annotations

import hashlib
import platform
from functools import lru_cache
from pathlib import Path

from .. import cpus
from ..engine import registry
from ..errors import MultiscalarError
from ..native import _core
from ..settings import setting
from .profile import Machine


def this_machine() -> Machine:
    """CPU, threads, core build and, where one can be used, the GPU. Looks the GPU up once a process."""
    threads = setting("threads") or cpus.allowed()
    isa = setting("isa")
    return _machine(threads, _core.isas()[-1] if isa == "auto" else isa)


@lru_cache(maxsize=8)
def _machine(threads: int, isa: str) -> Machine:
    facts = {"cpu": cpu_model(), "threads": threads, "core": core_digest(), "isa": isa}
    if not driver_present() or not registry.availability("cuda").usable:
        return Machine(**facts)  # type: ignore[arg-type]
    from ..cuda.compiled import kernels_digest
    from ..cuda.device import open_device

    device = open_device(0)
    return Machine(
        **facts,  # type: ignore[arg-type]
        gpu=device.name,
        multiprocessors=device.multiprocessors,
        mig=None,
        kernels=kernels_digest(),
        drifts=_drifts(),
    )


def driver_present() -> bool:
    """Whether a driver's device file is there (Linux: /dev/nvidiactl, WSL2: /dev/dxg).

    Looked at before the CUDA packages are: importing them takes half a second and asks the linker's cache for
    libraries in a process of its own, which `auto` on a machine without a GPU has no use for.
    """
    return any(Path(name).exists() for name in ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg"))


@lru_cache(maxsize=1)
def cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = dict(line.split(":", 1) for line in lines[:40] if ":" in line)
    named = {name.strip(): value.strip() for name, value in facts.items()}
    model = named.get("model name", platform.machine())
    # Virtual machines often hide the name; family and model still tell generations apart.
    return f"{model} ({named.get('cpu family', '?')}/{named.get('model', '?')})"


@lru_cache(maxsize=1)
def core_digest() -> str:
    """Names the build of the native core."""
    file = Path(str(_core.__file__))
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def _drifts() -> dict[str, str]:
    from ..cuda import driver, program

    try:
        version = int(driver.call("cuDriverGetVersion"))
        return {"driver": f"CUDA {version // 1000}.{version % 1000 // 10}", "compiler": program.compiler()}
    except MultiscalarError:
        return {}
