"""What a Cargo.lock says of one package: itself and all that it depends on, names, versions and checksums.

Several peers share a lock file. A build depends on its own part of it only, so that a peer added beside it, or a
dependency of another peer moved, asks for no new build.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

__all__ = ["locked_closure"]


def locked_closure(lock: Path, package: str) -> str:
    """One line for each locked package that `package` can reach, sorted. Errors: `OSError`, `ValueError`."""
    entries = tomllib.loads(lock.read_text())["package"]
    by_name: dict[str, list[dict[str, object]]] = {}
    for entry in entries:
        by_name.setdefault(str(entry["name"]), []).append(entry)
    seen: set[tuple[str, str]] = set()
    waiting = [package]
    while waiting:
        name, _, version = waiting.pop().partition(" ")
        for entry in by_name.get(name, []):
            key = (name, str(entry["version"]))
            if key in seen or (version and version.partition(" ")[0] != key[1]):
                continue
            seen.add(key)
            dependencies = entry.get("dependencies", [])
            assert isinstance(dependencies, list)
            waiting += map(str, dependencies)
    lines = (f"{name} {version} {_checksum(by_name[name], version)}" for name, version in sorted(seen))
    return "\n".join(lines)


def _checksum(entries: list[dict[str, object]], version: str) -> object:
    return next(entry.get("checksum", "-") for entry in entries if entry["version"] == version)
