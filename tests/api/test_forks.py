"""A fork in the middle of anything: the child finds no lock that nobody will release."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import multiscalar as ms
import pytest
from multiscalar import forks
from multiscalar.cuda import compiled, device, driver
from multiscalar.engine import registry

from tests.children import in_child
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


class Held:
    """`with Held(lock)`: another thread holds it."""

    def __init__(self, lock: Any) -> None:
        self._lock, self._held, self._done = lock, threading.Event(), threading.Event()

    def _hold(self) -> None:
        with self._lock:
            self._held.set()
            self._done.wait()

    def __enter__(self) -> None:
        self._thread = threading.Thread(target=self._hold)
        self._thread.start()
        self._held.wait()

    def __exit__(self, *error: object) -> None:
        self._done.set()
        self._thread.join()


def owners() -> Iterator[Any]:
    yield from (registry, driver, device, compiled)
    yield ms.Bases([(1, 2)], curve="bn254", backend="cpu")


@pytest.mark.parametrize("owner", list(owners()), ids=lambda owner: getattr(owner, "__name__", type(owner).__name__))
def test_a_lock_that_another_thread_held(owner: ModuleType | ms.Bases) -> None:
    with Held(owner._lock):
        assert in_child(lambda: owner._lock.acquire(timeout=60))


def test_a_lock_that_the_forking_thread_holds_stays_its_own() -> None:
    class Owner:
        lock = threading.RLock()

    forks.renewed(Owner, "lock")
    with Owner.lock:
        before = Owner.lock

        def release() -> bool:
            Owner.lock.release()
            return Owner.lock is before

        assert in_child(release)


def test_the_list_of_locks_keeps_nobody_alive() -> None:
    before = len(forks._owners)
    for _ in range(10):
        ms.Bases([(1, 2)], curve="bn254", backend="cpu")
    assert len(forks._owners) <= before


# The first transform of a size makes tables and a pool, while the process is forked again and again.
TABLES = """
import os, signal, threading, time
import numpy as np
from multiscalar import _core
values = np.zeros((1 << 19, 4), dtype=np.uint64)
thread = threading.Thread(target=_core.snark.ntt, args=(values.copy(), 2))
thread.start()
children = []
while len(children) < 12:
    pid = os.fork()
    if pid == 0:
        signal.alarm(600)
        _core.snark.ntt(values, 1)
        sponge = _core.snark.Sponge()
        sponge.absorb_bytes(b"x")
        sponge.challenges(1)
        os._exit(0)
    children.append(pid)
    time.sleep(0.002)
thread.join()
assert not [pid for pid in children if os.waitpid(pid, 0)[1]]
"""


def test_tables_in_the_making() -> None:
    done = subprocess.run([sys.executable, "-c", TABLES], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr[-2000:]
