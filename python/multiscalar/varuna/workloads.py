"""Circuits to measure with: snarkVM's TestCircuit, and random ones with the published shapes of Aleo's.

The random circuits are stand-ins: same numbers of variables, constraints and entries, hence the same domains and the
same multiplications; their contents mean nothing. A satisfying witness is drawn first and the rows are made to fit it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

import numpy as np

from .. import memory
from ..errors import CircuitError
from . import scalars
from .r1cs import Assignment, Matrix, R1cs
from .scalars import MODULUS

_BYTES: Final = 352  # of a row or a variable while the matrices are made from lists, measured


def test_circuit(depth: int, constraints: int, variables: int, seed: int) -> tuple[R1cs, Assignment]:
    """snarkVM's benchmark circuit: publics 1, ab, ab^2, ..., ab^depth; privates a, b and copies of a.

    Rows: constraints - (depth - 1) copies of a * b = ab, then ab^i * b = ab^(i+1).
    """
    copies, chain = constraints - (depth - 1), depth - 1
    if depth < 1 or copies < 1 or variables < 3 + depth:
        raise CircuitError(
            f"a test circuit of depth {depth}, {constraints} constraints and {variables} variables",
            accepted="depth >= 1, constraints >= depth, variables >= depth + 3",
        )
    memory.require(_BYTES * (constraints + variables), f"a circuit of {constraints:,} constraints")
    random = Random(seed)
    a, b = random.randrange(MODULUS), random.randrange(MODULUS)
    public = [1]
    for _ in range(depth):
        public.append((public[-1] if len(public) > 1 else a) * b % MODULUS)
    first = 1 + depth  # column of a; b follows

    def matrix(head: int, tail: list[int]) -> Matrix:
        columns = np.array([head] * copies + tail, np.uint32)
        return Matrix(np.arange(constraints + 1, dtype=np.uint64), columns, scalars.vector([1] * constraints))

    circuit = R1cs(
        1 + depth,
        variables - 1 - depth,
        matrix(first, list(range(1, 1 + chain))),
        matrix(first + 1, [first + 1] * chain),
        matrix(1, list(range(2, 2 + chain))),
    )
    return circuit, Assignment.of(public, [a, b] + [a] * (variables - 3 - depth))


@dataclass(frozen=True)
class Shape:
    """What determines the work of a proof: numbers of variables, constraints and entries."""

    public: int
    variables: int
    constraints: int
    entries: tuple[int, int, int]


# the figures of the hiding index (three variables and one row more than the circuit), publics padded
SHAPES: Final[Mapping[str, Shape]] = {
    "transfer-private": Shape(32, 62_433, 62_462, (121_400, 135_545, 94_474)),
    "inclusion": Shape(8, 134_635, 134_839, (290_348, 173_864, 241_147)),
    "fee-public": Shape(16, 12_939, 12_931, (30_588, 41_289, 17_214)),
    "execution": Shape(16, 13_572, 13_562, (32_169, 44_069, 18_141)),
}
_ADDED_VARIABLES: Final = 3
_ADDED_ROWS: Final = 1
_STRIDE: Final = 7919  # a prime that divides no width: columns within a row are distinct


def stand_in(name: str, seed: int) -> tuple[R1cs, Assignment]:
    """A random circuit with the shape called `name`, and a witness. It stands in for the real one: same work.

    A and B hold ones at random places, so does C, but for one entry a row whose value makes the row hold.
    """
    try:
        shape = SHAPES[name]
    except KeyError:
        raise CircuitError(f"no workload is called {name!r}", accepted=", ".join(SHAPES)) from None
    width, rows = shape.variables - _ADDED_VARIABLES, shape.constraints - _ADDED_ROWS
    generator = np.random.default_rng(seed)
    z = _random_vector(generator, width)
    a, b, c = (_random_ones(generator, rows, width, total - 1) for total in shape.entries)
    products = [scalars.empty(rows) for _ in range(3)]
    for matrix, out in zip((a, b, c), products, strict=True):
        matrix.compiled(width).multiply(z, out, scalars.threads())
    wanted, right, got = products
    scalars.multiply(wanted, right)
    scalars.subtract(wanted, got)
    last = (c.starts[1:] - np.uint64(1)).astype(np.int64)  # the entry that makes its row hold
    factor = np.ascontiguousarray(z[c.columns[last]])
    scalars.invert(factor)
    scalars.multiply(wanted, factor)
    adjusted = np.ascontiguousarray(c.values[last])
    scalars.add(adjusted, wanted)
    c.values[last] = adjusted
    return R1cs(shape.public, width - shape.public, a, b, c), Assignment(z[: shape.public], z[shape.public :])


def _random_vector(generator: np.random.Generator, count: int) -> scalars.Vector:
    """Random non-zero elements, the first one 1."""
    data = generator.bytes(32 * count)
    words = (int.from_bytes(data[i : i + 32], "little") for i in range(32, len(data), 32))
    return scalars.vector([1, *(1 + word % (MODULUS - 1) for word in words)])


def _random_ones(generator: np.random.Generator, rows: int, width: int, total: int) -> Matrix:
    """`total` ones, at least one a row, at columns that are random and distinct within a row."""
    counts = 1 + np.bincount(generator.integers(0, rows, total - rows), minlength=rows)
    starts = np.zeros(rows + 1, np.uint64)
    starts[1:] = np.cumsum(counts)
    row = np.repeat(np.arange(rows), counts)
    within = np.arange(total) - starts[:-1].astype(np.int64)[row]
    columns = (generator.integers(0, width, rows)[row] + within * _STRIDE) % width
    order = np.lexsort((columns, row))
    return Matrix(starts, columns[order].astype(np.uint32), scalars.vector([1] * total))
