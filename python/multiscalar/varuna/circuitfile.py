"""Circuits with assignments as bytes: how a circuit travels to a peer.

u64 public, u64 private; A, B, C, each u64 rows and per row u64 length and (32-byte value, u64 column); u64 number of
assignments, each (public + private) 32-byte values with the constant 1 first. All little-endian, values canonical.
"""

from __future__ import annotations

from collections.abc import Sequence

from . import scalars
from .indexer import matrix_bytes
from .r1cs import Assignment, R1cs


def to_bytes(circuit: R1cs, assignments: Sequence[Assignment]) -> bytes:
    """The circuit and its assignments."""
    parts = [circuit.public.to_bytes(8, "little"), circuit.private.to_bytes(8, "little")]
    parts += [matrix_bytes(matrix) for matrix in circuit.matrices]
    parts.append(len(assignments).to_bytes(8, "little"))
    for one in assignments:
        parts += [scalars.canonical(one.public).tobytes(), scalars.canonical(one.private).tobytes()]
    return b"".join(parts)
