"""One reading of the machine's state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Reading"]


@dataclass(frozen=True)
class Reading:
    """Telemetry at one moment of the monotonic clock: GPU fields plain, host fields with the prefix `host_`."""

    at_ns: int
    fields: Mapping[str, Any]
