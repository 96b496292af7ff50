"""Verifying and proving keys, and their bytes.

A verifying key is `info | u64 12 | 12 compressed points | id`, 664 bytes; Aleo wraps it as `1 | key | u64 variables`,
673 bytes. A proving key holds the index and prepared bases; it is rebuilt from the circuit, not stored.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from . import points
from .commitment import CommitterKey
from .indexer import MATRICES, POLYNOMIALS, Index, Info, index
from .points import Points
from .polynomial import Polynomial
from .r1cs import R1cs
from .reader import Reader
from .scalars import LARGEST_LOG
from .srs import Srs

COMMITMENTS: Final = len(MATRICES) * len(POLYNOMIALS)
ID_BYTES: Final = 32
WRAPPED_VERSION: Final = 1


@dataclass(frozen=True)
class VerifyingKey:
    """What the verifier knows of a circuit: numbers, twelve commitments, id."""

    info: Info
    commitments: Points
    id: bytes

    def to_bytes(self) -> bytes:
        """664 bytes, as snarkVM writes them."""
        count = COMMITMENTS.to_bytes(8, "little")
        return self.info.to_bytes() + count + points.compress(self.commitments) + self.id

    def to_aleo_bytes(self, variables: int | None = None) -> bytes:
        """673 bytes: with version and number of variables around (default: the count of `info`)."""
        count = self.info.variables if variables is None else variables
        return bytes([WRAPPED_VERSION]) + self.to_bytes() + count.to_bytes(8, "little")

    @classmethod
    def from_bytes(cls, data: bytes) -> VerifyingKey:
        """From 664 bytes, or from the 673 that Aleo uses. Errors: `EncodingError`, `CircuitError`."""
        reader = Reader(data, "verifying key")
        wrapped = reader.left() == 673
        if wrapped and reader.take(1)[0] != WRAPPED_VERSION:
            raise reader.fail(f"version {data[0]}, accepted: {WRAPPED_VERSION}")
        key = read_verifying_key(reader)
        if wrapped:
            reader.take(8)
        reader.end()
        return key


def read_info(reader: Reader) -> Info:
    """Six numbers, checked to describe a possible circuit."""
    most = 1 << LARGEST_LOG
    public, variables, constraints, a, b, c = (
        reader.number(1, most, meaning)
        for meaning in ("public inputs", "variables", "rows", "entries of A", "entries of B", "entries of C")
    )
    info = Info(public, variables, constraints, (a, b, c))
    info.check()
    return info


def read_verifying_key(reader: Reader) -> VerifyingKey:
    """The 664 bytes at the cursor."""
    info = read_info(reader)
    reader.number(COMMITMENTS, COMMITMENTS, "number of commitments")
    return VerifyingKey(info, reader.points(COMMITMENTS), reader.take(ID_BYTES))


@dataclass(frozen=True)
class ProvingKey:
    """An indexed circuit, its verifying key, and the bases its proofs commit over."""

    index: Index
    verifying: VerifyingKey
    committer: CommitterKey = field(repr=False)

    def with_fresh_bases(self) -> ProvingKey:
        """The same key with bases prepared anew, for the backend and cutoff in force now."""
        info = self.index.info
        return replace(self, committer=CommitterKey.of(self.committer.srs, info.powers, info.bounds))


def setup(circuit: R1cs, srs: Srs, *, hiding: bool = True) -> ProvingKey:
    """The keys of a circuit. Deterministic: anyone can repeat it.

    Cost: twelve multiplications of up to |K| terms. Errors: `CircuitError`, `SrsError` when the setup is too short.
    """
    indexed = index(circuit, hiding=hiding)
    committer = CommitterKey.of(srs, indexed.info.powers, indexed.info.bounds)
    polynomials = [(Polynomial.of(p), None) for p in indexed.polynomials()]
    verifying = VerifyingKey(indexed.info, committer.commit(polynomials), indexed.id)
    return ProvingKey(indexed, verifying, committer)
