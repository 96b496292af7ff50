"""JSON from files and other programs. `json.loads` recurses in C, and a process that raised the recursion limit
(importing py_ecc does) would crash on a deep text instead of raising, so the depth is checked first."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 64
"""Levels of lists and objects; what this package writes has at most six."""

_TOKEN = re.compile(r'"[^"]*"?|[\[\]{}]')  # a string without escapes, or a bracket


def parse(text: str | bytes) -> Any:
    """The value written in `text` (bytes: UTF-8).

    Errors: `ValueError`, whatever the text is (RFC 8259 leaves limits on nesting to the reader: section 9).
    """
    text = text.decode() if isinstance(text, bytes) else text
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(text)
    value = json.loads(text)
    if "\\u" in text:  # half of a surrogate pair, escaped, is a text that cannot be written anywhere
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _check_depth(text: str) -> None:
    # Escapes go first: an expression that steps over them keeps a state for each, hundreds of bytes.
    plain = text.replace("\\\\", "").replace('\\"', "")
    depth = 0
    for token in _TOKEN.finditer(plain):
        match plain[token.start()]:
            case "[" | "{":
                depth += 1
            case "]" | "}":
                depth -= 1
        if depth > MAX_DEPTH:
            raise ValueError(f"lists and objects nested more than {MAX_DEPTH} deep")
