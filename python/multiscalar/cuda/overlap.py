"""How much of a large sum goes first, so that its work hides the way of the rest of the scalars from the host.

Digits alone hide little: where copying takes a good part of computing, a first part of the terms is summed while the
scalars of the second part come in. That part's buckets are reduced for themselves, which costs a little; the model of
`tuning` knows how much. The choice depends on the shape of the call only.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Final

from .shape import DeviceShape, Shape
from .tune import tune
from .tuning import estimate

LINK_BYTES_PER_US: Final = 50e3  # page-locked memory over PCI Express 5; a slower link gains more from the same cut
SMALLEST_BYTES: Final = 64 << 20  # below this there is nothing to gain
SHARES: Final = (16, 8, 5, 4)  # the first part is one of this many
WORTH: Final = 0.98


def first_part(shape: Shape, device: DeviceShape, windows: int, path: str | None) -> int:
    """Terms to sum first while the others arrive, 0 to wait for all: of one host vector of `shape`."""
    if shape.batch > 1 or shape.n * shape.scalar_bytes < SMALLEST_BYTES:
        return 0
    # Asked for the nearest n of three significant bits: nine tunings take long, and the best share changes slowly.
    low = max(0, shape.n.bit_length() - 3)
    share = _share(replace(shape, n=shape.n >> low << low), device, windows, path)
    return shape.n // share if share else 0


@lru_cache(maxsize=256)
def _share(shape: Shape, device: DeviceShape, windows: int, path: str | None) -> int:
    """One of this many parts goes first; 0 for none."""
    best, least = 0, WORTH * _alone(*_times(shape, device, windows, path, shape.n))
    for share in SHARES:
        terms = shape.n // share
        copy, digits, compute = _times(shape, device, windows, path, terms)
        more_copy, more_digits, more_compute = _times(shape, device, windows, path, shape.n - terms)
        ready = max(_alone(copy, digits, compute) + more_digits, copy + more_copy)
        total = ready + more_compute - more_digits
        if total < least:
            best, least = share, total
    return best


def _alone(copy: float, digits: float, compute: float) -> float:
    """A sum with nothing before it: digits follow the scalars, the rest follows the digits."""
    return max(copy, digits) + compute - digits


def _times(shape: Shape, device: DeviceShape, windows: int, path: str | None, n: int) -> tuple[float, float, float]:
    """Of a sum of n terms, in microseconds: the way of its scalars, its digits, all of its work."""
    part = replace(shape, n=n)
    cost = estimate(part, tune(part, device, windows=windows, path=path), device)
    return n * shape.scalar_bytes / LINK_BYTES_PER_US, cost.digits, cost.total
