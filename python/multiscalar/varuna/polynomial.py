"""Polynomials that get committed: coefficients with room for their blinding in front.

The layout is the trick: [3 blinding coefficients | coefficients] is, as it lies, the scalar vector of one
multiplication over the bases [3 hiding powers | powers], so hiding costs no call and no copy of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from . import scalars
from .scalars import Vector
from .srs import HIDING_POWERS


@dataclass
class Polynomial:
    """Coefficients, lowest first, and a blinding polynomial of degree 2 (zero unless hiding)."""

    slots: Vector

    @classmethod
    def zeros(cls, count: int) -> Polynomial:
        """Room for `count` coefficients."""
        return cls(scalars.zeros(HIDING_POWERS + count))

    @classmethod
    def of(cls, coefficients: Vector) -> Polynomial:
        """A copy of `coefficients`, unblinded."""
        out = cls.zeros(len(coefficients))
        out.coefficients[:] = coefficients
        return out

    @property
    def coefficients(self) -> Vector:
        """A view."""
        return self.slots[HIDING_POWERS:]

    @property
    def blinding(self) -> Vector:
        """A view."""
        return self.slots[:HIDING_POWERS]

    def add_scaled(self, k: int, other: Polynomial) -> None:
        """self += k other, blinding included; `other` may be shorter."""
        scalars.add_scaled(self.slots, k, other.slots)
