"""Scalars and points as bytes somewhere: host arrays and device arrays behind one description.

Device arrays come through `__cuda_array_interface__` or DLPack and are read in place. The interface names the
stream that produced the data; our stream waits for it, so that no synchronisation of the caller is needed
(CUDA Array Interface, version 3, "Synchronization").
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import DeviceArray, Form, PointArray, ScalarArray
from .program import cuda_core

ALIGNMENT = 16  # kernels read quads of words
_LEGACY = 1  # DLPack's word for the legacy default stream: the producer orders its work before it
_WIDTHS = {name: np.dtype(name).itemsize for name in ("bool", "uint8", "uint16", "uint32", "uint64")}


@dataclass(slots=True, eq=False)
class Operand:
    """`count` items of `item_bytes`: the rows of `data` on the host, or at `pointer` on the device.

    `keep` holds the owner alive while work is under way; `producer` is the stream that wrote the data, where the
    interface names one.
    """

    count: int
    item_bytes: int
    montgomery: bool
    data: np.ndarray[Any, np.dtype[Any]] | None
    pointer: int = 0
    producer: int | None = None
    keep: object = None

    @property
    def size(self) -> int:
        return self.count * self.item_bytes

    @property
    def host_address(self) -> int:
        """Where host data lie."""
        assert self.data is not None
        return int(self.data.ctypes.data)

    def bytes_view(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Host data as flat bytes, not copied."""
        assert self.data is not None
        return self.data.reshape(-1).view(np.uint8)

    def part(self, first: int, count: int) -> Operand:
        """Items first .. first + count."""
        data = None if self.data is None else self.data[first : first + count]
        pointer = self.pointer + first * self.item_bytes if self.data is None else 0
        return replace(self, count=count, data=data, pointer=pointer)


def scalar_operand(scalars: ScalarArray | DeviceArray) -> Operand:
    return _device(scalars) if isinstance(scalars, DeviceArray) else _host(scalars.data, scalars.form)


def point_operand(points: PointArray | DeviceArray) -> Operand:
    return _device(points) if isinstance(points, DeviceArray) else _host(points.data, points.form)


def _host(data: np.ndarray[Any, np.dtype[Any]], form: Form) -> Operand:
    item = data.dtype.itemsize
    for columns in data.shape[1:]:
        item *= columns
    return Operand(data.shape[0], item, form is Form.MONTGOMERY, data)


def _device(array: DeviceArray) -> Operand:
    item = _WIDTHS[array.dtype]
    for columns in array.shape[1:]:
        item *= columns
    pointer, producer, keep = _view(array)
    return Operand(array.shape[0], item, array.form is Form.MONTGOMERY, None, pointer, producer, keep)


def _view(array: DeviceArray) -> tuple[int, int | None, object]:
    """Address, producing stream and owner of a device array."""
    if array.pointer is not None:
        return array.pointer, array.producer, array.source
    cuda_core()
    from cuda.core.utils import StridedMemoryView

    view = StridedMemoryView.from_dlpack(array.source, stream_ptr=_LEGACY)
    return int(view.ptr), _LEGACY, (array.source, view)
