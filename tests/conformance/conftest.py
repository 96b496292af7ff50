"""One conformance suite for every curve, backend, instruction set and number of threads.

The fixture `backend` is the only way the tests call the engine. Another backend runs the suite by overriding it: a
conftest.py next to `from tests.conformance.test_... import *` that defines `backend` (see `Engine`) is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import multiscalar as ms
import pytest
from multiscalar import curves
from multiscalar.engine import registry


@dataclass(frozen=True)
class Engine:
    """A backend with its options. `most` bounds n: slow engines (a simulated device) run the small cases only."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    most: int = 1 << 62
    paths: tuple[str | None, ...] = (None,)

    def msm(self, points: Any, scalars: Any, **options: Any) -> Any:
        """One-shot call."""
        return ms.msm(points, scalars, backend=self.name, **{**self.options, **options})

    def bases(self, points: Any, **options: Any) -> ms.Bases:
        """Prepared bases."""
        return ms.Bases(points, backend=self.name, **{**self.options, **options})

    def needs(self, n: int) -> None:
        """Skip a case that is too large for this engine."""
        if n > self.most:
            pytest.skip(f"{self} runs at most {self.most} terms in a test, this case needs {n}")

    def sizes(self, *sizes: int) -> list[int]:
        """Those of the sizes that this engine runs."""
        return [n for n in sizes if n <= self.most]

    def __str__(self) -> str:
        return "-".join([self.name, *(str(value) for value in self.options.values())])


def engines() -> list[Engine]:
    """What this machine can run: each instruction set on one thread, the best one on several, a GPU if there is one."""
    from multiscalar import _core

    isas = _core.isas()
    found = [Engine("cpu", {"isa": isa, "threads": 1}, paths=(None, "straus", "bucket")) for isa in isas]
    found.append(Engine("cpu", {"isa": isas[-1], "threads": 3}, paths=(None, "bucket")))
    if registry.availability("cuda").usable:
        found.append(Engine("cuda"))
    return found


@pytest.fixture(params=engines(), ids=str)
def backend(request: pytest.FixtureRequest) -> Engine:
    """The engine under test."""
    engine: Engine = request.param
    return engine


@pytest.fixture(params=curves.names())
def curve(request: pytest.FixtureRequest) -> ms.Curve:
    """The curve under test."""
    return ms.curve(request.param)


_multiples: dict[str, ms.PointArray] = {}


@pytest.fixture
def multiples(curve: ms.Curve) -> ms.PointArray:
    """0 G, 1 G, 2 G, ..., 4096 G with their logarithms: the oracle of most cases."""
    from multiscalar.inputs import multiples as make

    if curve.name not in _multiples:
        _multiples[curve.name] = make(curve, curve.scalars(list(range(4097))))
    return _multiples[curve.name]


_known: dict[str, ms.PointArray] = {}
MOST = 1 << 15


@pytest.fixture
def known(curve: ms.Curve) -> ms.PointArray:
    """2^15 + 64 points with known logarithms."""
    if curve.name not in _known:
        _known[curve.name] = curve.known_points(MOST + 64)
    return _known[curve.name]
