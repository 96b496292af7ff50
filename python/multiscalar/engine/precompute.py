"""What `precompute` asks for: tables in a number of parts, within a memory budget, or as many as "auto" finds good.

The number of parts may come as text, from a command line: no budget is as small as the largest of them.
"""

from __future__ import annotations

import re
from typing import Final

from ..errors import OptionError, shown

MAX_FACTOR: Final = 64
_BUDGET: Final = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{0,9})?)\s*(?:([KMGT])i?B?|B)?\s*", re.IGNORECASE | re.ASCII)
_UNITS: Final = {"K": 10, "M": 20, "G": 30, "T": 40}
_ACCEPTED: Final = f'a factor from 1 to {MAX_FACTOR}, a memory budget such as "2GiB", "auto", or None'


def checked(precompute: object) -> int | str | None:
    """A factor as an int, a budget or "auto" as text, None. Errors: `OptionError`."""
    if isinstance(precompute, str):
        text = precompute.strip()
        if text.isascii() and text.isdecimal() and len(text) <= 2:
            precompute = int(text)
        elif text == "auto" or parse_budget(text):
            return text
    if precompute is None:
        return None
    if isinstance(precompute, int) and not isinstance(precompute, bool) and 1 <= precompute <= MAX_FACTOR:
        return precompute
    raise OptionError(f"precompute = {shown(precompute)}", accepted=_ACCEPTED)


def parse_budget(text: str) -> int:
    """Bytes of "512MiB", "2 GB", "1.5G" or a plain number; powers of 1024 in any spelling."""
    match = _BUDGET.fullmatch(text)
    if match is None:
        raise OptionError(f"precompute = {shown(text)}", accepted=_ACCEPTED)
    return int(float(match[1]) * (1 << _UNITS.get((match[2] or "").upper(), 0)))
