"""Times our own backends for a calibration: every result checked, every place of execution attested."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ..arrays import PointArray
from ..curves import curve as find_curve
from ..engine.api import Bases, msm
from ..errors import BackendError
from ..point import Point
from .calibrate import NotAttested
from .profile import Series

WARM_UPS = 2
# Scalars of a series (`chooser.series_of`) -> the shape that is measured for it: narrow ones as arrays of their type.
SHAPES = {
    "1-bit": "bool", "8-bit": "uint8", "16-bit": "uint16", "32-bit": "uint32", "64-bit": "uint64", "full": "uniform"
}  # fmt: skip


class EngineMeter:
    """`calibrate.Meter` over the public API. Points with known logarithms are made once, for the largest n."""

    def __init__(self, seed: int = 5090) -> None:
        self._seed = seed
        self._points: dict[str, PointArray] = {}

    def open(self, series: Series, n: int) -> Callable[[], float]:
        """A warmed-up call of `series` at n; each call of the result checks, attests and times one sample in us."""
        curve = find_curve(series.curve)
        points = self._prefix(series.curve, n)
        scalars = curve.random_scalars(n, self._seed, SHAPES[series.scalars])
        expected = curve.expected_sum(points, scalars)
        call = self._bind(series, points, scalars)

        def sample() -> float:
            start = time.perf_counter_ns()
            results = call()
            spent = time.perf_counter_ns() - start
            for result in results:
                _attest(series, n, result, expected)
            return spent / 1e3

        for _ in range(WARM_UPS):
            sample()
        return sample

    def _prefix(self, name: str, n: int) -> PointArray:
        made = self._points.get(name)
        if made is None or len(made) < n:
            made = self._points[name] = find_curve(name).known_points(n, self._seed)
        return made[:n]

    @staticmethod
    def _bind(series: Series, points: PointArray, scalars: Any) -> Callable[[], list[Point]]:
        options: dict[str, Any] = {"threads": series.threads or None, "backend": series.backend}
        if series.scope == "end-to-end":
            if series.batch > 1:
                return lambda: list(msm(points, [scalars] * series.batch, **options))
            return lambda: [msm(points, scalars, **options)]
        tables = series.precompute if series.precompute > 1 and series.backend == "cuda" else None
        bases = Bases(points, precompute=tables, **options)
        vector: Any = scalars
        if series.scope == "resident" and series.backend == "cuda":
            from ..cuda.ondevice import OnDevice

            vector = OnDevice(scalars.data)
        if series.batch > 1:
            return lambda: list(bases.msm([vector] * series.batch))
        return lambda: [bases.msm(vector)]


def _attest(series: Series, n: int, result: Point, expected: Point) -> None:
    """A wrong sum, another backend or a GPU without device work voids the calibration."""
    if result != expected:
        raise NotAttested(f"{series.backend} gave a wrong sum on {series.curve} at n = {n:,}")
    run = result.run
    if run is None or run.backend != series.backend or run.fallback_reason:
        raise NotAttested(f"{series.backend} was asked for and {run.backend if run else 'nothing'} answered")
    if series.backend == "cuda" and not (run.launches and sum(run.phases_ns.values()) > 0):
        raise NotAttested("the GPU was asked for and shows no launches")


def usable_gpu() -> str | None:
    """None if the GPU can be calibrated, else why not."""
    from ..engine import registry

    try:
        registry.require("cuda")
    except BackendError as error:
        return str(error)
    return None
