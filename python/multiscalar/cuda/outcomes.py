"""From answers of a device to outcomes of the engine: sums of parts, what `result.run` says, bad scalars by name."""

from __future__ import annotations

from ..arrays import ScalarArray, unreduced
from ..curves import Curve
from ..engine.backend import Outcome
from ..engine.run import RunInfo
from ..errors import ScalarRangeError
from ..intake import first_unreduced
from ..point import Point
from .work import Vector


def added(curve: Curve, left: Outcome, right: Outcome) -> Outcome:
    """The sum of two parts; times and bytes add up."""
    total = Point(curve, left.x, left.y, is_infinity=left.is_infinity) + Point(
        curve, right.x, right.y, is_infinity=right.is_infinity
    )
    one, two = left.run, right.run
    phases = {
        name: one.phases_ns.get(name, 0) + two.phases_ns.get(name, 0) for name in {**one.phases_ns, **two.phases_ns}
    }
    run = RunInfo(
        backend="cuda",
        device=two.device or one.device,
        curve=curve.name,
        n=one.n + two.n,
        batch=two.batch,
        path=two.path,
        window=two.window,
        wall_ns=one.wall_ns + two.wall_ns,
        phases_ns=phases,
        copied_bytes=one.copied_bytes + two.copied_bytes,
        launches=one.launches + two.launches,
        evidence={**two.evidence, "device_ns": sum(phases.values()), "parts": _parts(one) + _parts(two)},
    )
    return Outcome(total.x, total.y, total.is_infinity, run)


def nothing(curve: Curve, device: str = "", batch: int = 1) -> Outcome:
    """The sum over no terms."""
    run = RunInfo(backend="cuda", device=device, curve=curve.name, n=0, batch=batch, phases_ns={}, evidence={})
    return Outcome(0, 0, True, run)


def _parts(run: RunInfo) -> int:
    parts = run.evidence.get("parts", 1)
    return parts if isinstance(parts, int) else 1


def out_of_range(vectors: list[Vector], index: int) -> ScalarRangeError:
    """The error for a scalar >= r; host vectors are looked through to name the vector's own index and value."""
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
