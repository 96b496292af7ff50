"""Backends and the chooser, loaded by name when first asked for.

`cpu` is part of the engine; `cuda` and the chooser live in outer rings and may be absent. Looking one up imports its
module; it never touches a GPU by itself. Fallbacks of `auto` are counted here.
"""

from __future__ import annotations

import importlib
import sys
import threading
import warnings
from typing import Final, cast

from .. import extras
from ..errors import BackendUnavailableError, FallbackWarning, OptionError
from ..forks import renewed
from ..log import note
from .backend import Availability, Backend, Chooser

# name -> module that offers `backend() -> Backend`
_HOMES: Final = {"cpu": "multiscalar.engine.cpu", "cuda": "multiscalar.cuda.backend"}
_CHOOSER_HOME: Final = "multiscalar.dispatch.chooser"  # offers `chooser() -> Chooser`

_lock = threading.RLock()  # a backend may look up another one while it is imported
renewed(sys.modules[__name__], "_lock")
_loaded: dict[str, Backend] = {}
_chooser: list[Chooser | None] = []
_fallbacks: dict[str, int] = {}


def names() -> tuple[str, ...]:
    """The words that `backend=` accepts besides "auto"."""
    return tuple(_HOMES)


def load(name: str) -> Backend:
    """The backend called `name`, imported on first use, usable or not.

    Errors: `OptionError` for an unknown name, `BackendUnavailableError` when its module or a library it needs is
    not installed.
    """
    found = _loaded.get(name)
    if found is not None:
        return found
    if name not in _HOMES:
        raise OptionError(f"no backend is called {name!r}", accepted=", ".join(("auto", *_HOMES)))
    with _lock:
        if name not in _loaded:
            try:
                module = importlib.import_module(_HOMES[name])
            except ImportError as error:
                raise BackendUnavailableError(
                    f"backend {name!r} is not installed ({error})",
                    accepted=f"backends on this machine: {', '.join(sorted({*_loaded, 'cpu'}))}",
                    hint=extras.HINT,
                ) from error
            _loaded[name] = cast(Backend, module.backend())
    return _loaded[name]


def availability(name: str) -> Availability:
    """Whether the backend can be used here, without raising."""
    try:
        return load(name).availability()
    except BackendUnavailableError as error:
        return Availability(False, error.what, error.hint or "")


def require(name: str) -> Backend:
    """The backend, usable, or `BackendUnavailableError` with its reason: a request by name is strict."""
    found = load(name)
    state = found.availability()
    if not state.usable:
        raise BackendUnavailableError(
            f"backend {name!r} cannot be used: {state.reason}",
            hint=state.hint or 'Use backend="cpu" or backend="auto".',
        )
    return found


def chooser() -> Chooser | None:
    """The policy of `auto`, or None where the dispatch ring is absent (then auto means CPU for host data)."""
    if not _chooser:
        with _lock:
            if not _chooser:
                try:
                    module = importlib.import_module(_CHOOSER_HOME)
                    _chooser.append(cast(Chooser, module.chooser()))
                except ModuleNotFoundError as error:
                    if error.name is None or not _CHOOSER_HOME.startswith(error.name):
                        raise
                    _chooser.append(None)
    return _chooser[0]


def note_fallback(wanted: str, reason: str) -> None:
    """Count a fallback of `auto`, and warn the first time one happens for this backend."""
    with _lock:
        _fallbacks[wanted] = _fallbacks.get(wanted, 0) + 1
        first = _fallbacks[wanted] == 1
    note("engine", f"auto chose {wanted} and fell back to the CPU: {reason}")
    if first:
        warnings.warn(
            f'backend="auto" chose {wanted} and fell back to the CPU: {reason}. Later fallbacks are counted in '
            'silence (multiscalar.engine.registry.fallbacks()); backend="' + wanted + '" raises instead.',
            FallbackWarning,
            stacklevel=4,
        )


def fallbacks() -> dict[str, int]:
    """How often `auto` fell back in this process, by the backend that was wanted."""
    with _lock:
        return dict(_fallbacks)
