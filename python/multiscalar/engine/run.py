"""RunInfo: where and how one result was computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """Facts of one multi-scalar multiplication, as measured; times in nanoseconds, sizes in bytes.

    `phases_ns` names the steps of the path (digits, accumulate, reduce, combine, ... ; the cuda backend adds copy and
    sort, from device events). `fallback_reason` is set when `auto` wanted another backend and could not have it.
    `copied_bytes`, `launches` and `evidence` say what the device did: what an attestation is made of.
    """

    backend: str
    device: str
    curve: str
    n: int
    batch: int = 1
    threads: int = 1
    isa: str = ""
    path: str = ""
    window: int = 0
    wall_ns: int = 0
    phases_ns: Mapping[str, int] = field(default_factory=dict)
    fallback_reason: str | None = None
    choice: str = ""
    copied_bytes: int = 0
    launches: int = 0
    evidence: Mapping[str, object] = field(default_factory=dict)

    def mark(self, choice: str, fallback_reason: str | None) -> None:
        """For the engine, on a record that nobody else has seen yet: why this backend answered."""
        object.__setattr__(self, "choice", choice)
        object.__setattr__(self, "fallback_reason", fallback_reason)
