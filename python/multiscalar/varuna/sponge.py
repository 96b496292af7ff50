"""The Fiat-Shamir sponge: Poseidon over Fq with snarkVM's encodings, in native code.

The borders of `absorb_scalars` calls matter (limbs are packed within a call, never across), those of bytes and points
do not beyond the 47-byte chunks of one `absorb_bytes` call.
"""

from __future__ import annotations

from collections.abc import Iterable

from . import scalars
from .points import Points
from .scalars import BYTES, Vector, native


class Sponge:
    """A duplex sponge."""

    __slots__ = ("_native",)

    def __init__(self) -> None:
        self._native = native.Sponge()

    def copy(self) -> Sponge:
        """An equal sponge that goes its own way."""
        other = Sponge.__new__(Sponge)
        other._native = self._native.copy()
        return other

    def absorb_bytes(self, data: bytes) -> None:
        """Bytes, in chunks of 47."""
        self._native.absorb_bytes(data)

    def absorb_points(self, rows: Points) -> None:
        """Points, three field elements each."""
        self._native.absorb_points(rows)

    def absorb_vector(self, values: Vector) -> None:
        """One list of scalars."""
        self._native.absorb_scalars(values)

    def absorb_scalars(self, values: Iterable[int]) -> None:
        """One list of scalars given as ints."""
        self.absorb_vector(scalars.vector(values))

    def challenges(self, count: int) -> list[int]:
        """`count` challenges of 252 bits, drawn in one call."""
        return _split(self._native.challenges(count))

    def challenge(self) -> int:
        """One challenge of 252 bits."""
        return self.challenges(1)[0]

    def short_challenge(self) -> int:
        """One challenge of 168 bits."""
        return _split(self._native.short_challenges(1))[0]


def _split(data: bytes) -> list[int]:
    return [scalars.from_bytes(data[i : i + BYTES]) for i in range(0, len(data), BYTES)]
