"""GPUs: which there are, what they can do, and why one cannot be used."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field
from typing import Any

from ..errors import BackendUnavailableError, MultiscalarError
from ..forks import renewed
from . import driver

MINIMUM_CAPABILITY = (7, 5)  # Turing: the oldest architecture that CUDA 13 compiles for


@dataclass(frozen=True)
class Device:
    """One GPU. `ordinal` is the position under CUDA_VISIBLE_DEVICES; `uuid` names the card itself."""

    ordinal: int
    name: str
    uuid: str
    capability: tuple[int, int]
    multiprocessors: int
    memory_bytes: int
    l2_bytes: int
    shared_bytes: int  # of a multiprocessor
    context: Any = field(repr=False, compare=False)

    @property
    def arch(self) -> str:
        """The compiler's name for this GPU's instruction set, e.g. "sm_90"."""
        return f"sm_{self.capability[0]}{self.capability[1]}"

    def free_memory(self) -> int:
        """Bytes that the driver says are free now; not all of it may be had in one piece."""
        with driver.current(self.context):
            free, _total = driver.call("cuMemGetInfo")
        return int(free)


_open: dict[int, Device] = {}
_lock = threading.RLock()
renewed(sys.modules[__name__], "_lock")


def count() -> int:
    """How many GPUs this process sees; raises `BackendUnavailableError` without a driver."""
    driver.load()
    return int(driver.call("cuDeviceGetCount"))


def open_device(ordinal: int = 0) -> Device:
    """The GPU with this ordinal, its primary context retained for the life of the process.

    Raises `BackendUnavailableError` if there is no such GPU or it is older than compute capability 7.5.
    """
    driver.load()
    with _lock:
        if ordinal not in _open:
            _open[ordinal] = _inspect(ordinal)
    return _open[ordinal]


def unavailable() -> str | None:
    """Why the first GPU cannot be used, in one line; None if it can."""
    try:
        open_device(0)
    except MultiscalarError as error:
        return str(error)
    return None


def _inspect(ordinal: int) -> Device:
    total = count()
    if not 0 <= ordinal < total:
        raise BackendUnavailableError(
            f"there is no GPU {ordinal}",
            accepted=f"0 to {total - 1}" if total else "none: no GPU is visible",
            hint="List the devices with `msm info`; CUDA_VISIBLE_DEVICES hides and renumbers them.",
        )
    handle = driver.call("cuDeviceGet", ordinal)
    attribute = _attributes(handle)
    capability = (attribute("COMPUTE_CAPABILITY_MAJOR"), attribute("COMPUTE_CAPABILITY_MINOR"))
    name = driver.call("cuDeviceGetName", 256, handle).split(b"\0")[0].decode(errors="replace")
    if capability < MINIMUM_CAPABILITY:
        raise BackendUnavailableError(
            f"{name} has compute capability {capability[0]}.{capability[1]}",
            accepted="7.5 (Turing) or newer",
            hint="Use a newer GPU or backend='cpu'.",
        )
    return Device(
        ordinal=ordinal,
        name=name,
        uuid=bytes(driver.call("cuDeviceGetUuid", handle).bytes).hex(),
        capability=capability,
        multiprocessors=attribute("MULTIPROCESSOR_COUNT"),
        memory_bytes=int(driver.call("cuDeviceTotalMem", handle)),
        l2_bytes=attribute("L2_CACHE_SIZE"),
        shared_bytes=attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
        context=driver.call("cuDevicePrimaryCtxRetain", handle),
    )


def _attributes(handle: Any) -> Any:
    kinds = driver.load().CUdevice_attribute

    def attribute(name: str) -> int:
        return int(driver.call("cuDeviceGetAttribute", getattr(kinds, f"CU_DEVICE_ATTRIBUTE_{name}"), handle))

    return attribute
