"""Is there a GPU here, by the driver's own word: what is missing first, the driver or a device, and the next step.

Asked through ctypes, because peers bring a CUDA of their own and need none of our packages. Cost: the driver is
initialised.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Final

__all__ = ["Lack", "gpu_lack"]

_NO_DEVICE: Final = 100  # CUDA_ERROR_NO_DEVICE


@dataclass(frozen=True)
class Lack:
    """What is missing, and the next step; empty where `what` says both."""

    what: str
    cure: str = ""

    def __str__(self) -> str:
        return f"{self.what}. {self.cure}" if self.cure else self.what


def gpu_lack() -> Lack | None:
    """What is missing for any program to compute on a GPU; None if nothing is."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        status = int(driver.cuInit(0))
    except (OSError, AttributeError):
        return Lack(
            "no NVIDIA driver on this machine",
            "Install NVIDIA's driver (under WSL2 the Windows driver, with /usr/lib/wsl/lib on the library path)",
        )
    if status == _NO_DEVICE:
        return Lack("the NVIDIA driver sees no GPU", "Check nvidia-smi and CUDA_VISIBLE_DEVICES")
    if status:
        return Lack(f"the NVIDIA driver does not start ({_name(driver, status)})", "Check that nvidia-smi works")
    return None


def _name(driver: Any, status: int) -> str:
    """The driver's own word for its status."""
    name = ctypes.c_char_p()
    known = driver.cuGetErrorName(status, ctypes.byref(name)) == 0 and name.value
    return known.decode(errors="replace") if known else f"error {status}"
