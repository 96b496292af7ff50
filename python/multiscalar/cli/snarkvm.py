"""snarkVM's own prover as a lab subject: the peer program peers/rust/varuna, on the same circuit and witness.

It reads the public setup itself, from a home directory that is made for it. It times itself, around `prove_batch`
alone; its proofs are checked by its verifier there and by ours here.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from ..lab.machine import usable_cpus
from ..lab.peers.build import Program, program_of
from ..lab.peers.faults import Fault
from ..lab.peers.process import PeerProcess
from ..lab.peers.registry import PROVER
from ..lab.status import Status, SubjectError
from ..lab.subject import Case, Evidence, Place, Sample
from ..varuna import circuitfile, srs
from .proving import Ready

__all__ = ["SnarkVm", "start"]

_DEGREE_16: Final = "powers-of-beta-16.usrs.84631bc"  # the name under which snarkVM looks for the file
_LIMIT_S: Final = 900.0

T = TypeVar("T")


def start(program: Program, directory: Path, home: Path, *, powers: int, threads: int) -> PeerProcess | Fault:
    """The running program, with `home` as its home directory and the public setup of `directory` in it."""
    resources = home / ".aleo/resources"
    resources.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copy(directory / "powers-of-beta-16.usrs", resources / _DEGREE_16)
    except OSError:
        powers = min(powers, srs.FILE_POINTS)  # snarkVM brings the first 2^15 along
    env: Mapping[str, str] = {
        "HOME": str(home),
        "RAYON_NUM_THREADS": str(threads),
        "MULTISCALAR_PEER_MAX_DEGREE": str(powers - 1),
    }
    return PeerProcess.start(program.command, {**program.env, **env})


class SnarkVm:
    """snarkVM on the CPU."""

    name = "snarkvm"
    place = Place.CPU

    def __init__(self, say: Callable[[str], None], *, build: bool = True) -> None:
        self._say, self._build = say, build
        self._home = tempfile.TemporaryDirectory(prefix="multiscalar-snarkvm-")
        self._process: PeerProcess | None = None
        self._facts: dict[str, Any] = {}
        self._request: dict[str, Any] = {}

    def describe(self) -> dict[str, Any]:
        """snarkVM's version and how it was built."""
        return self._facts

    def prepare(self, case: Case, inputs: Any) -> None:
        """Start the program and make the keys of the circuit in it."""
        ready: Ready = inputs
        job = ready.job
        if ready.srs.insecure:
            raise SubjectError(Status.UNSUPPORTED, "snarkVM proves on the public setup only")
        threads = job.threads or usable_cpus()
        program = program_of(PROVER, threads=threads, build=self._build, say=self._say)
        if isinstance(program, Fault):
            raise SubjectError(Status(program.status), program.reason)
        directory = next(place for place in srs.places(_directory(ready)) if place.is_dir())
        started = start(program, directory, Path(self._home.name), powers=2 * srs.FILE_POINTS, threads=threads)
        if isinstance(started, Fault):
            raise SubjectError(Status(started.status), started.reason)
        self._process = started
        version = self._ask({"do": "hello"}, lambda answer: str(answer["version"]))
        self._facts = {"library": "snarkvm-algorithms", "version": version, "build": dict(program.facts)}
        path = Path(self._home.name) / "circuit"
        path.write_bytes(circuitfile.to_bytes(job.circuit, [job.assignment]))
        request = {"do": "load", "file": str(path), "hiding": job.hiding}
        key, circuit = self._ask(request, lambda answer: (answer["vk"], answer["circuit"]))
        if key != ready.key.verifying.to_bytes().hex():
            raise SubjectError(Status.MISMATCH, "snarkVM derives another verifying key from this circuit")
        self._request = {
            "do": "prove", "circuits": [circuit], "hiding": job.hiding, "version": str(job.version)
        }  # fmt: skip

    def _ask(self, request: dict[str, Any], read: Callable[[dict[str, Any]], T]) -> T:
        """What `read` takes from the answer; an answer without it is a failure of the subject."""
        assert self._process is not None
        answer = self._process.ask(request, _LIMIT_S)
        if isinstance(answer, Fault):
            raise SubjectError(Status(answer.status), answer.reason)
        try:
            return read(answer)
        except (KeyError, TypeError, ValueError) as error:
            raise SubjectError(Status.ERROR, f"bad answer to {request['do']}: {error!r:.200}") from None

    def take(self, count: int, warmups: int) -> Sequence[Sample]:
        """Proofs by snarkVM; the last one of a turn is kept and checked."""
        at = time.perf_counter_ns()
        verified, proof, times = self._ask({**self._request, "warmups": warmups, "repeats": count}, _proven)
        if not verified:
            raise SubjectError(Status.MISMATCH, "snarkVM refuses its own proof")
        return [Sample(at, wall, cpu, proof, evidence=Evidence("cpu")) for wall, cpu in times]

    def close(self) -> None:
        """End the program; its home goes with this object."""
        if self._process is not None:
            self._process.close()
            self._process = None


def _proven(answer: dict[str, Any]) -> tuple[bool, bytes, list[tuple[int, int]]]:
    """Whether snarkVM accepts the proof, its bytes, and (wall, CPU) nanoseconds of every sample."""
    times = [(int(one["wall_ns"]), int(one["cpu_ns"])) for one in answer["samples"]]
    return bool(answer["verified"]), bytes.fromhex(answer["proof"]), times


def _directory(ready: Ready) -> str | None:
    """Where the setup of the job was read from."""
    found = getattr(ready.srs, "directory", None)
    return os.fspath(found) if found is not None else None
