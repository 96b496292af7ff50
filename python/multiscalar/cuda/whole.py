"""A whole run as one graph, for scalars, and points that come with the call, that lie where the last run's lay.

Launched by themselves, digits begin some microseconds sooner than a graph would, but the graph of the rest comes when
they have ended, and later still where the host is slow. As one graph a run is one call of the driver. There are two,
which take turns: each has events of its own, so that the times of a run can be read while the next one is under way.
Device memory that comes again lies there, and whatever goes through a slot of ours.

A graph takes half a millisecond to make and saves some 25 us a run. So a run has to be over the place of the one
before, and twice as many runs each time that graphs of another place are given up for it, up to what a graph costs: who
changes places often pays little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from .stage import Stage

Places = tuple[int, int]  # of the scalars, and of points that are read where they come; 0 for none

TURNS: Final = 2
RUNS_BEFORE: Final = 1  # over one place in a row, before the first graph
MOST_BEFORE: Final = 32


class Whole:
    """`make(places)` gives the stages of a whole run over what lies there, mostly one, two where points come between
    them; it has to have run before in parts.
    """

    def __init__(self, make: Callable[[Places], list[Stage]]) -> None:
        self._make = make
        self._last: Places = (0, 0)  # of the last run
        self._row = 0  # runs in parts over that place without another one between
        self._wanted = RUNS_BEFORE
        self._made: list[list[Stage]] = []
        self._place: Places = (0, 0)  # that they were made for
        self._turn = 0

    def comes_again(self, places: Places) -> bool:
        """Whether the last run was over these places, often enough."""
        return places == self._last and (self._row >= self._wanted or self._place == places)

    def ran(self, places: Places) -> None:
        """A run in parts is on its way, over these places."""
        self._row = self._row + 1 if places == self._last else 1
        self._last = places

    def stages(self) -> list[Stage]:
        """The stages of this run, over the places of the last one."""
        if self._place != self._last:
            if self._made:
                self.close()
                self._wanted = min(MOST_BEFORE, 2 * self._wanted)
            self._place = self._last
        self._turn = (self._turn + 1) % TURNS
        if len(self._made) < TURNS:
            self._turn = len(self._made)
            self._made.append(self._make(self._place))
        return self._made[self._turn]

    def close(self) -> None:
        """Give graphs and events back."""
        while self._made:
            for stage in self._made.pop():
                stage.close()
