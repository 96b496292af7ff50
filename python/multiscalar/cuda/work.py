"""What one call asks of a device, cut into pieces that go through one plan each.

Vectors of one type are one batch: one upload, one graph, one answer. A batch is padded to its longest vector, so
vectors of very different lengths do not go together; nor do vectors with bases of their own whose lengths differ,
since bases are found by the length. A very large batch is several, since a launch has a row for each window.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

from ..arrays import DeviceArray, ScalarArray
from .operand import Operand, scalar_operand

Vector = ScalarArray | DeviceArray

ALIKE_BITS: Final = 10  # lengths below 2^10 cost the same: padding is free there
MOST_ROWS: Final = 65_535  # of a grid
MOST_VECTORS: Final = MOST_ROWS // 128  # of a batch: a scalar has 128 windows where they are narrowest


class Work(NamedTuple):
    """Vectors of one type, at `positions` of the call, over bases from `first` on."""

    vectors: list[Vector]
    operands: list[Operand]
    first: int
    own_bases: bool
    positions: list[int]

    @property
    def n(self) -> int:
        """Terms of the longest vector."""
        operands = self.operands
        return operands[0].count if len(operands) == 1 else max(operand.count for operand in operands)

    @property
    def divisible(self) -> bool:
        """Whether parts of this may fit into memory where all of it does not."""
        return len(self.operands) > 1 or self.operands[0].count >= SMALLEST_PART

    def split(self, terms: int) -> tuple[Work, Work]:
        """One vector, cut after `terms` terms."""
        ((vector,), (operand,)) = self.vectors, self.operands
        low, high = operand.part(0, terms), operand.part(terms, operand.count - terms)
        return (
            Work([vector], [low], self.first, False, self.positions),
            Work([vector], [high], self.first + terms, False, self.positions),
        )

    def halves(self) -> tuple[Work, Work]:
        """The first and the second half: of the vectors, or of the terms if there is one vector."""
        if len(self.vectors) == 1:
            return self.split(self.operands[0].count // 2)
        half = len(self.vectors) // 2
        second = self.first + (sum(operand.count for operand in self.operands[:half]) if self.own_bases else 0)
        return (
            Work(self.vectors[:half], self.operands[:half], self.first, self.own_bases, self.positions[:half]),
            Work(self.vectors[half:], self.operands[half:], second, self.own_bases, self.positions[half:]),
        )


_FIRST: Final = [0]
SMALLEST_PART: Final = 1 << 10  # an MSM that does not fit at this size does not fit at all


def works(vectors: Sequence[Vector], own_bases: bool) -> list[Work]:
    """The pieces of a call, each of vectors that go together."""
    operands = [scalar_operand(vector) for vector in vectors]
    if len(vectors) == 1:
        return [Work(list(vectors), operands, 0, False, _FIRST)]
    return _consecutive(vectors, operands) if own_bases else _alike(vectors, operands)


def _kind(operand: Operand) -> tuple[object, ...]:
    return operand.item_bytes, operand.montgomery, operand.data is None


def _alike(vectors: Sequence[Vector], operands: list[Operand]) -> list[Work]:
    """Shared bases: by type and, from some size on, by power of two, in any order."""
    kinds: dict[tuple[object, ...], list[int]] = {}
    for k, operand in enumerate(operands):
        size = max(ALIKE_BITS, (operand.count - 1).bit_length())
        kinds.setdefault((*_kind(operand), size), []).append(k)
    return [
        Work([vectors[k] for k in positions], [operands[k] for k in positions], 0, False, positions)
        for alike in kinds.values()
        for positions in _batches(alike)
    ]


def _consecutive(vectors: Sequence[Vector], operands: list[Operand]) -> list[Work]:
    """Own bases: neighbours of one type and length."""
    made, first = [], 0
    for _, group in groupby(range(len(operands)), key=lambda k: (*_kind(operands[k]), operands[k].count)):
        for positions in _batches(list(group)):
            theirs = [operands[k] for k in positions]
            made.append(Work([vectors[k] for k in positions], theirs, first, len(positions) > 1, positions))
            first += sum(operand.count for operand in theirs)
    return made


def _batches(positions: list[int]) -> list[list[int]]:
    """As few batches as there may be."""
    return [positions[start : start + MOST_VECTORS] for start in range(0, len(positions), MOST_VECTORS)]
