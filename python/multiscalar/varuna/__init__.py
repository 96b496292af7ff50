"""Varuna, the proof system of Aleo: prove and verify, byte-compatible with snarkVM 4.12 (V1, V2, V3; default V3).

A workload, too: it shows what a faster multi-scalar multiplication buys. Documentation: docs/varuna-tutorial.md.
"""

from __future__ import annotations

from . import srs
from .certificate import Certificate, certify, check_certificate
from .keys import ProvingKey, VerifyingKey, setup
from .proof import Proof
from .prover import prove, prove_batch
from .r1cs import Assignment, ConstraintSystem, Matrix, R1cs
from .verifier import verify, verify_batch
from .version import Version

__all__ = [
    "Assignment",
    "Certificate",
    "ConstraintSystem",
    "Matrix",
    "Proof",
    "ProvingKey",
    "R1cs",
    "VerifyingKey",
    "Version",
    "certify",
    "check_certificate",
    "prove",
    "prove_batch",
    "setup",
    "srs",
    "verify",
    "verify_batch",
]
