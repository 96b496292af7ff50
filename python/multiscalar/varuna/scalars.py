"""Vectors over the scalar field of BLS12-377, and single scalars as Python ints.

A vector is a C-contiguous `uint64[n, 4]` in Montgomery form (R = 2^256): the form in which native code computes and
in which the engine takes scalars, so nothing is copied or converted between a polynomial and its commitment.
Functions named by a verb change their first argument in place. Costs are those of `crates/snark`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from ..curves import curve
from ..native import _core
from ..settings import setting
from .clock import phase

Vector = npt.NDArray[np.uint64]

CURVE: Final = curve("bls12-377")
MODULUS: Final = CURVE.r
BYTES: Final = 32
TWO_ADICITY: Final = 47
LARGEST_LOG: Final = 22  # largest transform: 2^22 elements


class SparseMatrix(Protocol):
    """A sparse matrix that native code holds."""

    def multiply(self, x: Vector, out: Vector, threads: int) -> None:
        """out = M x; elements past the last row become zero."""


native: Final = _core.snark


def threads() -> int:
    """Most threads one operation may use; 0 means all that the machine has."""
    return setting("threads") or 0


def to_bytes(value: int) -> bytes:
    """Canonical little-endian bytes of value mod r."""
    return (operator.index(value) % MODULUS).to_bytes(BYTES, "little")


def from_bytes(data: bytes) -> int:
    """The inverse of `to_bytes`, without a check of the range."""
    return int.from_bytes(data, "little")


def inverse(value: int) -> int:
    """1 / value mod r. Errors: ValueError for zero."""
    return pow(value, -1, MODULUS)


# --- making and reading vectors -----------------------------------------------------------------


def zeros(n: int) -> Vector:
    """n zeros."""
    return np.zeros((n, 4), np.uint64)


def empty(n: int) -> Vector:
    """n elements of no particular value."""
    return np.empty((n, 4), np.uint64)


def vector(values: Iterable[int]) -> Vector:
    """Integers, taken mod r, as a vector."""
    data = b"".join(to_bytes(value) for value in values)
    out = np.frombuffer(data, "<u8").astype(np.uint64).reshape(-1, 4)
    native.from_canonical(out, threads())
    return out


def from_canonical(limbs: Vector) -> Vector:
    """A copy of canonical limbs as a vector. Errors: ValueError with the index of the first value >= r."""
    out = np.array(limbs, np.uint64, order="C").reshape(-1, 4)
    native.from_canonical(out, threads())
    return out


def canonical(v: Vector) -> Vector:
    """A copy as canonical limbs."""
    out = v.copy()
    native.to_canonical(out, threads())
    return out


def integers(v: Vector) -> list[int]:
    """The elements as ints: convenience, not for long vectors."""
    data = canonical(v).tobytes()
    return [from_bytes(data[i : i + BYTES]) for i in range(0, len(data), BYTES)]


def integer(v: Vector, index: int) -> int:
    """One element as an int."""
    return integers(v[index : index + 1])[0]


def powers(base: int, n: int, first: int = 1) -> Vector:
    """first, first * base, ..., n of them."""
    out = empty(n)
    native.powers(out, to_bytes(first), to_bytes(base), threads())
    return out


# --- arithmetic, in place -----------------------------------------------------------------------


def add(a: Vector, b: Vector) -> None:
    """a += b; b may be shorter."""
    native.add(a[: len(b)], b, threads())


def subtract(a: Vector, b: Vector) -> None:
    """a -= b; b may be shorter."""
    native.sub(a[: len(b)], b, threads())


def multiply(a: Vector, b: Vector) -> None:
    """a *= b, element by element."""
    native.mul(a, b, threads())


def add_scaled(a: Vector, k: int, b: Vector) -> None:
    """a += k b; b may be shorter."""
    native.add_scaled(a[: len(b)], to_bytes(k), b, threads())


def add_constant(a: Vector, k: int, index: int = 0) -> None:
    """a[index] += k."""
    native.add(a[index : index + 1], vector([k]), threads())


def scale(a: Vector, k: int) -> None:
    """a *= k."""
    native.scale(a, to_bytes(k), threads())


def subtract_from(k: int, a: Vector) -> None:
    """a = k - a."""
    native.subtract_from(a, to_bytes(k), threads())


def invert(a: Vector) -> None:
    """a = 1 / a, element by element. Errors: ValueError with the index of a zero."""
    native.invert(a, threads())


def dot(a: Vector, b: Vector) -> int:
    """Sum of products."""
    return from_bytes(native.dot(a, b, threads()))


# --- polynomials, by coefficients, lowest first --------------------------------------------------


def transform(a: Vector) -> None:
    """Coefficients to values on the domain of len(a) points."""
    with phase("ntt"):
        native.ntt(a, threads())


def interpolate(a: Vector) -> None:
    """Values on the domain of len(a) points to coefficients."""
    with phase("ntt"):
        native.intt(a, threads())


def evaluate(p: Vector, z: int) -> int:
    """p(z)."""
    return from_bytes(native.evaluate(p, to_bytes(z), threads()))


def divide_linear(p: Vector, z: int) -> int:
    """p becomes (p - p(z)) / (X - z), its top coefficient zero; returns p(z)."""
    return from_bytes(native.divide_linear(p, to_bytes(z), threads()))


def divide_vanishing(p: Vector, n: int) -> tuple[Vector, Vector]:
    """Quotient and remainder of p by X^n - 1, as views of p, which is overwritten."""
    native.divide_vanishing(p, n, threads())
    return p[n:], p[:n]


def padded(p: Vector, n: int) -> Vector:
    """A copy of p with zeros up to n elements."""
    out = zeros(n)
    out[: len(p)] = p
    return out
