"""The circuit inside a proving key of snarkVM: `verifying key | info | A | B | C | ...`, with Aleo's leading 1 or not.

What follows the matrices (evaluations, committer key) can be computed and is not read. The id in the key must be the
Blake2s of the matrices, so a damaged file is noticed; whether the commitments fit is what a certificate shows.
"""

from __future__ import annotations

import numpy as np

from ..errors import CircuitError
from . import scalars
from .indexer import ZK_VARIABLES, circuit_id
from .keys import WRAPPED_VERSION, VerifyingKey, read_info, read_verifying_key
from .r1cs import Matrix, R1cs
from .reader import Reader

_ENTRY = scalars.BYTES + 8


def read_proving_key(data: bytes, *, wrapped: bool = True, hiding: bool = True) -> tuple[VerifyingKey, R1cs]:
    """The verifying key and the circuit. `wrapped`: Aleo's version byte is in front.

    The circuit has the padded number of public inputs; hiding variables and row are taken off, `setup` adds them again.
    Errors: `EncodingError`, `CircuitError` for matrices that do not fit the numbers or the id.
    """
    reader = Reader(data, "proving key")
    if wrapped and reader.take(1)[0] != WRAPPED_VERSION:
        raise reader.fail(f"version {data[0]}, accepted: {WRAPPED_VERSION}")
    key = read_verifying_key(reader)
    info = read_info(reader)
    if info != key.info:
        raise CircuitError("the numbers of the verifying key and of the circuit differ")
    a, b, c = (_matrix(reader, info.constraints, count, info.variables) for count in info.entries)
    if circuit_id(info, (a, b, c)) != key.id:
        raise CircuitError("the matrices do not have the id of the key")
    if not hiding:
        return key, R1cs(info.public, info.variables - info.public, a, b, c)
    private = info.variables - info.public - ZK_VARIABLES
    if private < 0:
        raise CircuitError("the key is not of a hiding circuit: it has no room for the hiding variables")
    bare = [_without_hiding(m, info.public + private + which) for which, m in enumerate((a, b, c))]
    return key, R1cs(info.public, private, *bare)


def _matrix(reader: Reader, rows: int, entries: int, width: int) -> Matrix:
    reader.number(rows, rows, "number of rows")
    lengths = np.zeros(rows, np.int64)
    parts = []
    for i in range(rows):
        lengths[i] = reader.number(0, reader.left() // _ENTRY, "length of a row")
        parts.append(reader.take(_ENTRY * int(lengths[i])))
    words = np.frombuffer(b"".join(parts), "<u8").reshape(-1, 5)
    if len(words) != entries:
        raise reader.fail(f"a matrix of {len(words):,} entries, accepted: {entries:,}")
    if entries and int(words[:, 4].max()) >= width:
        raise reader.fail(f"column {words[:, 4].max()}, accepted: below {width:,}")
    starts = np.zeros(rows + 1, np.uint64)
    starts[1:] = np.cumsum(lengths)
    try:
        values = scalars.from_canonical(words[:, :4])
    except ValueError as error:
        raise reader.fail(str(error)) from error
    return Matrix(starts, words[:, 4].astype(np.uint32), values)


def _without_hiding(matrix: Matrix, column: int) -> Matrix:
    """The matrix without its last row, which must be a one at `column`."""
    last = matrix.columns[int(matrix.starts[-2]) :]
    if last.tolist() != [column] or scalars.integer(matrix.values[-1:], 0) != 1:
        raise CircuitError("the key is not of a hiding circuit: its last row is another one")
    return Matrix(matrix.starts[:-1], matrix.columns[:-1], np.ascontiguousarray(matrix.values[:-1]))
