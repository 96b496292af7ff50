"""What the kernels leave behind, as affine points: x = X / Z, y = Y / Z.

All three are in Montgomery form, whose factor cancels in the quotient. One inversion a result on the host (about
20 us) is cheaper than on the device, where a single lane would take 130 us.
"""

from __future__ import annotations

from ..curves import Curve
from .layout import NO_INDEX


def decode(data: bytes, curve: Curve, batch: int) -> list[tuple[int, int, bool]]:
    """(x, y, is_infinity) of each of `batch` results; `data` is [batch][3][8 L] bytes, little-endian."""
    width = 8 * curve.limbs
    results = []
    for k in range(batch):
        x, y, z = (
            int.from_bytes(data[(3 * k + j) * width : (3 * k + j + 1) * width], "little") % curve.p for j in range(3)
        )
        if z == 0:
            results.append((0, 0, True))
            continue
        inverse = pow(z, -1, curve.p)
        results.append((x * inverse % curve.p, y * inverse % curve.p, False))
    return results


def first_bad(status: bytes, word: int) -> int | None:
    """The lowest index of an inadmissible scalar (word 0) or point (word 1), None if there is none."""
    index = int.from_bytes(status[4 * word : 4 * word + 4], "little")
    return None if index == NO_INDEX else index
