"""What the figures of the cuda backend share: inputs and bases of a curve made once, timed calls, device arrays."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import multiscalar as ms
import numpy as np

Fact = dict[str, Any]


@dataclass
class Bench:
    """One curve: inputs of any size made once, bases on the device, timed calls."""

    curve: ms.Curve
    largest: int
    effort: float = 1.0  # scales the number of calls
    _points: Any = None
    _bases: dict[tuple[int, object], Any] = field(default_factory=dict)

    def points(self, n: int) -> Any:
        if self._points is None or len(self._points) < n:
            self._points = self.curve.known_points(n, seed=1)
        return self._points[:n]

    def scalars(self, n: int, shape: str = "uniform", seed: int = 2) -> Any:
        return self.curve.random_scalars(n, seed=seed, shape=shape)

    def expected(self, scalars: Any) -> ms.Point:
        return self.curve.expected_sum(self.points(len(scalars)), scalars)

    def bases(self, n: int, precompute: int | None = None) -> Any:
        key = (n, precompute)
        if key not in self._bases:
            self._bases.clear()  # one table at a time: the largest take tens of gigabytes
            self._bases[key] = ms.Bases(self.points(n), backend="cuda", precompute=precompute)
        return self._bases[key]

    def runtime(self) -> Any:
        from multiscalar.cuda.compiled import kernels

        return kernels(self.curve).runtime

    def pinned(self, array: np.ndarray) -> np.ndarray:
        """A copy in page-locked memory."""
        made = self.runtime().pinned(array.nbytes).view(array.dtype).reshape(array.shape)
        made[...] = array
        return made  # type: ignore[no-any-return]

    def forget(self) -> None:
        """Give back all plans: the next call of a shape makes its own."""
        from multiscalar.cuda.compiled import kernels

        lane = kernels(self.curve).lane
        with lane.lock:
            lane.release()

    def times(self, call: Callable[[], Any], count: int, warm: int = 3) -> tuple[list[float], Any]:
        """Milliseconds of `count` calls after `warm` untimed ones, and the last result."""
        taken, result = [], None
        warm, count = (round(self.effort * number) for number in (warm, count))
        for k in range(warm + max(1, count)):
            start = time.perf_counter()
            result = call()
            if k >= warm:
                taken.append(1e3 * (time.perf_counter() - start))
        return taken, result


def on_device(scalars: Any) -> Any:
    from multiscalar.cuda.ondevice import OnDevice

    data = scalars.data
    return OnDevice(data.view(np.uint8) if data.dtype == np.bool_ else data)


def device_ms(result: ms.Point) -> float:
    """The device's own time of a call."""
    assert result.run is not None
    return sum(result.run.phases_ns.values()) / 1e6


def percentile(values: list[float], share: float) -> float:
    """As the lab takes it: between two values where it falls between them."""
    return float(np.percentile(values, 100 * share))
