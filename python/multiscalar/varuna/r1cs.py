"""Rank-1 constraint systems: (A z) * (B z) = C z, row by row.

z = (public inputs, private ones); public input 0 is the constant 1. `ConstraintSystem` builds one from Python with
its witness; `Matrix` is the sparse form that everything else takes: rows sorted by column, no zero, no duplicate.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from ..errors import CircuitError
from . import scalars
from .scalars import MODULUS, Vector

MAX_ENTRIES: Final = 1 << scalars.LARGEST_LOG


@dataclass(frozen=True)
class Matrix:
    """Row i holds (columns[k], values[k]) for starts[i] <= k < starts[i + 1]; values are a vector (Montgomery)."""

    starts: npt.NDArray[np.uint64]
    columns: npt.NDArray[np.uint32]
    values: Vector

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.starts) - 1

    @property
    def entries(self) -> int:
        """Number of non-zero entries."""
        return len(self.columns)

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[int, int]]) -> Matrix:
        """From one mapping {column: value} a row."""
        cleaned = [sorted((c, v % MODULUS) for c, v in row.items() if v % MODULUS) for row in rows]
        starts = np.zeros(len(rows) + 1, np.uint64)
        starts[1:] = np.cumsum([len(row) for row in cleaned], dtype=np.uint64)
        columns = np.array([c for row in cleaned for c, _ in row], np.uint32)
        return cls(starts, columns, scalars.vector(v for row in cleaned for _, v in row))

    def is_whole(self) -> bool:
        """Whether the rows tile the entries, and every entry has a column and a value."""
        starts, entries = self.starts, self.entries
        if starts.dtype != np.uint64 or starts.ndim != 1 or not len(starts) or self.values.shape != (entries, 4):
            return False
        return bool(starts[0] == 0 and starts[-1] == entries and (starts[1:] >= starts[:-1]).all())

    def row_of_entry(self) -> npt.NDArray[np.int64]:
        """The row of every entry, in order."""
        starts = self.starts.astype(np.int64)
        return np.repeat(np.arange(self.rows), starts[1:] - starts[:-1])

    def with_row(self, columns: Sequence[int]) -> Matrix:
        """The matrix with one more row, ones at `columns`."""
        starts = np.append(self.starts, self.starts[-1:] + np.uint64(len(columns)))
        ones = scalars.vector([1] * len(columns))
        more = np.array(columns, np.uint32)
        return Matrix(starts, np.append(self.columns, more), np.concatenate([self.values, ones]))

    def with_columns(self, columns: npt.NDArray[np.uint32]) -> Matrix:
        """The same entries at other columns."""
        return Matrix(self.starts, columns, self.values)

    def transposed(self, width: int) -> Matrix:
        """The transpose of a matrix of `width` columns."""
        order = np.argsort(self.columns, kind="stable")
        starts = np.zeros(width + 1, np.uint64)
        starts[1:] = np.cumsum(np.bincount(self.columns, minlength=width))
        rows = self.row_of_entry()[order].astype(np.uint32)
        return Matrix(starts, rows, np.ascontiguousarray(self.values[order]))

    def compiled(self, width: int) -> scalars.SparseMatrix:
        """The matrix in native form, for products with vectors of `width` elements."""
        native: scalars.SparseMatrix = scalars.native.Sparse(self.starts, self.columns, self.values, width)
        return native


@dataclass(frozen=True)
class R1cs:
    """A constraint system without a witness. Columns: public inputs first, the constant 1 being number 0."""

    public: int
    private: int
    a: Matrix
    b: Matrix
    c: Matrix

    def __post_init__(self) -> None:
        if self.public < 1 or self.private < 0:
            raise CircuitError(f"{self.public} public and {self.private} private variables", accepted="1 and 0 or more")
        if self.variables > MAX_ENTRIES:
            raise CircuitError(f"{self.variables:,} variables", accepted=f"up to {MAX_ENTRIES:,}")
        for name, matrix in zip("ABC", self.matrices, strict=True):
            if not matrix.is_whole():
                raise CircuitError(f"the rows of matrix {name} are not the parts of its entries, one after the other")
        if len({m.rows for m in self.matrices}) != 1:
            raise CircuitError(f"matrices of {self.a.rows}, {self.b.rows} and {self.c.rows} rows; they must agree")
        for name, matrix in zip("ABC", self.matrices, strict=True):
            if matrix.entries and int(matrix.columns.max()) >= self.variables:
                raise CircuitError(f"matrix {name} names column {matrix.columns.max()} of {self.variables}")
            if matrix.entries > MAX_ENTRIES:
                raise CircuitError(f"matrix {name} has {matrix.entries:,} entries", accepted=f"up to {MAX_ENTRIES:,}")

    @property
    def matrices(self) -> tuple[Matrix, Matrix, Matrix]:
        """A, B and C."""
        return self.a, self.b, self.c

    @property
    def constraints(self) -> int:
        """Number of rows."""
        return self.a.rows

    @property
    def variables(self) -> int:
        """Number of columns."""
        return self.public + self.private


@dataclass(frozen=True)
class Assignment:
    """Values for the variables of a circuit, as vectors; `public` starts with the constant 1."""

    public: Vector
    private: Vector

    @classmethod
    def of(cls, public: Iterable[int], private: Iterable[int]) -> Assignment:
        """From ints; the constant 1 is part of `public`."""
        return cls(scalars.vector(public), scalars.vector(private))


def first_unsatisfied(circuit: R1cs, assignment: Assignment) -> int | None:
    """The first row for which (A z)(B z) = C z fails, or None. Cost: three sparse products."""
    if (len(assignment.public), len(assignment.private)) != (circuit.public, circuit.private):
        raise CircuitError(
            f"an assignment of {len(assignment.public)} public and {len(assignment.private)} private values",
            accepted=f"{circuit.public} and {circuit.private}",
        )
    z = np.concatenate([assignment.public, assignment.private])
    products = []
    for matrix in circuit.matrices:
        out = scalars.empty(circuit.constraints)
        matrix.compiled(circuit.variables).multiply(z, out, scalars.threads())
        products.append(out)
    left, right, expected = products
    scalars.multiply(left, right)
    wrong = np.flatnonzero((left != expected).any(axis=1))
    return int(wrong[0]) if len(wrong) else None


# --- building from Python -----------------------------------------------------------------------


@dataclass(frozen=True)
class Combination:
    """A linear combination of variables: {(is_private, index): coefficient}. Add, subtract, scale by ints."""

    terms: Mapping[tuple[bool, int], int]

    def __add__(self, other: Combination | int) -> Combination:
        terms = dict(self.terms)
        for key, value in _combination(other).terms.items():
            terms[key] = (terms.get(key, 0) + value) % MODULUS
        return Combination(terms)

    def __mul__(self, factor: int) -> Combination:
        factor = operator.index(factor)
        return Combination({key: value * factor % MODULUS for key, value in self.terms.items()})

    def __sub__(self, other: Combination | int) -> Combination:
        return self + _combination(other) * -1

    __radd__ = __add__
    __rmul__ = __mul__


ONE: Final = Combination({(False, 0): 1})


def _combination(value: Combination | int) -> Combination:
    return value if isinstance(value, Combination) else ONE * value


class ConstraintSystem:
    """Collects variables with their values, and constraints over them.

    >>> cs = ConstraintSystem()
    >>> y = cs.public(35); x = cs.private(3); square = cs.private(9); cube = cs.private(27)
    >>> cs.enforce(x, x, square); cs.enforce(square, x, cube); cs.enforce(cube + x + 5, 1, y)
    """

    def __init__(self) -> None:
        self._public: list[int] = [1]
        self._private: list[int] = []
        self._rows: list[tuple[Combination, Combination, Combination]] = []

    def public(self, value: int) -> Combination:
        """A new public input."""
        self._public.append(operator.index(value) % MODULUS)
        return Combination({(False, len(self._public) - 1): 1})

    def private(self, value: int) -> Combination:
        """A new private variable."""
        self._private.append(operator.index(value) % MODULUS)
        return Combination({(True, len(self._private) - 1): 1})

    def enforce(self, a: Combination | int, b: Combination | int, c: Combination | int) -> None:
        """The constraint a * b = c."""
        self._rows.append((_combination(a), _combination(b), _combination(c)))

    def circuit(self) -> R1cs:
        """The constraint system without its values."""
        public = len(self._public)

        def matrix(which: int) -> Matrix:
            rows = [row[which].terms for row in self._rows]
            return Matrix.from_rows([{i + public * private: v for (private, i), v in row.items()} for row in rows])

        return R1cs(public, len(self._private), matrix(0), matrix(1), matrix(2))

    def assignment(self) -> Assignment:
        """The values."""
        return Assignment.of(self._public, self._private)
