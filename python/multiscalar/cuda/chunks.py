"""Host scalars in chunks: digits of one chunk are made while the next one is on its way.

Everything after the digits needs all of them; the digits themselves need only their own scalars. The first chunk is
small, so that work starts early; later ones grow, so that they are few, up to a quarter of all, since the digits of the
last one lie behind the last copy. A chunk is a run of rows of a batch, or a run
of terms of a single vector. Runs of terms are whole blocks of the kernel: the last one reaches back to end at n, and
the digits of a few terms are made twice, which changes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from .shape import Shape, Sizes, divide_up
from .steps import Launch, Layout, Ref

FIRST_BYTES: Final = 1 << 20
MOST_BYTES: Final = 64 << 20
DIGITS: Final = "msm_digits"


class Chunk(NamedTuple):
    """Rows first_row .. first_row + rows, of each the terms first .. first + terms; `fresh` of them are new."""

    first_row: int
    rows: int
    first: int
    terms: int
    fresh: int


def chunks(shape: Shape, block: int) -> list[Chunk]:
    """All scalars of a call of this shape, in order, the chunks doubling in size."""
    n, batch = shape.n, shape.batch
    single = batch == 1
    unit = block * shape.scalar_bytes if single else n * shape.scalar_bytes
    total = divide_up(n, block) if single else batch
    made: list[Chunk] = []
    done, size, most = 0, FIRST_BYTES, max(2 * FIRST_BYTES, min(total * unit // 4, MOST_BYTES))
    while done < total:
        count = min(total - done, max(1, size // unit))
        if total - done - count < count // 2:
            count = total - done  # no small last one: nothing hides its start
        if single:
            terms = min(count * block, n)
            first = min(done * block, n - terms)
            made.append(Chunk(0, 1, first, terms, first + terms - min(done * block, n)))
        else:
            made.append(Chunk(done, count, 0, n, n))
        done, size = done + count, min(2 * size, most)
    return made


def runs(count: int, item_bytes: int, first: bool) -> list[tuple[int, int]]:
    """Points on their way, as (index of the first, how many): doubling, if they are the first of a call."""
    made: list[tuple[int, int]] = []
    done, size = 0, FIRST_BYTES if first else MOST_BYTES
    while done < count:
        some = min(count - done, max(1, size // item_bytes))
        if count - done - some < some // 2:
            some = count - done
        made.append((done, some))
        done, size = done + some, min(2 * size, MOST_BYTES)
    return made


def narrowed(launch: Launch, layout: Layout, chunk: Chunk) -> Launch:
    """The launch of `msm_digits` for one chunk. It reports a bad scalar by its index inside the chunk."""
    assert launch.kernel == DIGITS
    shape, sizes = layout.shape, Sizes(layout.shape, layout.tuning)
    offsets = {
        "scalars": (chunk.first_row * shape.n + chunk.first) * shape.scalar_bytes,
        "digits": 4 * (chunk.first_row * sizes.groups * sizes.candidates + chunk.first),
        "lengths": 4 * chunk.first_row,
    }
    arguments = tuple(
        Ref(argument.buffer, argument.offset + offsets.get(argument.buffer, 0))
        if isinstance(argument, Ref)
        else argument
        for argument in launch.arguments
    )
    return replace(launch, grid=(divide_up(chunk.terms, launch.block), chunk.rows), arguments=arguments)
