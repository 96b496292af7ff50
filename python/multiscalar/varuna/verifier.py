"""The verifier: the transcript again, three equations, one pairing product.

Cost for one circuit and instance: some 220 permutations of the sponge (most absorb the public inputs), 30 scalar
multiplications in G1, a pairing product of 4 to 6 pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..engine.api import msm
from ..errors import LengthError, ScalarRangeError
from ..intake import first_unreduced, scalar_array
from . import points, scalars
from .keys import VerifyingKey
from .points import Points
from .proof import Proof
from .relations import Item, Name, Statement, openings
from .scalars import CURVE, MODULUS, Vector
from .srs import Srs
from .transcript import Transcript
from .version import Version
from .version import version as version_of

Inputs = Sequence[Sequence[int] | Vector]


def padded_inputs(key_publics: int, inputs: Sequence[int] | Vector) -> Vector:
    """Public inputs, the leading 1 included, as a vector padded to |X|. Errors: `LengthError`, `InputError`."""
    given = _vector(inputs)
    if not 1 <= len(given) <= key_publics:
        raise LengthError(
            f"{len(given)} public inputs for a circuit of {key_publics} (padded)",
            hint="The constant 1 comes first and is counted.",
        )
    return scalars.padded(given, key_publics)


def _vector(inputs: Sequence[int] | Vector) -> Vector:
    """Public inputs as a vector, each below r: x and x + r are one element, and must not pass as two statements."""
    ready = isinstance(inputs, np.ndarray) and inputs.ndim == 2
    limbs = scalar_array(inputs if ready else list(inputs), CURVE, reduce=False)
    index = first_unreduced(limbs, CURVE)
    if index is not None:
        raise ScalarRangeError(f"public input {index} is not below r", index=index, accepted=f"0 <= x < {CURVE.r:#x}")
    return limbs if ready else scalars.from_canonical(limbs)


def verify(
    srs: Srs, key: VerifyingKey, inputs: Sequence[int] | Vector, proof: Proof, *, version: Version = Version.V3
) -> bool:
    """Whether `proof` shows a witness of the circuit for these public inputs (the leading 1 included).

    The circuit is the one that the key's twelve commitments and its domains say. The id and the exact counts within a
    domain enter no equation and no challenge: a key altered there verifies as before, here and in snarkVM 4.12 alike.
    Take keys from whom you trust, or hold them to the circuit: `check_certificate`, or `setup` and compare.
    """
    return verify_batch(srs, [(key, [inputs])], proof, version=version)


def verify_batch(
    srs: Srs, batch: Iterable[tuple[VerifyingKey, Inputs]], proof: Proof, *, version: Version = Version.V3
) -> bool:
    """Whether `proof` shows witnesses for all instances of all circuits of the batch.

    `batch`: for every circuit its key and the public inputs of its instances. False for a proof that does not hold or
    does not fit the batch. Errors: `LengthError` for inputs of impossible length, `InputError` for others than integers
    below r.
    """
    version = version_of(version)
    ordered = sorted(batch, key=lambda pair: pair[0].id)
    keys = [key for key, _ in ordered]
    inputs = [[padded_inputs(key.info.public, one) for one in given] for key, given in ordered]
    if len({key.id for key in keys}) != len(keys):
        raise LengthError("a circuit occurs twice in the batch", hint="Give all its instances together.")
    if proof.batch_sizes != tuple(len(given) for given in inputs) or not _fits_mode(proof):
        return False
    if any(scalars.integer(vector, 0) != 1 for given in inputs for vector in given):
        return False
    transcript = _replay(version, inputs, keys, proof)
    infos = [key.info for key in keys]
    if not transcript.outside_domains(infos):
        return False
    x_at_beta = []
    for info, given in zip(infos, inputs, strict=True):
        lagrange = info.x.lagrange_at(transcript.challenges.beta)
        x_at_beta.append([scalars.dot(lagrange, vector) for vector in given])
    statement = Statement(
        infos, transcript.challenges, proof.hiding, proof.sigmas, proof.sums,
        proof.g_1_value, proof.g_values, x_at_beta,
    )  # fmt: skip
    return check_openings(srs, openings(statement), _commitments(keys, proof), proof, transcript)


def _fits_mode(proof: Proof) -> bool:
    """Blinding values where hiding has them, and nowhere else."""
    return any(o.blinding is not None for o in proof.openings) == proof.hiding


def _replay(
    version: Version, inputs: Sequence[Sequence[Vector]], keys: Sequence[VerifyingKey], proof: Proof
) -> Transcript:
    transcript = Transcript(version, inputs, [key.commitments for key in keys])
    transcript.first(proof.w, proof.mask)
    transcript.second(proof.h_0)
    transcript.sums_at_alpha(proof.sigmas)
    transcript.third(proof.g_1, proof.h_1, proof.sigmas)
    by_circuit = [points.stack([rows[i : i + 1] for rows in proof.g]) for i in range(len(keys))]
    transcript.fourth(by_circuit, proof.sums)
    transcript.fifth(proof.h_2)
    transcript.evaluations(proof.g_1_value, proof.g_values)
    return transcript


def _commitments(keys: Sequence[VerifyingKey], proof: Proof) -> dict[Name, Points]:
    """Every commitment by the name of its polynomial."""
    found: dict[Name, Points] = {
        ("h_0",): proof.h_0, ("g_1",): proof.g_1, ("h_1",): proof.h_1, ("h_2",): proof.h_2
    }  # fmt: skip
    if proof.mask is not None:
        found["mask",] = proof.mask
    at = 0
    for i, (key, size) in enumerate(zip(keys, proof.batch_sizes, strict=True)):
        for j in range(size):
            found["w", i, j] = proof.w[at + j : at + j + 1]
        at += size
        for m, rows in enumerate(proof.g):
            found["g", i, m] = rows[i : i + 1]
            for which in range(4):
                row = 3 * which + m
                found["index", i, which, m] = key.commitments[row : row + 1]
    return found


class _Sum:
    """A sum of scalars times points, collected and then done in one multiplication."""

    def __init__(self) -> None:
        self.terms: dict[Name, int] = {}
        self.rows: dict[Name, Points] = {}

    def add(self, name: Name, rows: Points, factor: int) -> None:
        self.terms[name] = (self.terms.get(name, 0) + factor) % MODULUS
        self.rows[name] = rows

    def point(self) -> Points:
        names = list(self.terms)
        result = msm(
            points.stack([self.rows[name] for name in names]), scalars.vector(self.terms[n] for n in names),
            curve=scalars.CURVE, scalar_form="montgomery", check="none", assume_subgroup=True, backend="cpu",
        )  # fmt: skip
        return points.row(result.x, result.y)


def check_openings(
    srs: Srs,
    claims: Sequence[tuple[int, Sequence[Item]]],
    commitments: dict[Name, Points],
    proof: Proof,
    transcript: Transcript,
) -> bool:
    """One pairing product for all openings.

    The factors of the points are drawn after absorbing the witnesses, so that a prover cannot choose these to fit.
    """
    private = transcript.sponge.copy()
    for opening in proof.openings:
        private.absorb_points(opening.witness)
        private.absorb_scalars([opening.blinding or 0])
    g, gamma_g = srs.powers(1), srs.hiding(0)[:1]
    sums: dict[int | None, _Sum] = {None: _Sum()}
    witnesses = _Sum()
    rho = 1
    for at, ((z, items), opening) in enumerate(zip(claims, proof.openings, strict=True)):
        value = 0
        for item in items:
            xi = transcript.sponge.short_challenge()
            value += xi * item.value
            target = sums.setdefault(item.bound, _Sum())
            for name, factor in item.terms.items():
                target.add(name, commitments[name], rho * xi * factor)
        transcript.sponge.short_challenge()
        plain = sums[None]
        plain.add(("G",), g, -rho * value)
        plain.add(("W", at), opening.witness, rho * z)
        if opening.blinding is not None:
            plain.add(("gamma G",), gamma_g, -rho * opening.blinding)
        witnesses.add(("W", at), opening.witness, -rho)
        rho = private.short_challenge()
    g1 = [total.point() for total in sums.values()] + [witnesses.point()]
    g2 = [srs.h if bound is None else srs.negative(bound) for bound in sums] + [srs.beta_h]
    return bool(scalars.native.pairing_product_is_one(points.stack(g1), g2, scalars.threads()))
