"""The options of a call, checked where it begins: each refusal names the option, its value and what is accepted.

A backend that was asked for by name honours every option or refuses it; `auto` may choose one that has no use for
some of them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from ..errors import OptionError, shown
from ..settings import setting
from .backend import MsmOptions, PrepareOptions
from .precompute import checked

# What a backend has no use for, and the values that ask for nothing.
_MEANINGLESS: Final[dict[str, dict[str, tuple[object, ...]]]] = {
    "cpu": {"devices": (None,), "precompute": (None, 1, "auto")},
    "cuda": {"endomorphism": (None,)},
}


_NOTHING_ASKED: Final = (None, None, None, None, False, False)


def of_bases(
    *,
    threads: int | None,
    isa: str | None,
    precompute: int | str | None = None,
    devices: Sequence[int] | None,
) -> PrepareOptions:
    """How bases are prepared: arguments first, then settings."""
    return PrepareOptions(
        setting("threads", threads),
        setting("isa", isa),
        None if precompute is None else checked(precompute),
        None if devices is None else _devices(devices),
    )


def of_call(
    prepared: PrepareOptions,
    fixed: bool,
    *,
    threads: int | None = None,
    window: int | None = None,
    path: str | None = None,
    reduce: bool = False,
    own_bases: bool = False,
    endomorphism: bool | None = None,
    stop: Callable[[], bool] | None = None,
) -> MsmOptions:
    """How one sum is computed. The cap on threads is that of the call, else that given with the bases (`fixed`), else
    the setting in force, else the one in force when the bases were prepared."""
    if threads is not None or not fixed:
        threads = setting("threads", threads)
    if threads is None:
        threads = prepared.threads
    if all(map(operator.is_, (window, path, endomorphism, stop, reduce, own_bases), _NOTHING_ASKED)):
        return _plain(prepared, threads)
    if reduce is not False:
        _is(bool, "reduce", reduce, "True or False")
    if own_bases is not False:
        _is(bool, "own_bases", own_bases, "True or False")
    if window is not None:
        _window(window)
    if path is not None:
        _is(str, "path", path, "reference, straus, bucket (cpu), grouped, sorted, pairs (cuda), or None")
    if endomorphism is not None:
        _is(bool, "endomorphism", endomorphism, "True, False, or None")
    if stop is not None and not callable(stop):
        raise OptionError(f"stop = {shown(stop)}", accepted="a function without arguments, or None")
    return MsmOptions(
        threads, prepared.isa, window, path, reduce, own_bases, endomorphism, stop, prepared.devices,
    )  # fmt: skip


@lru_cache
def _plain(prepared: PrepareOptions, threads: int | None) -> MsmOptions:
    """Of a call that asks for nothing of its own: the same object for the same bases, see `DeviceBases`."""
    return MsmOptions(threads=threads, isa=prepared.isa, devices=prepared.devices)


def honoured(backend: str, **given: object) -> None:
    """Refuse options that a backend asked for by name has no use for. Errors: `OptionError`."""
    for name, nothing in _MEANINGLESS.get(backend, {}).items():
        value = given.get(name)
        if value not in nothing:
            raise OptionError(
                f"{name} = {shown(value)} means nothing to backend {backend}",
                accepted=" or ".join(repr(known) for known in nothing),
                hint='Leave it out, or use backend="auto", which passes it to a backend that has a use for it.',
            )


def _window(window: int) -> None:
    if isinstance(window, bool) or not isinstance(window, int) or not 1 <= window <= 255:
        raise OptionError(
            f"window = {shown(window)}", accepted="1..255 (the path may accept fewer), or None", hint="Leave it out."
        )


def _devices(devices: Sequence[int]) -> tuple[int, ...]:
    accepted = "a sequence of numbers of GPUs, or None"
    try:
        found = tuple(operator.index(None if isinstance(device, bool) else device) for device in devices)  # type: ignore[arg-type]
    except TypeError as error:
        raise OptionError(f"devices = {shown(devices)}", accepted=accepted) from error
    if not found or min(found) < 0:
        raise OptionError(f"devices = {shown(devices)}", accepted=accepted, hint="`msm info` lists them.")
    return found


def _is(kind: type, name: str, value: Any, accepted: str) -> None:
    """Refuse an option of another type: the native core would, in words that do not name the option."""
    if not isinstance(value, kind):
        raise OptionError(f"{name} = {shown(value)}", accepted=accepted)
