"""A whole run as one graph, for scalars on the device that lie where those of the run before lay.

Launched by themselves, digits begin some microseconds sooner than a graph would, but the graph of the rest comes when
they have ended, and later still where the host is slow. As one graph a run is one call of the driver. There are two,
which take turns: each has events of its own, so that the times of a run can be read while the next one is under way.

A graph takes half a millisecond to make and saves some 25 us a run. So some runs in a row have to be over one place
before there is one, and twice as many each time that graphs of another place are given up for it, up to what a graph
costs: who changes places often pays little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .stage import Stage

TURNS: Final = 2
RUNS_BEFORE: Final = 2  # over one place in a row, before the first graph
MOST_BEFORE: Final = 32


class Whole:
    """`make(scalars)` is the stage of a whole run over scalars at that address; it has to have run before in parts."""

    def __init__(self, make: Callable[[int], Stage]) -> None:
        self._make = make
        self._last = 0  # where the scalars of the last run lay
        self._row = 0  # runs in parts over that place without another one between
        self._wanted = RUNS_BEFORE
        self._stages: list[Stage] = []
        self._place = 0  # that the stages were made for
        self._turn = 0

    def comes_again(self, scalars: int) -> bool:
        """Whether the scalars of the last run lay here, often enough."""
        return scalars == self._last and (self._row >= self._wanted or self._place == scalars)

    def ran(self, scalars: int) -> None:
        """A run in parts is on its way, over scalars at this address."""
        self._row = self._row + 1 if scalars == self._last else 1
        self._last = scalars

    def stage(self) -> Stage:
        """The stage of this run, over the scalars of the last one."""
        if self._place != self._last:
            if self._stages:
                self.close()
                self._wanted = min(MOST_BEFORE, 2 * self._wanted)
            self._place = self._last
        self._turn = (self._turn + 1) % TURNS
        if len(self._stages) < TURNS:
            self._turn = len(self._stages)
            self._stages.append(self._make(self._place))
        return self._stages[self._turn]

    def close(self) -> None:
        """Give graphs and events back."""
        while self._stages:
            self._stages.pop().close()
