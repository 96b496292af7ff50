"""Live progress on stderr: what is measured, the estimate with its interval, and the time left.

A terminal gets one line that is rewritten, at most ten times a second; a pipe gets one line a finished row.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TextIO

from ..lab.formats.units import time_text
from ..lab.runner import CellState
from ..lab.sizes import size_text
from ..lab.stats import median_interval
from ..lab.status import Status
from ..lab.stopping import Stopping
from ..lab.subject import Case

__all__ = ["Progress"]


class Progress:
    """A watcher of the runner. `sizes` has the terms of every cell in the plan, by which time left is told."""

    def __init__(self, sizes: Sequence[int], stream: TextIO | None = None, *, quiet: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._live = self._stream.isatty() and not quiet
        self._quiet = quiet
        self._total = len(sizes)
        self._work = sum(map(_work, sizes))
        self._done = 0
        self._done_work = 0
        self._begin = time.monotonic()
        self._last = 0.0
        self._open: dict[str, CellState] = {}

    def case_started(self, case: Case, cells: Sequence[CellState]) -> None:
        """A case begins with these cells."""
        self._open = {cell.id: cell for cell in cells}

    def turn_taken(self, cell: CellState, stopping: Stopping) -> None:
        """A subject took samples."""
        now = time.monotonic()
        if not self._live or now - self._last < 0.1:
            return
        self._last = now
        estimate = median_interval([ns / 1e3 for ns in cell.wall_ns])
        width = f" ±{estimate.relative_width:.1%}" if len(cell.wall_ns) > 2 else ""
        self._write(
            f"{self._head(cell)}  {time_text(estimate.value)}{width}  "
            f"{len(cell.wall_ns)}/{stopping.expected_count(cell.wall_ns)} samples  {self._left(stopping)}"
        )

    def cell_finished(self, cell: CellState, status: Status, note: str) -> None:
        """A cell has its status."""
        self._done += 1
        self._done_work += _work(cell.case.labels.get("n"))
        if self._quiet or self._live:
            return
        median = time_text(median_interval(cell.wall_ns).value / 1e3) if cell.wall_ns else ""
        text = f"{median} ok" if status is Status.OK else f"{status}: {note}"
        print(f"[{self._done}/{self._total}] {self._head(cell)}  {text}", file=self._stream, flush=True)

    def close(self) -> None:
        """Clear the live line."""
        if self._live:
            self._write("")

    def _head(self, cell: CellState) -> str:
        labels = cell.case.labels
        size = labels.get("n")
        shown = size_text(int(size)) if size is not None else ""
        return f"{labels.get('curve', '')} {shown} {cell.subject.name}"

    def _left(self, stopping: Stopping) -> str:
        """Time left by the share of work done, counting open cells by their samples."""
        part = sum(
            _work(cell.case.labels.get("n")) * min(1.0, len(cell.wall_ns) / stopping.expected_count(cell.wall_ns))
            for cell in self._open.values()
            if cell.open
        )
        share = (self._done_work + part) / self._work
        if not 0.01 < share <= 1:
            return ""
        left = (time.monotonic() - self._begin) * (1 / share - 1)
        return f"{left // 60:.0f}:{left % 60:02.0f} left"

    def _write(self, text: str) -> None:
        self._stream.write(f"\r\x1b[K{text[:110]}")
        self._stream.flush()


def _work(n: object) -> int:
    """What a cell of n terms costs in relation to others: its terms, and about 2,000 terms' worth of handling."""
    return (n if isinstance(n, int) else 0) + 2000
