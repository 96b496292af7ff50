"""How much memory a call may take: asked before large allocations, so that the answer is an error and not a kill.

Free memory is the smaller of what the kernel calls available and what the cgroup leaves (Linux); elsewhere unknown,
and then nothing is refused. Cost: two small files read, only for requests above 64 MiB.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from .errors import OutOfMemoryError

_ALWAYS_FINE: Final = 64 << 20
_CGROUP: Final = Path("/sys/fs/cgroup")


def _number(path: Path) -> int | None:
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def free_bytes() -> int | None:
    """Memory that this process can still take, or None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    free = next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), None)
    limit, used = _number(_CGROUP / "memory.max"), _number(_CGROUP / "memory.current")
    if limit is not None and used is not None:
        free = min(limit - used, free if free is not None else limit)
    return free


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
