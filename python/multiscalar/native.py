"""The native core `_core`, after a look that it is the one of these sources.

The core carries the text of its stub `_core.pyi`, which states what its functions take; beside other Python sources it
would fail with a TypeError somewhere deep inside. Cost: one small file read, when the core is first needed.
"""

from __future__ import annotations

import os

from .errors import CoreError

try:
    from . import _core
except ImportError as error:
    raise CoreError(
        f"the native core multiscalar._core cannot be loaded ({error})",
        hint="In a checkout run `make build`; else install the package again.",
    ) from None

__all__ = ["_core", "check"]

_STUB = os.path.join(os.path.dirname(__file__), "_core.pyi")


def check(interface: str | None, stub: str = _STUB) -> None:
    """Refuse a core whose `interface` is not the text of `stub`; without that file nothing is known and all is taken.

    Errors: `CoreError`.
    """
    try:
        with open(stub, encoding="utf-8", newline="") as file:
            wanted = file.read()
    except OSError:
        return
    if interface != wanted:
        raise CoreError(
            "the native core multiscalar._core was built from other sources than the Python modules beside it",
            hint="In a checkout run `make build`; else install the package again.",
        )


check(getattr(_core, "INTERFACE", None))  # older cores have none
