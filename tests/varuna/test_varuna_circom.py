"""Files of circom: read, proven, and refused when they are for another field or damaged."""

from __future__ import annotations

import struct

import pytest
from multiscalar import varuna
from multiscalar.errors import CircuitError, EncodingError
from multiscalar.varuna import circom
from multiscalar.varuna.r1cs import first_unsatisfied
from multiscalar.varuna.scalars import MODULUS
from multiscalar.varuna.srs import Srs

BN254 = 21888242871839275222246405745257275088548364400416034343698204186575808495617

# out = x^3 + x: wires 1, out (public output), x (public input), x^2, x^3 (private)
ROWS = [
    ({2: 1}, {2: 1}, {3: 1}),
    ({3: 1}, {2: 1}, {4: 1}),
    ({4: 1, 2: 1, 1: MODULUS - 1}, {0: 1}, {}),
]
WITNESS = [1, 30, 3, 9, 27]


def file(magic: bytes, version: int, sections: list[tuple[int, bytes]]) -> bytes:
    parts = [magic, struct.pack("<II", version, len(sections))]
    parts += [struct.pack("<IQ", kind, len(body)) + body for kind, body in sections]
    return b"".join(parts)


def r1cs(prime: int = MODULUS, wires: int = 5) -> bytes:
    header = struct.pack("<I", 32) + prime.to_bytes(32, "little")
    header += struct.pack("<IIIIQI", wires, 1, 1, 0, wires, len(ROWS))
    body = b""
    for row in ROWS:
        for terms in row:
            body += struct.pack("<I", len(terms))
            body += b"".join(struct.pack("<I", w) + v.to_bytes(32, "little") for w, v in terms.items())
    return file(b"r1cs", 1, [(2, body), (1, header), (3, bytes(8 * wires))])


def wtns(values: list[int], prime: int = MODULUS) -> bytes:
    header = struct.pack("<I", 32) + prime.to_bytes(32, "little") + struct.pack("<I", len(values))
    return file(b"wtns", 2, [(1, header), (2, b"".join(v.to_bytes(32, "little") for v in values))])


def test_a_circom_circuit_is_proven(seeded_srs: Srs) -> None:
    circuit = circom.read_r1cs(r1cs())
    assert (circuit.public, circuit.private, circuit.constraints) == (3, 2, 3)
    assignment = circom.read_witness(wtns(WITNESS), circuit)
    assert first_unsatisfied(circuit, assignment) is None
    key = varuna.setup(circuit, seeded_srs)
    assert varuna.verify(seeded_srs, key.verifying, [1, 30, 3], varuna.prove(key, assignment))


def test_other_fields_are_refused_by_name() -> None:
    with pytest.raises(CircuitError, match="field of bn254"):
        circom.read_r1cs(r1cs(BN254))
    with pytest.raises(CircuitError, match="field of 0x65"):
        circom.read_witness(wtns(WITNESS, 101), circom.read_r1cs(r1cs()))


def test_damaged_files() -> None:
    data = r1cs()
    circuit = circom.read_r1cs(data)
    for length in range(0, len(data), 5):
        with pytest.raises(EncodingError):
            circom.read_r1cs(data[:length])
    with pytest.raises(EncodingError, match=r"no \.r1cs file"):
        circom.read_r1cs(wtns(WITNESS))
    with pytest.raises(EncodingError, match="wire is 4"):
        circom.read_r1cs(r1cs(wires=4))
    with pytest.raises(EncodingError, match="number of values"):
        circom.read_witness(wtns(WITNESS[:-1]), circuit)
    with pytest.raises(CircuitError, match="scalar 4"):
        circom.read_witness(wtns([*WITNESS[:-1], MODULUS]), circuit)
    with pytest.raises(CircuitError, match="constant 1"):
        circom.read_witness(wtns([2, *WITNESS[1:]]), circuit)
