"""Building, checking and indexing constraint systems; the circuits that are measured."""

from __future__ import annotations

import numpy as np
import pytest
from multiscalar.errors import CircuitError
from multiscalar.varuna import ConstraintSystem, Matrix, R1cs, indexer, scalars, workloads
from multiscalar.varuna.r1cs import Assignment, first_unsatisfied
from multiscalar.varuna.scalars import MODULUS


def dense(matrix: Matrix, width: int) -> list[list[int]]:
    out = [[0] * width for _ in range(matrix.rows)]
    entries = zip(matrix.row_of_entry(), matrix.columns, scalars.integers(matrix.values), strict=True)
    for row, column, value in entries:
        out[row][column] = value
    return out


def test_combinations_become_rows() -> None:
    cs = ConstraintSystem()
    y, x = cs.public(20), cs.private(5)
    cs.enforce(2 * x - y + 1, x - x + 3, y + x - 2)
    circuit = cs.circuit()
    assert dense(circuit.a, 3) == [[1, MODULUS - 1, 2]]
    assert dense(circuit.b, 3) == [[3, 0, 0]]  # x - x leaves no entry
    assert dense(circuit.c, 3) == [[MODULUS - 2, 1, 1]]
    assert circuit.b.entries == 1


def test_unsatisfied_rows_are_found() -> None:
    circuit, assignment = workloads.test_circuit(3, 20, 25, 1)
    assert first_unsatisfied(circuit, assignment) is None
    private = assignment.private.copy()
    scalars.add_constant(private, 1, index=1)  # b: all rows break
    assert first_unsatisfied(circuit, Assignment(assignment.public, private)) == 0
    with pytest.raises(CircuitError, match="accepted: 4 and 21"):
        first_unsatisfied(circuit, Assignment(assignment.private, assignment.public))


def test_transposition_is_an_involution() -> None:
    matrix = Matrix.from_rows([{0: 1, 3: 5}, {}, {3: 7, 1: 2}])
    twice = matrix.transposed(4).transposed(3)
    assert dense(twice, 4) == dense(matrix, 4)
    assert dense(matrix.transposed(4), 3) == [list(row) for row in zip(*dense(matrix, 4), strict=True)]


@pytest.mark.parametrize(("public", "variables", "size"), [(4, 20, 32), (8, 15, 16), (1, 7, 8), (128, 2530, 4096)])
def test_positions_fill_the_domain_without_collision(public: int, variables: int, size: int) -> None:
    place = indexer.positions(public, variables, size)
    assert len(set(place.tolist())) == variables
    assert int(place.max()) < size
    # publics stand on the subgroup of order `public`
    assert place[:public].tolist() == [k * size // public for k in range(public)]


def test_shape_of_the_benchmark_circuit() -> None:
    circuit, _ = workloads.test_circuit(100, 10_000, 2_500, 5090)
    info, _ = indexer.padded(circuit, hiding=True)
    assert info == indexer.Info(128, 2_530, 10_001, (10_001, 10_001, 10_001))
    assert (info.r.size, info.c.size, info.k[0].size) == (16_384, 4_096, 16_384)


@pytest.mark.parametrize("name", ["fee-public", "execution"])
def test_stand_ins_have_the_published_shape_and_a_witness(name: str) -> None:
    circuit, assignment = workloads.stand_in(name, 7)
    info, _ = indexer.padded(circuit, hiding=True)
    shape = workloads.SHAPES[name]
    assert info == indexer.Info(shape.public, shape.variables, shape.constraints, shape.entries)
    assert first_unsatisfied(circuit, assignment) is None
    for matrix in circuit.matrices:  # no duplicate within a row, columns sorted
        same_row = np.diff(matrix.row_of_entry()) == 0
        assert (np.diff(matrix.columns.astype(np.int64))[same_row] > 0).all()


def test_seeds_repeat() -> None:
    one, two, other = (workloads.stand_in("fee-public", seed)[1].private for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


def test_impossible_circuits_are_refused() -> None:
    with pytest.raises(CircuitError, match="no workload"):
        workloads.stand_in("nothing", 1)
    with pytest.raises(CircuitError, match="accepted"):
        workloads.test_circuit(5, 3, 20, 1)
    matrix = Matrix.from_rows([{0: 1}, {1: 1}])
    with pytest.raises(CircuitError, match="column 1"):
        R1cs(1, 0, matrix, matrix, matrix)
    with pytest.raises(CircuitError, match="rows"):
        R1cs(1, 1, matrix, matrix, Matrix.from_rows([{0: 1}]))
    with pytest.raises(CircuitError, match="private"):
        indexer.index(R1cs(2, 0, matrix, matrix, matrix), hiding=False)
    single = Matrix.from_rows([{0: 1}])
    with pytest.raises(CircuitError, match="accepted: 2 to"):
        indexer.index(R1cs(1, 1, single, single, single), hiding=False)


def test_matrices_that_do_not_hold_together_are_refused() -> None:
    good = Matrix.from_rows([{0: 1}, {1: 1}])
    for starts, columns, values in (
        ([0, 2, 1], good.columns, good.values),
        ([1, 1, 2], good.columns, good.values),
        ([0, 1, 9], good.columns, good.values),
        ([0, 2**63, 2], good.columns, good.values),
        ([], good.columns[:0], good.values[:0]),
        ([0, 1, 2], good.columns, good.values[:1]),
        ([0, 1, 2], good.columns, good.values[:, :2]),
    ):
        with pytest.raises(CircuitError, match="matrix B"):
            R1cs(1, 1, good, Matrix(np.array(starts, np.uint64), columns, values), good)
    with pytest.raises(CircuitError, match="variables"):
        R1cs(1 << 40, 1, good, good, good)


def test_values_of_numpy() -> None:
    cs = ConstraintSystem()
    x = cs.private(np.int64(-3))
    cs.enforce(x, np.uint8(2) * x, cs.public(18))
    assert first_unsatisfied(cs.circuit(), cs.assignment()) is None
    with pytest.raises(TypeError, match="float"):
        cs.public(1.5)
