"""How much memory a call may take: asked before large allocations, so that the answer is an error and not a kill.

Free memory is the least of what the kernel calls available, what each cgroup that holds this process leaves, and what
its own limits (`ulimit -v`, `ulimit -d`) leave. Files that a cgroup has cached count as free: the kernel drops them
before it refuses. Linux only; elsewhere free memory is unknown, and then nothing is refused. Cost: a few small files
read, only for requests above 64 MiB.
Source: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst; proc(5).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from .errors import OutOfMemoryError

_ALWAYS_FINE: Final = 64 << 20


class _Names(NamedTuple):
    """Where one version of cgroups keeps its groups, and what it calls the same things."""

    mount: str
    limit: str
    used: str
    droppable: tuple[str, ...]


_V2: Final = _Names("", "memory.max", "memory.current", ("inactive_file", "active_file", "slab_reclaimable"))
_V1: Final = _Names(
    "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file")
)


def free_bytes(proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Memory that this process can still take, or None where the system does not say.

    `proc`, `cgroups`: where these file systems are mounted.
    """
    available = next((int(words[1]) << 10 for words in _words(proc / "meminfo") if words[0] == "MemAvailable:"), None)
    if available is None:
        return None
    return max(0, min([available, *_left_by_groups(proc, cgroups), *_left_by_limits(proc)]))


def _words(path: Path) -> list[list[str]]:
    """The lines of a file as words, without empty lines; none of a file that cannot be read."""
    try:
        return [line.split() for line in path.read_text().splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError):
        return []


def _number(path: Path) -> int | None:
    words = _words(path)
    return int(words[0][0]) if words and words[0][0].isdecimal() else None


def _left_by_groups(proc: Path, cgroups: Path) -> Iterator[int]:
    """What the process's own group and each one above it leave, as far as they are visible here."""
    for line in _words(proc / "self" / "cgroup"):
        number, _, rest = line[0].partition(":")
        controllers, _, group = rest.partition(":")
        if number == "0" and not controllers:
            names = _V2
        elif "memory" in controllers.split(","):
            names = _V1
        else:
            continue
        parts = [part for part in group.split("/") if part not in ("", "..")]
        for depth in range(len(parts), -1, -1):
            folder = cgroups.joinpath(names.mount, *parts[:depth])
            limit, used = _number(folder / names.limit), _number(folder / names.used)
            if limit is not None and used is not None:
                cached = sum(int(row[1]) for row in _words(folder / "memory.stat") if row[0] in names.droppable)
                yield limit - max(0, used - cached)


def _left_by_limits(proc: Path) -> Iterator[int]:
    """What limits on address space and on data leave after the requests that never ask (no kernel gives way for those).

    Source: proc(5), statm: pages of size and of data.
    """
    try:
        import resource
    except ImportError:  # no such limits on this system
        return
    statm = _words(proc / "self" / "statm")
    if not statm:
        return
    page = resource.getpagesize()
    for limit, column in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            yield most - int(statm[0][column]) * page - _ALWAYS_FINE


def require(need: int, purpose: str) -> None:
    """Raise `OutOfMemoryError` with both numbers if `need` bytes are not to be had."""
    if need <= _ALWAYS_FINE:
        return
    free = free_bytes()
    if free is not None and need > free:
        raise OutOfMemoryError(
            f"{purpose} needs {need:,} bytes and {free:,} are free",
            need=need,
            free=free,
            hint="Use fewer terms at a time: sums of parts add up.",
        )
