"""The indexer: from a constraint system to what a proof of it needs, and to its id.

Hiding mode appends private variables r0, r1, r2 = r0 * r1 and a last row that says so. Public inputs are padded with
zeros to a power of two |X|, so the columns of private variables shift. Domains: R for rows, C for columns, K_M for
the entries of each matrix M, in row-major order.
Cost: 12 transforms of |K| to coefficients, 12 to values on a coset; nothing of it is repeated by a proof.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from ..errors import CircuitError
from . import scalars
from .domain import Domain, elements, size_for
from .r1cs import Matrix, R1cs
from .scalars import Vector

MATRICES: Final = ("a", "b", "c")
POLYNOMIALS: Final = ("col", "row", "row_col", "row_col_val")  # order of the index commitments: each over a, b, c
ZK_VARIABLES: Final = 3
COSET: Final = 22  # the generator of the multiplicative group: no domain holds it


@dataclass(frozen=True)
class Info:
    """The six numbers that describe an indexed circuit; publics padded, hiding variables and row included."""

    public: int
    variables: int
    constraints: int
    entries: tuple[int, int, int]

    def to_bytes(self) -> bytes:
        """48 bytes."""
        return np.array([self.public, self.variables, self.constraints, *self.entries], "<u8").tobytes()

    @property
    def x(self) -> Domain:
        """Domain of the public inputs."""
        return Domain(self.public)

    @property
    def c(self) -> Domain:
        """Domain of the variables."""
        return Domain(size_for(self.variables))

    @property
    def r(self) -> Domain:
        """Domain of the rows."""
        return Domain(size_for(self.constraints))

    @property
    def k(self) -> tuple[Domain, Domain, Domain]:
        """Domains of the entries of A, B, C."""
        a, b, c = (Domain(size_for(count)) for count in self.entries)
        return a, b, c

    @property
    def bounds(self) -> tuple[int, ...]:
        """Degree bounds that a proof enforces: |C| - 2 and the |K_M| - 2."""
        return (self.c.size - 2, *(k.size - 2 for k in self.k))

    @property
    def powers(self) -> int:
        """Coefficients of the longest committed polynomial."""
        return max(self.r.size, self.c.size + 4, max(k.size for k in self.k))

    def check(self) -> None:
        """Refuse what the protocol cannot handle. Errors: `CircuitError`."""
        largest = 1 << scalars.LARGEST_LOG
        if self.public != size_for(self.public):
            raise CircuitError(f"{self.public} public inputs in an index", accepted="a power of two")
        if not self.public < self.c.size:
            raise CircuitError(
                f"{self.variables} variables, {self.public} of them public: nothing private is left to commit to",
                hint="Add private variables.",
            )
        for name, count in (("rows", self.constraints), *zip("ABC", self.entries, strict=True)):
            if not 2 <= count <= largest:
                raise CircuitError(f"{count:,} {name} (or entries in matrix {name})", accepted=f"2 to {largest:,}")
        if self.variables > largest:
            raise CircuitError(f"{self.variables:,} variables", accepted=f"up to {largest:,}")


@dataclass(frozen=True)
class Arithmetization:
    """One matrix as four polynomials over K: by coefficients, and by values on the coset 22 * K."""

    rows: npt.NDArray[np.int64]  # index in R of every entry, padded with 0
    columns: npt.NDArray[np.int64]  # index in C of every entry, padded with 0
    weights: Vector  # row_col_val on K
    coefficients: tuple[Vector, ...]  # in the order of POLYNOMIALS
    coset: tuple[Vector, ...]


@dataclass(frozen=True)
class Index:
    """A circuit ready to be proven."""

    hiding: bool
    info: Info
    id: bytes
    circuit: R1cs
    products: tuple[scalars.SparseMatrix, ...]  # A, B, C by values over C
    transposed: tuple[scalars.SparseMatrix, ...]
    parts: tuple[Arithmetization, ...]

    def polynomials(self) -> list[Vector]:
        """The twelve index polynomials by coefficients, in the order of the verifying key."""
        return [part.coefficients[i] for i in range(len(POLYNOMIALS)) for part in self.parts]


def positions(public: int, variables: int, size: int) -> npt.NDArray[np.int64]:
    """Where variable k stands in C: publics on the subgroup X, privates on the places between."""
    ratio = size // public
    j = np.arange(variables - public, dtype=np.int64)
    privates = j + j // (ratio - 1) + 1
    return np.concatenate([np.arange(public, dtype=np.int64) * ratio, privates])


def padded(circuit: R1cs, *, hiding: bool) -> tuple[Info, tuple[Matrix, Matrix, Matrix]]:
    """The circuit as it is indexed: public inputs padded, hiding variables and row added."""
    public = size_for(circuit.public)
    shift = public - circuit.public
    private = circuit.private + (ZK_VARIABLES if hiding else 0)
    matrices = []
    for which, matrix in enumerate(circuit.matrices):
        columns = matrix.columns + np.uint32(shift) * (matrix.columns >= circuit.public)
        wide = matrix.with_columns(columns.astype(np.uint32))
        matrices.append(wide.with_row([public + circuit.private + which]) if hiding else wide)
    a, b, c = matrices
    return Info(public, public + private, a.rows, (a.entries, b.entries, c.entries)), (a, b, c)


def circuit_id(info: Info, matrices: tuple[Matrix, ...]) -> bytes:
    """Blake2s-256 of the padded circuit: 32 bytes."""
    digest = hashlib.blake2s(info.to_bytes())
    for matrix in matrices:
        digest.update(matrix_bytes(matrix))
    return digest.digest()


def matrix_bytes(matrix: Matrix) -> bytes:
    """A matrix as snarkVM writes it: u64 rows; each row u64 length, then (scalar, u64 column)."""
    starts = matrix.starts.astype(np.int64)
    words = np.zeros(1 + matrix.rows + 5 * matrix.entries, "<u8")
    words[0] = matrix.rows
    heads = 1 + np.arange(matrix.rows) + 5 * starts[:-1]
    words[heads] = np.diff(starts)
    places = 2 + matrix.row_of_entry() + 5 * np.arange(matrix.entries)
    limbs = scalars.canonical(matrix.values)
    for i in range(4):
        words[places + i] = limbs[:, i]
    words[places + 4] = matrix.columns
    return words.tobytes()


def index(circuit: R1cs, *, hiding: bool = True) -> Index:
    """Index a circuit. Errors: `CircuitError` for one that the protocol cannot take."""
    info, matrices = padded(circuit, hiding=hiding)
    info.check()
    place = positions(info.public, info.variables, info.c.size)
    placed = [m.with_columns(place[m.columns].astype(np.uint32)) for m in matrices]
    return Index(
        hiding=hiding,
        info=info,
        id=circuit_id(info, matrices),
        circuit=circuit,
        products=tuple(m.compiled(info.c.size) for m in placed),
        transposed=tuple(m.transposed(info.c.size).compiled(m.rows) for m in placed),
        parts=tuple(_arithmetize(m, info, k) for m, k in zip(placed, info.k, strict=True)),
    )


def _arithmetize(matrix: Matrix, info: Info, k: Domain) -> Arithmetization:
    rows = np.zeros(k.size, np.int64)
    columns = np.zeros(k.size, np.int64)
    rows[: matrix.entries] = matrix.row_of_entry()
    columns[: matrix.entries] = matrix.columns
    # the padding (row, col) = (1, 1) is element 0 of both domains, its value 0
    row, col = elements(info.r.size)[rows], elements(info.c.size)[columns]
    row_col = row.copy()
    scalars.multiply(row_col, col)
    weights = scalars.padded(matrix.values, k.size)
    scalars.multiply(weights, row_col)
    values = {"col": col, "row": row, "row_col": row_col, "row_col_val": weights.copy()}
    coefficients, coset = [], []
    for name in POLYNOMIALS:
        scalars.interpolate(values[name])
        coefficients.append(values[name])
        coset.append(on_coset(values[name]))
    return Arithmetization(rows, columns, weights, tuple(coefficients), tuple(coset))


def on_coset(coefficients: Vector) -> Vector:
    """Values on 22 times the domain of as many points."""
    values = coefficients.copy()
    scalars.multiply(values, _coset_powers(len(values), COSET))
    scalars.transform(values)
    return values


def from_coset(values: Vector, factor: int = 1) -> None:
    """The inverse of `on_coset`, in place, times `factor`."""
    scalars.interpolate(values)
    scalars.multiply(values, _coset_powers(len(values), scalars.inverse(COSET)))
    if factor != 1:
        scalars.scale(values, factor)


@lru_cache(maxsize=16)
def _coset_powers(size: int, base: int) -> Vector:
    """1, base, base^2, ...; shared, so read-only."""
    out = scalars.powers(base, size)
    out.flags.writeable = False
    return out
