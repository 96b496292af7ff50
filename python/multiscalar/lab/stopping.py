"""When a cell has enough samples.

With a fixed count (`precision=None`) a cell ends after `repeats` samples. With a precision it goes on until the
bootstrap interval of the median is within ± `precision` of it, but never below `repeats` samples nor past the time
limit; what remained unmet is named in words and kept in the record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .stats import median_interval

__all__ = ["Stop", "Stopping"]


@dataclass(frozen=True)
class Stop:
    """Why sampling ended; `unmet` names the criterion that was not reached, if any."""

    reason: str
    unmet: str | None = None


@dataclass(frozen=True)
class Stopping:
    """The criteria of one run. Times in seconds; `time_limit` is per cell and counts measured time."""

    repeats: int = 7
    precision: float | None = None
    time_limit: float = 120.0
    max_samples: int = 10_000

    def decide(self, wall_ns: Sequence[float]) -> Stop | None:
        """None: go on. `wall_ns` are the samples so far."""
        count = len(wall_ns)
        spent = sum(wall_ns) / 1e9
        if self.precision is None:
            if count >= self.repeats:
                return Stop("repeats")
            if spent >= self.time_limit:
                return Stop("time-limit", f"{count} of {self.repeats} samples in {self.time_limit:g} s")
            return None
        width = median_interval(wall_ns).relative_width if count >= 2 else float("inf")
        if count >= self.repeats and width <= self.precision:
            return Stop("precision")
        unmet = f"interval is ±{width:.1%}, wanted ±{self.precision:.1%}, after {count} samples"
        if spent >= self.time_limit:
            return Stop("time-limit", unmet)
        if count >= self.max_samples:
            return Stop("max-samples", unmet)
        return None

    def expected_count(self, wall_ns: Sequence[float]) -> int:
        """Samples the cell will need by the square-root law: for the progress display only."""
        if self.precision is None or len(wall_ns) < 2:
            return self.repeats
        width = median_interval(wall_ns).relative_width
        if width <= self.precision:
            return max(self.repeats, len(wall_ns))
        return min(self.max_samples, max(self.repeats, int(len(wall_ns) * (width / self.precision) ** 2) + 1))
