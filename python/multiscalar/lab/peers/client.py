"""A peer as the lab uses it: opened by name, loaded once, asked for samples.

Every method gives its answer or a `Fault`; nothing that a peer does raises here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from .faults import Fault, FaultKind
from .process import PeerProcess
from .protocol import Hello, LoadAnswer, RunAnswer, parse_hello, parse_load, parse_run

__all__ = ["Peer", "open_peer", "open_program"]

HELLO_LIMIT_S = 60.0  # a GPU peer creates its context before it can name its devices
LOAD_LIMIT_S = 600.0
RUN_LIMIT_S = 600.0

T = TypeVar("T")


@dataclass
class Peer:
    """A running peer that has said hello. `path` is passed to `run`; `place` is "cpu" or "gpu"."""

    process: PeerProcess
    hello: Hello
    path: str = "cpu"
    place: str = "cpu"
    built: Mapping[str, Any] = field(default_factory=dict)

    def facts(self) -> dict[str, Any]:
        """For the record: the library, its version, how it was built, what one sample covers."""
        library = {"library": self.hello.name, "version": self.hello.version, "timed": self.hello.timed}
        return {**library, "path": self.path, "devices": list(self.hello.devices), "build": dict(self.built)}

    def load(
        self,
        *,
        curve: str,
        n: int,
        points: Path,
        scalars: Path,
        form: str = "canonical",
        scalar_form: str = "canonical",
        group: str = "g1",
        limit_s: float = LOAD_LIMIT_S,
    ) -> LoadAnswer | Fault:
        """Have the peer read `n` points and scalars from raw files, uint64[n, 2, L] and uint64[n, 4]."""
        if curve not in self.hello.curves:
            return Fault(FaultKind.UNSUPPORTED, f"{self.hello.name} has no {curve}")
        request = {
            "do": "load",
            "curve": curve,
            "group": group,
            "n": n,
            "points": str(points),
            "scalars": str(scalars),
            "form": form,
            "scalar_form": scalar_form,
        }
        return self._ask(request, limit_s, parse_load)

    def run(
        self,
        *,
        scope: str = "resident-bases",
        warmups: int = 0,
        repeats: int = 1,
        threads: int = 1,
        options: Mapping[str, Any] | None = None,
        n: int | None = None,
        path: str | None = None,
        limit_s: float = RUN_LIMIT_S,
    ) -> RunAnswer | Fault:
        """Samples of the loaded workload, or of its first `n` terms. `threads` 0 means all processors."""
        if scope not in self.hello.scopes:
            return Fault(FaultKind.UNSUPPORTED, f"{self.hello.name} has no scope {scope}")
        request: dict[str, Any] = {
            "do": "run",
            "path": path or self.path,
            "scope": scope,
            "warmups": warmups,
            "repeats": repeats,
            "threads": threads,
            "options": dict(options or {}),
        }
        if n is not None:
            request["n"] = n
        return self._ask(request, limit_s, lambda answer: parse_run(answer, repeats))

    def _ask(
        self, request: Mapping[str, Any], limit_s: float, parse: Callable[[Mapping[str, Any]], T | Fault]
    ) -> T | Fault:
        """Ask and parse; a program whose answer makes no sense is ended, for its next one could be this one's."""
        answer = self.process.ask(request, limit_s)
        if isinstance(answer, Fault):
            return answer
        parsed = parse(answer)
        return self.process.end(parsed) if isinstance(parsed, Fault) else parsed

    def close(self) -> None:
        """End the peer."""
        self.process.close()


def open_program(command: Sequence[str], env: Mapping[str, str] | None = None) -> Peer | Fault:
    """Start a program that speaks the protocol and greet it."""
    process = PeerProcess.start(command, env)
    if isinstance(process, Fault):
        return process
    answer = process.ask({"do": "hello"}, HELLO_LIMIT_S)
    hello = answer if isinstance(answer, Fault) else parse_hello(answer)
    if isinstance(hello, Fault):
        process.close()
        return hello
    return Peer(process, hello, path=hello.paths[0] if hello.paths else "cpu")


def open_peer(
    name: str, *, threads: int = 1, build: bool = True, say: Callable[[str], None] | None = None
) -> Peer | Fault:
    """Open the peer `name`, or one of its paths as `name:path`; built first if need be, with one line to `say`.

    `threads` chooses between builds where a library has one for exactly one thread. `snarkvm:cuda` is sppark called
    as snarkVM calls it, and `snarkvm:dispatch` snarkVM's choice between that and its CPU path (`dispatching`).
    """
    from .build import program_of
    from .registry import find

    if name == "snarkvm:dispatch":
        return _open_dispatch(threads=threads, build=build, say=say)
    base, _, path = ("sppark:snarkvm" if name == "snarkvm:cuda" else name).partition(":")
    spec = find(base)
    if isinstance(spec, Fault):
        return spec
    program = program_of(spec, threads=threads, build=build, say=say or _to_stderr)
    if isinstance(program, Fault):
        return program
    peer = open_program(program.command, program.env)
    if isinstance(peer, Fault):
        return peer
    if path and path not in peer.hello.paths:
        peer.close()
        return Fault(FaultKind.UNAVAILABLE, f"{base} has no path {path!r}; it has {', '.join(peer.hello.paths)}")
    if spec.place == "gpu" and not peer.hello.devices:
        peer.close()
        return Fault(FaultKind.UNAVAILABLE, f"{base} found no GPU")
    peer.path, peer.place, peer.built = path or spec.path, spec.place, program.facts
    return peer


def _open_dispatch(*, threads: int, build: bool, say: Callable[[str], None] | None) -> Peer | Fault:
    from .dispatching import DispatchingPeer

    halves: list[Peer] = []
    for half in ("snarkvm:batched", "snarkvm:cuda"):
        peer = open_peer(half, threads=threads, build=build, say=say)
        if isinstance(peer, Fault):
            for opened in halves:
                opened.close()
            return peer
        halves.append(peer)
    cpu, gpu = halves
    return DispatchingPeer(cpu.process, cpu.hello, cpu.path, "any", cpu.built, gpu=gpu)


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr)
