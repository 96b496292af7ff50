"""A host array copied into device memory beforehand: what the scope `resident` starts from."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .device import open_device
from .runtime import GpuRuntime

__all__ = ["OnDevice"]


class OnDevice:
    """Offers the array through `__cuda_array_interface__`; the memory is freed with this object."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        host = np.ascontiguousarray(array)
        self._runtime = GpuRuntime(open_device())
        self._pointer = self._runtime.allocate(host.nbytes)
        stream = self._runtime.stream()
        with self._runtime.current():
            self._runtime.copy_in(self._pointer, host.ctypes.data, host.nbytes, stream)
            self._runtime.synchronize(stream)
        self.__cuda_array_interface__ = {
            "shape": host.shape,
            "typestr": host.dtype.str,
            "data": (self._pointer, False),
            "version": 3,
        }

    def __del__(self) -> None:
        if hasattr(self, "_pointer"):
            self._runtime.free(self._pointer)
