"""The CUDA driver, with our errors.

Every call returns its values or raises an error that says what to do next; a raw driver code never leaves
this file. Importing it loads no driver: that happens in `load`, at the first call that needs a device.

A process that forks after it has used the driver cannot use it in the child (the CUDA programming guide,
"Initialization"); the child gets a `ForkError` instead of a hang.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from .. import extras
from ..errors import BackendUnavailableError, DeviceError, ForkError, OutOfMemoryError
from ..forks import renewed

_lock = threading.RLock()
renewed(sys.modules[__name__], "_lock")
_api: Any = None
_owner: int | None = None  # the process that initialised the driver

# What to do next, by the name of the driver's error.
_HINTS = {
    "CUDA_ERROR_NO_DEVICE": "No GPU is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES, or use backend='cpu'.",
    "CUDA_ERROR_INVALID_DEVICE": "List the devices with `msm info`.",
    "CUDA_ERROR_ECC_UNCORRECTABLE": "Restart the process; if it recurs, the card's memory needs service.",
    "CUDA_ERROR_DEVICE_UNAVAILABLE": "Another process holds the GPU exclusively: end it, or use backend='cpu'.",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "Clear the kernel cache (`msm info` names it); kernels are then compiled anew.",
    "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": "Driver and libraries differ in version: reboot or reinstall the driver.",
}
# After these the context is lost: no later call in this process can succeed.
_FATAL = {
    "CUDA_ERROR_ILLEGAL_ADDRESS",
    "CUDA_ERROR_LAUNCH_FAILED",
    "CUDA_ERROR_LAUNCH_TIMEOUT",
    "CUDA_ERROR_ECC_UNCORRECTABLE",
    "CUDA_ERROR_HARDWARE_STACK_ERROR",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION",
    "CUDA_ERROR_MISALIGNED_ADDRESS",
}


def load() -> Any:
    """The driver's functions (`cuda.bindings.driver`), initialised in this process."""
    global _api, _owner
    if _api is not None:
        if _owner != os.getpid():
            raise ForkError(
                "the GPU was used before this process was forked",
                hint="Start workers with multiprocessing's 'spawn' method, or use the GPU only in the children.",
            )
        return _api
    with _lock:
        if _api is None:
            api = _import()
            status = _init(api)
            name = status.name if status != api.CUresult.CUDA_SUCCESS else ""
            if name:
                raise BackendUnavailableError(
                    f"the NVIDIA driver found no usable GPU ({name})", hint=_HINTS.get(name, _DEFAULT_HINT)
                )
            _api, _owner = api, os.getpid()
    return _api


_DEFAULT_HINT = "Check that nvidia-smi works, or use backend='cpu'."


def _import() -> Any:
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise BackendUnavailableError(
            "the CUDA backend needs the package cuda-core, which is not installed",
            hint=extras.HINT,
        ) from error
    return driver


def _init(api: Any) -> Any:
    try:
        return api.cuInit(0)[0]
    except RuntimeError as error:  # cuda.pathfinder: libcuda.so is not on this machine
        raise BackendUnavailableError(
            "no NVIDIA driver on this machine (libcuda was not found)",
            hint="Install NVIDIA's driver (under WSL2 the Windows driver, with /usr/lib/wsl/lib on the library path), "
            "or use backend='cpu'.",
        ) from error


def call(function: str, *arguments: Any) -> Any:
    """Call one driver function: its value, a tuple of values, or None; an error of ours if it failed."""
    status, *values = getattr(load(), function)(*arguments)
    if status:  # CUDA_SUCCESS is 0
        raise failure(function, status.name)
    if not values:
        return None
    return values[0] if len(values) == 1 else tuple(values)


def entry(function: str) -> Callable[..., None]:
    """`function` of the driver, looked up once, for what every call of ours needs: it returns nothing or raises.

    Whether the process was forked is not asked again here: making the device current asks, once a call.
    """
    native = getattr(load(), function)

    def run(*arguments: Any) -> None:
        status = native(*arguments)[0]
        if status:
            raise failure(function, status.name)

    return run


def failure(function: str, name: str) -> DeviceError | OutOfMemoryError:
    """The error for the driver's status `name`."""
    if name == "CUDA_ERROR_OUT_OF_MEMORY":
        return OutOfMemoryError(
            f"the GPU is out of memory ({function})", hint="Free device memory or use a smaller size."
        )
    if name in _FATAL:
        return DeviceError(
            f"the GPU stopped with {name} in {function}; its context in this process is lost",
            hint="Restart the process to use the GPU again; please report the call that caused this.",
        )
    return DeviceError(f"the GPU failed with {name} in {function}", hint=_HINTS.get(name, _DEFAULT_HINT))


class current:
    """Make `context` current in this thread for the block; the caller's own current device comes back after it."""

    __slots__ = ("_context",)

    def __init__(self, context: Any) -> None:
        self._context = context  # and no other state: one object serves any number of threads

    def __enter__(self) -> None:
        status = load().cuCtxPushCurrent(self._context)[0]
        if status:
            raise failure("cuCtxPushCurrent", status.name)

    def __exit__(self, *_: object) -> None:
        status = _api.cuCtxPopCurrent()[0]
        if status:
            raise failure("cuCtxPopCurrent", status.name)
