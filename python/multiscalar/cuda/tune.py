"""What a caller may fix of a tuning, and what gives way when memory is short; the cost model chooses the rest.

`path` is a word for how buckets are filled: "grouped" (one block groups a window), "sorted" (two-level sort) or "pairs"
(either of them, then rounds of affine pair addition). See `tuning` for the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Final

from ..errors import OptionError
from .layout import MAX_BINS, MAX_GROUPED_BUCKETS
from .shape import CurveShape, DeviceShape, Shape, Sizes, Tuning, divide_up
from .tuning import MAX_ROUNDS, MAX_WIDTH, Model, completed, grouping_pays
from .tuning import tune as best_tuning

GLV_MAX_N: Final = 1 << 22  # above it the doublings that the endomorphism saves cost less than its larger table
PATHS: Final = ("grouped", "sorted", "pairs")


def use_endomorphism(curve: CurveShape, n: int, most: int = GLV_MAX_N) -> bool:
    """Whether a table of n bases gets beta x (twice the memory): on curves that have it, up to `most` bases."""
    return curve.glv_bits < curve.order_bits and n <= most


def path_of(tuning: Tuning) -> str:
    """The word for how this tuning fills buckets."""
    return "pairs" if tuning.pair_rounds else "grouped" if tuning.grouped else "sorted"


@lru_cache(maxsize=1024)
def tune(shape: Shape, device: DeviceShape, windows: int = 0, path: str | None = None) -> Tuning:
    """The tuning with the least estimated time; `windows` > 0 fixes their number (a table's, or the caller's).

    Errors: `OptionError` when no tuning has these windows and this path.
    """
    if not windows and path is None:
        return best_tuning(shape, device)
    found = [model for model in _possible(shape, device, windows) if path in (None, path_of(model.sizes.tuning))]
    if not found:
        raise OptionError(
            f"path = {path!r} with {windows or 'any'} windows and {shape.n} terms",
            accepted=f"{', '.join(PATHS)}, None; windows of 3 to {MAX_WIDTH} bits, grouped up to 14 bits",
            hint="Leave path and window out: the cost model knows which are fastest.",
        )
    return min(map(_completed, found), key=lambda model: model.cost().total).sizes.tuning


def _possible(shape: Shape, device: DeviceShape, windows: int) -> Iterator[Model]:
    """Windows (any number of them, if 0), sort and rounds that the kernels can run."""
    counts = [windows] if windows else range(divide_up(shape.bits, MAX_WIDTH), divide_up(shape.bits, 3) + 1)
    for count in counts:
        draft = Tuning(windows=count, slice=4, run=1, grouped=False)
        sizes = Sizes(shape, draft)
        if not 2 <= sizes.width <= MAX_WIDTH or sizes.bins > MAX_BINS:
            continue
        kinds = [(False, rounds) for rounds in range(MAX_ROUNDS + 1)]
        if sizes.buckets <= MAX_GROUPED_BUCKETS:
            kinds += [(True, rounds) for rounds in range(MAX_ROUNDS + 1 if grouping_pays(sizes) else 1)]
        for grouped, rounds in kinds:
            yield Model(Sizes(shape, replace(draft, grouped=grouped, pair_rounds=rounds)), device)


def _completed(draft: Model) -> Model:
    return completed(draft, [run for run in (1, 2, 4, 8, 16) if run < draft.sizes.buckets])


def fewer_sets(shape: Shape, tuning: Tuning) -> Tuning | None:
    """The same tuning with half as many windows at a time, or None when one at a time is all there is."""
    if tuning.grouped:
        tuning = replace(tuning, grouped=False)
    now = Sizes(shape, tuning).sets_per_pass
    return None if now <= 1 else replace(tuning, sets_per_pass=divide_up(now, 2))
