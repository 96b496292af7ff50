"""Which backend answers: strict by name, or `auto` by the chooser, with the one fallback that auto may take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from ..arrays import DeviceArray
from ..curves import Curve
from ..errors import BackendError, InputError
from ..point import Point
from ..settings import setting
from . import registry
from .backend import Backend, Choice, Outcome, Request
from .run import changed

Result = TypeVar("Result")


class Selection(NamedTuple):
    """A backend, why, whether the request is strict (that backend or an error), and whether it named the backend."""

    backend: str
    reason: str
    strict: bool
    named: bool = False


@cache
def strictly(name: str) -> Selection:
    """That backend or an error."""
    return Selection(name, "", True, True)


def select(asked: str | None, request: Callable[[], Request], operands: tuple[object, ...]) -> Selection:
    """Argument > using > environment > chooser. Data on a device stay there."""
    name = asked if type(asked) is str and asked in registry.names() else setting("backend", asked)
    if name != "auto":
        return strictly(name)
    if any(isinstance(operand, DeviceArray) for operand in operands):
        return Selection("cuda", "the data are on a device", True)
    policy = registry.chooser()
    choice = Choice("cpu", "") if policy is None else policy.choose(request())
    return Selection(choice.backend, choice.reason, choice.backend == "cpu")


def carry_out(selection: Selection, work: Callable[[Backend], Result]) -> tuple[Result, str | None]:
    """The result of `work` on the selected backend, and why another one had to answer, if so.

    Only `auto` falls back, only to the CPU, and only on faults of the backend: bad input is bad everywhere.
    """
    try:
        return work(registry.require(selection.backend)), None
    except BackendError as error:
        if selection.strict or isinstance(error, InputError):
            raise
        reason = f"{type(error).__name__}: {error}"
    registry.note_fallback(selection.backend, reason)
    return work(registry.require("cpu")), reason


def points_of(outcomes: Sequence[Outcome], curve: Curve, selection: Selection, fallback: str | None) -> list[Point]:
    """The public results, marked with the choice and the fallback. Outcomes that share a run go on sharing it."""
    if not (selection.reason or fallback):
        return Point.results(curve, outcomes)
    marked: list[Outcome] = []
    before, run = None, None
    for outcome in outcomes:
        if run is None or outcome.run is not before:
            before = outcome.run
            run = changed(before, choice=selection.reason, fallback_reason=fallback)
        marked.append(outcome._replace(run=run))
    return Point.results(curve, marked)
