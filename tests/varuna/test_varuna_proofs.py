"""Proving and verifying on a seeded setup: what holds is accepted, everything else is refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from multiscalar import varuna
from multiscalar.errors import CircuitError, InputError, LengthError, OptionError, ScalarRangeError, SrsError
from multiscalar.varuna import points, scalars, srs, workloads
from multiscalar.varuna.keys import ProvingKey, VerifyingKey
from multiscalar.varuna.proof import Proof
from multiscalar.varuna.r1cs import Assignment, R1cs
from multiscalar.varuna.scalars import MODULUS
from multiscalar.varuna.srs import Srs
from multiscalar.varuna.version import Version, version

Small = tuple[R1cs, Assignment]


@pytest.fixture(scope="module")
def proof(small: Small, small_key: ProvingKey) -> Proof:
    return varuna.prove(small_key, small[1])


@pytest.mark.parametrize("hiding", [True, False])
@pytest.mark.parametrize("made", list(Version))
def test_each_version_accepts_its_own(seeded_srs: Srs, small: Small, made: Version, hiding: bool) -> None:
    key = varuna.setup(small[0], seeded_srs, hiding=hiding)
    proof = varuna.prove(key, small[1], version=made)
    assert proof.hiding is hiding
    accepted = [v for v in Version if varuna.verify(seeded_srs, key.verifying, small[1].public, proof, version=v)]
    assert accepted == [made]


def test_every_altered_message_is_refused(seeded_srs: Srs, small: Small, small_key: ProvingKey, proof: Proof) -> None:
    """Each message by itself: a point moved by the generator, a scalar by one."""
    g = seeded_srs.powers(1)

    def moved(rows: points.Points) -> points.Points:
        import multiscalar as ms

        total = ms.msm(points.stack([rows[:1], g]), [1, 1], curve="bls12-377")
        return points.stack([points.row(total.x, total.y), rows[1:]])

    opening = proof.openings[1]
    changes: dict[str, object] = {
        name: moved(getattr(proof, name)) for name in ("w", "mask", "h_0", "g_1", "h_1", "h_2")
    }
    changes["g"] = (moved(proof.g[0]), *proof.g[1:])
    changes["g_1_value"] = (proof.g_1_value + 1) % MODULUS
    changes["g_values"] = ([(proof.g_values[0][0] + 1) % MODULUS], *proof.g_values[1:])
    changes["sigmas"] = (((proof.sigmas[0][0][0] ^ 1, *proof.sigmas[0][0][1:]),),)
    changes["sums"] = ((proof.sums[0][0] ^ 1, *proof.sums[0][1:]),)
    for change in (
        replace(opening, witness=moved(opening.witness)),
        replace(opening, blinding=(opening.blinding or 0) ^ 1),
    ):
        altered = replace(proof, openings=(proof.openings[0], change, proof.openings[2]))
        assert not varuna.verify(seeded_srs, small_key.verifying, small[1].public, altered)
    assert varuna.verify(seeded_srs, small_key.verifying, small[1].public, proof)
    for name, value in changes.items():
        altered = replace(proof, **{name: value})  # type: ignore[arg-type]
        assert not varuna.verify(seeded_srs, small_key.verifying, small[1].public, altered), name


def test_altered_inputs_keys_and_setups_are_refused(
    seeded_srs: Srs, small: Small, small_key: ProvingKey, proof: Proof
) -> None:
    inputs = scalars.integers(small[1].public)
    key = small_key.verifying
    assert varuna.verify(seeded_srs, key, inputs, proof)
    for i in range(len(inputs)):
        altered = inputs.copy()
        altered[i] = (altered[i] + 1) % MODULUS
        assert not varuna.verify(seeded_srs, key, altered, proof)
    rows = key.commitments[::-1].copy()
    assert not varuna.verify(seeded_srs, replace(key, commitments=rows), inputs, proof)
    assert not varuna.verify(srs.seeded(300, 2, warn=False), key, inputs, proof)
    with pytest.raises(LengthError, match="5 public inputs"):
        varuna.verify(seeded_srs, key, [*inputs, 0], proof)


def test_a_statement_has_one_form(seeded_srs: Srs, small: Small, small_key: ProvingKey, proof: Proof) -> None:
    """x and x + r are one element: who keeps a list of statements seen must not be shown the same one twice."""
    vector, inputs = small[1].public, scalars.integers(small[1].public)
    for same in (
        inputs,
        tuple(inputs),
        iter(inputs),
        np.array(inputs, dtype=object),
        vector,
        vector[::-1].copy()[::-1],
    ):
        assert varuna.verify(seeded_srs, small_key.verifying, same, proof)  # type: ignore[arg-type]
    alias = vector.copy()
    alias[1] = np.frombuffer(
        (int.from_bytes(alias[1].tobytes(), "little") + MODULUS).to_bytes(32, "little"), dtype=np.uint64
    )
    for other in ([1, inputs[1] + MODULUS, *inputs[2:]], [1, inputs[1] - MODULUS, *inputs[2:]], alias):
        with pytest.raises(ScalarRangeError) as caught:
            varuna.verify(seeded_srs, small_key.verifying, other, proof)
        assert caught.value.index == 1
    for wrong in ([1.0, *inputs[1:]], "1", vector.astype(float), vector[:, :3]):
        with pytest.raises(InputError, match="accepted"):
            varuna.verify(seeded_srs, small_key.verifying, wrong, proof)  # type: ignore[arg-type]
    assert varuna.verify(seeded_srs, small_key.verifying, inputs, proof, version="V3")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="v9"):
        varuna.verify(seeded_srs, small_key.verifying, inputs, proof, version="v9")  # type: ignore[arg-type]


def altered_keys(key: VerifyingKey) -> Iterator[tuple[str, VerifyingKey, bool]]:
    """What was altered, the key, and whether that leaves all domains and commitments as they were."""
    info = key.info
    for step in (-1, 1):
        yield "variables", replace(key, info=replace(info, variables=info.variables + step)), True
        yield "rows", replace(key, info=replace(info, constraints=info.constraints + step)), True
        for m in range(3):
            entries = tuple(count + step * (i == m) for i, count in enumerate(info.entries))
            yield f"entries {m}", replace(key, info=replace(info, entries=entries)), True  # type: ignore[arg-type]
    yield "id", replace(key, id=bytes(32)), True
    yield "domain of publics", replace(key, info=replace(info, public=2 * info.public)), False
    yield "domain of variables", replace(key, info=replace(info, variables=2 * info.variables)), False
    yield "domain of rows", replace(key, info=replace(info, constraints=2 * info.constraints)), False
    yield "domain of A", replace(key, info=replace(info, entries=(64, *info.entries[1:]))), False
    for i in range(12):
        rows = key.commitments.copy()
        rows[i] = points.negated(rows[i : i + 1])[0]
        yield f"commitment {i}", replace(key, commitments=rows), False


def test_a_key_is_its_commitments_and_domains(
    seeded_srs: Srs, small: Small, small_key: ProvingKey, proof: Proof
) -> None:
    """Counts within a domain and the id are in no equation: whoever needs them checks the key, not the proof."""
    certificate = varuna.certify(small_key)
    for what, key, same in altered_keys(small_key.verifying):
        assert varuna.verify(seeded_srs, key, small[1].public, proof) is same, what
        if what.startswith("commitment"):
            assert not varuna.check_certificate(seeded_srs, small[0], key, certificate), what
        else:
            with pytest.raises(CircuitError, match="numbers or id differ"):
                varuna.check_certificate(seeded_srs, small[0], key, certificate)


def test_input_0_is_the_constant(small: Small, small_key: ProvingKey) -> None:
    """The circuit's rows do not hold it: all zeros satisfy them."""
    public = scalars.integers(small[1].public)
    with pytest.raises(CircuitError, match="constant 1"):
        varuna.prove(small_key, Assignment.of([0] * len(public), [0] * len(small[1].private)))


def test_a_proof_without_a_witness_cannot_be_had(small: Small, small_key: ProvingKey) -> None:
    _, assignment = small
    public = assignment.public.copy()
    scalars.add_constant(public, 1, index=3)
    with pytest.raises(CircuitError, match="row 19"):
        varuna.prove(small_key, Assignment(public, assignment.private))
    with pytest.raises(CircuitError, match="accepted: 4 and 21"):
        varuna.prove(small_key, Assignment(assignment.private, assignment.private))


def test_batches_by_circuit_and_instance(seeded_srs: Srs) -> None:
    parts = [
        [workloads.test_circuit(2, 32, 25, 1), workloads.test_circuit(2, 32, 25, 2)],
        [workloads.test_circuit(3, 150, 90, 3)],
    ]
    keys = [varuna.setup(part[0][0], seeded_srs) for part in parts]
    batch = [(key, [assignment for _, assignment in part]) for key, part in zip(keys, parts, strict=True)]
    proof = varuna.prove_batch(batch)
    claims = [(key.verifying, [a.public for a in given]) for key, given in batch]
    assert varuna.verify_batch(seeded_srs, claims, proof)
    assert varuna.verify_batch(seeded_srs, claims[::-1], Proof.from_bytes(proof.to_bytes()))
    swapped = [(claims[0][0], claims[0][1][::-1]), claims[1]]
    assert not varuna.verify_batch(seeded_srs, swapped, proof)
    assert not varuna.verify_batch(seeded_srs, claims[:1], proof)


def test_bad_batches(small: Small, small_key: ProvingKey, seeded_srs: Srs) -> None:
    with pytest.raises(LengthError, match="empty"):
        varuna.prove_batch([])
    with pytest.raises(LengthError, match="empty"):
        varuna.prove_batch([(small_key, [])])
    with pytest.raises(LengthError, match="twice"):
        varuna.prove_batch([(small_key, [small[1]]), (small_key, [small[1]])])
    other = varuna.setup(workloads.test_circuit(2, 30, 20, 1)[0], seeded_srs, hiding=False)
    with pytest.raises(LengthError, match="hiding"):
        varuna.prove_batch([(small_key, [small[1]]), (other, [small[1]])])


def test_blinding_is_fresh_unless_seeded(small: Small, small_key: ProvingKey) -> None:
    def make(seed: int | None) -> bytes:
        return varuna.prove(small_key, small[1], seed=seed).to_bytes()

    assert make(None) != make(None)
    assert make(7) == make(7) != make(8)


def test_the_setup_must_be_long_enough(small: Small) -> None:
    with pytest.raises(SrsError, match="powers are needed"):
        varuna.setup(small[0], srs.seeded(16, 1, warn=False))


def test_certificates(small: Small, small_key: ProvingKey, seeded_srs: Srs) -> None:
    certificate = varuna.certify(small_key)
    assert varuna.check_certificate(seeded_srs, small[0], small_key.verifying, certificate)
    rows = small_key.verifying.commitments.copy()
    rows[[0, 1]] = rows[[3, 4]]
    wrong = replace(small_key.verifying, commitments=rows)
    assert not varuna.check_certificate(seeded_srs, small[0], wrong, certificate)
    with pytest.raises(CircuitError, match="another circuit"):
        varuna.check_certificate(seeded_srs, workloads.test_circuit(2, 20, 25, 1)[0], small_key.verifying, certificate)


def test_versions_by_name() -> None:
    assert version("V2") is Version.V2
    assert "unsound" in (Version.V2.warning(hiding=True) or "")
    assert Version.V3.warning(hiding=True) is None
    assert Version.V2.warning(hiding=False) is None
    with pytest.raises(ValueError, match="v1, v2, v3"):
        version("v4")


def test_one_thread_gives_the_same_proof(small: Small, small_key: ProvingKey) -> None:
    import multiscalar as ms

    many = varuna.prove(small_key, small[1], seed=1)
    with ms.using(threads=1):
        one = varuna.prove(small_key, small[1], seed=1)
    assert np.array_equal(one.w, many.w)
    assert one.to_bytes() == many.to_bytes()
