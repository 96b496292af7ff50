"""PointArray, ScalarArray and DeviceArray: operands that know their curve, form and what was checked.

Host arrays are shared with the caller where their layout allows (see `intake`): do not change them while an operand
or prepared bases made from them are in use. Device arrays are never touched, only described.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

import numpy as np
import numpy.typing as npt

from . import intake, memory
from .curves import Curve
from .curves import curve as find_curve
from .errors import InputTypeError, OptionError, ScalarRangeError, shown
from .failures import translated
from .native import _core
from .point import Point

if TYPE_CHECKING:
    from .inputs import Logs

Array = npt.NDArray[Any]
Word = TypeVar("Word", bound=StrEnum)


class Form(StrEnum):
    """How numbers are represented: as they are, or times R = 2^(64 L) modulo the field's prime."""

    CANONICAL = "canonical"
    MONTGOMERY = "montgomery"


class Check(StrEnum):
    """What is verified when points enter. Coordinates are below p in any case."""

    NONE = "none"
    CURVE = "curve"
    SUBGROUP = "subgroup"


_STRENGTH: Final = {Check.NONE: 0, Check.CURVE: 1, Check.SUBGROUP: 2}


def word(kind: type[Word], value: str, name: str) -> Word:
    """`value` as a member of `kind`, or `OptionError` with the words that are accepted."""
    if type(value) is str and value in kind._value2member_map_:  # which asking the class would take a microsecond for
        return kind._value2member_map_[value]  # type: ignore[return-value]
    try:
        return kind(value)
    except ValueError as error:
        accepted = ", ".join(kind)
        raise OptionError(f"{name} = {shown(value)}", accepted=accepted, hint=f"Choose one of {accepted}.") from error


def truth(value: object, name: str) -> bool:
    """`value` if it is a bool: of an option that promises something, "no" must not mean yes."""
    if not isinstance(value, bool):
        raise OptionError(f"{name} = {shown(value)}", accepted="True or False")
    return value


def _position(index: object) -> int:
    """`index` as the position of one element: what else numpy takes (lists, masks, None) selects no single one."""
    try:
        return operator.index(None if isinstance(index, bool) else index)  # type: ignore[arg-type]
    except TypeError:
        raise InputTypeError(
            f"an index is {shown(index)} of type {type(index).__name__}",
            accepted="an int or a slice",
            hint="To gather elements, index .data and make an array of the result.",
        ) from None


class PointArray:
    """n points of one curve: uint64[n, 2, L] in a stated form, infinity as (0, 0).

    `data`: uint64[n, 2, L] (numpy, DLPack or buffer protocol; shared, not copied, if C-contiguous), or a sequence of
    (x, y) ints, `Point`s and None. `check` is verified at once. `assume_subgroup` is the caller's word that all points
    are in the subgroup of order r, which lets the engine use the endomorphism without the check.

    Errors: `InputTypeError`, `ShapeError`, `CoordinateRangeError`, `NotOnCurveError`, `NotInSubgroupError`, each with
    the index of the first offender.
    """

    __slots__ = ("_assumed", "_checked", "_curve", "_data", "_form", "_logs", "_wanted")

    def __init__(
        self,
        data: object,
        *,
        curve: str | Curve,
        form: str = "canonical",
        check: str = "curve",
        assume_subgroup: bool = False,
    ) -> None:
        handle = find_curve(curve)
        self._set(
            intake.point_array(data, handle),
            handle,
            word(Form, form, "form"),
            wanted=word(Check, check, "check"),
            assumed=truth(assume_subgroup, "assume_subgroup"),
        )
        self.verify()

    def _set(
        self,
        data: Array,
        curve: Curve,
        form: Form,
        *,
        wanted: Check,
        checked: Check = Check.NONE,
        assumed: bool = False,
        logs: Logs | None = None,
    ) -> None:
        self._data, self._curve, self._form = data, curve, form
        self._wanted, self._checked, self._assumed, self._logs = wanted, checked, assumed, logs

    @classmethod
    def unverified(
        cls,
        data: Array,
        curve: Curve,
        form: Form = Form.CANONICAL,
        *,
        wanted: Check = Check.CURVE,
        checked: Check = Check.NONE,
        assumed: bool = False,
        logs: Logs | None = None,
    ) -> PointArray:
        """For backends and generators: `data` is in layout, and the check `wanted` is left to who prepares them."""
        made = cls.__new__(cls)
        made._set(data, curve, form, wanted=wanted, checked=checked, assumed=assumed, logs=logs)
        return made

    @property
    def curve(self) -> Curve:
        """The curve."""
        return self._curve

    @property
    def data(self) -> npt.NDArray[np.uint64]:
        """The limbs, uint64[n, 2, L]. Treat as read-only."""
        return self._data

    @property
    def form(self) -> Form:
        """The form of the coordinates."""
        return self._form

    @property
    def checked(self) -> Check:
        """What has been verified."""
        return self._checked

    @property
    def pending(self) -> Check:
        """The check that whoever prepares these points has still to make; NONE if there is nothing left to do."""
        return self._wanted if _STRENGTH[self._wanted] > _STRENGTH[self._checked] else Check.NONE

    @property
    def in_subgroup(self) -> bool:
        """Whether all points are known, or asserted by the caller, to be in the subgroup once `pending` is done."""
        return self._curve.cofactor == 1 or self._assumed or Check.SUBGROUP in (self._checked, self._wanted)

    @property
    def logs(self) -> Logs | None:
        """Discrete logarithms to the generator, where they are known (benchmark inputs)."""
        return self._logs

    def wanting(self, check: Check, assume_subgroup: bool = False) -> PointArray:
        """The same points with at least `check` to be verified."""
        stronger = max(self._wanted, check, key=_STRENGTH.__getitem__)
        return self._with(wanted=stronger, assumed=self._assumed or assume_subgroup)

    def _with(self, **changes: Any) -> PointArray:
        """A copy of the handle (not of the data) with some parts changed."""
        parts: dict[str, Any] = {
            "wanted": self._wanted,
            "checked": self._checked,
            "assumed": self._assumed,
            "logs": self._logs,
            "data": self._data,
            "form": self._form,
        }
        parts.update(changes)
        return PointArray.unverified(parts.pop("data"), self._curve, parts.pop("form"), **parts)

    def verify(self) -> PointArray:
        """Make the pending check now, on the CPU. Cost: 3 multiplications a point, 255 doublings for the subgroup."""
        memory.require(self._data.nbytes, f"verifying {len(self):,} points of {self._curve.name}")
        with translated(self._curve):
            _core.prepare(
                self._curve.name, self._data, self._form is Form.MONTGOMERY, str(self.pending), False, "scalar", 0
            )
        self._checked = max(self._wanted, self._checked, key=_STRENGTH.__getitem__)
        return self

    def verified(self) -> PointArray:
        """The same points, after a backend has made the pending check."""
        if self.pending is Check.NONE:
            return self
        return self._with(checked=self._wanted)

    def to_form(self, form: str) -> PointArray:
        """The same points in the given form; self if they are in it."""
        target = word(Form, form, "form")
        if target is self._form:
            return self
        out = np.empty_like(self._data)
        with translated(self._curve):
            _core.convert(self._curve.name, self._data, target is Form.MONTGOMERY, out)
        return self._with(data=out, form=target)

    def to_bytes(self, codec: str, *, compressed: bool = True) -> bytes:
        """All points one after the other in a named format (`Curve.codecs`). The points must be on the curve."""
        from .codecs import encode

        return encode(self, codec, compressed=compressed)

    def __len__(self) -> int:
        return len(self._data)

    @overload
    def __getitem__(self, index: int) -> Point: ...
    @overload
    def __getitem__(self, index: slice) -> PointArray: ...
    def __getitem__(self, index: int | slice) -> Point | PointArray:
        if isinstance(index, slice):
            logs = None if self._logs is None else self._logs.part(index)
            return self._with(data=intake.in_layout(self._data[index]), logs=logs)
        row = self._data[_position(index)]
        x, y = (int.from_bytes(coordinate.astype("<u8").tobytes(), "little") for coordinate in row)
        if self._form is Form.MONTGOMERY:
            inverse = pow(1 << (64 * self._curve.limbs), -1, self._curve.p)
            x, y = x * inverse % self._curve.p, y * inverse % self._curve.p
        return Point(self._curve, x, y)

    def __iter__(self) -> Iterator[Point]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self._data, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"PointArray({self._curve.name}, n={len(self)}, {self._form}, checked: {self._checked})"


class ScalarArray:
    """n scalars of one curve: uint64[n, 4] in a stated form, or a narrow array (bool, uint8/16/32/64 [n]).

    Full scalars are verified to be below r at once, or reduced with `reduce=True` (in a copy). Narrow ones are
    smaller than any r and always canonical. Errors: `InputTypeError`, `ShapeError`, `ScalarRangeError` with the index
    of the first offender.
    """

    __slots__ = ("_curve", "_data", "_form")

    def __init__(self, data: object, *, curve: str | Curve, form: str = "canonical", reduce: bool = False) -> None:
        self._curve = find_curve(curve)
        self._form = word(Form, form, "form")
        self._data = intake.scalar_array(data, self._curve, reduce=reduce)
        self._refuse_narrow_montgomery()
        index = intake.first_unreduced(self._data, self._curve)
        if index is not None:
            if not reduce:
                raise unreduced(self, index)
            self._data = intake.reduced(self._data, self._curve)

    @classmethod
    def unverified(cls, data: Array, curve: Curve, form: Form = Form.CANONICAL) -> ScalarArray:
        """For the engine and generators: `data` is in layout; the range is left to the backend, which must look."""
        made = cls.__new__(cls)
        made._curve, made._data, made._form = curve, data, form
        made._refuse_narrow_montgomery()
        return made

    def _refuse_narrow_montgomery(self) -> None:
        if self._data.ndim == 1 and self._form is Form.MONTGOMERY:
            raise OptionError(
                f"scalars of dtype {self._data.dtype} cannot be in Montgomery form",
                accepted="canonical for narrow scalars; montgomery for uint64[n, 4]",
                hint='Drop scalar_form="montgomery", or pass all four limbs.',
            )

    @property
    def curve(self) -> Curve:
        """The curve."""
        return self._curve

    @property
    def data(self) -> Array:
        """uint64[n, 4], or the narrow array. Treat as read-only."""
        return self._data

    @property
    def form(self) -> Form:
        """The form of the scalars."""
        return self._form

    @property
    def is_narrow(self) -> bool:
        """Whether these are bool or uint8/16/32/64 [n]."""
        return self._data.ndim == 1

    @property
    def bits(self) -> int:
        """Bits that a scalar can have by its type: 1, 8, 16, 32, 64, or those of r."""
        if self._data.ndim == 2:
            return self._curve.r.bit_length()
        return 1 if self._data.dtype == bool else 8 * self._data.dtype.itemsize

    def __len__(self) -> int:
        return len(self._data)

    @overload
    def __getitem__(self, index: int) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> ScalarArray: ...
    def __getitem__(self, index: int | slice) -> int | ScalarArray:
        """One scalar as a canonical int, or a part."""
        if isinstance(index, slice):
            return ScalarArray.unverified(intake.in_layout(self._data[index]), self._curve, self._form)
        index = _position(index)
        if self.is_narrow:
            return int(self._data[index])
        value = int.from_bytes(self._data[index].astype("<u8").tobytes(), "little")
        if self._form is Form.MONTGOMERY:
            value = value * pow(1 << 256, -1, self._curve.r) % self._curve.r
        return value

    def __iter__(self) -> Iterator[int]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.array(self._data, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"ScalarArray({self._curve.name}, n={len(self)}, {self._data.dtype}, {self._form})"


def unreduced(scalars: ScalarArray, index: int) -> ScalarRangeError:
    """The error for a full scalar that is not below r."""
    value = int.from_bytes(scalars.data[index].astype("<u8").tobytes(), "little")
    curve = scalars.curve
    return ScalarRangeError(
        f"scalar {index} is {value:#x}",
        index=index,
        accepted=f"0 <= s < r = {curve.r:#x} of {curve.name}",
        hint="Pass reduce=True to reduce modulo r; check that the limbs are little-endian and the form is right.",
    )


@dataclass(slots=True, eq=False)
class DeviceArray:
    """An array in device memory, described and not touched: `source` offers `__cuda_array_interface__` or DLPack.

    `role` is "points" (uint64[n, 2, L]) or "scalars" (uint64[n, 4] or narrow [n]); `shape`, `dtype`, `pointer` (its
    address) and `producer` (the stream that wrote it, if it names one) come from the interface. The backend reads the
    data in place, ordered on the caller's stream. Treat as read-only: not frozen, since making one is part of a call.
    """

    source: object
    role: str
    curve: Curve
    form: Form
    shape: tuple[int, ...]
    dtype: str
    wanted: Check = Check.NONE
    in_subgroup: bool = False
    pointer: int | None = None  # None: to be asked for through DLPack
    producer: int | None = None

    def __len__(self) -> int:
        return self.shape[0]
