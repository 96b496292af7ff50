"""How a table is built: with the endomorphism or without, and in how many parts.

`precompute` is a factor f (parts of the table), a memory budget such as "2GiB", or "auto". More parts mean fewer
bucket sets: with f = W, the number of windows, one set is left and no doublings at all. Memory is opt-in: without
`precompute` a table has one part.
"""

from __future__ import annotations

import re

from ..arrays import DeviceArray, PointArray
from ..errors import OptionError
from .compiled import Kernels
from .records import table_bytes
from .shape import Shape, Sizes
from .table import TableFacts
from .tune import tune, use_endomorphism

MAX_FACTOR = 64
_AUTO_SHARE = 8  # "auto" takes at most this part of the memory that is free
_BUDGET = re.compile(r"^\s*([0-9.]+)\s*([KMGT]i?B?|B)?\s*$", re.IGNORECASE)
_UNITS = {"": 1, "B": 1, "K": 10, "M": 20, "G": 30, "T": 40}


def choose_facts(made: Kernels, points: PointArray | DeviceArray, precompute: int | str | None) -> TableFacts:
    """The facts of the table to build. Errors: `OptionError` for a factor or budget out of range."""
    n, subgroup = len(points), points.in_subgroup
    factor = _factor(made, n, precompute)
    if factor == 1:
        return TableFacts(made.curve, n, use_endomorphism(made.curve_shape, n) and subgroup, subgroup)
    shape = Shape(curve=made.curve_shape, n=max(1, n), subgroup=subgroup, factor=factor)
    sizes = Sizes(shape, tune(shape, made.device_shape))
    return TableFacts(made.curve, n, False, subgroup, factor=factor, windows=sizes.tuning.windows, shift=sizes.shift)


def _factor(made: Kernels, n: int, precompute: int | str | None) -> int:
    if precompute is None:
        return 1
    if isinstance(precompute, int) and not isinstance(precompute, bool):
        if not 1 <= precompute <= MAX_FACTOR:
            raise OptionError(f"precompute = {precompute}", accepted=f"a factor from 1 to {MAX_FACTOR}")
        return precompute
    one = table_bytes(made.curve_shape, max(1, n), 1, False)
    automatic = precompute == "auto"
    budget = made.runtime.free_memory() // _AUTO_SHARE if automatic else parse_budget(precompute)
    if budget < one:
        if automatic:
            return 1
        raise OptionError(
            f"precompute = {precompute!r} allows {budget:,} bytes",
            accepted=f"at least {one:,} bytes, one part of the table",
            hint="Raise the budget or leave precompute out.",
        )
    return max(1, min(MAX_FACTOR, budget // one))


def parse_budget(text: object) -> int:
    """Bytes of "512MiB", "2 GB", "1.5G" or a plain number; powers of 1024 in any spelling."""
    match = _BUDGET.match(text) if isinstance(text, str) else None
    if match is None:
        raise OptionError(f"precompute = {text!r}", accepted='a factor, "auto", or a memory budget such as "2GiB"')
    unit = (match[2] or "").upper()[:1]
    return int(float(match[1]) * (1 << _UNITS[unit] if unit in _UNITS and unit not in ("", "B") else 1))


def table_size(made: Kernels, n: int, factor: int) -> int:
    """Device bytes of a table of n bases in `factor` parts: ask before building."""
    return table_bytes(made.curve_shape, n, factor, False)
