"""Inputs for the peers' tests: raw files of a few terms with the plain-Python sum."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

from multiscalar._tables import CURVES

from .fake_peers import plain  # the test peers' arithmetic is the oracle here

FAKES = Path(__file__).parent / "fake_peers"


@dataclass(frozen=True)
class Workload:
    """Points and scalars as ints, and the two files that hold them."""

    curve: str
    terms: tuple[tuple[plain.Point, int], ...]
    points: Path
    scalars: Path

    @property
    def n(self) -> int:
        return len(self.terms)

    def expected(self, n: int | None = None) -> tuple[int, int, bool]:
        """(x, y, is_infinity) of the first n terms."""
        total = _prefix_sums(self.curve, self.terms)[self.n if n is None else n]
        return (0, 0, True) if total is None else (*total, False)


@functools.cache
def _prefix_sums(curve: str, terms: tuple[tuple[plain.Point, int], ...]) -> list[plain.Point]:
    sums: list[plain.Point] = [None]
    for point, scalar in terms:
        sums.append(plain.add(curve, sums[-1], plain.multiply(curve, scalar, point)))
    return sums


def workload(curve: str, terms: list[tuple[plain.Point, int]], folder: Path) -> Workload:
    """Write the files."""
    size = 8 * CURVES[curve].limbs
    points, scalars = folder / f"{curve}.points", folder / f"{curve}.scalars"
    pairs = [point or (0, 0) for point, _ in terms]
    points.write_bytes(b"".join(x.to_bytes(size, "little") + y.to_bytes(size, "little") for x, y in pairs))
    scalars.write_bytes(b"".join(scalar.to_bytes(32, "little") for _, scalar in terms))
    return Workload(curve, tuple(terms), points, scalars)


@functools.cache
def usual(curve: str, n: int) -> list[tuple[plain.Point, int]]:
    """n distinct multiples of the generator with scalars of full width."""
    table = CURVES[curve]
    point, step = table.generator, plain.multiply(curve, 3, table.generator)
    terms, scalar = [], pow(7, 90, table.r)
    for _ in range(n):
        terms.append((point, scalar))
        point, scalar = plain.add(curve, point, step), scalar * scalar % table.r
    return terms


def edges(curve: str) -> list[tuple[plain.Point, int]]:
    """Duplicates, pairs P and -P, infinity, scalars 0, 1, r - 1 and short: what breaks a bucket method first."""
    table = CURVES[curve]
    base = table.generator
    minus = (base[0], table.p - base[1])
    double = plain.add(curve, base, base)
    scalars = [5, 5, table.r - 1, 0, 1, 2, table.r - 2, 1 << 127, (1 << 127) - 1, 5, 7]
    points = [base, base, base, base, minus, minus, double, double, base, minus, None]
    return list(zip(points, scalars, strict=True)) * 4
