"""A one-shot call over small arrays like those of the last one, told by the same options.

All that such a call needs has been found before: its points and scalars go to their slots, a graph begins when the
scalars are there and another one when the points are, and one wait ends it. So between the caller and the device there
is little more than the copying, which others are woken for first. Whatever is different is left to the ordinary way
(`once._Call._run`, of which this is the straight line: what changes there in how a call begins and ends changes here),
and so is a sum that names a bad operand, once more, for its error.
"""

from __future__ import annotations

import time
from typing import NamedTuple

from ..arrays import Array, Check, PointArray, ScalarArray
from ..engine.backend import MsmOptions, Outcome
from ..errors import OutOfMemoryError
from .compiled import Kernels
from .course import Course, bring
from .outcomes import outcome, written
from .result import first_bad


class Repeat(NamedTuple):
    """What the last call was like: all that decides its course. It keeps nobody's arrays."""

    course: Course
    options: MsmOptions
    like: tuple[object, ...]

    @classmethod
    def of(cls, course: Course, options: MsmOptions, points: PointArray, scalars: ScalarArray) -> Repeat | None:
        """A call that went through the slots in one part; None if the CPU has to check its points."""
        return None if points.pending is Check.SUBGROUP else cls(course, options, _like(points, scalars))

    def sum(self, kernels: Kernels, points: object, scalars: object, options: MsmOptions) -> Outcome | None:
        """The sum, or None where the ordinary way has to be gone."""
        if (
            options is self.options
            and kernels is self.course.kernels
            and isinstance(points, PointArray)
            and isinstance(scalars, ScalarArray)
            and _like(points, scalars) == self.like
        ):
            return self._sum(points.data, scalars.data)
        return None

    def _sum(self, points: Array, scalars: Array) -> Outcome | None:
        kernels, (part,) = self.course.kernels, self.course.parts
        lane, staging, planned = kernels.lane, kernels.lane.staging, part.planned
        with lane.lock, kernels.runtime.current():
            if not lane.settled:
                return None
            if staging.as_it_lies(points) or staging.as_it_lies(scalars):
                lane.repeat = None  # and the next call does not ask in vain
                return None
            lane.begin()
            started = time.perf_counter_ns()
            try:
                coming = staging.points(points)  # before all else: others need as long to wake as all of this takes
                if lane.known(self.course.key) is not self.course or not planned.plan.comes_again(staging.small_slot()):
                    staging.abandon()
                    lane.end()
                    return None
                staging.hold(scalars)
                planned.plan.again(lane.stream, lambda: bring(kernels, part, coming, points.nbytes, convert=False))
                lane.wait()
            except BaseException as error:
                lane.abandon()
                if isinstance(error, OutOfMemoryError):  # which the ordinary way may do without
                    return None
                raise
            answer, times = lane.read(planned.answer), planned.plan.times()
            lane.end()
        if first_bad(answer, 1) is not None or (first_bad(answer, 0) is not None and not self.options.reduce):
            return None
        run = written(kernels, planned, times, part.terms, 1, points.nbytes + scalars.nbytes, started)
        return outcome(answer, kernels.curve, run)


def _like(points: PointArray, scalars: ScalarArray) -> tuple[object, ...]:
    """What a course is found by (`once._Call._course`) and options and kernels do not say."""
    return (
        points.data.shape, points.form, points.pending, points.in_subgroup,
        scalars.data.shape, scalars.data.dtype, scalars.form,
    )  # fmt: skip
