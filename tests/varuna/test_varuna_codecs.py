"""Bytes of keys, proofs and certificates: round trips, and hostile input.

Whatever the bytes, a decoder answers with an object or with `EncodingError` / `CircuitError`, quickly. Inputs that once
were of interest are kept in `corpus/` (name: decoder-what) and replayed here.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from multiscalar import varuna
from multiscalar.errors import CircuitError, EncodingError, InputTypeError
from multiscalar.varuna import scalars, workloads
from multiscalar.varuna.certificate import Certificate
from multiscalar.varuna.keys import ProvingKey, VerifyingKey
from multiscalar.varuna.proof import Proof
from multiscalar.varuna.r1cs import Assignment, R1cs
from multiscalar.varuna.srs import Srs

CORPUS = Path(__file__).parent / "corpus"
DECODERS: dict[str, Callable[[bytes], object]] = {
    "proof": Proof.from_bytes,
    "aleo_proof": Proof.from_aleo_bytes,
    "key": VerifyingKey.from_bytes,
    "certificate": Certificate.from_bytes,
}


def decode(name: str, data: bytes) -> object | None:
    try:
        return DECODERS[name](data)
    except (EncodingError, CircuitError) as error:
        if not 10 < len(str(error)) < 500:
            pytest.fail(f"no useful message: {error!r}")
        return None


@pytest.fixture(scope="module")
def genuine(small: tuple[R1cs, Assignment], small_key: ProvingKey, seeded_srs: Srs) -> dict[str, bytes]:
    circuit, assignment = small
    proof = varuna.prove(small_key, assignment, seed=1)
    plain = varuna.prove(varuna.setup(circuit, seeded_srs, hiding=False), assignment)
    return {
        "proof": proof.to_bytes(),
        "plain proof": plain.to_bytes(),
        "aleo_proof": proof.to_aleo_bytes(),
        "key": small_key.verifying.to_bytes(),
        "aleo key": small_key.verifying.to_aleo_bytes(),
        "certificate": varuna.certify(small_key).to_bytes(),
    }


def decoder_of(kind: str) -> str:
    return {"plain proof": "proof", "aleo key": "key"}.get(kind, kind)


KINDS = ("proof", "plain proof", "aleo_proof", "key", "aleo key", "certificate")


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(genuine: dict[str, bytes], kind: str) -> None:
    decoded = DECODERS[decoder_of(kind)](genuine[kind])
    method = {"aleo_proof": "to_aleo_bytes", "aleo key": "to_aleo_bytes"}.get(kind, "to_bytes")
    assert getattr(decoded, method)() == genuine[kind]


def test_sizes(genuine: dict[str, bytes]) -> None:
    assert {kind: len(data) for kind, data in genuine.items()} == {
        "proof": 956, "plain proof": 876, "aleo_proof": 957, "key": 664, "aleo key": 673, "certificate": 57,
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_truncation_and_any_tail_is_refused(genuine: dict[str, bytes], kind: str) -> None:
    data, name = genuine[kind], decoder_of(kind)
    for length in range(0, len(data), 7):
        assert decode(name, data[:length]) is None
    assert decode(name, data + b"\x00") is None


@pytest.mark.parametrize("kind", KINDS)
def test_flipped_bits_never_crash(genuine: dict[str, bytes], kind: str) -> None:
    source = random.Random(kind)
    for _ in range(150):
        data = bytearray(genuine[kind])
        for _ in range(source.randint(1, 3)):
            data[source.randrange(len(data))] ^= 1 << source.randrange(8)
        decode(decoder_of(kind), bytes(data))


def test_flipped_proofs_are_never_accepted(
    genuine: dict[str, bytes], small: tuple[R1cs, Assignment], small_key: ProvingKey, seeded_srs: Srs
) -> None:
    source = random.Random(5090)
    data = genuine["proof"]
    for _ in range(60):
        altered = bytearray(data)
        altered[source.randrange(len(data))] ^= 1 << source.randrange(8)
        proof = decode("proof", bytes(altered))
        if isinstance(proof, Proof):
            assert not varuna.verify(seeded_srs, small_key.verifying, small[1].public, proof)


@pytest.mark.parametrize("name", DECODERS)
@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=1200))
@example(data=b"")
@example(data=b"\xff" * 1200)
@example(data=(1).to_bytes(8, "little") * 150)
def test_arbitrary_bytes(name: str, data: bytes) -> None:
    decode(name, data)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*")), ids=lambda path: path.name)
def test_corpus(path: Path) -> None:
    assert decode(path.name.partition("-")[0], path.read_bytes()) is None


def test_lengths_are_bounded_before_anything_is_allocated() -> None:
    huge = (1 << 62).to_bytes(8, "little")
    with pytest.raises(EncodingError, match="number of circuits is 4,611,686,018,427,387,904"):
        Proof.from_bytes(huge)
    with pytest.raises(EncodingError, match="batch size 0"):
        Proof.from_bytes((1).to_bytes(8, "little") + huge)
    with pytest.raises(EncodingError, match="public inputs"):
        VerifyingKey.from_bytes(huge * 6)


def test_scalars_must_be_canonical(genuine: dict[str, bytes]) -> None:
    data = bytearray(genuine["proof"])
    value = int.from_bytes(data[-131:-99], "little")  # the blinding value at beta
    assert decode("proof", bytes(data)) is not None
    data[-131:-99] = (value + scalars.MODULUS).to_bytes(32, "little")
    with pytest.raises(EncodingError, match="group order"):
        Proof.from_bytes(bytes(data))


def test_points_outside_the_subgroup_are_refused(genuine: dict[str, bytes]) -> None:
    data = bytearray(genuine["certificate"])
    reasons = set()
    for x in range(2, 40):
        data[8:56] = x.to_bytes(48, "little")
        with pytest.raises(EncodingError) as caught:
            Certificate.from_bytes(bytes(data))
        reasons.add(caught.value.what.rpartition(": ")[2])
    assert reasons == {"no point of the curve has this x", "the point is on the curve but not in the subgroup"}


def test_keys_of_other_circuits_differ(small_key: ProvingKey, seeded_srs: Srs) -> None:
    other = varuna.setup(workloads.test_circuit(3, 21, 25, 1)[0], seeded_srs)
    assert other.verifying.id != small_key.verifying.id


@pytest.mark.parametrize("name", DECODERS)
def test_what_is_no_bytes_is_refused(name: str) -> None:
    for other in (5, 10**13, None, "x", [1, 2]):
        with pytest.raises(InputTypeError, match=r"of type (int|NoneType|str|list)"):
            DECODERS[name](other)  # type: ignore[arg-type]
