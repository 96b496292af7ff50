"""Plain-Python facts and arithmetic for the kernel tests: nothing of the package but its layout."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
from curvefacts import Curve, add, limbs, load, multiply  # noqa: E402
from emit.cuda import emit  # noqa: E402
from multiscalar.cuda.shape import CurveShape  # noqa: E402

FILES = {
    "bn254": "curves/bn254.toml",
    "bls12-377": "curves/bls12-377.toml",
    "bls12-381": "curves/bls12-381.toml",
    "grumpkin": "tests/data/curves/grumpkin.toml",
}
Words = NDArray[np.uint32]
Point = tuple[int, int] | None


@cache  # a file is checked when it is read, and that takes 20 ms
def curve(name: str) -> Curve:
    return load(ROOT / FILES[name])


def constants(facts: Curve) -> str:
    return emit(facts)


def shape_of(facts: Curve) -> CurveShape:
    return CurveShape(facts.name, facts.field.limbs32, facts.scalar.bits, facts.glv_bits)


def words(values: list[int], count: int) -> Words:
    return np.array([limbs(value, 32, count) for value in values], np.uint32).reshape(len(values), count)


def number(row: Words) -> int:
    return int.from_bytes(row.astype("<u4").tobytes(), "little")


@dataclass
class Bases:
    """Points with known logarithms: the right sum is one scalar multiplication."""

    facts: Curve
    logs: list[int]
    points: list[Point]

    @classmethod
    def progression(cls, facts: Curve, n: int, seed: int) -> Bases:
        rng = random.Random(seed)
        a, b = rng.randrange(facts.scalar.modulus), rng.randrange(facts.scalar.modulus)
        p = facts.field.modulus
        point, step = multiply(a, facts.generator, p), multiply(b, facts.generator, p)
        logs, points = [], []
        for i in range(n):
            logs.append((a + i * b) % facts.scalar.modulus)
            points.append(point)
            point = add(point, step, p)
        return cls(facts, logs, points)

    def raw(self) -> Words:
        n = self.facts.field.limbs32
        flat = [coordinate for point in self.points for coordinate in (point or (0, 0))]
        return words(flat, n).reshape(len(self.points), 2, n)

    def expected(self, scalars: list[int]) -> Point:
        total = sum(s * k for s, k in zip(scalars, self.logs, strict=False)) % self.facts.scalar.modulus
        return multiply(total, self.facts.generator, self.facts.field.modulus)


def affine(result: Words, p: int) -> Point:
    """X : Y : Z as the kernels leave it: the Montgomery factor cancels in X / Z."""
    x, y, z = (number(row) for row in result)
    if z % p == 0:
        return None
    inverse = pow(z, -1, p)
    return x * inverse % p, y * inverse % p
