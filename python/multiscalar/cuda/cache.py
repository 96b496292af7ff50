"""Compiled kernels on disk, keyed by a digest of all that made them.

A cubin is machine code that the driver will run, so a file is used only if it is an ordinary file of
ours (same owner, not writable by others), within the size bound, and carries the digest of its own
bytes; anything else is as if it were not there, and is compiled again. Writes go to a temporary file
that is renamed into place, so a reader sees a whole file or none, and two writers of one key write
the same bytes. Least recently used files go when the folder outgrows its bound.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

from .. import boundedfile

MAGIC = b"multiscalar-cubin-1\n"
MAX_FILE_BYTES = 64 << 20
MAX_CACHE_BYTES = 512 << 20


class CubinCache:
    """A folder of cubins. Every failure to read or write is silent: the cache is only a saving of time."""

    def __init__(self, folder: Path, max_bytes: int = MAX_CACHE_BYTES) -> None:
        self.folder = folder
        self.max_bytes = max_bytes

    def path(self, key: str) -> Path:
        return self.folder / f"{key}.cubin"

    def load(self, key: str) -> bytes | None:
        """The cubin stored under `key`, or None if there is none that can be trusted."""
        try:
            data = boundedfile.read(self.path(key), MAX_FILE_BYTES, own=True)
        except (OSError, ValueError):
            return None
        header = len(MAGIC) + 32
        code = data[header:]
        if data[: len(MAGIC)] != MAGIC or data[len(MAGIC) : header] != hashlib.sha256(code).digest():
            return None
        with contextlib.suppress(OSError):
            os.utime(self.path(key))  # recently used: stays longer
        return code

    def store(self, key: str, code: bytes) -> None:
        """Keep `code` under `key`; on a full disk or a read-only folder, do nothing."""
        if len(code) + len(MAGIC) + 32 > MAX_FILE_BYTES:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=self.folder, suffix=".tmp")
        except OSError:
            return
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(MAGIC + hashlib.sha256(code).digest() + code)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, self.path(key))
            self._trim()
        except OSError:
            Path(name).unlink(missing_ok=True)

    def _trim(self) -> None:
        """Drop the least recently used files beyond the bound, and what a killed writer left behind."""
        files = []
        for path in self.folder.iterdir():
            if path.suffix in (".cubin", ".tmp") and not path.is_symlink():
                facts = path.stat()
                files.append((facts.st_mtime, facts.st_size, path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files)[:-1]:
            if total <= self.max_bytes:
                break
            path.unlink(missing_ok=True)
            total -= size
