"""What the kernels leave behind, as affine points.

Sums come as (X : Y : Z) in Montgomery form; one inversion for all of them on the CPU (2 us) is cheaper than on the
device, where a single lane would take 17 us or more.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from struct import unpack
from typing import Final

from .. import _core
from ..curves import Curve
from ..errors import NotInSubgroupError
from .steps import NO_INDEX

_NONE: Final = NO_INDEX.to_bytes(4, "little")


def decode(data: bytes, curve: Curve) -> list[tuple[int, int]]:
    """(x, y) of each sum, (0, 0) for infinity; `data` is [batch][3][8 L] bytes, little-endian.

    Errors: `NotInSubgroupError` when the formulas met two points whose difference has order two: that happens only to
    points outside the subgroup of order r, on a curve of even order.
    """
    affine, exceptional = _core.normalize(curve.name, data)
    if exceptional is not None:
        raise NotInSubgroupError(
            f"some points are on {curve.name} and outside its subgroup, with differences of order two",
            accepted="points P with r P = 0 on the GPU; the CPU adds up any points of the curve",
            hint='Use check="subgroup" to find them, or backend="cpu".',
        )
    width = 8 * curve.limbs
    if len(affine) == 2 * width:
        return [(int.from_bytes(affine[:width], "little"), int.from_bytes(affine[width:], "little"))]
    numbers: Callable[[bytes, str], int] = int.from_bytes  # type: ignore[assignment] # takes any word, refuses others
    coordinates = map(numbers, unpack(f"{width}s" * (len(affine) // width), affine), repeat("little"))
    return list(zip(coordinates, coordinates, strict=True))


def first_bad(status: bytes, word: int) -> int | None:
    """The lowest index of an inadmissible scalar (word 0) or point (word 1), None if there is none."""
    place = status[4 * word : 4 * word + 4]
    return None if place == _NONE else int.from_bytes(place, "little")
