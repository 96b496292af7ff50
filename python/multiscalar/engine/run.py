"""RunInfo: where and how one result was computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


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
