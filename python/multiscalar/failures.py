"""From faults of the native core to errors of the package."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .errors import (
    BackendUnavailableError,
    CancelledError,
    CoordinateRangeError,
    EncodingError,
    InternalError,
    LengthError,
    MultiscalarError,
    NotInSubgroupError,
    NotOnCurveError,
    OptionError,
    OutOfMemoryError,
    ScalarRangeError,
)
from .native import _core

if TYPE_CHECKING:
    from .curves import Curve

_RESTATE = "Check the curve, the form (canonical or montgomery) and the byte order."


def translate(failure: _core.Failure, curve: Curve) -> MultiscalarError:
    """The error of the public hierarchy that says what `failure` says."""
    kind, index, text = failure.args
    name = curve.name
    if kind == "scalar-range":
        return ScalarRangeError(
            text,
            index=index,
            accepted=f"0 <= s < r = {curve.r:#x} of {name}",
            hint="Pass reduce=True to reduce modulo r.",
        )
    if kind == "coordinate-range":
        return CoordinateRangeError(
            text, index=index, accepted=f"0 <= x, y < p = {curve.p:#x} of {name}", hint=_RESTATE
        )
    if kind == "not-on-curve":
        return NotOnCurveError(
            f"{text} {name}",
            index=index,
            accepted=f"y^2 = x^3 + {curve.b} mod p, or (0, 0) for infinity",
            hint=_RESTATE,
        )
    if kind == "not-in-subgroup":
        return NotInSubgroupError(
            f"{text} of {name}", index=index, accepted="points P with r P = 0", hint="Clear the cofactor first."
        )
    if kind == "encoding":
        return EncodingError(
            text,
            index=index,
            accepted=f"encodings of {name} as its codec writes them",
            hint="Check the codec, compressed= and the byte order.",
        )
    if kind == "codec":
        return OptionError(text, accepted=f"codecs of {name}: {', '.join(curve.codecs)} (icicle: uncompressed only)")
    if kind == "length":
        return LengthError(text, accepted="at most as many scalars as bases")
    if kind == "option":
        return OptionError(text, hint="Leave it out: the cost model chooses well.")
    if kind == "isa":
        return BackendUnavailableError(
            text,
            accepted="auto, " + ", ".join(_core.isas()),
            hint='Use isa="auto", or unset MULTISCALAR_ISA.',
        )
    if kind == "too-many":
        return OutOfMemoryError(text, hint="Split the sum: sums of parts add up.")
    if kind == "cancelled":
        return CancelledError("the call was cancelled")
    return InternalError(f"the native core failed: {text}", hint="Please report this with the inputs' sizes.")


class translated:
    """`with translated(curve): ...` raises what the core reports as errors of the package, without its traceback."""

    __slots__ = ("_curve",)

    def __init__(self, curve: Curve) -> None:
        self._curve = curve

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, _core.Failure):
            raise translate(error, self._curve) from None
