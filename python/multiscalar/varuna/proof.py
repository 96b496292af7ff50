"""A proof and its bytes: the layout of snarkVM, the same in all versions; no version is written in it.

Hiding: 468 + 344 n + 144 J bytes for n circuits with J instances in all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from . import points, scalars
from .points import Points
from .reader import Reader

Triple = tuple[int, int, int]

MAX_CIRCUITS: Final = 1 << 10
MAX_INSTANCES: Final = 1 << 16
OPENINGS: Final = 3


@dataclass(frozen=True)
class Opening:
    """The witness of an evaluation, and the value of the blinding polynomial where there is one."""

    witness: Points
    blinding: int | None


@dataclass(frozen=True)
class Proof:
    """All messages of the prover. Points are rows `uint64[k, 2, 6]`."""

    batch_sizes: tuple[int, ...]
    w: Points  # one per instance, circuit by circuit
    mask: Points | None  # only in hiding mode
    h_0: Points
    g_1: Points
    h_1: Points
    g: tuple[Points, Points, Points]  # for A, B, C: one point a circuit
    h_2: Points
    g_1_value: int
    g_values: tuple[list[int], list[int], list[int]]  # for A, B, C: one value a circuit
    sigmas: tuple[tuple[Triple, ...], ...]  # one triple an instance, by circuit
    sums: tuple[Triple, ...]  # one a circuit
    openings: tuple[Opening, ...]  # at alpha, beta, gamma

    @property
    def hiding(self) -> bool:
        """Whether the proof hides its witness."""
        return self.mask is not None

    def to_bytes(self) -> bytes:
        """The bytes of the proof."""
        return b"".join(self._parts())

    def to_aleo_bytes(self) -> bytes:
        """The bytes with the leading version 1 that Aleo puts in front."""
        return b"\x01" + self.to_bytes()

    def _parts(self) -> Iterator[bytes]:
        for number in (len(self.batch_sizes), *self.batch_sizes):
            yield number.to_bytes(8, "little")
        yield points.compress(self.w)
        yield bytes([self.mask is not None])
        for rows in (self.mask, self.h_0, self.g_1, self.h_1, *self.g, self.h_2):
            if rows is not None:
                yield points.compress(rows)
        triples = [triple for instances in self.sigmas for triple in instances] + list(self.sums)
        for value in (self.g_1_value, *(v for values in self.g_values for v in values)):
            yield scalars.to_bytes(value)
        for triple in triples:
            yield from map(scalars.to_bytes, triple)
        yield len(self.openings).to_bytes(8, "little")
        for opening in self.openings:
            yield points.compress(opening.witness)
            yield bytes([opening.blinding is not None])
            if opening.blinding is not None:
                yield scalars.to_bytes(opening.blinding)

    @classmethod
    def from_bytes(cls, data: bytes) -> Proof:
        """Parse a proof. Every point is checked to lie in the subgroup. Errors: `EncodingError`."""
        reader = Reader(data, "proof")
        proof = _read(reader)
        reader.end()
        return proof

    @classmethod
    def from_aleo_bytes(cls, data: bytes) -> Proof:
        """Parse a proof behind the version byte 1."""
        reader = Reader(data, "proof")
        if reader.take(1) != b"\x01":
            raise reader.fail("the version is not 1")
        proof = _read(reader)
        reader.end()
        return proof


def _triples(reader: Reader, count: int) -> tuple[Triple, ...]:
    return tuple((reader.scalar(), reader.scalar(), reader.scalar()) for _ in range(count))


def _opening(reader: Reader) -> Opening:
    witness = reader.points(1)
    return Opening(witness, reader.scalar() if reader.flag("a blinding value") else None)


def _read(reader: Reader) -> Proof:
    circuits = reader.number(1, MAX_CIRCUITS, "number of circuits")
    sizes = tuple(reader.number(1, MAX_INSTANCES, f"batch size {i}") for i in range(circuits))
    if sum(sizes) > MAX_INSTANCES:
        raise reader.fail(f"{sum(sizes):,} instances, accepted: up to {MAX_INSTANCES:,}")
    w = reader.points(sum(sizes))
    mask = reader.points(1) if reader.flag("the mask") else None
    h_0, g_1, h_1 = reader.points(1), reader.points(1), reader.points(1)
    g = reader.points(circuits), reader.points(circuits), reader.points(circuits)
    h_2 = reader.points(1)
    g_1_value = reader.scalar()
    g_values = reader.scalars(circuits), reader.scalars(circuits), reader.scalars(circuits)
    sigmas = tuple(_triples(reader, size) for size in sizes)
    sums = _triples(reader, circuits)
    reader.number(OPENINGS, OPENINGS, "number of openings")
    openings = tuple(_opening(reader) for _ in range(OPENINGS))
    return Proof(sizes, w, mask, h_0, g_1, h_1, g, h_2, g_1_value, g_values, sigmas, sums, openings)
