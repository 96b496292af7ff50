"""The policy of `backend="auto"`: a bisection in the boundaries that the profile gives for this kind of call.

Order: cutoff by setting > profile > prior. Never measures, never raises for lack of a profile. The boundaries of a
series are worked out at its first use; after that a choice is a dictionary look-up and a bisection, about a microsecond
(`benchmarks/lab.py decision`).

Prior, without any profile: CPU below the cutoff of the nearest shipped profile, else the CPU, always; a line in the
log says which command would measure.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from ..engine.backend import Choice, Request
from ..log import note
from ..settings import setting, watch
from .machine import this_machine
from .model import Boundary, CostCurve, Objective, boundaries, crossings, side_of
from .profile import Profile, Series
from .store import find

FULL_BITS: Final = 200  # scalars above this are "full"; narrow ones have series of their own where measured
CPU: Final = "cpu"
_MOST_KINDS: Final = 4096  # kinds of calls remembered; batches may have any size
_MOST_POLICIES: Final = 8  # settings remembered: threads that compute side by side may each have their own


@dataclass(frozen=True)
class Decision:
    """What one series decides: sides by ascending boundary, and where that comes from."""

    at: tuple[int, ...]
    choices: tuple[Choice, ...]
    pair: tuple[CostCurve, CostCurve] | None = None
    objective: Objective = "median"
    wobble: float = 0.0

    @cached_property
    def found(self) -> tuple[Boundary, ...]:
        """The boundaries with their bands: for `explain`; a choice needs the crossings only."""
        return tuple(boundaries(*self.pair, self.objective, self.wobble)) if self.pair else ()


@dataclass
class Policy:
    """What holds as long as the settings do: the cutoff, or the profile and what was worked out from it."""

    state: tuple[object, ...]
    cutoff: int | None
    decisions: dict[tuple[object, ...], Decision] = field(default_factory=dict)
    worked_out: dict[Series, Decision] = field(default_factory=dict)

    @cached_property
    def profile(self) -> Profile | None:
        """Read when it is first asked for: a cutoff needs none."""
        return _load()

    def decide(self, request: Request) -> Decision:
        """The decision for calls like this one; the same for all n."""
        kind = (request[0], *request[2:])
        found = self.decisions.get(kind)
        if found is None:
            if len(self.decisions) >= _MOST_KINDS:
                self.decisions.clear()
            found = self.decisions[kind] = decide(self.profile, request, self.worked_out)
            sides = "; ".join(f"{choice.backend} ({choice.reason})" for choice in found.choices)
            note("dispatch", f"{request.curve}, {request.scope}, batch {request.batch}: {sides}")
        return found


class ProfileChooser:
    """`engine.backend.Chooser` on the profile of this machine."""

    def __init__(self) -> None:
        self._policies: tuple[Policy, ...] = ()  # the last one used first; replaced, never changed

    def choose(self, request: Request) -> Choice:
        """The backend for this call, with the reason in a few words."""
        policies = self._policies
        policy = policies[0] if policies and policies[0].state == _state() else self._current()
        if policy.cutoff is not None:
            side = CPU if request.n <= policy.cutoff else "cuda"
            return Choice(side, f"cutoff {policy.cutoff} set by the caller: n = {request.n}")
        decision = policy.decide(request)
        return decision.choices[bisect_left(decision.at, request.n)]

    def decision(self, request: Request) -> Decision:
        """What the profile says of calls like this one, at every n."""
        return self._current().decide(request)

    def profile(self) -> Profile | None:
        """The profile in force."""
        return self._current().profile

    def _current(self) -> Policy:
        """The policy of the settings in force, which are read anew where they are new. Of two threads that do so at
        once the last one's list stays, and each goes on with a policy of its own settings."""
        state, known = _state(), self._policies
        policy = next((policy for policy in known if policy.state == state), None)
        if policy is None:
            policy = Policy(state, setting("crossover"))
        others = [other for other in known if other is not policy]
        self._policies = (policy, *others[: _MOST_POLICIES - 1])
        return policy


# What a change of makes settings and profile be read again.
_state: Final = watch("crossover", "profile", "state_dir", "objective", "threads", "isa", "CUDA_VISIBLE_DEVICES")


def _load() -> Profile | None:
    profile = find(this_machine())
    if profile is not None:
        note("dispatch", f"profile {profile.id}, {profile.origin}")
    elif this_machine().gpu is not None:
        note("dispatch", "no profile of this machine: auto uses the CPU; `msm calibrate` measures where the GPU wins")
    return profile


def series_of(request: Request, backend: str = CPU) -> Series:
    """The series that stands for a call."""
    scalars = "full" if request.scalar_bits > FULL_BITS else f"{request.scalar_bits}-bit"
    factor = request.precompute if isinstance(request.precompute, int) else 1
    return Series(request.curve, backend, request.scope, _octave(request.batch), factor, scalars, request.threads or 0)


def _octave(batch: int) -> int:
    return 1 << (batch.bit_length() - 1) if batch > 0 else 1


def decide(profile: Profile | None, request: Request, worked_out: dict[Series, Decision]) -> Decision:
    """Boundaries for calls like `request`, from the nearest series that was measured. `worked_out`: those at hand, by
    series; kinds of calls that share a series share its decision."""
    if profile is None:
        return _always(CPU, "no profile: CPU")
    pair, used = nearest(profile, series_of(request))
    if profile.machine.gpu is None:
        return _always(CPU, f"profile {profile.id}: measured without a GPU")
    if pair is None or used is None:
        return _always(CPU, f"profile {profile.id} has no series for this call: CPU")
    if used not in worked_out:
        worked_out[used] = _between(profile, used, pair)
    return worked_out[used]


def _between(profile: Profile, series: Series, pair: tuple[CostCurve, CostCurve]) -> Decision:
    objective: Objective = setting("objective")
    found = crossings(*pair, objective)
    at = tuple(n for n, _ in found)
    sides = [side_of(*pair, pair[0].sizes[0], objective), *(after for _, after in found)]
    # The reason names the boundary below or above which n lies.
    words = [f"profile {profile.id}: {_span(at, k)}" for k in range(len(sides))]
    return Decision(at, tuple(map(Choice, sides, words)), pair, objective, profile.wobble.get(series.key(), 0.0))


def _span(at: tuple[int, ...], k: int) -> str:
    low = f"n > {at[k - 1]}" if k else ""
    high = f"n <= {at[k]}" if k < len(at) else ""
    return " and ".join(part for part in (low, high) if part) or "every n"


def _always(side: str, reason: str) -> Decision:
    return Decision((), (Choice(side, reason),))


def nearest(profile: Profile, wanted: Series) -> tuple[tuple[CostCurve, CostCurve] | None, Series | None]:
    """The pair of curves measured under conditions nearest to `wanted`: first other threads (0: all of them), then
    other batches, then other scalars, then other scopes. Precomputed tables have no stand-in: without their own series
    the plain ones are used."""
    candidates = {
        Series(s.curve, CPU, s.scope, s.batch, s.precompute, s.scalars, s.threads)
        for s in profile.curves
        if s.curve == wanted.curve
    }

    def distance(series: Series) -> tuple[bool, bool, bool, int, bool, bool]:
        return (
            series.scope != wanted.scope,
            series.scalars != wanted.scalars,
            series.precompute != wanted.precompute,
            abs(series.batch.bit_length() - wanted.batch.bit_length()),
            series.threads != wanted.threads,
            series.threads != 0,
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
