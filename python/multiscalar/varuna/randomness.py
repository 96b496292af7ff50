"""Where blinding comes from: the operating system, or a seed for repeatable benchmarks."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable

from . import scalars
from .scalars import MODULUS, Vector


class Randomness:
    """Uniform scalars. With a seed they repeat, and hide nothing from who knows it."""

    def __init__(self, seed: int | None = None) -> None:
        self._below: Callable[[int], int] = secrets.randbelow if seed is None else random.Random(seed).randrange

    def scalar(self) -> int:
        """One scalar."""
        return self._below(MODULUS)

    def vector(self, n: int) -> Vector:
        """n scalars."""
        return scalars.vector(self.scalar() for _ in range(n))
