"""JSON from files and other programs. `json.loads` recurses in C, and a process that raised the recursion limit
(importing py_ecc does) would crash on a deep text instead of raising, so the depth is checked first."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 64
"""Levels of lists and objects; what this package writes has at most six."""

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


def parse(text: str | bytes) -> Any:
    """The value written in `text` (bytes: UTF-8).

    Errors: `ValueError`, whatever the text is (RFC 8259 leaves limits on nesting to the reader: section 9).
    """
    text = text.decode() if isinstance(text, bytes) else text
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(text)
    return json.loads(text)


def _check_depth(text: str) -> None:
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub("", text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MAX_DEPTH:
            raise ValueError(f"lists and objects nested more than {MAX_DEPTH} deep")
