"""multiscalar: sums of scalars times points on elliptic curves, on CPU and NVIDIA GPU, measured.

Names are imported when they are first used: `import multiscalar` loads no numpy, touches no GPU, starts no thread and
reads no file.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from . import errors as errors
    from .arrays import Check, Form, PointArray, ScalarArray
    from .curves import Curve, curve
    from .dispatch.explain import explain
    from .engine.api import Bases, msm
    from .engine.run import RunInfo
    from .point import Point
    from .settings import using

__version__: Final = "0.1.0"

__all__ = [
    "Bases",
    "Check",
    "Curve",
    "Form",
    "Point",
    "PointArray",
    "RunInfo",
    "ScalarArray",
    "curve",
    "errors",
    "explain",
    "msm",
    "using",
]

_HOMES: Final = {
    "Bases": "engine.api",
    "Check": "arrays",
    "Curve": "curves",
    "Form": "arrays",
    "Point": "point",
    "PointArray": "arrays",
    "RunInfo": "engine.run",
    "ScalarArray": "arrays",
    "curve": "curves",
    "explain": "dispatch.explain",
    "msm": "engine.api",
    "using": "settings",
}


def __getattr__(name: str) -> Any:
    if name == "errors":
        return importlib.import_module(".errors", __name__)
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{home}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
