"""Kernel source: the .cuh files of this package as one text.

The compiler sees a single translation unit: `#include "..."` of our own files is resolved here, each file
once. So the text is the whole truth about a kernel, and its digest can name the compiled code.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"[^\n]*$', re.MULTILINE)
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once[^\n]*\n", re.MULTILINE)


@cache
def _read(name: str) -> str:
    return (files(__package__) / "kernels" / name).read_text(encoding="utf-8")


@cache
def assemble(*names: str) -> str:
    """The files `names` (relative to kernels/) with all that they include, each once, in order of first use."""
    seen: set[str] = set()

    def expand(name: str) -> str:
        if name in seen:
            return ""
        seen.add(name)
        body = _ONCE.sub("", _read(name))
        text = _INCLUDE.sub(lambda match: expand(match.group(1)), body)
        return f'#line 1 "{name}"\n{text}\n'

    return "".join(expand(name) for name in names)
