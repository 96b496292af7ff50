"""Points of G1 as rows of `uint64[n, 2, 6]`, canonical, infinity zero; and their compressed bytes.

The verifier's small sums run through the engine like any other multiplication.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from ..errors import EncodingError
from .scalars import CURVE, native, threads

Points = npt.NDArray[np.uint64]

COMPRESSED: Final = 48
UNCOMPRESSED: Final = 96
LIMBS: Final = 6


def empty(n: int) -> Points:
    """n rows of no particular value."""
    return np.empty((n, 2, LIMBS), np.uint64)


def row(x: int, y: int) -> Points:
    """One point as an array of one row; (0, 0) is infinity."""
    data = x.to_bytes(COMPRESSED, "little") + y.to_bytes(COMPRESSED, "little")
    return np.frombuffer(data, "<u8").astype(np.uint64).reshape(1, 2, LIMBS)


def negated(rows: Points) -> Points:
    """The rows with y replaced by p - y."""
    out = rows.copy()
    for i, point in enumerate(rows):
        x, y = (int.from_bytes(part.tobytes(), "little") for part in point)
        out[i] = row(x, (CURVE.p - y) % CURVE.p)[0]
    return out


def stack(parts: Sequence[Points]) -> Points:
    """Arrays of rows, one after the other."""
    return np.concatenate(list(parts)) if parts else empty(0)


def compress(rows: Points) -> bytes:
    """48 bytes a point."""
    return bytes(native.compress(np.ascontiguousarray(rows)))


def decompress(data: bytes, what: str) -> Points:
    """Rows from 48-byte points; each must be a canonical encoding of a point of the subgroup.

    Errors: `EncodingError` with the index, naming `what` was read.
    """
    if len(data) % COMPRESSED:
        raise EncodingError(f"{what}: {len(data)} bytes are no whole number of {COMPRESSED}-byte points")
    out = empty(len(data) // COMPRESSED)
    try:
        native.decompress(data, out, threads())
    except ValueError as error:
        raise EncodingError(f"{what}: {error}", accepted="canonical compressed points of the subgroup") from error
    return out


def read_uncompressed(data: bytes, what: str, *, subgroup: bool) -> Points:
    """Rows from 96-byte points, checked to lie on the curve, and in the subgroup if asked."""
    if len(data) % UNCOMPRESSED:
        raise EncodingError(f"{what}: {len(data)} bytes are no whole number of {UNCOMPRESSED}-byte points")
    out = empty(len(data) // UNCOMPRESSED)
    try:
        native.read_uncompressed(data, out, subgroup, threads())
    except ValueError as error:
        raise EncodingError(f"{what}: {error}", accepted="uncompressed points of the curve") from error
    return out
