"""Fixtures: the public setup where it is at hand, snarkVM where it is built; skips say what is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from multiscalar.lab.peers.faults import Fault
from multiscalar.varuna import keys, srs, workloads
from multiscalar.varuna.keys import ProvingKey
from multiscalar.varuna.r1cs import Assignment, R1cs
from multiscalar.varuna.srs import Srs

from . import snarkvm_oracle as oracle

Small = tuple[R1cs, Assignment]


@pytest.fixture(scope="session")
def srs_directory() -> Path:
    named = os.environ.get("MULTISCALAR_SRS_DIR")
    if not named or not (Path(named) / "beta-h.usrs").is_file():
        pytest.skip("needs the public SRS files: set MULTISCALAR_SRS_DIR to their directory")
    return Path(named)


@pytest.fixture(scope="session")
def public_srs(srs_directory: Path) -> Srs:
    return srs.load(srs_directory)


@pytest.fixture(scope="session")
def snarkvm(srs_directory: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[oracle.SnarkVm]:
    program = oracle.program()
    if isinstance(program, Fault):
        pytest.skip(f"needs snarkVM's own prover (peers/rust/varuna): {program.reason}")
    with oracle.SnarkVm(program, srs_directory, tmp_path_factory.mktemp("home")) as running:
        yield running


@pytest.fixture(scope="session")
def seeded_srs() -> Srs:
    return srs.seeded(300, 1, warn=False)


@pytest.fixture(scope="session")
def small() -> Small:
    return workloads.test_circuit(3, 20, 25, 1)


@pytest.fixture(scope="session")
def small_key(small: Small, seeded_srs: Srs) -> ProvingKey:
    return keys.setup(small[0], seeded_srs)
