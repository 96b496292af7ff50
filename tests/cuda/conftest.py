"""`backend="cuda"` on a device made of host memory, for tests of everything above the kernels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import multiscalar as ms
import pytest
from multiscalar.cuda import backend, compiled
from multiscalar.cuda.lane import Lane
from multiscalar.cuda.shape import DeviceShape
from multiscalar.engine.backend import Availability

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent / "shim")]
import driver  # noqa: E402
import oracle  # noqa: E402
from runtime import ShimRuntime  # noqa: E402

Attach = Callable[..., ShimRuntime]


@pytest.fixture
def shim(monkeypatch: pytest.MonkeyPatch) -> Iterator[Attach]:
    """Call it to attach a device of so many bytes; `backend="cuda"` uses it until the test ends."""
    monkeypatch.setattr(compiled, "_kernels", {})
    monkeypatch.setattr(backend._BACKEND, "_state", Availability(True))

    def attach(
        capacity: int = 1 << 40, ordinal: int = 0, eager_copies: bool = False, seed: int = driver.SEED
    ) -> ShimRuntime:
        runtime = ShimRuntime(capacity, eager_copies, seed=seed)
        lane = Lane(runtime)
        for name in ms.curves.names():
            facts = oracle.curve(name)
            library = driver.build(facts.module, oracle.constants(facts))
            curve = ms.curve(name)
            compiled._kernels[(ordinal, name)] = compiled.Kernels(
                curve=curve,
                curve_shape=compiled.curve_shape(curve),
                device_name="host shim",
                device_shape=DeviceShape(2),
                runtime=runtime,
                module={"shim_launch": library.shim_launch},
                lane=lane,
            )
        return runtime

    return attach
