"""From what callers pass to arrays in the layouts of the engine, without a copy wherever the layout allows.

Full scalars are uint64[n, 4], narrow ones bool or uint8/16/32/64 [n], points uint64[n, 2, L]; little-endian limbs,
C-contiguous, native byte order. Other strides, byte orders, lists of ints and of (x, y) pairs are converted (a copy).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any, Final, TypeGuard

import numpy as np
import numpy.typing as npt

from . import memory
from .errors import CoordinateRangeError, InputTypeError, ScalarRangeError, ShapeError, shown
from .point import Point

if TYPE_CHECKING:
    from .curves import Curve

Array = npt.NDArray[Any]

SCALAR_LIMBS: Final = 4
NARROW: Final = frozenset(np.dtype(kind) for kind in ("bool", "uint8", "uint16", "uint32", "uint64"))
_FULL: Final = np.dtype(np.uint64)
_FULL_SHAPE: Final = (SCALAR_LIMBS,)
_SCALARS_ACCEPTED: Final = "uint64[n, 4], bool or uint8/16/32/64 [n], or a sequence of ints"
_HOST_DEVICES: Final = (1, 3)  # kDLCPU, kDLCUDAHost
_LAYOUT_FLAGS: Final = 0x101  # NPY_ARRAY_C_CONTIGUOUS, NPY_ARRAY_ALIGNED


def is_device_array(value: object) -> bool:
    """Whether `value` says that its data are in device memory (`__cuda_array_interface__`, DLPack)."""
    if isinstance(value, (np.ndarray, list, tuple)):
        return False
    if hasattr(value, "__cuda_array_interface__"):
        return True
    probe = getattr(value, "__dlpack_device__", None)
    if probe is None:
        return False
    try:
        kind, _ = probe()
        return int(kind) not in _HOST_DEVICES
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            f"a {type(value).__name__} does not say where its data are: {error}", accepted="DLPack's (type, number)"
        ) from error


def is_arraylike(value: object) -> bool:
    """Whether `value` is for `as_array` to take or refuse, rather than a sequence of Python objects."""
    return isinstance(value, (np.ndarray, memoryview, str, bytes, bytearray)) or any(
        hasattr(value, name) for name in ("__dlpack__", "__array_interface__", "__array__", "__buffer__", "tobytes")
    )


def as_array(value: object, what: str) -> Array:
    """`value` as a numpy array: itself, through DLPack, the array interface or the buffer protocol."""
    if type(value) is np.ndarray:
        return value
    if isinstance(value, np.ndarray):
        return _plain(value, what)
    if isinstance(value, (str, bytes, bytearray)):
        raise InputTypeError(
            f"{what} are a {type(value).__name__}",
            accepted="arrays or sequences",
            hint="Raw limbs: np.frombuffer(data, np.uint64).reshape(...); encoded points: curve.decode(data, codec).",
        )
    try:
        if hasattr(value, "__dlpack__"):
            return np.from_dlpack(value)
        known = hasattr(value, "__array__") or hasattr(value, "__array_interface__")
        return np.asarray(value if known else memoryview(value))  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError, RuntimeError) as error:
        raise InputTypeError(f"{what} of type {type(value).__name__} cannot be read as an array: {error}") from error


def _plain(array: Array, what: str) -> Array:
    """The data of a subclass of arrays, which may define indexing in its own way; masked values are none."""
    if np.any(getattr(array, "mask", False)):
        raise InputTypeError(
            f"{what} are an array with masked values", accepted="arrays without", hint="Pass array.filled(0), say."
        )
    return np.asarray(array)


def in_layout(array: Array) -> Array:
    """The same values in native byte order, C-contiguous and aligned; `array` itself if it is so already."""
    native = array.dtype.newbyteorder("=")
    if array.flags.c_contiguous and array.flags.aligned and array.dtype == native and array.dtype.isnative:
        return array
    memory.require(array.size * native.itemsize, f"a contiguous copy of an array of shape {array.shape}")
    return np.require(array.astype(native, order="C"), requirements=["C", "A"])


def _negative(array: Array, curve: Curve) -> None:
    """Refuse signed arrays with negative values, naming the first."""
    found = np.flatnonzero(array < 0)
    if len(found):
        index = int(found[0])
        raise ScalarRangeError(
            f"scalar {index} is {int(array[index])}",
            index=index,
            accepted=f"0 <= s < r = {curve.r:#x}",
            hint="Write -s as r - s, or pass Python ints with reduce=True.",
        )


def scalar_array(value: object, curve: Curve, *, reduce: bool) -> Array:
    """Scalars as uint64[n, 4] or narrow [n]. Errors: `InputTypeError`, `ShapeError`, `ScalarRangeError`."""
    if is_full(value):
        return value
    if not is_arraylike(value):
        return scalar_ints(value, curve, reduce=reduce)
    array = as_array(value, "scalars")
    dtype = array.dtype
    if dtype.kind == "O":
        if array.ndim != 1:
            raise ShapeError(f"object array of scalars has shape {array.shape}", accepted="[n] of ints")
        return scalar_ints(array.tolist(), curve, reduce=reduce)
    if dtype.kind == "i" and array.ndim == 1:
        memory.require(array.size * (1 + dtype.itemsize), f"an unsigned copy of {array.size:,} scalars")
        _negative(array, curve)
        array = array.astype(dtype.newbyteorder("=").str.replace("i", "u"))
        dtype = array.dtype
    if dtype.newbyteorder("=") not in NARROW:
        raise InputTypeError(
            f"scalars have dtype {dtype}",
            accepted=_SCALARS_ACCEPTED,
            hint="Floats and strings hold no exact scalars; for limbs in another type use .view(np.uint64).",
        )
    if array.ndim == 1 or (array.ndim == 2 and array.shape[1] == SCALAR_LIMBS and dtype.newbyteorder("=") == _FULL):
        return in_layout(array)
    raise ShapeError(
        f"scalars have shape {array.shape} and dtype {dtype}",
        accepted=_SCALARS_ACCEPTED + "; a batch is uint64[m, n, 4] or a list of vectors",
    )


def is_full(value: object, row: tuple[int, ...] = _FULL_SHAPE) -> TypeGuard[Array]:
    """Whether `value` is a plain array of full scalars, or of points by their `row`, that needs no conversion."""
    return (
        type(value) is np.ndarray
        and (value.dtype is _FULL or value.dtype == _FULL)
        and value.shape[1:] == row
        and value.flags.num & _LAYOUT_FLAGS == _LAYOUT_FLAGS
    )


def _int(value: object, index: int, what: str) -> int:
    """An exact int, or the error that names what it was."""
    if isinstance(value, int):
        return int.__index__(value)  # a plain int, whatever a subclass makes of its methods
    if isinstance(value, np.integer):
        return int(value)
    raise InputTypeError(
        f"{what} {index} is {shown(value)} of type {type(value).__name__}",
        index=index,
        accepted="int",
        hint="Only exact integers are taken; convert first.",
    )


def scalar_ints(values: object, curve: Curve, *, reduce: bool) -> Array:
    """A sequence of Python ints as uint64[n, 4]. Slow (about 0.2 microseconds an int): convenience."""
    if not _is_ordered(values):
        raise InputTypeError(f"scalars are a {type(values).__name__}", accepted=_SCALARS_ACCEPTED)
    r, parts = curve.r, []
    for index, value in enumerate(values):
        scalar = _int(value, index, "scalar")
        if not 0 <= scalar < r:
            if not reduce:
                raise ScalarRangeError(
                    f"scalar {index} is {shown(scalar)}",
                    index=index,
                    accepted=f"0 <= s < r = {r:#x}",
                    hint="Pass reduce=True to reduce modulo r.",
                )
            scalar %= r
        parts.append(scalar.to_bytes(32, "little"))
    return np.frombuffer(b"".join(parts), dtype="<u8").reshape(-1, SCALAR_LIMBS).astype(np.uint64, copy=False)


def _is_ordered(values: object) -> TypeGuard[Iterable[object]]:
    """Whether `values` can be gone through in an order that means something."""
    return isinstance(values, Iterable) and not isinstance(values, (Mapping, Set))


def first_unreduced(array: Array, curve: Curve) -> int | None:
    """Index of the first full scalar >= r, or None."""
    if array.ndim == 1 or not len(array):
        return None
    limbs = [(curve.r >> (64 * i)) & (2**64 - 1) for i in range(SCALAR_LIMBS)]
    suspects = np.flatnonzero(array[:, 3] >= np.uint64(limbs[3]))
    if not len(suspects):
        return None
    rows = array[suspects]
    over = np.ones(len(rows), dtype=bool)  # equal so far counts as >= r
    for limb, bound in enumerate(limbs):
        column = rows[:, limb]
        over = (column > np.uint64(bound)) | ((column == np.uint64(bound)) & over)
    found = suspects[over]
    return int(found[0]) if len(found) else None


def reduced(array: Array, curve: Curve) -> Array:
    """A copy of full scalars with every one modulo r. Slow where many are not below r: convenience."""
    out = array.copy()
    for index in np.flatnonzero(array[:, 3] >= np.uint64(curve.r >> 192)):
        value = int.from_bytes(array[index].astype("<u8").tobytes(), "little") % curve.r
        out[index] = np.frombuffer(value.to_bytes(32, "little"), dtype="<u8")
    return out


def point_array(value: object, curve: Curve) -> Array:
    """Points as uint64[n, 2, L]. Errors: `InputTypeError`, `ShapeError`, `CoordinateRangeError`."""
    if is_full(value, (2, curve.limbs)):
        return value
    accepted = f"uint64[n, 2, {curve.limbs}], or a sequence of (x, y) ints"
    if not is_arraylike(value):
        return point_pairs(value, curve)
    array = as_array(value, "points")
    if array.dtype.kind == "O":
        return point_pairs(array.tolist(), curve)
    if array.dtype.newbyteorder("=") != _FULL:
        raise InputTypeError(f"points have dtype {array.dtype}", accepted=accepted)
    if array.ndim != 3 or array.shape[1:] != (2, curve.limbs):
        raise ShapeError(
            f"points have shape {array.shape}",
            accepted=f"{accepted} for {curve.name}",
            hint="Check the curve: L is 4 for bn254, 6 for bls12-377 and bls12-381.",
        )
    return in_layout(array)


def _pair(value: object, index: int, curve: Curve) -> tuple[int, int]:
    if value is None:
        return 0, 0
    if isinstance(value, Point):
        if value.curve is not curve:
            from .errors import CurveMismatchError

            raise CurveMismatchError(
                f"point {index} belongs to {value.curve.name}", index=index, accepted=f"points of {curve.name}"
            )
        return value.x, value.y
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)) and len(value) == 2:
        return _int(value[0], index, "x of point"), _int(value[1], index, "y of point")
    raise InputTypeError(
        f"point {index} is {shown(value)}", index=index, accepted="(x, y) of ints, a Point, or None for infinity"
    )


def point_pairs(values: object, curve: Curve) -> Array:
    """A sequence of (x, y) ints, Points or None as uint64[n, 2, L]. Convenience, not the fast path."""
    if not _is_ordered(values):
        raise InputTypeError(
            f"points are a {type(values).__name__}",
            accepted=f"uint64[n, 2, {curve.limbs}], or a sequence of (x, y) ints",
        )
    size, parts = 8 * curve.limbs, []
    for index, value in enumerate(values):
        for name, coordinate in zip("xy", _pair(value, index, curve), strict=True):
            if not 0 <= coordinate < curve.p:
                raise CoordinateRangeError(
                    f"{name} of point {index} is {shown(coordinate)}",
                    index=index,
                    accepted=f"0 <= {name} < p = {curve.p:#x} of {curve.name}",
                )
            parts.append(coordinate.to_bytes(size, "little"))
    return np.frombuffer(b"".join(parts), dtype="<u8").reshape(-1, 2, curve.limbs).astype(np.uint64, copy=False)
