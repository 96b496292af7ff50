"""In which order subjects take their turns: randomised ABBA blocks.

A block is a random permutation of the subjects followed by its mirror image, so that a drift of the machine (clock,
heat, a neighbour) that is linear over a block weighs on every subject alike. The seed is recorded with the run.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

__all__ = ["Interleaver"]


class Interleaver:
    """Draws rounds of names; the round after a permutation is its mirror image."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._mirror: list[str] = []

    def round(self, names: Sequence[str]) -> Iterator[str]:
        """One turn for each of `names`. Names that left since the last round are skipped in its mirror."""
        waiting = set(names)
        if self._mirror and waiting <= set(self._mirror):
            order, self._mirror = [name for name in self._mirror if name in waiting], []
        else:
            order = sorted(waiting)
            self._rng.shuffle(order)
            self._mirror = order[::-1]
        yield from order
