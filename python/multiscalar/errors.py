"""Every error and warning of the package, one hierarchy.

A message says what is wrong, which index or value, what is accepted, and the next step. The parts are also
attributes, so that a program need not parse text. Input errors are `ValueError`s too, wrong types are
`TypeError`s, lack of memory is a `MemoryError`: code that knows nothing of this package catches what it expects.
"""

from __future__ import annotations

from typing import Final

_MOST_BITS: Final = 2048  # of an int that is written out; Python refuses to write one of more than 4300 digits
_MOST_TEXT: Final = 80


def shown(value: object) -> str:
    """`value` in a message, whatever it is: ints in full up to 2048 bits, `repr` of anything else in 80 characters."""
    if isinstance(value, int) and not isinstance(value, bool):
        plain = int.__index__(value)
        return str(plain) if plain.bit_length() <= _MOST_BITS else f"an int of {plain.bit_length():,} bits"
    try:
        return f"{value!r:.{_MOST_TEXT}}"
    except Exception:  # a message about a faulty object must not depend on the object
        return f"<{type(value).__name__}>"


class MultiscalarError(Exception):
    """Base of all errors of this package.

    `what` states the fault with its value, `index` is the position of the first offending element, `accepted` the
    range that would have been right, `hint` the next step.
    """

    def __init__(
        self, what: str, *, index: int | None = None, accepted: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(what, index, accepted, hint)
        self.what = what
        self.index = index
        self.accepted = accepted
        self.hint = hint

    def __str__(self) -> str:
        text = self.what
        if self.accepted:
            text += f"; accepted: {self.accepted}"
        if self.hint:
            text += f". {self.hint}"
        return text

    def __reduce__(self) -> tuple[object, ...]:
        parts = {"index": self.index, "accepted": self.accepted, "hint": self.hint}
        return _rebuild, (type(self), self.what, parts)


def _rebuild(kind: type[MultiscalarError], what: str, parts: dict[str, object]) -> MultiscalarError:
    """Errors cross process borders (pickle) with all their parts."""
    return kind(what, **parts)  # type: ignore[arg-type]


class InputError(MultiscalarError, ValueError):
    """Something that the caller passed cannot be used."""


class UnknownCurveError(InputError):
    """No curve has this name."""


class CurveMismatchError(InputError):
    """Operands belong to different curves."""


class InputTypeError(InputError, TypeError):
    """An operand has a type or an element type that means nothing here."""


class ShapeError(InputError):
    """An array has the right element type and the wrong shape."""


class LengthError(InputError):
    """Two lengths do not fit each other."""


class ScalarRangeError(InputError):
    """A scalar is negative or not smaller than the group order."""


class CoordinateRangeError(InputError):
    """A coordinate is negative or not smaller than the field modulus."""


class NotOnCurveError(InputError):
    """A point does not satisfy the equation of the curve."""


class NotInSubgroupError(InputError):
    """A point is on the curve, and outside the subgroup of prime order."""


class EncodingError(InputError):
    """Bytes are no encoding of a point."""


class CircuitError(InputError):
    """A constraint system cannot be used: its shape, its field, or a witness that does not satisfy it."""


class SrsError(MultiscalarError):
    """A reference string is missing, altered or too short."""


class OptionError(InputError):
    """An option or a setting has a value outside its range."""


class BackendError(MultiscalarError):
    """A backend could not do what was asked."""


class BackendUnavailableError(BackendError):
    """The backend that was asked for is not to be had on this machine."""


class CoreError(BackendUnavailableError, ImportError):
    """The native core is missing, cannot be loaded, or was built from other sources."""


class DeviceError(BackendError):
    """A device failed while it worked."""


class CompileError(BackendError):
    """Kernels could not be compiled for the device."""


class OutOfMemoryError(BackendError, MemoryError):
    """Not enough memory; `need` and `free` are in bytes where they are known."""

    def __init__(
        self,
        what: str,
        *,
        need: int | None = None,
        free: int | None = None,
        index: int | None = None,
        accepted: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(what, index=index, accepted=accepted, hint=hint)
        self.need = need
        self.free = free

    def __reduce__(self) -> tuple[object, ...]:
        parts = {
            "need": self.need,
            "free": self.free,
            "index": self.index,
            "accepted": self.accepted,
            "hint": self.hint,
        }
        return _rebuild, (type(self), self.what, parts)


class ForkError(BackendError):
    """A device was used before a fork and cannot be used in the child."""


class CancelledError(MultiscalarError):
    """The call was cancelled before it ended; nothing was returned, everything stays usable."""


class InternalError(MultiscalarError):
    """A fault in this package: please report it."""


class MultiscalarWarning(UserWarning):
    """Base of all warnings of this package."""


class FallbackWarning(MultiscalarWarning):
    """`backend="auto"` chose one backend, it failed, and another one answered."""


class ProfileWarning(MultiscalarWarning):
    """A profile of this machine cannot be used."""
