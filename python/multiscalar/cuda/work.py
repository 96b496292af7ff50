"""What one call asks of a device, cut into pieces that go through one plan each.

Vectors of one type are one batch: one upload, one graph, one answer. A batch is padded to its longest vector, so
vectors of very different lengths do not go together; nor do vectors with bases of their own whose lengths differ,
since bases are found by the length. A very large batch is several, since a launch has a row for each window.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from ..arrays import DeviceArray, ScalarArray
from ..engine.vectors import Vectors, kind
from .operand import resolved

Vector = ScalarArray | DeviceArray

ALIKE_BITS: Final = 10  # lengths below 2^10 cost the same: padding is free there
MOST_ROWS: Final = 65_535  # of a grid
MOST_VECTORS: Final = MOST_ROWS // 128  # of a batch: a scalar has 128 windows where they are narrowest


ALONE: Final = range(1)  # the positions of a call of one vector
SMALLEST_PART: Final = 1 << 10  # an MSM that does not fit at this size does not fit at all


class Work(NamedTuple):
    """Vectors of one type, at `positions` of the call, over bases from `first` on.

    `before` terms of the vector precede, where this is a part of one.
    """

    vectors: Vectors
    first: int
    own_bases: bool
    positions: Sequence[int]
    before: int = 0

    @property
    def n(self) -> int:
        """Terms of the longest vector."""
        return self.vectors.longest

    @property
    def divisible(self) -> bool:
        """Whether parts of this may fit into memory where all of it does not."""
        return len(self.vectors) > 1 or self.n >= SMALLEST_PART

    def split(self, terms: int) -> tuple[Work, Work]:
        """One vector, cut after `terms` terms."""
        low, high = self.vectors.part(0, terms), self.vectors.part(terms, self.n - terms)
        return (
            Work(low, self.first, False, self.positions, self.before),
            Work(high, self.first + terms, False, self.positions, self.before + terms),
        )

    def halves(self) -> tuple[Work, Work]:
        """The first and the second half: of the vectors, or of the terms if there is one vector."""
        vectors, half = self.vectors, len(self.vectors) // 2
        if not half:
            return self.split(self.n // 2)
        low, high = vectors.some(range(half)), vectors.some(range(half, len(vectors)))
        second = self.first + (sum(low.counts) if self.own_bases else 0)
        return (
            Work(low, self.first, self.own_bases, self.positions[:half]),
            Work(high, second, self.own_bases, self.positions[half:]),
        )


def works(vectors: Sequence[Vector], own_bases: bool) -> list[Work]:
    """The pieces of a call, each of vectors that go together."""
    if isinstance(vectors, Vectors) and len(vectors.counts) == 1:
        return [Work(vectors, 0, False, ALONE)]
    made, first = [], 0
    for together, positions in _by_type(vectors, own_bases):
        for places in _by_length(together.counts, own_bases):
            whole = len(places) == len(together)
            some = together if whole else together.some(places)
            theirs = positions if whole else [positions[k] for k in places]
            made.append(Work(some, first, own_bases and len(places) > 1, theirs))
            first += sum(some.counts) if own_bases else 0
    return made


def _by_type(vectors: Sequence[Vector], neighbours: bool) -> list[tuple[Vectors, Sequence[int]]]:
    """Vectors of one type, and their positions; with bases of their own only those that follow each other."""
    if isinstance(vectors, Vectors):
        return [(vectors, range(len(vectors)))]
    there = [resolved(vector) for vector in vectors]
    groups = _groups([kind(vector) for vector in there], neighbours)
    return [(Vectors.of([there[k] for k in positions]), positions) for positions in groups]


def _by_length(counts: list[int], own_bases: bool) -> list[Sequence[int]]:
    """Places of vectors whose lengths go together: with bases of their own equal ones; else, from some size on, those
    with one power of two.
    """
    groups: Sequence[Sequence[int]]
    if own_bases:
        groups = _groups(counts, neighbours=True)
    elif _size(min(counts)) == _size(max(counts)):
        groups = [range(len(counts))]
    else:
        groups = _groups([_size(count) for count in counts], neighbours=False)
    return [group[start : start + MOST_VECTORS] for group in groups for start in range(0, len(group), MOST_VECTORS)]


def _size(count: int) -> int:
    return max(ALIKE_BITS, (count - 1).bit_length())


def _groups(keys: Sequence[Hashable], neighbours: bool) -> list[list[int]]:
    """Places of equal keys: of those that follow each other, or of all."""
    if neighbours:
        return [list(group) for _, group in groupby(range(len(keys)), key=keys.__getitem__)]
    found: dict[Hashable, list[int]] = {}
    for k, key in enumerate(keys):
        found.setdefault(key, []).append(k)
    return list(found.values())
