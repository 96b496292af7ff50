"""How a table is built: with the endomorphism or without, and in how many parts.

`precompute` is a factor f (parts of the table), a memory budget such as "2GiB", or "auto". More parts mean fewer
bucket sets: with f = W, the number of windows, one set is left and no doublings at all. Memory is opt-in: without
`precompute` a table has one part.
"""

from __future__ import annotations

from ..arrays import DeviceArray, PointArray
from ..engine.precompute import MAX_FACTOR, parse_budget
from ..errors import OptionError
from .compiled import Kernels
from .records import table_bytes
from .shape import Shape, Sizes
from .table import TableFacts
from .tune import tune, use_endomorphism

_AUTO_SHARE = 8  # "auto" takes at most this part of the memory that is free


def choose_facts(made: Kernels, points: PointArray | DeviceArray, precompute: int | str | None) -> TableFacts:
    """The facts of the table to build. Errors: `OptionError` for a budget that is too small."""
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
    if isinstance(precompute, int):
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


def table_size(made: Kernels, n: int, factor: int) -> int:
    """Device bytes of a table of n bases in `factor` parts: ask before building."""
    return table_bytes(made.curve_shape, n, factor, False)
