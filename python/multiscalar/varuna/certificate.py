"""The certificate of a verifying key: that its twelve commitments are those of the circuit's index polynomials.

One opening of a random combination of the twelve at a random point. Source: snarkVM 4.12 (deployments carry one).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..engine.api import msm
from ..errors import CircuitError
from . import points, scalars
from .indexer import Index, index
from .keys import COMMITMENTS, ProvingKey, VerifyingKey
from .points import Points
from .polynomial import Polynomial
from .r1cs import R1cs
from .reader import Reader
from .scalars import MODULUS
from .sponge import Sponge
from .srs import Srs

_TAG: Final = b"VARUNA-2023"  # in all versions


@dataclass(frozen=True)
class Certificate:
    """The witness of the opening."""

    witness: Points

    def to_bytes(self) -> bytes:
        """57 bytes: u64 1, the point, and a zero for "no blinding"."""
        return (1).to_bytes(8, "little") + points.compress(self.witness) + b"\x00"

    def to_aleo_bytes(self) -> bytes:
        """The bytes behind the version 1."""
        return b"\x01" + self.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Certificate:
        """Parse 57 bytes. Errors: `EncodingError`."""
        reader = Reader(data, "certificate")
        reader.number(1, 1, "number of openings")
        witness = reader.points(1)
        if reader.flag("a blinding value"):
            raise reader.fail("a certificate has no blinding")
        reader.end()
        return cls(witness)


def _challenges(key: VerifyingKey) -> tuple[list[int], int, int]:
    """Factors of the twelve polynomials, the point, and the factor of the opening."""
    sponge = Sponge()
    sponge.absorb_bytes(_TAG)
    sponge.absorb_bytes(key.info.to_bytes())
    sponge.absorb_points(key.commitments)
    sponge.absorb_bytes(key.id)
    *factors, z = sponge.challenges(COMMITMENTS)
    return [1, *factors], z, sponge.short_challenge()


def certify(key: ProvingKey) -> Certificate:
    """The certificate of a key. Deterministic."""
    factors, z, xi = _challenges(key.verifying)
    polynomials = key.index.polynomials()
    total = Polynomial.zeros(max(map(len, polynomials)))
    for factor, polynomial in zip(factors, polynomials, strict=True):
        scalars.add_scaled(total.coefficients, xi * factor, polynomial)
    scalars.divide_linear(total.coefficients, z)
    return Certificate(key.committer.commit([(total, None)]))


def check_certificate(
    srs: Srs, circuit: R1cs | Index, key: VerifyingKey, certificate: Certificate, *, hiding: bool = True
) -> bool:
    """Whether `key` is the key of `circuit`. The circuit is indexed anew unless its index is given.

    Errors: `CircuitError` when numbers or id already differ.
    """
    indexed = circuit if isinstance(circuit, Index) else index(circuit, hiding=hiding)
    if indexed.info != key.info or indexed.id != key.id:
        raise CircuitError("the key belongs to another circuit: numbers or id differ")
    factors, z, xi = _challenges(key)
    value = sum(f * scalars.evaluate(p, z) for f, p in zip(factors, indexed.polynomials(), strict=True))
    # e(xi (C - v G) + z W, H) e(-W, beta H) = 1
    rows = points.stack([key.commitments, srs.powers(1), certificate.witness])
    left = msm(
        rows, scalars.vector([*(xi * f for f in factors), -xi * value % MODULUS, z]), curve=scalars.CURVE,
        scalar_form="montgomery", check="none", assume_subgroup=True, backend="cpu",
    )  # fmt: skip
    g1 = points.stack([points.row(left.x, left.y), points.negated(certificate.witness)])
    return bool(scalars.native.pairing_product_is_one(g1, [srs.h, srs.beta_h], scalars.threads()))
