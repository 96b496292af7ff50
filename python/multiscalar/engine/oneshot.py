"""What the words of a one-shot call come to, for calls that say the same again over plain arrays.

What all arguments and three settings of a call mean takes a third of the host's part of a small one. A call whose
arguments are the very objects of the call before, but for points and scalars, means what that one meant while the
settings are as they were. Points and scalars are looked at each time, and nobody's are kept.
"""

from __future__ import annotations

from operator import is_
from typing import Any, Final, NamedTuple

import numpy as np

from ..arrays import Check, Form, PointArray, ScalarArray
from ..curves import Curve
from ..intake import is_full
from ..settings import watch
from .backend import MsmOptions
from .select import Selection

_settings: Final = watch("backend", "threads", "isa")


class Meaning(NamedTuple):
    """What arrays of points and scalars are, how they are added up, and where."""

    curve: Curve
    form: Form
    wanted: Check
    assumed: bool
    scalar_form: Form
    options: MsmOptions
    selection: Selection

    def operands(self, points: Any, scalars: Any) -> tuple[PointArray, ScalarArray] | None:
        """Points and as many scalars, or None for arrays that want another look."""
        curve = self.curve
        if not is_full(points, (2, curve.limbs)) or not is_full(scalars) or len(points) != len(scalars):
            return None
        made = PointArray.unverified(points, curve, self.form, wanted=self.wanted, assumed=self.assumed)
        return made, ScalarArray.unverified(scalars, curve, self.scalar_form)


class Meanings:
    """The last call that can be repeated. Any thread may ask and tell: one object is exchanged."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last: tuple[tuple[object, ...], tuple[object, ...], Meaning] | None = None

    def find(self, words: tuple[object, ...]) -> Meaning | None:
        """What `words` mean, if they are those of the last call, in the same order."""
        if self._last is not None:
            before, settings, meaning = self._last
            if all(map(is_, words, before)) and settings == _settings():
                return meaning
        return None

    def keep(self, words: tuple[object, ...], meaning: Meaning) -> None:
        """`words` mean `meaning`; what somebody could change behind our back is not kept (see `lasts`)."""
        self._last = words, _settings(), meaning


def lasts(points: object, scalars: object, options: MsmOptions, selection: Selection) -> bool:
    """Whether what a call means is the same for the next one with these words: over plain arrays, on a backend that was
    named, without a list of devices or a function of the caller's.
    """
    plain = type(points) is np.ndarray and type(scalars) is np.ndarray
    return plain and selection.named and options.devices is None and options.stop is None and not options.own_bases
