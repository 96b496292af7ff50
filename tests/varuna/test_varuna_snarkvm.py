"""Compatibility with real snarkVM, both ways: keys byte for byte, proofs of V1, V2, V3, batches, certificates."""

from __future__ import annotations

from pathlib import Path

import pytest
from multiscalar import varuna
from multiscalar.errors import CircuitError, EncodingError
from multiscalar.varuna import scalars, workloads
from multiscalar.varuna.proof import Proof
from multiscalar.varuna.provingkey import read_proving_key
from multiscalar.varuna.r1cs import Assignment, R1cs
from multiscalar.varuna.srs import Srs
from multiscalar.varuna.version import Version

from .snarkvm_oracle import SnarkVm
from .test_varuna_proofs import altered_keys

VERSIONS = list(Version)


def inputs(assignment: Assignment) -> list[int]:
    return scalars.integers(assignment.public)


def mixed_circuit() -> tuple[R1cs, Assignment]:
    """Coefficients other than one, subtraction, constants, and matrices of different sizes."""
    cs = varuna.ConstraintSystem()
    y, z = cs.public(35), cs.public(7)
    x = cs.private(3)
    square, cube = cs.private(9), cs.private(27)
    cs.enforce(x, x, square)
    cs.enforce(square, x, cube)
    cs.enforce(cube + x + 5, 1, y)
    cs.enforce(2 * x - cube + 3 * square + 1, 1, z)
    for _ in range(20):
        extra = cs.private(12 * 14)
        cs.enforce(x + square, 2 * z, extra)
    return cs.circuit(), cs.assignment()


CIRCUITS = {"test": lambda: workloads.test_circuit(3, 20, 25, 1), "mixed": mixed_circuit}


@pytest.mark.parametrize("name", CIRCUITS)
@pytest.mark.parametrize("hiding", [True, False])
def test_keys_and_proofs_agree(snarkvm: SnarkVm, public_srs: Srs, name: str, hiding: bool) -> None:
    circuit, assignment = CIRCUITS[name]()
    loaded = snarkvm.load(circuit, [assignment], hiding=hiding)
    key = varuna.setup(circuit, public_srs, hiding=hiding)
    assert key.verifying.to_bytes().hex() == loaded["vk"]
    public, vk = inputs(assignment), key.verifying.to_bytes()
    for made in VERSIONS:
        ours = varuna.prove(key, assignment, version=made)
        answer = snarkvm.ask("prove", circuits=[loaded["circuit"]], version=made, warmups=0, repeats=1, hiding=hiding)
        theirs = bytes.fromhex(answer["proof"])
        if not hiding:
            assert ours.to_bytes() == theirs  # nothing random is left
        for checked in VERSIONS:
            expected = made == checked
            assert snarkvm.accepts([vk], [[public]], ours.to_bytes(), checked, hiding=hiding) is expected
            found = varuna.verify(public_srs, key.verifying, public, Proof.from_bytes(theirs), version=checked)
            assert found is expected


@pytest.mark.parametrize("hiding", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
def test_batch_of_two_circuits_and_three_instances(
    snarkvm: SnarkVm, public_srs: Srs, version: Version, hiding: bool
) -> None:
    # of different sizes, so that every selector is at work
    parts = []
    for depth, rows, variables, seeds in ((2, 32, 25, (1, 2)), (3, 150, 90, (3,))):
        made = [workloads.test_circuit(depth, rows, variables, seed) for seed in seeds]
        parts.append((made[0][0], [assignment for _, assignment in made]))
    loaded = [snarkvm.load(circuit, given, hiding=hiding) for circuit, given in parts]
    keys = [varuna.setup(circuit, public_srs, hiding=hiding) for circuit, _ in parts]
    assert [key.verifying.to_bytes().hex() for key in keys] == [one["vk"] for one in loaded]
    batch = list(zip(keys, [given for _, given in parts], strict=True))
    publics = [[inputs(a) for a in given] for _, given in parts]
    ours = varuna.prove_batch(batch, version=version)
    assert snarkvm.accepts([k.verifying.to_bytes() for k in keys], publics, ours.to_bytes(), version, hiding=hiding)
    answer = snarkvm.ask(
        "prove", circuits=[one["circuit"] for one in loaded], version=version, warmups=0, repeats=1, hiding=hiding
    )
    theirs = Proof.from_bytes(bytes.fromhex(answer["proof"]))
    to_check = [(key.verifying, given) for key, given in zip(keys, publics, strict=True)]
    assert varuna.verify_batch(public_srs, to_check, theirs, version=version)
    if hiding:
        assert len(ours.to_bytes()) == 468 + 344 * 2 + 144 * 3
    else:
        assert theirs.to_bytes() == ours.to_bytes()


def test_altered_keys_get_the_same_answer(snarkvm: SnarkVm, public_srs: Srs) -> None:
    """Both take a key whose id or counts differ within the same domains, and refuse other domains and commitments."""
    circuit, assignment = CIRCUITS["test"]()
    made = varuna.setup(circuit, public_srs)
    proof, public = varuna.prove(made, assignment), inputs(assignment)
    for what, key, same in altered_keys(made.verifying):
        assert varuna.verify(public_srs, key, public, proof) is same, what
        assert snarkvm.accepts([key.to_bytes()], [[public]], proof.to_bytes(), Version.V3) is same, what


def test_certificates_agree(snarkvm: SnarkVm, public_srs: Srs) -> None:
    circuit, assignment = mixed_circuit()
    loaded = snarkvm.load(circuit, [assignment])
    key = varuna.setup(circuit, public_srs)
    certificate = varuna.certify(key)
    answer = snarkvm.ask("certificate", circuit=loaded["circuit"])
    assert certificate.to_bytes().hex() == answer["certificate"]
    assert varuna.check_certificate(public_srs, circuit, key.verifying, certificate)


@pytest.mark.parametrize("hiding", [True, False])
def test_circuits_are_read_out_of_proving_keys(snarkvm: SnarkVm, public_srs: Srs, tmp_path: Path, hiding: bool) -> None:
    circuit, assignment = mixed_circuit()
    loaded = snarkvm.load(circuit, [assignment], hiding=hiding)
    path = tmp_path / "key"
    snarkvm.ask("proving_key", circuit=loaded["circuit"], file=str(path), hiding=hiding)
    data = path.read_bytes()
    verifying, found = read_proving_key(data, wrapped=False, hiding=hiding)
    assert verifying.to_bytes().hex() == loaded["vk"]
    assert varuna.setup(found, public_srs, hiding=hiding).verifying.to_bytes() == verifying.to_bytes()
    wrapped, _ = read_proving_key(b"\x01" + data, hiding=hiding)
    assert wrapped.id == verifying.id
    fault = "not of a hiding circuit"
    if hiding:
        at, fault = len(verifying.to_bytes()) + 48 + 8 + 8, "id of the key"  # the first value of A
        data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    with pytest.raises(CircuitError, match=fault):
        read_proving_key(data, wrapped=False)
    for length in range(0, 2000, 37):
        with pytest.raises(EncodingError):
            read_proving_key(data[:length], wrapped=False)
