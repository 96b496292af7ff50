"""From answers of a device to outcomes of the engine: sums of parts, what `result.run` says, bad scalars by name."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from .. import reference
from ..arrays import ScalarArray, unreduced
from ..curves import Curve
from ..engine.backend import MsmOptions, Outcome
from ..engine.run import Later, Run, RunInfo, changed, told
from ..engine.vectors import Vectors
from ..errors import ScalarRangeError
from ..intake import first_unreduced
from .compiled import Kernels
from .lane import STATUS_BYTES, Planned
from .result import decode, first_bad
from .running import Task
from .work import Vector

_outcome = partial(tuple.__new__, Outcome)  # a third of the time that `Outcome` takes: a batch makes many


def answered(
    kernels: Kernels,
    task: Task,
    answer: bytes,
    times: Callable[[], dict[str, int]],
    options: MsmOptions,
    started: int,
    factor: int = 1,
    before: int = 0,
) -> list[Outcome]:
    """What the answer of one piece of work says, for each of its vectors; `before` terms of the call precede it. The
    device's `times` are asked for with the run they belong to.

    Errors: `ScalarRangeError` for a scalar >= r, unless `options.reduce`.
    """
    work, planned, copied = task  # of which the run keeps nothing: it outlives them
    vectors, curve = work.vectors, kernels.curve
    counts = vectors.counts
    if not options.reduce:
        bad = first_bad(answer, 0)
        if bad is not None:
            raise out_of_range(vectors, before + bad)
    sums = decoded(answer, len(counts), curve)
    run = written(kernels, planned, times, counts[0], len(counts), copied, started, factor)
    if not vectors.uneven:
        return [_outcome((x, y, not (x or y), run)) for x, y in sums]
    runs = {n: changed(run, n=n) for n in set(counts)}
    return [_outcome((x, y, not (x or y), runs[n])) for (x, y), n in zip(sums, counts, strict=True)]


def outcome(answer: bytes, curve: Curve, run: Run) -> Outcome:
    """The one sum of an answer that names nothing bad."""
    ((x, y),) = decoded(answer, 1, curve)
    return _outcome((x, y, not (x or y), run))


def decoded(answer: bytes, count: int, curve: Curve) -> list[tuple[int, int]]:
    """The sums of an answer, as `result.decode` says."""
    return decode(answer[STATUS_BYTES : STATUS_BYTES + 24 * curve.limbs * count], curve)


def written(
    kernels: Kernels,
    planned: Planned,
    times: Callable[[], dict[str, int]],
    n: int,
    batch: int,
    copied: int,
    started: int,
    factor: int = 1,
) -> Later:
    """What `result.run` will say of a piece of work that has just ended."""
    curve, device = kernels.curve.name, kernels.device_name
    path, window, launches = planned.path, planned.window, planned.plan.launches
    wall_ns = time.perf_counter_ns() - started

    def tell() -> RunInfo:
        phases = times()
        return RunInfo(
            backend="cuda", device=device, curve=curve, n=n, batch=batch,
            phases_ns=phases, evidence={"device_ns": sum(phases.values()), "factor": factor},
            path=path, window=window, wall_ns=wall_ns, copied_bytes=copied, launches=launches,
        )  # fmt: skip

    return Later(tell)


def total(curve: Curve, parts: Sequence[Outcome]) -> Outcome:
    """The sum of parts, of which there is one at least; times and bytes add up, the rest is the last one's to say."""
    if len(parts) == 1:
        return parts[0]
    affine = reference.total([None if part.is_infinity else (part.x, part.y) for part in parts], curve.p)
    runs = [told(part.run) for part in parts]
    phases: dict[str, int] = {}
    for one in runs:
        for name, spent in one.phases_ns.items():
            phases[name] = phases.get(name, 0) + spent
    run = runs[-1]._replace(
        device=next((one.device for one in reversed(runs) if one.device), ""),
        n=sum(one.n for one in runs),
        wall_ns=sum(one.wall_ns for one in runs),
        phases_ns=phases,
        copied_bytes=sum(one.copied_bytes for one in runs),
        launches=sum(one.launches for one in runs),
        evidence={**runs[-1].evidence, "device_ns": sum(phases.values()), "parts": sum(map(_parts, runs))},
    )
    return Outcome(*(affine or (0, 0)), affine is None, run)


def nothing(curve: Curve, device: str = "", batch: int = 1) -> Outcome:
    """The sum over no terms."""
    run = RunInfo(backend="cuda", device=device, curve=curve.name, n=0, batch=batch, phases_ns={}, evidence={})
    return Outcome(0, 0, True, run)


def _parts(run: RunInfo) -> int:
    parts = run.evidence.get("parts", 1)
    return parts if isinstance(parts, int) else 1


def out_of_range(vectors: Sequence[Vector], index: int) -> ScalarRangeError:
    """The error for a scalar >= r; host vectors are looked through to name the vector's own index and value."""
    if isinstance(vectors, Vectors) and len(vectors) == 1:
        vectors = [vectors.first]  # all of it, where this is a part
    for vector in vectors:
        if isinstance(vector, ScalarArray):
            found = first_unreduced(vector.data, vector.curve)
            if found is not None:
                return unreduced(vector, found)
    curve = vectors[0].curve
    return ScalarRangeError(
        f"scalar {index} is not below the group order",
        index=index,
        accepted=f"0 <= s < r = {curve.r:#x} of {curve.name}",
        hint="Pass reduce=True to reduce modulo r; check the form of the scalars.",
    )
