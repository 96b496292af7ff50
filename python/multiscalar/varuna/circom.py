"""Circuits and witnesses of circom: `.r1cs` (version 1) and `.wtns` (version 2) files over the field of BLS12-377.

A file says its prime; any other than r is refused by name. Wires come in our order: the constant 1, public outputs,
public inputs, private ones. Source: iden3's specification of both formats.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..errors import CircuitError
from . import scalars
from .r1cs import MAX_ENTRIES, Assignment, Matrix, R1cs
from .reader import Reader
from .scalars import BYTES, MODULUS

_KNOWN: Final = {
    21888242871839275222246405745257275088548364400416034343698204186575808495617: "bn254",
    52435875175126190479447740508185965837690552500527637822603658699938581184513: "bls12-381",
    18446744069414584321: "goldilocks",
}
_MOST_WIRES: Final = 1 << scalars.LARGEST_LOG


def _sections(data: bytes, magic: bytes, version: int) -> dict[int, Reader]:
    name = magic.decode()
    reader = Reader(data, name)
    if reader.take(4) != magic:
        raise reader.fail(f"this is no .{name} file")
    reader.number(version, version, "version", 4)
    found: dict[int, Reader] = {}
    for _ in range(reader.number(1, 64, "number of sections", 4)):
        kind = reader.number(0, (1 << 32) - 1, "kind of section", 4)
        size = reader.number(0, reader.left(), "size of section")
        found.setdefault(kind, Reader(reader.take(size), f"{name}, section {kind}"))
    reader.end()
    for kind in (1, 2):
        if kind not in found:
            raise reader.fail(f"section {kind} is missing")
    return found


def _check_prime(header: Reader) -> None:
    size = header.number(4, 64, "bytes of a field element", 4)
    prime = int.from_bytes(header.take(size), "little")
    if prime != MODULUS:
        name = _KNOWN.get(prime, f"{prime:#x}")
        raise CircuitError(
            f"the file is over the field of {name}",
            accepted="the scalar field of bls12-377",
            hint="circom --prime bls12377",
        )


def read_r1cs(data: bytes) -> R1cs:
    """The constraint system of a `.r1cs` file. Errors: `EncodingError`, `CircuitError` for another field."""
    sections = _sections(data, b"r1cs", 1)
    header = sections[1]
    _check_prime(header)
    wires = header.number(1, _MOST_WIRES, "number of wires", 4)
    outputs = header.number(0, wires - 1, "public outputs", 4)
    inputs = header.number(0, wires - 1 - outputs, "public inputs", 4)
    header.number(0, wires, "private inputs", 4)
    header.take(8)  # labels
    rows = header.number(1, _MOST_WIRES, "number of constraints", 4)
    header.end()
    body = sections[2]
    parts: tuple[list[dict[int, int]], ...] = ([], [], [])
    for _ in range(rows):
        for part in parts:
            part.append(_combination(body, wires))
    body.end()
    a, b, c = (Matrix.from_rows(part) for part in parts)
    public = 1 + outputs + inputs
    return R1cs(public, wires - public, a, b, c)


def _combination(body: Reader, wires: int) -> dict[int, int]:
    terms: dict[int, int] = {}
    for _ in range(body.number(0, min(MAX_ENTRIES, body.left() // (4 + BYTES)), "number of terms", 4)):
        wire = body.number(0, wires - 1, "wire", 4)
        terms[wire] = (terms.get(wire, 0) + body.scalar()) % MODULUS
    return terms


def read_witness(data: bytes, circuit: R1cs) -> Assignment:
    """The witness of a `.wtns` file for `circuit`. Errors: `EncodingError`, `CircuitError`."""
    sections = _sections(data, b"wtns", 2)
    header, body = sections[1], sections[2]
    _check_prime(header)
    count = header.number(circuit.variables, circuit.variables, "number of values", 4)
    header.end()
    limbs = np.frombuffer(body.take(BYTES * count), "<u8").reshape(-1, 4)
    body.end()
    try:
        values = scalars.from_canonical(limbs)
    except ValueError as error:
        raise CircuitError(f"wtns: {error}") from error
    if scalars.integer(values, 0) != 1:
        raise CircuitError("wtns: value 0 is not the constant 1")
    return Assignment(values[: circuit.public], values[circuit.public :])
