"""Locks across a fork: the child finds them free. What only the parent can tell is told before.

A fork copies a lock as it is. If another thread of the parent holds it then, no thread of the child will ever
release it. So locks that live longer than a call are registered here, and those that nobody in the child can release
are replaced there. Cost: a weak reference a lock; nothing when one is taken.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

_owners: Final[WeakKeyDictionary[Any, str]] = WeakKeyDictionary()


def renewed(owner: Any, name: str) -> None:
    """The attribute `name` of `owner` (a module or an object) is an RLock, and a free one in every forked child."""
    _owners[owner] = name


def before(work: Callable[[], None]) -> Callable[[], None]:
    """`work` runs before each fork, in the thread that forks, while other threads go on."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=work)
    return work


def _renew() -> None:
    """Runs in the child, whose one thread is the one that forked: what that thread holds it will release."""
    for owner, name in list(_owners.items()):
        lock = getattr(owner, name)
        if lock.acquire(blocking=False):
            lock.release()
        else:
            setattr(owner, name, threading.RLock())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
