"""Files from others, read whole: a regular file of at most so many bytes, or an error.

The size that the system tells is no bound: devices tell none, and a file may grow. Opening a pipe that nobody writes to
would take for ever, so nothing here waits. Errors: `OSError` as from `open`; `ValueError` for a file that is too large,
or is something other than a regular file.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def read(path: str | Path, most: int, *, own: bool = False) -> bytes:
    """The bytes of the file at `path`. With `own`, only if it is this user's, nobody else may write it, and it is no
    link."""
    flags = os.O_RDONLY | _flag("O_NONBLOCK") | _flag("O_BINARY") | (_flag("O_NOFOLLOW") if own else 0)
    handle = os.open(path, flags)
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode):
            raise ValueError(f"{path} is not a regular file")
        if own and (facts.st_uid != os.geteuid() or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
            raise PermissionError(errno.EPERM, "others own it or may write it", str(path))
    except BaseException:
        os.close(handle)
        raise
    with os.fdopen(handle, "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"{path} is larger than {most:,} bytes")
    return data


def _flag(name: str) -> int:
    """An option of `os.open` where the system has it."""
    return int(getattr(os, name, 0))
