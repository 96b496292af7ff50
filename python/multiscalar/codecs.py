"""Points as bytes, in the formats of other libraries, by name: never guessed, strict both ways.

A codec and a form (compressed or not) fix every bit; decoding accepts exactly the bytes that encoding writes. The
formats are described in crates/core/src/codec. Cost: a square root for every compressed point that is decoded.
"""

from __future__ import annotations

import numpy as np

from . import memory
from .arrays import Check, Form, PointArray, word
from .curves import Curve
from .errors import EncodingError, InputTypeError, OptionError, shown
from .failures import translated
from .native import _core


def encode(points: PointArray, codec: str, *, compressed: bool) -> bytes:
    """See `PointArray.to_bytes`."""
    curve = points.curve
    _named(curve, codec, compressed)
    with translated(curve):
        return _core.encode(curve.name, points.data, points.form is Form.MONTGOMERY, codec, compressed)


def _named(curve: Curve, codec: object, compressed: object) -> None:
    """Refuse what is no name of a format; whether the curve has the format is the core's to say."""
    if not isinstance(codec, str):
        raise OptionError(f"codec = {shown(codec)}", accepted=", ".join(curve.codecs))
    if not isinstance(compressed, bool):
        raise OptionError(f"compressed = {shown(compressed)}", accepted="True or False")


def decode(curve: Curve, data: object, codec: str, *, compressed: bool, check: str) -> PointArray:
    """See `Curve.decode`."""
    wanted = word(Check, check, "check")
    _named(curve, codec, compressed)
    try:
        view = memoryview(data)  # type: ignore[arg-type]
        view = view.cast("B") if view.nbytes else memoryview(b"")  # Python casts no view without elements
    except (TypeError, ValueError) as error:
        raise InputTypeError(
            f"encoded points are a {type(data).__name__}", accepted="bytes, bytearray, memoryview or a contiguous array"
        ) from error
    with translated(curve):
        size = _core.point_size(curve.name, codec, compressed)
    if len(view) % size:
        raise EncodingError(
            f"{len(view)} bytes are no whole number of points",
            accepted=f"multiples of {size} bytes, one {'compressed' if compressed else 'uncompressed'} {codec} point",
            hint="Check the codec and compressed=.",
        )
    n = len(view) // size
    memory.require(n * 40 * curve.limbs, f"{n:,} points of {curve.name}")
    out = np.empty((n, 2, curve.limbs), dtype=np.uint64)
    with translated(curve):
        _core.decode(curve.name, bytes(view), codec, compressed, str(wanted), out)
    checked = Check.CURVE if compressed and wanted is Check.NONE else wanted
    return PointArray.unverified(out, curve, wanted=checked, checked=checked)
