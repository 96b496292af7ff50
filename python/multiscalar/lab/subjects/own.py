"""Our own backends as lab subjects, called through the public API as a user would.

The timed region holds the call and nothing else: process CPU time is read outside the wall clock's two readings.
Arrays are validated before, as the peers' typed points are; `end-to-end` times `msm` on raw host arrays.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import multiscalar as ms

from ..lacks import own_lack
from ..status import Status, SubjectError, failure
from ..subject import Case, Evidence, Place, Sample, Scope

if TYPE_CHECKING:
    from ...engine.run import RunInfo
    from ...point import Point
    from ..msmcase import MsmInputs

__all__ = ["Own"]

_PLACES = {"cpu": Place.CPU, "cuda": Place.GPU, "auto": Place.ANY}
# Phases that move data; everything else is the multiplication itself. The CPU moves none.
_COPY_PHASES = frozenset({"copy", "copy_in", "copy_out", "upload", "download"})


class Own:
    """`cpu`, `cuda` or `auto`; `options` go to every call (e.g. `window`), `name` is the row's path."""

    def __init__(self, backend: str, *, name: str | None = None, options: Mapping[str, Any] | None = None) -> None:
        self.name = name or backend
        self._backend = backend
        self._options = dict(options or {})
        self.place = _PLACES[backend]
        self._call: Callable[[], list[Point]] | None = None

    def describe(self) -> dict[str, Any]:
        """Version, backend, options, and our process id, by which telemetry knows its own work."""
        library = {"library": "multiscalar", "version": ms.__version__, "backend": self._backend}
        return {**library, **self._options, "pids": [os.getpid()]}

    def prepare(self, case: Case, inputs: Any) -> None:
        """Bind the call that the scope times."""
        if self._backend != "auto" and (missing := own_lack(self._backend)):
            raise SubjectError(Status.UNAVAILABLE, str(missing))
        try:
            self._call = _bind(self._backend, case, inputs, self._options)
        except ms.errors.MultiscalarError as error:
            raise failure(error) from error

    def take(self, count: int, warmups: int) -> Sequence[Sample]:
        """Timed calls; the results are Points, turned into plain pairs afterwards."""
        assert self._call is not None, "prepare first"
        try:
            for _ in range(warmups):
                self._call()
            return [self._sample() for _ in range(count)]
        except ms.errors.MultiscalarError as error:
            raise failure(error) from error

    def _sample(self) -> Sample:
        call = self._call
        assert call is not None
        cpu = time.process_time_ns()
        start = time.perf_counter_ns()
        points = call()
        end = time.perf_counter_ns()
        cpu = time.process_time_ns() - cpu
        run = points[0].run
        copy, device = _split(run)
        return Sample(start, end - start, cpu, [(p.x, p.y) for p in points], copy, device, _evidence(run))

    def close(self) -> None:
        """Drop the bases and inputs."""
        self._call = None


def _bind(backend: str, case: Case, inputs: MsmInputs, extra: Mapping[str, Any]) -> Callable[[], list[Point]]:
    labels = case.labels
    scope = Scope(str(labels["scope"]))
    isa = None if labels["isa"] == "auto" else labels["isa"]  # left open: as the user's settings say
    options: dict[str, Any] = {"threads": labels["threads"], "isa": isa}
    vectors: list[Any] = list(inputs.scalars)
    if scope is Scope.FIRST_CALL:
        raise SubjectError(Status.UNSUPPORTED, "first-call is measured in a fresh process")
    if scope is Scope.END_TO_END:
        points = inputs.points
        return lambda: [ms.msm(points, vector, backend=backend, **options, **extra) for vector in vectors]
    if backend == "cpu" and labels["precompute"] is not None:
        raise SubjectError(Status.UNSUPPORTED, "precompute makes tables for the cuda backend")
    bases = ms.Bases(inputs.points, backend=backend, precompute=labels["precompute"], **options)
    if scope is Scope.RESIDENT and backend != "cpu":
        from ...cuda.ondevice import OnDevice

        vectors = [OnDevice(vector.data) for vector in vectors]
    if len(vectors) == 1:
        only = vectors[0]
        return lambda: [bases.msm(only, **extra)]
    return lambda: list(bases.msm(vectors, **extra))


def _split(run: RunInfo | None) -> tuple[int | None, int | None]:
    """(copy ns, device ns without the copies) from the phases; device time only where events measured it."""
    if run is None or not run.phases_ns:
        return None, None
    copies = [ns for phase, ns in run.phases_ns.items() if phase in _COPY_PHASES]
    if run.backend != "cuda":
        return 0, None
    return (sum(copies) if copies else None), sum(run.phases_ns.values()) - sum(copies)


def _evidence(run: RunInfo | None) -> Evidence:
    if run is None:
        return Evidence()
    on_gpu = run.backend == "cuda"
    return Evidence(
        backend=run.backend,
        device=run.device,
        launches=run.launches if on_gpu else None,
        event_ns=sum(run.phases_ns.values()) if on_gpu and run.phases_ns else None,
        bytes_moved=run.copied_bytes or None,  # none is right when all is resident
        fallback_reason=run.fallback_reason,
        detail={
            "path": run.path,
            "window": run.window,
            "isa": run.isa,
            "threads": run.threads,
            "phases_ns": dict(run.phases_ns),
            "choice": run.choice,
        },
    )
