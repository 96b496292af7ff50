"""Checks record lines against the published schema (`record.schema.json`).

Only the JSON Schema words that file uses: type, required, properties, enum, minimum, maximum, maxLength. Records come
from others and are parsed as hostile: what does not fit is refused with the place and the rule.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

__all__ = ["published_schema", "schema_fault"]

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
}


@cache
def published_schema() -> dict[str, Any]:
    """The schema as shipped in the package."""
    text = files("multiscalar.lab").joinpath("record.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def schema_fault(line: object) -> str | None:
    """What is wrong with one parsed line, or None."""
    schema = published_schema()
    fault = _fault(line, schema, "line")
    if fault:
        return fault
    assert isinstance(line, dict)
    return _fault(line, schema["$defs"][line["kind"]], line["kind"])


def _fault(value: object, rule: Mapping[str, Any], where: str) -> str | None:
    expected = rule.get("type")
    if expected is not None:
        fits = isinstance(value, _TYPES[expected]) and (expected == "boolean" or not isinstance(value, bool))
        if not fits:
            return f"{where} is {type(value).__name__}, not {expected}"
    if "enum" in rule and value not in rule["enum"]:
        return f"{where} is {value!r}, not one of {', '.join(rule['enum'])}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        if "minimum" in rule and value < rule["minimum"]:
            return f"{where} is {value}, below {rule['minimum']}"
        if "maximum" in rule and value > rule["maximum"]:
            return f"{where} is {value}, above {rule['maximum']}"
    if isinstance(value, str) and len(value) > rule.get("maxLength", len(value)):
        return f"{where} is longer than {rule['maxLength']} characters"
    if isinstance(value, dict):
        return _object_fault(value, rule, where)
    return None


def _object_fault(value: Mapping[str, Any], rule: Mapping[str, Any], where: str) -> str | None:
    for name in rule.get("required", ()):
        if name not in value:
            return f"{where} lacks {name!r}"
    for name, inner in rule.get("properties", {}).items():
        if name in value:
            fault = _fault(value[name], inner, f"{where}.{name}")
            if fault:
                return fault
    return None
