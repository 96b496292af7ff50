"""Scalars and points as bytes somewhere: host arrays and device arrays behind one description.

Device arrays come through `__cuda_array_interface__` or DLPack and are read in place. The interface names the
stream that produced the data; our stream waits for it, so that no synchronisation of the caller is needed
(CUDA Array Interface, version 3, "Synchronization").
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import DeviceArray, Form, PointArray, ScalarArray

ALIGNMENT = 16  # kernels read quads of words


@dataclass(frozen=True)
class Operand:
    """`count` items of `item_bytes` at `pointer`; `keep` holds the owner alive while work is under way."""

    pointer: int
    count: int
    item_bytes: int
    montgomery: bool
    on_device: bool
    keep: object
    producer: int | None = None  # the stream that wrote the data, where the interface names one

    @property
    def size(self) -> int:
        return self.count * self.item_bytes

    @property
    def aligned(self) -> bool:
        return self.pointer % ALIGNMENT == 0

    def part(self, first: int, count: int) -> Operand:
        """Items first .. first + count."""
        return Operand(
            self.pointer + first * self.item_bytes, count, self.item_bytes, self.montgomery, self.on_device, self.keep,
            self.producer,
        )  # fmt: skip


def scalar_operand(scalars: ScalarArray | DeviceArray) -> Operand:
    if isinstance(scalars, DeviceArray):
        return _device(scalars)
    return _host(scalars.data, scalars.form)


def point_operand(points: PointArray | DeviceArray) -> Operand:
    if isinstance(points, DeviceArray):
        return _device(points)
    return _host(points.data, points.form)


def _host(data: np.ndarray[Any, np.dtype[Any]], form: Form) -> Operand:
    item = data.dtype.itemsize * math.prod(data.shape[1:])
    return Operand(data.ctypes.data, len(data), item, form is Form.MONTGOMERY, False, data)


def _device(array: DeviceArray) -> Operand:
    item = np.dtype(array.dtype).itemsize * math.prod(array.shape[1:])
    pointer, producer, keep = _view(array.source)
    return Operand(pointer, array.shape[0], item, array.form is Form.MONTGOMERY, True, keep, producer)


def _view(source: Any) -> tuple[int, int | None, object]:
    """Address, producing stream and owner of a device array."""
    interface = getattr(source, "__cuda_array_interface__", None)
    if interface is not None:
        stream = interface.get("stream")
        return int(interface["data"][0]), None if stream is None else int(stream), source
    from cuda.core.utils import StridedMemoryView

    legacy = 1  # DLPack's word for the legacy default stream: the producer orders its work before it
    view = StridedMemoryView.from_dlpack(source, stream_ptr=legacy)
    return int(view.ptr), legacy, (source, view)
