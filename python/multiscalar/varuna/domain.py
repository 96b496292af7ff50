"""Domains: the subgroups of 2^k-th roots of unity on which Varuna interpolates.

The vanishing polynomial of a domain of n elements is X^n - 1; its selector against a smaller domain is
s(X) = |small| v_large(X) / (|large| v_small(X)).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from . import scalars
from .scalars import MODULUS, Vector


def size_for(count: int) -> int:
    """The smallest power of two that is at least `count` (and at least 1)."""
    return 1 << max(count - 1, 0).bit_length()


@dataclass(frozen=True)
class Domain:
    """The group of order `size`, a power of two."""

    size: int

    @cached_property
    def root(self) -> int:
        """Its generator, the one that snarkVM uses."""
        return scalars.from_bytes(scalars.native.root_of_unity(self.size.bit_length() - 1))

    def vanishing_at(self, x: int) -> int:
        """x^n - 1."""
        return (pow(x, self.size, MODULUS) - 1) % MODULUS

    def contains(self, x: int) -> bool:
        """Whether x is an element."""
        return self.vanishing_at(x) == 0

    def selector_at(self, x: int, large: Domain) -> int:
        """s_{large, self}(x) for x outside this domain."""
        if large.size == self.size:
            return 1
        bottom = large.size * self.vanishing_at(x)
        return self.size * large.vanishing_at(x) * scalars.inverse(bottom) % MODULUS

    def lagrange_at(self, x: int) -> Vector:
        """All Lagrange polynomials of this domain at x outside it: L_i(x) = v(x) / n * w^i / (x - w^i)."""
        powers = elements(self.size)
        out = powers.copy()
        scalars.subtract_from(x, out)
        scalars.invert(out)
        scalars.multiply(out, powers)
        scalars.scale(out, self.vanishing_at(x) * scalars.inverse(self.size))
        return out


@lru_cache(maxsize=32)
def elements(size: int) -> Vector:
    """All elements, 1, w, w^2, ...; shared, so read-only."""
    out = scalars.powers(Domain(size).root, size)
    out.flags.writeable = False
    return out
