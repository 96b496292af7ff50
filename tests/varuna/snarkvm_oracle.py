"""Real snarkVM as oracle: the peer program of peers/rust/varuna, spoken to in JSON lines.

Looked for in MULTISCALAR_PEER_VARUNA, else in the cache where `msm peers build` puts it. It reads the public setup
itself, from a home directory that is made for it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from multiscalar.varuna import circuitfile
from multiscalar.varuna.r1cs import Assignment, R1cs

NAME = "multiscalar-peer-varuna"
DEGREE_16 = "powers-of-beta-16.usrs.84631bc"  # the name under which snarkVM caches the file


def program() -> Path | None:
    """The built peer, or None."""
    named = os.environ.get("MULTISCALAR_PEER_VARUNA")
    cached = Path.home() / ".cache/multiscalar/peers/varuna/release" / NAME
    return next((path for path in (named and Path(named), cached) if path and path.is_file()), None)


class SnarkVm:
    """A running oracle; a context manager."""

    def __init__(self, path: Path, srs: Path, home: Path, degree: int = 32767) -> None:
        resources = home / ".aleo/resources"
        resources.mkdir(parents=True, exist_ok=True)
        if not (resources / DEGREE_16).exists():
            shutil.copy(srs / "powers-of-beta-16.usrs", resources / DEGREE_16)
        env = {**os.environ, "HOME": str(home), "MULTISCALAR_PEER_MAX_DEGREE": str(degree)}
        self._home, self._count = home, 0
        self._process = subprocess.Popen([str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def __enter__(self) -> SnarkVm:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)

    def ask(self, do: str, **rest: Any) -> dict[str, Any]:
        """One request; its answer, or RuntimeError with snarkVM's own message."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, **rest}) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
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
