"""The peer protocol's answers, parsed as hostile: bounded, typed, never trusted further than they were checked.

A peer is a program of somebody else's code. What it prints may be junk, a lie or endless; `parse_*` give a typed
answer or a `Fault` that says what was wrong. docs/peers/protocol.md describes every field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ... import jsontext
from ..schema import part_fault
from .faults import Fault, FaultKind

__all__ = ["Hello", "LoadAnswer", "PeerSample", "RunAnswer", "parse_hello", "parse_load", "parse_object", "parse_run"]

MAX_TEXT = 4096
MAX_WORDS = 64
MAX_COORDINATE = 1 << 768  # far above every field; only keeps a hostile number small
MAX_NS = 1 << 62

# A peer's error kind -> the row's status.
_STATUS_OF_KIND = {"unsupported": FaultKind.UNSUPPORTED, "panic": FaultKind.CRASHED, "device": FaultKind.UNAVAILABLE}

T = TypeVar("T")


class _BadAnswerError(Exception):
    """A field is missing or has a value outside its range."""


@dataclass(frozen=True, slots=True)
class Hello:
    """What a peer says about itself. `timed` states in words what one `resident-bases` sample covers."""

    name: str
    version: str
    curves: tuple[str, ...]
    groups: tuple[str, ...]
    devices: tuple[str, ...]
    paths: tuple[str, ...]
    scopes: tuple[str, ...]
    options: tuple[str, ...]
    timed: str


@dataclass(frozen=True, slots=True)
class LoadAnswer:
    """A workload lies ready in the peer; `ns` is what reading and converting it took."""

    ns: int


@dataclass(frozen=True, slots=True)
class PeerSample:
    """Clocks of one call in ns: wall, CPU of the peer's whole process, and where it has them copies and device."""

    wall_ns: int
    cpu_ns: int | None
    copy_ns: int | None
    device_ns: int | None


@dataclass(frozen=True, slots=True)
class RunAnswer:
    """The samples, the sum in affine form ((0, 0) and the flag for infinity), and where it was computed."""

    samples: tuple[PeerSample, ...]
    x: int
    y: int
    is_infinity: bool
    agree: bool
    where: str
    evidence: Mapping[str, Any]


def parse_object(line: bytes) -> dict[str, Any] | Fault:
    """The JSON object on a line, or the fault: junk, or the peer's own error."""
    try:
        answer = jsontext.parse(line)
    except ValueError:
        return Fault(FaultKind.ERROR, f"junk instead of an answer: {_excerpt(line)}")
    if not isinstance(answer, dict):
        return Fault(FaultKind.ERROR, f"an answer must be an object: {_excerpt(line)}")
    error = answer.get("error")
    if error is None:
        return answer
    if not isinstance(error, dict):
        return Fault(FaultKind.ERROR, f"malformed error: {_excerpt(line)}")
    status = _STATUS_OF_KIND.get(str(error.get("kind")), FaultKind.ERROR)
    return Fault(status, str(error.get("message", "no message"))[:MAX_TEXT])


def parse_hello(answer: Mapping[str, Any]) -> Hello | Fault:
    """The answer to `hello`."""
    return _checked("hello", answer, _hello)


def parse_load(answer: Mapping[str, Any]) -> LoadAnswer | Fault:
    """The answer to `load`."""
    return _checked("load", answer, lambda fields: LoadAnswer(_ns(fields, "ns")))


def parse_run(answer: Mapping[str, Any], repeats: int) -> RunAnswer | Fault:
    """The answer to `run`; there must be `repeats` samples."""
    return _checked("run", answer, lambda fields: _run(fields, repeats))


def _checked(what: str, answer: Mapping[str, Any], read: Callable[[Mapping[str, Any]], T]) -> T | Fault:
    try:
        return read(answer)
    except _BadAnswerError as error:
        return Fault(FaultKind.ERROR, f"bad answer to {what}: {error}")


def _hello(fields: Mapping[str, Any]) -> Hello:
    return Hello(
        name=_text(fields, "name"),
        version=_text(fields, "version"),
        curves=_words(fields, "curves"),
        groups=_words(fields, "groups"),
        devices=_words(fields, "devices"),
        paths=_words(fields, "paths"),
        scopes=_words(fields, "scopes"),
        options=_words(fields, "options"),
        timed=_text(fields, "timed"),
    )


def _run(fields: Mapping[str, Any], repeats: int) -> RunAnswer:
    samples = fields.get("samples")
    if not isinstance(samples, list) or len(samples) != repeats:
        raise _BadAnswerError(f"{repeats} samples wanted, got {_excerpt(samples)}")
    result = fields.get("result")
    if not isinstance(result, dict):
        raise _BadAnswerError(f"no result: {_excerpt(result)}")
    evidence = fields.get("evidence", {})
    if not isinstance(evidence, dict) or len(json.dumps(evidence)) > 16 * MAX_TEXT:
        raise _BadAnswerError("evidence must be a small object")
    if fault := part_fault(evidence, "detail"):  # it goes into the record, which others must be able to read
        raise _BadAnswerError(f"evidence: {fault}")
    return RunAnswer(
        samples=tuple(_sample(sample) for sample in samples),
        x=_coordinate(result, "x"),
        y=_coordinate(result, "y"),
        is_infinity=_flag(result, "is_infinity"),
        agree=_flag(fields, "agree"),
        where=_text(fields, "where"),
        evidence=evidence,
    )


def _sample(sample: object) -> PeerSample:
    if not isinstance(sample, dict):
        raise _BadAnswerError(f"a sample must be an object: {_excerpt(sample)}")
    optional = {name: _ns(sample, name) if sample.get(name) is not None else None for name in
                ("cpu_ns", "copy_ns", "device_ns")}  # fmt: skip
    return PeerSample(_ns(sample, "wall_ns"), optional["cpu_ns"], optional["copy_ns"], optional["device_ns"])


def _ns(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < MAX_NS:
        raise _BadAnswerError(f"{name} must be nanoseconds, got {_excerpt(value)}")
    return value


def _coordinate(fields: Mapping[str, Any], name: str) -> int:
    value = fields.get(name)
    if isinstance(value, str) and value.startswith("0x") and len(value) <= 256:
        try:
            number = int(value, 16)
        except ValueError:
            number = -1
        if 0 <= number < MAX_COORDINATE:
            return number
    raise _BadAnswerError(f"{name} must be 0x and hex digits, got {_excerpt(value)}")


def _flag(fields: Mapping[str, Any], name: str) -> bool:
    value = fields.get(name)
    if not isinstance(value, bool):
        raise _BadAnswerError(f"{name} must be true or false, got {_excerpt(value)}")
    return value


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise _BadAnswerError(f"{name} must be a short text, got {_excerpt(value)}")
    return value


def _words(fields: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = fields.get(name)
    if isinstance(value, list) and len(value) <= MAX_WORDS and all(isinstance(word, str) for word in value):
        return tuple(word[:MAX_TEXT] for word in value)
    raise _BadAnswerError(f"{name} must be a short list of texts, got {_excerpt(value)}")


def _excerpt(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "..."
