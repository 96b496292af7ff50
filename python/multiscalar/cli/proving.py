"""Proving as a lab subject: our prover, by backend or cutoff, on one workload; every timed proof is verified.

The timed region is `prove` alone: circuit, keys, prepared bases and witness lie outside, as in the story.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import multiscalar as ms

from ..lab.lacks import own_lack
from ..lab.status import Status, SubjectError, failure
from ..lab.subject import Case, Evidence, Labels, Place, Sample
from ..varuna import clock, prove, setup, verify
from ..varuna.keys import ProvingKey
from ..varuna.proof import Proof
from ..varuna.r1cs import Assignment, R1cs
from ..varuna.srs import Srs
from ..varuna.version import Version

__all__ = ["Job", "OwnProver", "Ready", "case_of"]

_PLACES = {"cpu": Place.CPU, "cuda": Place.GPU}


@dataclass(frozen=True)
class Job:
    """What is to be proven, and how."""

    name: str
    circuit: R1cs
    assignment: Assignment
    version: Version
    hiding: bool
    threads: int | None
    make_srs: Callable[[R1cs], Srs]


@dataclass(frozen=True)
class Ready:
    """The job with its setup and keys: what lies outside the timed region."""

    job: Job
    srs: Srs
    key: ProvingKey


def case_of(job: Job, labels: Labels) -> Case:
    """The job as a case of the lab. A result is the bytes of a proof; right is what our verifier accepts."""

    def load() -> Ready:
        with ms.using(threads=job.threads):
            srs = job.make_srs(job.circuit)
            return Ready(job, srs, setup(job.circuit, srs, hiding=job.hiding))

    def check(ready: Ready, result: object) -> str | None:
        assert isinstance(result, bytes)
        proof = Proof.from_bytes(result)
        key = ready.key.verifying
        good = verify(ready.srs, key, job.assignment.public, proof, version=job.version)
        return None if good else "the verifier refuses the proof"

    return Case(labels, load, check)


class OwnProver:
    """Our prover. `backend` is cpu, cuda or auto; `cutoff` fixes the size above which auto takes the GPU."""

    def __init__(self, name: str, backend: str, cutoff: int | None = None) -> None:
        self.name = name
        self.place = _PLACES.get(backend, Place.ANY)
        self._backend, self._cutoff = backend, cutoff
        self._ready: Ready | None = None
        self._key: ProvingKey | None = None

    def describe(self) -> dict[str, Any]:
        """Version and choice of backend."""
        return {"library": "multiscalar", "version": ms.__version__, "backend": self._backend, "cutoff": self._cutoff}

    def _settings(self, ready: Ready) -> dict[str, object]:
        chosen: dict[str, object] = {"backend": self._backend, "threads": ready.job.threads}
        return chosen if self._cutoff is None else {**chosen, "crossover": self._cutoff}

    def prepare(self, case: Case, inputs: Any) -> None:
        """Bases prepared for this choice of backend."""
        if self._backend in ("cpu", "cuda") and (missing := own_lack(self._backend)):
            raise SubjectError(Status.UNAVAILABLE, str(missing))
        ready: Ready = inputs
        try:
            with ms.using(**self._settings(ready)):
                self._key = ready.key.with_fresh_bases()
        except ms.errors.MultiscalarError as error:
            raise failure(error) from None
        self._ready = ready

    def take(self, count: int, warmups: int) -> Sequence[Sample]:
        """Proofs one after the other."""
        ready, key = self._ready, self._key
        assert ready is not None, "prepare first"
        assert key is not None, "prepare first"
        try:
            with ms.using(**self._settings(ready)):
                for _ in range(warmups):
                    prove(key, ready.job.assignment, version=ready.job.version)
                return [_sample(key, ready.job) for _ in range(count)]
        except ms.errors.MultiscalarError as error:
            raise failure(error) from None

    def close(self) -> None:
        """Give the bases back."""
        self._ready = self._key = None


def _sample(key: ProvingKey, job: Job) -> Sample:
    cpu = time.process_time_ns()
    start = time.perf_counter_ns()
    with clock.measured() as phases:
        proof = prove(key, job.assignment, version=job.version)
    wall = time.perf_counter_ns() - start
    cpu = time.process_time_ns() - cpu
    detail: dict[str, Any] = {"phases_ns": {**phases.by_name, "rest": phases.rest}, "backends": phases.backends}
    backend = "cpu" if set(phases.backends) <= {"cpu"} else "cuda"
    evidence = Evidence(backend, launches=phases.launches or None, detail=detail)
    return Sample(start, wall, cpu, proof.to_bytes(), evidence=evidence)
