"""From arguments of a call to operands: curve, form and check of each, one vector or a batch, host or device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .. import intake
from ..arrays import Check, DeviceArray, Form, PointArray, ScalarArray, truth, word
from ..curves import Curve
from ..curves import curve as find_curve
from ..errors import CurveMismatchError, InputTypeError, LengthError, OptionError, ShapeError, UnknownCurveError
from ..point import Point

PointOperand = PointArray | DeviceArray
ScalarOperand = ScalarArray | DeviceArray


def curve_of(named: str | Curve | None, *operands: object) -> Curve:
    """The one curve that the argument and the operands name. Errors: `UnknownCurveError`, `CurveMismatchError`."""
    found = None if named is None else find_curve(named)
    for operand in operands:
        if type(operand) is np.ndarray:
            continue
        if isinstance(operand, (list, tuple)) and operand:
            operand = operand[0]
        if not isinstance(operand, (PointArray, ScalarArray, Point, DeviceArray)):
            continue
        if found is None:
            found = operand.curve
        elif operand.curve is not found:
            raise CurveMismatchError(
                f"an operand belongs to {operand.curve.name} and the call is for {found.name}",
                accepted="operands of one curve",
            )
    if found is None:
        from ..curves import names

        raise UnknownCurveError(
            "the operands do not say which curve they belong to",
            accepted=", ".join(names()),
            hint='Pass curve="bn254", or make the points with ms.curve(name).points(data).',
        )
    return found


def _agree(own: Form, asked: str | None, name: str, what: str) -> None:
    """An operand that knows its form cannot be told another one."""
    if asked is not None and word(Form, asked, name) is not own:
        raise OptionError(
            f"{name} = {str(asked)!r} contradicts {what} in {own} form",
            accepted=f"{name}={own.value!r} or nothing",
            hint="Leave it out: the operand knows its form"
            + (" (points.to_form converts them)." if what == "points" else "."),
        )


def points_operand(
    value: object, curve: Curve, *, form: str | None, check: str | None, assume_subgroup: bool
) -> PointOperand:
    """Points with the check that is still to be made by the backend."""
    wanted = Check.CURVE if check is None else word(Check, check, "check")
    truth(assume_subgroup, "assume_subgroup")
    if isinstance(value, PointArray):
        _agree(value.form, form, "form", "points")
        if check is None and not assume_subgroup:
            return value
        return value.wanting(wanted if check is not None else Check.NONE, assume_subgroup)
    kind = Form.CANONICAL if form is None else word(Form, form, "form")
    if intake.is_device_array(value):
        subgroup = curve.cofactor == 1 or assume_subgroup or wanted is Check.SUBGROUP
        return _device_array(value, "points", curve, kind, (2, curve.limbs), wanted, subgroup)
    data = intake.point_array(value, curve)
    return PointArray.unverified(data, curve, kind, wanted=wanted, assumed=assume_subgroup)


# By the interface's name of a type; asking numpy takes longer than all the rest of a small call's way in.
DEVICE_TYPES: Final = {
    np.dtype(name).str: (name, np.dtype(name).itemsize) for name in ("bool", "uint8", "uint16", "uint32", "uint64")
}
_DEVICE_NAMES: Final = frozenset(name for name, _ in DEVICE_TYPES.values())


def _described(value: Any) -> tuple[tuple[int, ...], str, bool, int | None, int | None]:
    """What a device array says about itself: shape, type, whether it is packed, address, and who wrote it."""
    interface = getattr(value, "__cuda_array_interface__", None)
    if interface is None:
        return tuple(map(int, value.shape)), str(value.dtype).removeprefix("torch."), True, None, None
    shape, name = tuple(map(int, interface["shape"])), interface["typestr"]
    dtype, size = DEVICE_TYPES.get(name) or (str(name), 0)
    strides, producer = interface.get("strides"), interface.get("stream")
    return (
        shape,
        dtype,
        strides is None or not size or _packed(shape, strides, size),
        int(interface["data"][0]),
        None if producer is None else int(producer),
    )


def _device_array(
    value: Any,
    role: str,
    curve: Curve,
    form: Form,
    tail: tuple[int, ...],
    check: Check = Check.NONE,
    subgroup: bool = False,
) -> DeviceArray:
    """A device array described by its interface; the data are not touched."""
    try:
        shape, dtype, packed, pointer, producer = _described(value)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise InputTypeError(
            f"device {role} of type {type(value).__name__} do not describe themselves: {error!r}",
            accepted="__cuda_array_interface__, or DLPack with shape and dtype",
        ) from error
    if not packed:
        raise ShapeError(f"device {role} are not contiguous", accepted="C-contiguous", hint="Copy them first.")
    wide = dtype == "uint64" and shape[1:] == tail
    narrow = role == "scalars" and len(shape) == 1 and dtype in _DEVICE_NAMES
    if not (wide or narrow):
        columns = ", ".join(str(size) for size in tail)
        raise ShapeError(
            f"device {role} have shape {shape} and dtype {dtype}",
            accepted=f"uint64[n, {columns}]" + (", bool or uint8/16/32/64 [n]" if role == "scalars" else ""),
        )
    return DeviceArray(value, role, curve, form, shape, dtype, check, subgroup, pointer, producer)


def _packed(shape: tuple[int, ...], strides: Sequence[int], itemsize: int) -> bool:
    step = itemsize
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size > 1 and stride != step:
            return False
        step *= size
    return True


def scalars_operand(value: object, curve: Curve, *, form: str | None, reduce: bool) -> ScalarOperand:
    """One vector of scalars; the backend looks at their range."""
    if isinstance(value, ScalarArray):
        _agree(value.form, form, "scalar_form", "scalars")
        if value.curve is not curve:
            raise CurveMismatchError(f"scalars belong to {value.curve.name}", accepted=f"scalars of {curve.name}")
        return value
    kind = Form.CANONICAL if form is None else word(Form, form, "scalar_form")
    if intake.is_device_array(value):
        return _device_array(value, "scalars", curve, kind, (intake.SCALAR_LIMBS,))
    return ScalarArray.unverified(intake.scalar_array(value, curve, reduce=reduce), curve, kind)


def vectors_of(value: object) -> list[object] | None:
    """The vectors of a batch (a 3-D array, or a sequence of vectors), or None if `value` is one vector."""
    if isinstance(value, np.ndarray):
        return list(value) if value.ndim == 3 else None
    if isinstance(value, (list, tuple)):
        first = value[0] if value else 0
        vectors = isinstance(first, (list, tuple, ScalarArray, DeviceArray)) or (
            intake.is_arraylike(first) and not isinstance(first, np.generic)
        )
        return list(value) if vectors or intake.is_device_array(first) else None
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and len(shape) == 3 and not isinstance(value, (PointArray, ScalarArray)):
        if intake.is_device_array(value):
            raise InputTypeError(
                f"a batch on a device has shape {shape}",
                accepted="a list of device vectors",
                hint="Pass [batch[i] for i in range(len(batch))].",
            )
        return list(intake.as_array(value, "scalars"))
    return None


def fit(bases: int, scalars: int) -> None:
    """More scalars than bases is an error; fewer use the prefix of the bases."""
    if scalars > bases:
        raise LengthError(
            f"{scalars} scalars for {bases} bases",
            accepted=f"at most {bases} scalars (fewer use the first bases)",
            hint="Check that both arrays describe the same sum.",
        )


def fit_own(bases: int, lengths: Sequence[int]) -> None:
    """With own bases the lengths of the vectors add up to the number of bases."""
    if sum(lengths) != bases:
        raise LengthError(
            f"{len(lengths)} vectors of {sum(lengths)} scalars in all for {bases} bases of their own",
            accepted=f"lengths that add up to {bases}",
            hint="Without own_bases=True all vectors share the bases.",
        )
