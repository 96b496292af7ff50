"""A peer, or any program that speaks the peer protocol, as a lab subject.

The program measures itself: wall and CPU time of each call, and copies and device time where it has them, so that
talking to it lies outside every sample. With scope `first-call` each sample has a process of its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from ..machine import usable_cpus
from ..peers import Fault, Peer, open_peer, open_program
from ..peers.registry import find
from ..status import Status, SubjectError
from ..subject import Case, Evidence, Place, Sample, Scope
from ..telemetry.nvml import usual_device

if TYPE_CHECKING:
    from ..msmcase import MsmInputs
    from ..peers import PeerSample, RunAnswer

__all__ = ["ProgramSubject", "own_program", "peer_subject"]

# The last word of a path, or a place as a peer states it.
_PLACES = {
    "cpu": Place.CPU,
    "batched": Place.CPU,
    "cuda": Place.GPU,
    "gpu": Place.GPU,
    "dispatch": Place.ANY,
    "auto": Place.ANY,
    "any": Place.ANY,
}
_CALL_LIMIT_S = 300.0
# What a program may tell of the card beside each sample -> our telemetry field and its factor.
_STATE_NAMES = {
    "sm_clock_mhz": ("sm_mhz", 1),
    "p_state": ("pstate", 1),
    "sm_utilisation": ("gpu_util", 100),
    "temperature_c": ("temperature_c", 1),
    "power_w": ("power_w", 1),
}

T = TypeVar("T")
Opener = Callable[[int], Peer | Fault]


class ProgramSubject:
    """Drives a program. `opener` starts it, given the number of threads that will be asked for.

    `labelled`: the labels of a case that the program takes as options.
    """

    def __init__(
        self,
        name: str,
        opener: Opener,
        *,
        place: Place | None = None,
        options: Mapping[str, Any] | None = None,
        labelled: Sequence[str] = (),
        limit_s: float = _CALL_LIMIT_S,
    ) -> None:
        self.name = name
        self.place = place or Place.CPU
        self._place_known = place is not None
        self._opener = opener
        self._limit_s = limit_s
        self._options = dict(options or {})
        self._labelled = labelled
        self._peer: Peer | None = None
        self._opened_for = 0
        self._case: Case | None = None
        self._inputs: MsmInputs | None = None

    @property
    def pid(self) -> int | None:
        """The program's process while it runs."""
        peer = self._peer  # the sampler asks from its own thread, while `close` may take the peer away
        return peer.process.pid if peer is not None else None

    def describe(self) -> dict[str, Any]:
        """The library's facts, its process id, and the options passed to it."""
        peer = self._running(self._threads())
        return {**peer.facts(), "pids": [peer.process.pid], "options": self._options}

    def prepare(self, case: Case, inputs: Any) -> None:
        """Load the inputs from raw files."""
        if int(case.labels["batch"] or 1) > 1:
            raise SubjectError(Status.UNSUPPORTED, "peers take one vector of scalars a call")
        self._case, self._inputs = case, inputs
        if case.labels["scope"] != Scope.FIRST_CALL:
            self._load(self._running(self._threads()))

    def take(self, count: int, warmups: int) -> Sequence[Sample]:
        """Samples as the program measured them."""
        assert self._case is not None, "prepare first"
        scope = str(self._case.labels["scope"])
        if scope == Scope.FIRST_CALL:
            return [self._first_call() for _ in range(count)]
        return self._run(self._running(self._threads()), scope, count, warmups)

    def close(self) -> None:
        """End the program."""
        if self._peer is not None:
            self._peer.close()
        self._peer = self._case = self._inputs = None

    def _threads(self) -> int:
        asked = self._case.labels["threads"] if self._case else None
        return int(asked) if asked is not None else usable_cpus()

    def _running(self, threads: int) -> Peer:
        if self._peer is not None and (threads == 1) != (self._opened_for == 1):
            self._end_process()  # a library may have another build for exactly one thread
        if self._peer is None:
            self._peer, self._opened_for = _or_raise(self._opener(threads)), threads
            if not self._place_known:
                self.place = _PLACES.get(self._peer.place, Place.CPU)
        return self._peer

    def _load(self, peer: Peer) -> None:
        assert self._case is not None
        assert self._inputs is not None
        points, scalars = self._inputs.files()
        labels = self._case.labels
        _or_raise(
            peer.load(
                curve=str(labels["curve"]),
                n=int(labels["n"] or 0),
                points=points,
                scalars=scalars,
                group=str(labels["group"]),
            )
        )

    def _run(self, peer: Peer, scope: str, count: int, warmups: int) -> list[Sample]:
        assert self._case is not None
        labels = {name: self._case.labels[name] for name in self._labelled}
        stated = {name: value for name, value in labels.items() if value is not None}
        asked = time.perf_counter_ns()
        answer = _or_raise(
            peer.run(
                scope=scope,
                warmups=warmups,
                repeats=count,
                threads=self._threads(),
                options={**stated, **self._options},
                limit_s=self._limit_s * (count + warmups),
            )
        )
        samples = _samples(answer, self._threads(), asked, time.perf_counter_ns())
        silent = samples and samples[0].evidence.event_ns is None and samples[0].evidence.launches is None
        return self._corroborated(peer, samples) if self.place is Place.GPU and silent else samples

    @staticmethod
    def _corroborated(peer: Peer, samples: list[Sample]) -> list[Sample]:
        """A subject that tells nothing of the device: NVML may say that its process holds device memory."""
        device = usual_device()
        held = device.bytes_held(peer.process.pid) if device is not None else None
        return [replace(s, evidence=replace(s.evidence, device_bytes_held=held)) for s in samples] if held else samples

    def _first_call(self) -> Sample:
        """A new process, its first multiplication timed, and its end."""
        self._end_process()
        peer = self._running(self._threads())
        self._load(peer)
        (sample,) = self._run(peer, Scope.END_TO_END, 1, 0)
        return sample

    def _end_process(self) -> None:
        if self._peer is not None:
            self._peer.close()
            self._peer = None


def _or_raise(answer: T | Fault) -> T:
    if isinstance(answer, Fault):
        raise SubjectError(Status(str(answer.status)), answer.reason)
    return answer


def _samples(answer: RunAnswer, threads: int, asked_ns: int, answered_ns: int) -> list[Sample]:
    """Samples with their start on our clock: they end one after another just before the answer came."""
    point = (0, 0) if answer.is_infinity else (answer.x, answer.y)
    result: object = [point] if answer.agree else "results differed between samples"
    states = answer.evidence.get("telemetry")
    told = states if isinstance(states, list) and len(states) == len(answer.samples) else [None] * len(answer.samples)
    out, end = [], answered_ns
    for sample, state in zip(reversed(answer.samples), reversed(told), strict=True):
        start = max(asked_ns, end - sample.wall_ns)
        out.append(
            Sample(
                start,
                sample.wall_ns,
                sample.cpu_ns,
                result,
                sample.copy_ns,
                sample.device_ns,
                _evidence(answer, threads, sample, state),
            )
        )
        end = start
    return out[::-1]


def _evidence(answer: RunAnswer, threads: int, sample: PeerSample, state: object) -> Evidence:
    told = answer.evidence
    on_gpu = answer.where not in ("cpu", "host")
    device = sample.device_ns
    known = {*vars(Evidence()), "telemetry"}
    detail: dict[str, Any] = {} if on_gpu else {"threads": threads}
    if isinstance(told.get("detail"), dict):
        detail |= told["detail"]
    detail |= {key: value for key, value in told.items() if key not in known}
    if isinstance(state, dict):
        detail["state"] = {
            name: state[theirs] * scale
            for theirs, (name, scale) in _STATE_NAMES.items()
            if isinstance(state.get(theirs), int | float)
        }
    return Evidence(
        backend=answer.where,
        device=str(told["device"]) if "device" in told else None,
        launches=_count(told, "launches"),
        event_ns=device + (sample.copy_ns or 0) if on_gpu and device is not None else None,
        bytes_moved=_count(told, "bytes_moved"),
        device_bytes_held=_count(told, "device_bytes_held"),
        fallback_reason=str(told["fallback_reason"]) if told.get("fallback_reason") else None,
        detail=detail,
    )


def _count(told: Mapping[str, Any], name: str) -> int | None:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def peer_subject(
    name: str,
    *,
    build: bool = True,
    say: Callable[[str], None] | None = None,
    options: Mapping[str, Any] | None = None,
) -> ProgramSubject:
    """The peer `name` (or `name:path`), built on first use."""
    base, _, path = name.partition(":")
    spec = find(base)
    place = _PLACES.get(path) or (None if isinstance(spec, Fault) else _PLACES.get(spec.place))
    return ProgramSubject(
        name,
        lambda threads: open_peer(name, threads=threads, build=build, say=say),
        place=place,
        options=options,
    )


def own_program(backend: str, env: Mapping[str, str] | None = None, options: Mapping[str, Any] | None = None,
                name: str | None = None) -> ProgramSubject:  # fmt: skip
    """Our own backend in a process of its own: for first calls, and for cures that need a fresh environment."""

    def start(threads: int) -> Peer | Fault:
        peer = open_program([sys.executable, "-m", "multiscalar.lab.subjects.program"], env)
        if not isinstance(peer, Fault):
            peer.path = backend
        return peer

    return ProgramSubject(
        name or backend, start, place=_PLACES[backend], options=options, labelled=("isa", "precompute")
    )
