"""Checks record lines against the published schema (`record.schema.json`).

Only the JSON Schema words that file uses: type, required, properties, additionalProperties, items, enum, minimum,
maximum, maxLength, maxItems. Records come from others and are parsed as hostile: what does not fit is refused with the
place and the rule. Numbers are bounded and texts can be shown wherever they stand, named by the schema or not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["UNPRINTABLE", "part_fault", "published_schema", "schema_fault"]

# By exact type, as a parser makes them: a bool is no integer.
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "null": (type(None),),
}
_BEYOND = 1 << 64
# Control characters but for tab and line ends, and halves of surrogate pairs.
UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")

Rule = Mapping[str, Any]


@cache
def published_schema() -> dict[str, Any]:
    """The schema as shipped in the package."""
    text = files("multiscalar.lab").joinpath("record.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


@cache
def _parts() -> dict[str, Rule]:
    """The schema's `$defs` with what they refer to in place."""
    defs = published_schema()["$defs"]

    def whole(rule: Any) -> Any:
        if isinstance(rule, dict):
            named = rule.get("$ref")
            return whole(defs[named.removeprefix("#/$defs/")]) if named else {k: whole(v) for k, v in rule.items()}
        return rule

    return {name: whole(rule) for name, rule in defs.items()}


def schema_fault(line: object) -> str | None:
    """What is wrong with one parsed line, or None."""
    fault = _fault(line, published_schema())
    if fault:
        return f"line{fault}"
    assert isinstance(line, dict)
    return part_fault(line, line["kind"])


def part_fault(value: object, part: str) -> str | None:
    """What is wrong with a value that is to stand where the schema has `part`, or None."""
    fault = _fault(value, _parts()[part]) or _plain_fault(value)
    return f"{part}{fault}" if fault else None


# A fault is worded from inside out: what is wrong, then each level puts its name before it.
def _fault(value: object, rule: Rule) -> str | None:
    expected = rule.get("type")
    if expected is not None:
        words = (expected,) if isinstance(expected, str) else expected
        if type(value) not in _TYPES[words[0]] and not any(type(value) in _TYPES[word] for word in words):
            return f" is {type(value).__name__}, not {' or '.join(words)}"
    if "enum" in rule and value not in rule["enum"]:
        return f" is {value!r:.80}, not one of {', '.join(rule['enum'])}"
    if isinstance(value, dict):
        return _object_fault(value, rule)
    if isinstance(value, list):
        return _list_fault(value, rule)
    if isinstance(value, str):
        most = rule.get("maxLength")
        return f" is longer than {most} characters" if most is not None and len(value) > most else None
    return _range_fault(value, rule) if isinstance(value, (int, float)) else None


def _range_fault(value: float, rule: Rule) -> str | None:
    if "minimum" in rule and value < rule["minimum"]:
        return f" is {value}, below {rule['minimum']}"
    if "maximum" in rule and value > rule["maximum"]:
        return f" is {value}, above {rule['maximum']}"
    return None


def _object_fault(value: Mapping[str, Any], rule: Rule) -> str | None:
    for name in rule.get("required", ()):
        if name not in value:
            return f" lacks {name!r}"
    known, other = rule.get("properties", {}), rule.get("additionalProperties")
    for name, inner in value.items():
        wanted = known.get(name, other)
        fault = _fault(inner, wanted) if wanted is not None else None
        if fault:
            return f".{name:.40}{fault}"
    return None


def _list_fault(value: list[Any], rule: Rule) -> str | None:
    if len(value) > rule.get("maxItems", len(value)):
        return f" has more than {rule['maxItems']} items"
    for i, item in enumerate(value if "items" in rule else ()):
        fault = _fault(item, rule["items"])
        if fault:
            return f"[{i}]{fault}"
    return None


def _plain_fault(value: object) -> str | None:
    """At any depth: a number that no float or 64-bit integer holds (NaN, infinity, four hundred digits), a text that
    would steer a terminal."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if not item.isprintable() and UNPRINTABLE.search(item):
                return " has a control character in a text"
        elif isinstance(item, dict):
            waiting.extend(item)
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
        elif isinstance(item, (int, float)) and not -_BEYOND < item < _BEYOND:
            return " has a number that is not finite or beyond 2^64"
    return None
