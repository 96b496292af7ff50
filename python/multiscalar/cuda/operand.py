"""Points as bytes somewhere: host arrays and device arrays behind one description. Scalars are `engine.vectors`.

Device arrays come through `__cuda_array_interface__` or DLPack and are read in place. The interface names the
stream that produced the data; our stream waits for it, so that no synchronisation of the caller is needed
(CUDA Array Interface, version 3, "Synchronization").
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from ..arrays import DeviceArray, Form, PointArray, ScalarArray
from .program import cuda_core

Array = np.ndarray[Any, np.dtype[Any]]
_byte_of: Final = ctypes.c_char.from_buffer
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
    data: Array | None
    pointer: int = 0
    producer: int | None = None
    keep: object = None

    @property
    def size(self) -> int:
        return self.count * self.item_bytes

    @property
    def array(self) -> Array:
        """The data on the host."""
        assert self.data is not None
        return self.data

    def part(self, first: int, count: int) -> Operand:
        """Items first .. first + count."""
        data = None if self.data is None else self.data[first : first + count]
        pointer = self.pointer + first * self.item_bytes if self.data is None else 0
        return replace(self, count=count, data=data, pointer=pointer)


def address(array: Array) -> int:
    """Where an array lies. Numpy takes 1.7 us to say it, so it is asked only of arrays that are empty or read-only."""
    try:
        return ctypes.addressof(_byte_of(array))  # type: ignore[arg-type] # an array is a buffer
    except (TypeError, ValueError):
        return int(array.ctypes.data)


def resolved(vector: ScalarArray | DeviceArray) -> ScalarArray | DeviceArray:
    """A device array with its address, which DLPack tells only whoever takes the array over."""
    if isinstance(vector, DeviceArray) and vector.pointer is None:
        pointer, producer, keep = _view(vector)
        return replace(vector, source=keep, pointer=pointer, producer=producer)
    return vector


def point_operand(points: PointArray | DeviceArray) -> Operand:
    return _device(points) if isinstance(points, DeviceArray) else _host(points.data, points.form)


def _host(data: Array, form: Form) -> Operand:
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
