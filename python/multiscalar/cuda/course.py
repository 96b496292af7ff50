"""What all one-shot calls of one shape share: their parts, each with a plan and the conversions of its points."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, NamedTuple

from .compiled import Kernels
from .lane import Planned
from .runtime import Bound
from .staging import Coming


class Arrival(NamedTuple):
    """Points `first` .. `first + terms` of a part on their way to `target`, then converted."""

    first: int
    terms: int
    target: int
    arrived: Any
    convert: Bound


class Part(NamedTuple):
    """Terms `first` .. `first + terms` of the call. Points that are sent become records by `arrivals`, those that are
    read as they lie by `convert`.
    """

    first: int
    terms: int
    planned: Planned
    arrivals: list[Arrival]
    convert: Bound | None
    turn: int


class Course(NamedTuple):
    """All that calls of one shape share."""

    key: Hashable  # in the lane
    kernels: Kernels
    parts: list[Part]
    table_bytes: int
    begun: Any  # an event: what a call found on the lane is done

    @property
    def in_turns(self) -> bool:
        """Whether parts are on both streams."""
        return len(self.parts) > 1

    def close(self) -> None:
        """Give graphs and events back."""
        self.kernels.runtime.drop_event(self.begun)
        for part in self.parts:
            part.planned.close()
            for arrival in part.arrivals:
                self.kernels.runtime.drop_event(arrival.arrived)


def bring(kernels: Kernels, part: Part, coming: Coming, size: int, *, convert: bool) -> None:
    """Few points from their slot to the device, beside what is on the lane's stream, which then waits for them; they
    are converted there too, or it is left to the plan.
    """
    lane, runtime, (arrival,) = kernels.lane, kernels.runtime, part.arrivals
    runtime.copy_in(arrival.target, coming.arrived(), size, lane.copies)
    if convert:
        arrival.convert(lane.copies)
    runtime.record(arrival.arrived, lane.copies)
    runtime.wait(lane.stream, arrival.arrived)
