"""A peer as an operating system process: one line out, one line back, each with a time limit.

The process has a session of its own, so that it and all it started can be ended together and a Ctrl-C at the
terminal reaches the lab only. Its stderr goes to a temporary file whose last line explains a death. After any fault
of the line discipline (silence, junk, death) the process is ended: its state is unknown.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import IO, Any

from .faults import Fault, FaultKind
from .protocol import parse_object

__all__ = ["PeerProcess"]

MAX_LINE = 8 << 20
_LOG_TAIL = 4096
_DEATH_S = 10.0  # a busy machine takes its time between closing a program's pipes and ending it


class PeerProcess:
    """The running program. `ask` never raises for what the program does."""

    def __init__(self, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
        self._process = process
        self._log = log
        self._pending = b""
        self._fault: Fault | None = None

    @classmethod
    def start(cls, command: Sequence[str], env: Mapping[str, str] | None = None) -> PeerProcess | Fault:
        """Start `command`, with `env` added to this process's environment."""
        try:
            log = tempfile.TemporaryFile()  # noqa: SIM115  closed in close()
        except OSError as error:
            return Fault(FaultKind.UNAVAILABLE, f"cannot start {command[0]}: {error}")
        try:
            process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **(env or {})},
                start_new_session=True,
            )
        except OSError as error:
            log.close()
            return Fault(FaultKind.UNAVAILABLE, f"cannot start {command[0]}: {error}")
        return cls(process, log)

    @property
    def pid(self) -> int:
        """Process id, for those who watch it from outside."""
        return self._process.pid

    def ask(self, request: Mapping[str, Any], limit_s: float) -> dict[str, Any] | Fault:
        """Send one request, wait at most `limit_s` seconds for the answer to it."""
        if self._fault is not None:
            return self._fault
        line = self._exchange(json.dumps(request).encode() + b"\n", limit_s)
        answer = line if isinstance(line, Fault) else parse_object(line)
        if isinstance(answer, Fault) and (isinstance(line, Fault) or b'"error"' not in line):
            return self.end(answer)
        return answer

    def end(self, fault: Fault) -> Fault:
        """End the program because of `fault`, which answers everything asked from now on."""
        self._fault = fault
        self.close()
        return fault

    def _exchange(self, request: bytes, limit_s: float) -> bytes | Fault:
        assert self._process.stdin is not None
        if self._pending or self._speaks():
            return Fault(FaultKind.ERROR, f"spoke without being asked: {self._pending[:80]!r}")
        try:
            self._process.stdin.write(request)
            self._process.stdin.flush()
        except OSError:
            return self._death()
        return self._read_line(time.monotonic() + limit_s, limit_s)

    def _speaks(self) -> bool:
        """Whether output waits although nothing was asked; a closed pipe is told by the exchange that follows."""
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            if selector.select(0):
                self._pending += os.read(descriptor, 1 << 16)
        return bool(self._pending)

    def _read_line(self, deadline: float, limit_s: float) -> bytes | Fault:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in self._pending:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    return Fault(FaultKind.TIMEOUT, f"no answer within {limit_s:g} s")
                piece = os.read(descriptor, 1 << 16)
                if not piece:
                    return self._death()
                self._pending += piece
                if len(self._pending) > MAX_LINE:
                    return Fault(FaultKind.ERROR, f"junk: {MAX_LINE >> 20} MiB without the end of a line")
        line, _, self._pending = self._pending.partition(b"\n")
        return line

    def _death(self) -> Fault:
        """The pipe is closed: how the process ended and what it said last."""
        try:
            code = self._process.wait(timeout=_DEATH_S)
        except subprocess.TimeoutExpired:
            return Fault(FaultKind.CRASHED, "closed its output and lives on")
        how = f"died of {_signal_name(-code)}" if code < 0 else f"exited with {code}"
        last = self._last_words()
        return Fault(FaultKind.CRASHED, how + (f": {last}" if last else ""))

    def _last_words(self) -> str:
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - _LOG_TAIL))
        lines = [line.strip() for line in self._log.read().decode(errors="replace").splitlines()]
        return next((line[:300] for line in reversed(lines) if line), "")

    def close(self) -> None:
        """Ask it to go, end it if it stays. May be called again."""
        if self._log.closed:
            return
        with contextlib.suppress(OSError, ValueError):
            assert self._process.stdin is not None
            if self._fault is None and self._process.poll() is None:
                self._process.stdin.write(b'{"do":"bye"}\n')
            self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=0 if self._fault else 1)
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._log.close()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
