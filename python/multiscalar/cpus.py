"""How many CPUs this process may run on. Source: sched_getaffinity(2)."""

from __future__ import annotations

import os


def allowed() -> int:
    """CPUs that affinity allows; all, where the system does not say."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
