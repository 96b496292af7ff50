"""Work in a forked child: it ends in any case, and never comes back as a second copy of the test run."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from tests.patience import PATIENCE_S


def in_child(work: Callable[[], bool]) -> bool:
    """Whether `work` returns true in a forked child; one that hangs is ended by an alarm."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the handler is the test run's, and a lock may hold it up
            signal.alarm(int(PATIENCE_S))
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
