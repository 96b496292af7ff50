"""Real snarkVM as oracle: the peer program of peers/rust/varuna, spoken to in JSON lines."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import Any

from multiscalar.cli.snarkvm import start
from multiscalar.lab.peers.build import Program, program_of
from multiscalar.lab.peers.faults import Fault
from multiscalar.lab.peers.registry import PROVER
from multiscalar.varuna import circuitfile
from multiscalar.varuna.r1cs import Assignment, R1cs

LIMIT_S = 240.0
POWERS = 1 << 15


def program() -> Program | Fault:
    """The built peer: the one that MULTISCALAR_PEER_VARUNA names, else the one in the cache. Builds nothing."""
    named = os.environ.get("MULTISCALAR_PEER_VARUNA")
    if named:
        return Program((named,), {}, {})
    return program_of(PROVER, threads=2, build=False, say=print)


class SnarkVm:
    """A running oracle; a context manager."""

    def __init__(self, program: Program, srs: Path, home: Path) -> None:
        started = start(program, srs, home, powers=POWERS, threads=2)
        if isinstance(started, Fault):
            raise RuntimeError(started.reason)
        self._process, self._home, self._count = started, home, 0

    def __enter__(self) -> SnarkVm:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.close()

    def ask(self, do: str, **rest: Any) -> dict[str, Any]:
        """One request; its answer, or RuntimeError with snarkVM's own message."""
        answer = self._process.ask({"do": do, **rest}, LIMIT_S)
        if isinstance(answer, Fault):
            raise RuntimeError(answer.reason)
        return answer

    def load(self, circuit: R1cs, assignments: list[Assignment], *, hiding: bool = True) -> dict[str, Any]:
        """Keys for a circuit: its number and verifying key."""
        self._count += 1
        path = self._home / f"circuit-{self._count}"
        path.write_bytes(circuitfile.to_bytes(circuit, assignments))
        return self.ask("load", file=str(path), hiding=hiding)

    def accepts(
        self, keys: list[bytes], inputs: list[list[list[int]]], proof: bytes, version: str, *, hiding: bool = True
    ) -> bool:
        """Whether snarkVM takes a proof."""
        texts = [[[x.to_bytes(32, "little").hex() for x in one] for one in given] for given in inputs]
        answer = self.ask(
            "verify", vk=[key.hex() for key in keys], inputs=texts, proof=proof.hex(), version=version, hiding=hiding
        )
        return bool(answer["accepted"])
