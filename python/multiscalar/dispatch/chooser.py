"""The policy of `backend="auto"`: a bisection in the boundaries that the profile gives for this kind of call.

Order: cutoff by setting > profile > prior. Never measures, never raises for lack of a profile. The boundaries of a
series are worked out at its first use; after that a choice is a dictionary look-up and a bisection.

Prior, without any profile: CPU below the cutoff of the nearest shipped profile, else the CPU, always; a line in the
log says which command would measure.
"""

from __future__ import annotations

import logging
import os
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

from ..engine.backend import Choice, Request
from ..settings import setting
from .machine import this_machine
from .model import Boundary, CostCurve, boundaries, side_of
from .profile import Profile, Series
from .store import find

log = logging.getLogger("multiscalar.dispatch")
FULL_BITS: Final = 200  # scalars above this are "full"; narrow ones have series of their own where measured
CPU: Final = "cpu"


@dataclass(frozen=True)
class Decision:
    """What one series decides: sides by ascending boundary, and where that comes from."""

    first: str
    at: tuple[int, ...]
    found: tuple[Boundary, ...]
    source: str
    choices: tuple[Choice, ...]


class ProfileChooser:
    """`engine.backend.Chooser` on the profile of this machine."""

    def __init__(self) -> None:
        self._profile: tuple[tuple[str | None, ...], Profile | None] | None = None
        self._decisions: dict[tuple[object, ...], Decision] = {}

    def choose(self, request: Request) -> Choice:
        """The backend for this call, with the reason in a few words."""
        cutoff = setting("crossover")
        if cutoff is not None:
            side = CPU if request.n <= cutoff else "cuda"
            return Choice(side, f"cutoff {cutoff} set by the caller: n = {request.n}")
        decision = self.decision(request)
        return decision.choices[bisect_left(decision.at, request.n)]

    def decision(self, request: Request) -> Decision:
        """What the profile says of calls like this one, at every n."""
        kind = (request.curve, request.scope, request.batch, request.precompute, request.scalar_bits, request.threads)
        state = _state()
        if self._profile is None or self._profile[0] != state:
            self._profile = (state, _load())
            self._decisions.clear()
        found = self._decisions.get(kind)
        if found is None:
            found = self._decisions[kind] = decide(self._profile[1], request)
        return found

    def profile(self) -> Profile | None:
        """The profile in force."""
        state = _state()
        if self._profile is None or self._profile[0] != state:
            self._profile = (state, _load())
            self._decisions.clear()
        return self._profile[1]


def _state() -> tuple[str | None, ...]:
    """What a change of makes the profile be read again."""
    return setting("profile"), setting("state_dir"), setting("objective"), os.environ.get("CUDA_VISIBLE_DEVICES")


def _load() -> Profile | None:
    profile = find(this_machine())
    if profile is None and this_machine().gpu is not None:
        log.warning("no profile of this machine: auto uses the CPU; `msm calibrate` measures where the GPU wins")
    return profile


def series_of(request: Request, backend: str = CPU) -> Series:
    """The series that stands for a call."""
    scalars = "full" if request.scalar_bits > FULL_BITS else f"{request.scalar_bits}-bit"
    factor = request.precompute if isinstance(request.precompute, int) else 1
    return Series(request.curve, backend, request.scope, _octave(request.batch), factor, scalars, 0)


def _octave(batch: int) -> int:
    return 1 << (batch.bit_length() - 1) if batch > 0 else 1


def decide(profile: Profile | None, request: Request) -> Decision:
    """Boundaries for calls like `request`, from the nearest series that was measured."""
    if profile is None:
        return _always(CPU, "no profile: CPU")
    pair, used = nearest(profile, series_of(request))
    if profile.machine.gpu is None:
        return _always(CPU, f"profile {profile.id}: measured without a GPU")
    if pair is None or used is None:
        return _always(CPU, f"profile {profile.id} has no series for this call: CPU")
    objective = setting("objective")
    found = boundaries(*pair, objective)
    first = side_of(*pair, pair[0].sizes[0], objective)
    source = f"profile {profile.id}"
    sides = [first, *(boundary.after for boundary in found)]
    # The reason names the boundary below or above which n lies.
    words = [f"{source}: {_span(found, k)}" for k in range(len(sides))]
    choices = tuple(Choice(side, text) for side, text in zip(sides, words, strict=True))
    return Decision(first, tuple(boundary.n for boundary in found), tuple(found), source, choices)


def _span(found: list[Boundary], k: int) -> str:
    low = f"n > {found[k - 1].n}" if k else ""
    high = f"n <= {found[k].n}" if k < len(found) else ""
    return " and ".join(part for part in (low, high) if part) or "every n"


def _always(side: str, reason: str) -> Decision:
    return Decision(side, (), (), reason, (Choice(side, reason),))


def nearest(profile: Profile, wanted: Series) -> tuple[tuple[CostCurve, CostCurve] | None, Series | None]:
    """The pair of curves measured under conditions nearest to `wanted`: first other batches, then other scalars, then
    other scopes. Precomputed tables have no stand-in: without their own series the plain ones are used."""
    candidates = {
        Series(s.curve, CPU, s.scope, s.batch, s.precompute, s.scalars, s.threads)
        for s in profile.curves
        if s.curve == wanted.curve
    }

    def distance(series: Series) -> tuple[bool, bool, bool, int]:
        return (
            series.scope != wanted.scope,
            series.scalars != wanted.scalars,
            series.precompute != wanted.precompute,
            abs(series.batch.bit_length() - wanted.batch.bit_length()),
        )

    for series in sorted(candidates, key=distance):
        pair = profile.pair(series)
        if pair is not None:
            return pair, series
    return None, None


_CHOOSER: Final = ProfileChooser()


def chooser() -> ProfileChooser:
    """The one instance."""
    return _CHOOSER
