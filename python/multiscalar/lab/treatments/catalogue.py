"""The cures, in the order of the second story, then ours. A cure gives a treated subject, or says why it cannot.

Clock locking, exclusive process mode and MPS change the machine for everybody: their commands are printed, never run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..subject import Place, Scope, Subject
from .wrappers import KeptAlive, Rescoped, WarmedUp, WithEnvironment

__all__ = ["CATALOGUE", "Patient", "Treatment"]


@dataclass(frozen=True)
class Patient:
    """A subject that can be made anew, with what it understands.

    `make(cure, options)` builds a fresh instance named `name+cure`; `options` are words that its program or our call
    takes. `pulse` is small work on its device; `siblings` are other versions, by name.
    """

    name: str
    place: Place
    make: Callable[[str | None, Mapping[str, Any]], Subject]
    options: frozenset[str] = frozenset()
    ours: bool = False
    own_process: bool = False
    pulse: Callable[[], object] | None = None
    siblings: Mapping[str, Callable[[], Subject]] = field(default_factory=dict)


@dataclass(frozen=True)
class Treatment:
    """`apply` gives a subject or the reason why not; `command` is printed instead of being run."""

    key: str
    title: str
    apply: Callable[[Patient], Subject | str] | None = None
    story: int | None = None
    command: str = ""


def _by_option(word: str, value: Any, built_in: str = "") -> Callable[[Patient], Subject | str]:
    """A cure that is an option of the subject; `built_in` says why ours does not need it."""

    def apply(patient: Patient) -> Subject | str:
        if word in patient.options:
            return patient.make(f"{word}={value}", {word: value})
        return built_in if patient.ours and built_in else f"{patient.name} has no option {word!r}"

    return apply


def _gpu_only(apply: Callable[[Patient], Subject | str]) -> Callable[[Patient], Subject | str]:
    def guarded(patient: Patient) -> Subject | str:
        return "a CPU subject" if patient.place is Place.CPU else apply(patient)

    return guarded


def _window(patient: Patient) -> Subject | str:
    for word in ("c", "window"):
        if word in patient.options:
            return patient.make(f"{word}=10", {word: 10})
    return f"{patient.name} takes no window width"


def _warm_up(patient: Patient) -> Subject | str:
    return WarmedUp(patient.make(None, {}), "warm-up")


def _keep_alive(patient: Patient) -> Subject | str:
    if patient.pulse is None:
        return "nothing here can keep the device busy"
    return KeptAlive(patient.make(None, {}), "keep-alive", patient.pulse)


def _resident(patient: Patient) -> Subject | str:
    return Rescoped(patient.make(None, {}), "resident", Scope.RESIDENT)


def _eager(patient: Patient) -> Subject | str:
    if not patient.own_process:
        return "modules are loaded in this process already; ours are loaded when a plan is made"
    return WithEnvironment(patient.make(None, {}), "eager", {"CUDA_MODULE_LOADING": "EAGER"})


def _sibling(patient: Patient) -> Subject | str:
    for make in patient.siblings.values():
        return make()
    return f"no other version of {patient.name} is known here"


_GRAPH = "a plan of ours replays one captured graph already"

CATALOGUE: tuple[Treatment, ...] = (
    Treatment(
        "lock-clocks", "clocks locked", story=1,
        command="sudo nvidia-smi --lock-gpu-clocks=MAX,MAX   (undo: sudo nvidia-smi --reset-gpu-clocks)",
    ),
    Treatment(
        "exclusive", "exclusive process mode", story=2,
        command="sudo nvidia-smi --compute-mode=EXCLUSIVE_PROCESS   (undo: --compute-mode=DEFAULT)",
    ),
    Treatment("window", "window width C = 10", _window, story=3),
    Treatment("warm-up", "warm-up kernel before the MSM", _gpu_only(_warm_up), story=4),
    Treatment("keep-alive", "persistent (keep-alive) kernel", _gpu_only(_keep_alive), story=5),
    Treatment("priority", "stream priority", _gpu_only(_by_option("stream_priority", "high")), story=6),
    Treatment("mps", "MPS", story=7, command="nvidia-cuda-mps-control -d   (undo: quit in its console)"),
    Treatment("version", "another version of the library", _sibling, story=8),
    Treatment("resident", "data kept on the device", _gpu_only(_resident)),
    Treatment("pinned", "pinned host memory",
              _gpu_only(_by_option("pinned", True, "ours stages through pinned memory already"))),
    Treatment("pool", "retained memory pool",
              _gpu_only(_by_option("retain_pool", True, "a plan of ours owns its buffers: nothing is allocated"))),
    Treatment("eager", "eager module loading", _gpu_only(_eager)),
    Treatment("graph", "graph replay", _gpu_only(_by_option("graph", True, _GRAPH))),
)  # fmt: skip
