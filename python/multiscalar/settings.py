"""Settings: argument > `using(...)` > environment > profile > default, read at call time.

One table, `SETTINGS`, states every setting; the environment reader, `using`, the checks of arguments and
docs/settings.md all come from it. Nothing is read at import and nothing is kept between calls.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from .errors import OptionError, shown

__all__ = [
    "SETTINGS",
    "Setting",
    "environment",
    "origin",
    "page",
    "parse_size",
    "setting",
    "snapshot",
    "using",
    "watch",
]

Parser = Callable[[object], Any]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its environment name, its parser (text or value in, value out), default and meaning."""

    name: str
    env: str
    parse: Parser
    default: Any
    accepted: str
    meaning: str

    def read(self, value: object, origin: str) -> Any:
        """`value` checked and converted; `origin` names the place it came from in the error."""
        try:
            return self.parse(value)
        except (ValueError, TypeError) as error:
            raise OptionError(
                f"{origin} = {shown(value)} is no value of the setting {self.name}",
                accepted=self.accepted,
                hint=f"Change or remove {origin}.",
            ) from error


def _one_of(*words: str) -> Parser:
    def parse(value: object) -> str:
        text = str(value).strip().lower()
        if text not in words:
            raise ValueError(text)
        return text

    return parse


def parse_size(value: object) -> int:
    """A number of terms: 1024, "1,024", "1_024" or "2^10"."""
    if isinstance(value, bool):
        raise TypeError("a bool is no size")
    if isinstance(value, str):
        text = value.strip().replace(",", "").replace("_", "")
        base, power, exponent = text.partition("^")
        size = int(base) ** int(exponent) if power and len(exponent) <= 3 and exponent.isdigit() else int(text)
    else:
        size = operator.index(value)  # type: ignore[arg-type]
    if not 0 <= size < 1 << 62:
        raise ValueError(size)
    return size


def _threads(value: object) -> int | None:
    if value is None or (isinstance(value, str) and value.strip().lower() in ("", "auto")):
        return None
    count = parse_size(value)
    if not 1 <= count <= 1024:
        raise ValueError(count)
    return count


def _crossover(value: object) -> int | None:
    if value is None or (isinstance(value, str) and value.strip().lower() in ("", "profile")):
        return None
    return parse_size(value)


def _text(value: object) -> str | None:
    if value is None or value == "":
        return None
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    raise TypeError(value)


AREAS: Final = ("dispatch", "cuda", "engine")


def _areas(value: object) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else () if value is None else value
    found = tuple(str(word).strip().lower() for word in words)  # type: ignore[attr-defined]
    if found in (("",), ("off",)):
        return ()
    if not set(found) <= set(AREAS):
        raise ValueError(found)
    return found


_ROWS: Final = (
    Setting(
        "backend", "MULTISCALAR_BACKEND", _one_of("auto", "cpu", "cuda"), "auto", "auto, cpu, cuda",
        "Where to compute. `cpu` and `cuda` are strict: that backend or an error. `auto` chooses by the profile.",
    ),
    Setting(
        "threads", "MULTISCALAR_THREADS", _threads, None, "1..1024 or auto",
        "Most CPU threads one call may use. Default: the CPUs that affinity and cgroup allow.",
    ),
    Setting(
        "isa", "MULTISCALAR_ISA", _one_of("auto", "scalar", "ifma256", "ifma512"), "auto",
        "auto, scalar, ifma256, ifma512",
        "Instruction set of the CPU backend. `auto` takes the fastest the CPU has; the others are strict.",
    ),
    Setting(
        "crossover", "MULTISCALAR_CROSSOVER", _crossover, None, "a size such as 8192 or 2^13, or profile",
        "Cutoff N of `auto`: CPU when n <= N, GPU when n > N. Overrides the profile.",
    ),
    Setting(
        "profile", "MULTISCALAR_PROFILE", _text, None, "a path, or off",
        "Profile of this machine that `auto` uses. Default: the newest that fits, in the state directory.",
    ),
    Setting(
        "objective", "MULTISCALAR_OBJECTIVE", _one_of("median", "p95"), "median", "median, p95",
        "What `auto` minimises: typical time, or the time that 95 % of calls stay under.",
    ),
    Setting(
        "calibrate", "MULTISCALAR_CALIBRATE", _one_of("never", "once"), "never", "never, once",
        "`once`: commands (never calls) measure a missing profile first.",
    ),
    Setting(
        "cache_dir", "MULTISCALAR_CACHE_DIR", _text, None, "a path",
        "Compiled kernels, built peers. Default: the user's cache directory.",
    ),
    Setting(
        "state_dir", "MULTISCALAR_STATE_DIR", _text, None, "a path",
        "Profiles and baselines. Default: the user's state directory.",
    ),
    Setting(
        "srs_dir", "MULTISCALAR_SRS_DIR", _text, None, "a path",
        "Public reference strings of the prover. Default: the user's data directory.",
    ),
    Setting(
        "log", "MULTISCALAR_LOG", _areas, (), "off, or some of " + ",".join(AREAS),
        "What to tell on stderr: profiles and choices of `auto`, kernels made ready, fallbacks. Never scalars.",
    ),
)  # fmt: skip

SETTINGS: Final[Mapping[str, Setting]] = {row.name: row for row in _ROWS}

_scoped: ContextVar[Mapping[str, Any]] = ContextVar("multiscalar_settings", default={})  # noqa: B039 never mutated


def setting(name: str, argument: object = None) -> Any:
    """The value in force for setting `name`: the argument if given, else scope, environment, default."""
    row = SETTINGS[name]
    if argument is not None:
        return row.read(argument, name)
    scope = _scoped.get()
    if name in scope:
        return scope[name]
    text = environment(row.env)
    return row.default if text is None else row.read(text, row.env)


# The dictionary behind os.environ, which every change through os.environ goes to; None in a Python that has none.
_behind: Final[Mapping[Any, Any] | None] = vars(os.environ).get("_data")


@cache
def _key(name: str) -> Any:
    return os.environ.encodekey(name)


def environment(name: str) -> str | None:
    """`os.environ.get(name)`, which costs a microsecond where nothing is set: it raises and catches a KeyError."""
    if _behind is None:
        return os.environ.get(name)
    value = _behind.get(_key(name))
    return None if value is None else os.environ.decodevalue(value)


def watch(*names: str) -> Callable[[], tuple[object, ...]]:
    """A function whose result is equal as long as these settings are: what depends on them need not be worked out anew.

    `names`: settings, or other variables of the environment. 0.4 us a call: `auto` asks in each of its own.
    """
    variables = [SETTINGS[name].env if name in SETTINGS else name for name in names]
    if _behind is None:
        return lambda: (_scoped.get(), *map(os.environ.get, variables))
    keys, read = [_key(name) for name in variables], _behind.get
    return lambda: (_scoped.get(), *map(read, keys))


def origin(name: str, argument: object = None) -> str:
    """Where `setting` takes its value from: "argument", "using", "environment" or "default"."""
    if argument is not None:
        return "argument"
    if name in _scoped.get():
        return "using"
    return "environment" if SETTINGS[name].env in os.environ else "default"


def snapshot() -> dict[str, Any]:
    """All settings in force here and now."""
    return {name: setting(name) for name in SETTINGS}


@contextmanager
def using(**changes: object) -> Iterator[None]:
    """Settings for the calls inside the block, in this thread or task only.

    ``with ms.using(backend="cpu", threads=1): ...``. Blocks nest; inner ones win. Errors: `OptionError` for an
    unknown name or a value outside its range, on entry.
    """
    for name in changes:
        if name not in SETTINGS:
            raise OptionError(f"no setting is called {shown(name)}", accepted=", ".join(SETTINGS))
    checked = {name: SETTINGS[name].read(value, name) for name, value in changes.items()}
    token = _scoped.set({**_scoped.get(), **checked})
    try:
        yield
    finally:
        _scoped.reset(token)


def page() -> str:
    """docs/settings.md: the one table of settings."""
    lines = [
        "# Settings",
        "",
        "An argument of the call wins over `with ms.using(...)`, that over the environment, that over the profile of",
        "the machine, and that over the default. All are read at call time. This page is made by",
        "`python -m multiscalar.settings > docs/settings.md`.",
        "",
        "| setting | environment | accepted | default | meaning |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| `{row.name}` | `{row.env}` | {row.accepted} | {row.default or '-'} | {row.meaning} |" for row in _ROWS
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
