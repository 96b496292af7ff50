"""Scalars in named shapes: what provers really commit to, and what breaks bucket methods.

All come from `inputs.Stream`, so one seed gives the same scalars on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from . import memory
from .arrays import Form, ScalarArray, word
from .curves import Curve
from .inputs import Limbs, Stream, size

Array = npt.NDArray[Any]
_LOW: Final = np.uint64(2**32 - 1)


class ScalarShape(StrEnum):
    """Names of distributions. All are uint64[n, 4] except the narrow ones at the end, which are arrays of that type."""

    UNIFORM = "uniform"  # below r
    SMALL = "small"  # below 2^16
    BITS = "bits"  # 0 or 1, evenly
    SIGNED_BITS = "signed-bits"  # 0, 1, r - 1 in thirds
    EQUAL = "equal"  # one uniform scalar, n times
    ZERO = "zero"
    ONE = "one"
    MINUS_ONE = "minus-one"  # r - 1
    ONE_HOT = "one-hot"  # one uniform scalar, the rest 0
    ONE_HUGE = "one-huge"  # r - 1 once, the rest 1
    SPARSE = "sparse"  # 90 % zero, the rest uniform
    POWERS = "powers"  # 2^(i mod bit length of r)
    TOP = "top"  # all in the top bucket of the top window: r - 1 - (i mod 16)
    WITNESS = "witness"  # half bits, 30 % bytes, 20 % uniform
    BOOL = "bool"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"


def _full(low: Array) -> Limbs:
    out = np.zeros((len(low), 4), dtype=np.uint64)
    out[:, 0] = low
    return out


def _rows(value: int, n: int) -> Limbs:
    row = np.frombuffer(value.to_bytes(32, "little"), dtype="<u8").astype(np.uint64)
    return np.tile(row, (n, 1))


def _mixed(stream: Stream, n: int, below: tuple[tuple[int, int], ...], r: int) -> Limbs:
    """Of each hundred scalars the first share is below the first bound, and so on; the rest is uniform below r."""
    draw = stream.words(n)
    percent = (draw >> np.uint64(32)) % np.uint64(100)
    out, from_ = stream.below(r, n), 0
    for share, bound in below:
        rows = (percent >= from_) & (percent < from_ + share)
        out[rows] = _full((draw[rows] & _LOW) % np.uint64(bound))
        from_ += share
    return out


def _signed_bits(stream: Stream, n: int, r: int) -> Limbs:
    kind = stream.words(n) % np.uint64(3)
    out = _full(kind & np.uint64(1))
    out[kind == 2] = _rows(r - 1, 1)
    return out


def _one(stream: Stream, n: int, rest: int, value: int) -> Limbs:
    out = _full(np.full(n, rest, dtype=np.uint64))
    if n:
        out[int(stream.words(1)[0]) % n] = _rows(value, 1)
    return out


def _uniform(stream: Stream, r: int) -> int:
    return int.from_bytes(stream.below(r, 1).astype("<u8").tobytes(), "little")


def _pattern(values: list[int], n: int) -> Limbs:
    return np.concatenate([_rows(value, 1) for value in values])[np.arange(n) % len(values)]


_MAKERS: Final[dict[ScalarShape, Callable[[Stream, int, int], Array]]] = {
    ScalarShape.UNIFORM: lambda stream, n, r: stream.below(r, n),
    ScalarShape.SMALL: lambda stream, n, r: _full(stream.words(n) >> np.uint64(48)),
    ScalarShape.BITS: lambda stream, n, r: _full(stream.words(n) >> np.uint64(63)),
    ScalarShape.SIGNED_BITS: _signed_bits,
    ScalarShape.EQUAL: lambda stream, n, r: _rows(_uniform(stream, r), n),
    ScalarShape.ZERO: lambda stream, n, r: _rows(0, n),
    ScalarShape.ONE: lambda stream, n, r: _rows(1, n),
    ScalarShape.MINUS_ONE: lambda stream, n, r: _rows(r - 1, n),
    ScalarShape.ONE_HOT: lambda stream, n, r: _one(stream, n, 0, _uniform(stream, r)),
    ScalarShape.ONE_HUGE: lambda stream, n, r: _one(stream, n, 1, r - 1),
    ScalarShape.SPARSE: lambda stream, n, r: _mixed(stream, n, ((90, 1),), r),
    ScalarShape.POWERS: lambda stream, n, r: _pattern([1 << i for i in range(r.bit_length() - 1)], n),
    ScalarShape.TOP: lambda stream, n, r: _pattern([r - 1 - i for i in range(16)], n),
    ScalarShape.WITNESS: lambda stream, n, r: _mixed(stream, n, ((50, 2), (30, 256)), r),
    ScalarShape.BOOL: lambda stream, n, r: stream.words(n) >> np.uint64(63) != 0,
    ScalarShape.UINT8: lambda stream, n, r: (stream.words(n) >> np.uint64(56)).astype(np.uint8),
    ScalarShape.UINT16: lambda stream, n, r: (stream.words(n) >> np.uint64(48)).astype(np.uint16),
    ScalarShape.UINT32: lambda stream, n, r: (stream.words(n) >> np.uint64(32)).astype(np.uint32),
    ScalarShape.UINT64: lambda stream, n, r: stream.words(n),
}


def random_scalars(curve: Curve, n: int, seed: int, shape: str) -> ScalarArray:
    """See `Curve.random_scalars`."""
    n, kind = size(n), word(ScalarShape, shape, "shape")
    memory.require(n * 32 * 3, f"{n:,} scalars")
    return ScalarArray.unverified(_MAKERS[kind](Stream(seed, "scalars"), n, curve.r), curve, Form.CANONICAL)
