"""RunInfo: where and how one result was computed, and the form of it that is written down only when asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple


class RunInfo(NamedTuple):
    """Facts of one multi-scalar multiplication, as measured; times in nanoseconds, sizes in bytes.

    `phases_ns` names the steps of the path (digits, accumulate, reduce, combine, ... ; the cuda backend adds copy and
    sort, from device events). `fallback_reason` is set when `auto` wanted another backend and could not have it.
    `copied_bytes`, `launches` and `evidence` say what the device did: what an attestation is made of.

    A named tuple, since making one is part of every call: a microsecond, a sixth of what a frozen dataclass takes.
    """

    backend: str
    device: str
    curve: str
    n: int
    phases_ns: Mapping[str, int]
    evidence: Mapping[str, object]
    batch: int = 1
    threads: int = 1
    isa: str = ""
    path: str = ""
    window: int = 0
    wall_ns: int = 0
    fallback_reason: str | None = None
    choice: str = ""
    copied_bytes: int = 0
    launches: int = 0


class Later:
    """A `RunInfo` that `tell` makes when somebody asks, once; results that share one share the object.

    Reading a device's clocks and writing all of it down takes a quarter of the host's part of a call, and most results
    are never asked. `tell` has to be safe in any thread, and twice.
    """

    __slots__ = ("_tell", "_told")

    def __init__(self, tell: Callable[[], RunInfo]) -> None:
        self._tell: Callable[[], RunInfo] | None = tell
        self._told: RunInfo | None = None

    def __call__(self) -> RunInfo:
        """It, made by now."""
        tell = self._tell
        if tell is not None:
            self._told = tell()
            self._tell = None  # and what it held on to
        assert self._told is not None
        return self._told


Run = RunInfo | Later


def told(run: Run) -> RunInfo:
    """What `run` says."""
    return run if isinstance(run, RunInfo) else run()


def changed(run: Run, **facts: Any) -> Run:
    """`run` with other facts, made no sooner than it is."""
    return run._replace(**facts) if isinstance(run, RunInfo) else Later(lambda: run()._replace(**facts))
