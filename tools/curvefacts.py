"""Curve facts: what curves/*.toml states, and all that follows from it.

A curve file states moduli, b, generator, cofactor and endomorphism. This module checks that they
fit together and derives the rest (Montgomery constants, GLV rounding constants). It uses plain
Python integers and nothing of the package, so it can stand as the oracle of the generated tables.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

GLV_SHIFT = 384  # rounding constants are round(2^384 * |b_i| / r): exact enough for k < 2^256


@dataclass(frozen=True)
class Field:
    """A prime field: modulus and its Montgomery constants at any radix."""

    modulus: int

    @property
    def bits(self) -> int:
        return self.modulus.bit_length()

    @property
    def limbs64(self) -> int:
        return -(-self.bits // 64)

    @property
    def limbs52(self) -> int:
        """52-bit limbs such that 4p < 2^(52 L): lazy values stay below 2p without a final subtraction."""
        return -(-(self.bits + 2) // 52)

    @property
    def limbs32(self) -> int:
        return 2 * self.limbs64

    @property
    def two_adicity(self) -> int:
        """s with p - 1 = 2^s t, t odd."""
        return ((self.modulus - 1) & -(self.modulus - 1)).bit_length() - 1

    @property
    def two_adic_root(self) -> int:
        """An element of order 2^s: the t-th power of the least quadratic non-residue."""
        p = self.modulus
        residue = next(a for a in range(2, p) if pow(a, (p - 1) // 2, p) == p - 1)
        return pow(residue, (p - 1) >> self.two_adicity, p)

    def radix(self, bits: int, power: int = 1) -> int:
        """2^(bits * power) mod p."""
        return pow(2, bits * power, self.modulus)

    def neg_inverse(self, word: int) -> int:
        """-p^-1 mod 2^word."""
        return -pow(self.modulus, -1, 1 << word) % (1 << word)


@dataclass(frozen=True)
class Curve:
    """y^2 = x^3 + b over `field`, with a subgroup of prime order `scalar.modulus`."""

    name: str
    module: str
    aliases: tuple[str, ...]
    codecs: tuple[str, ...]
    source: str
    field: Field
    scalar: Field
    b: int
    cofactor: int
    generator: tuple[int, int]
    beta: int
    lambda_: int
    lattice: tuple[tuple[int, int], tuple[int, int]]

    @property
    def glv_rounding(self) -> tuple[int, int]:
        """Signed (g1, g2): c_i = (k * g_i) >> GLV_SHIFT, (k1, k2) = (k, 0) - c1 v1 - c2 v2."""
        (a1, b1), (a2, b2) = self.lattice
        det = a1 * b2 - a2 * b1
        assert abs(det) == self.scalar.modulus

        def rounded(x: int) -> int:
            sign = 1 if (x > 0) == (det > 0) else -1
            return sign * ((2 * abs(x) << GLV_SHIFT) // abs(det) + 1) // 2 if x else 0

        return rounded(b2), rounded(-b1)

    @property
    def glv_bits(self) -> int:
        """Bits of the longer half, any k < r: the lattice's cell around the origin, plus what a quotient may be off.

        Rounding constants are off by 2^-64 of a unit at most, the kernels' shortened products by 2^-59.
        """
        (a1, b1), (a2, b2) = self.lattice
        bound = max(abs(a1) + abs(a2), abs(b1) + abs(b2))
        return (bound // 2 + max(abs(a1), abs(a2), abs(b1), abs(b2)) // (1 << 56) + 2).bit_length()

    def check(self) -> None:
        """Prove what can be proved without a pairing: the facts fit together."""
        p, r = self.field.modulus, self.scalar.modulus
        x, y = self.generator
        assert (y * y - x * x * x - self.b) % p == 0, f"{self.name}: generator is not on the curve"
        assert multiply(r, self.generator, p) is None, f"{self.name}: order * G != 0"
        assert self.beta != 1, f"{self.name}: beta is trivial"
        assert pow(self.beta, 3, p) == 1, f"{self.name}: beta^3 != 1"
        assert multiply(self.lambda_, self.generator, p) == (self.beta * x % p, y), f"{self.name}: phi(G) != lambda G"
        for u, v in self.lattice:
            assert (u + v * self.lambda_) % r == 0, f"{self.name}: lattice row is not in the lattice"


Point = tuple[int, int] | None


def add(left: Point, right: Point, p: int) -> Point:
    """Affine addition on a curve with a = 0; None is the point at infinity."""
    if left is None or right is None:
        return left or right
    if left[0] == right[0]:
        if (left[1] + right[1]) % p == 0:
            return None
        slope = 3 * left[0] * left[0] * pow(2 * left[1], -1, p)
    else:
        slope = (right[1] - left[1]) * pow(right[0] - left[0], -1, p)
    x = (slope * slope - left[0] - right[0]) % p
    return x, (slope * (left[0] - x) - left[1]) % p


def multiply(k: int, point: Point, p: int) -> Point:
    """k * point by double-and-add."""
    total: Point = None
    while k:
        if k & 1:
            total = add(total, point, p)
        point = add(point, point, p)
        k >>= 1
    return total


def load(path: Path) -> Curve:
    """Read and check one curve file."""
    data = tomllib.loads(path.read_text())
    g1, endo = data["g1"], data["g1"]["endomorphism"]
    curve = Curve(
        name=data["name"],
        module=data["module"],
        aliases=tuple(data["aliases"]),
        codecs=tuple(data["codec"]["names"]),
        source=path.as_posix(),
        field=Field(int(data["field"]["modulus"], 16)),
        scalar=Field(int(data["scalar"]["modulus"], 16)),
        b=int(g1["b"], 16),
        cofactor=int(g1["cofactor"], 16),
        generator=(int(g1["generator"][0], 16), int(g1["generator"][1], 16)),
        beta=int(endo["beta"], 16),
        lambda_=int(endo["lambda"], 16),
        lattice=tuple((int(u, 16), int(v, 16)) for u, v in endo["lattice"]),  # type: ignore[arg-type]
    )
    curve.check()
    return curve


def limbs(value: int, word: int, count: int) -> list[int]:
    """`value` as `count` little-endian limbs of `word` bits."""
    assert 0 <= value < 1 << (word * count)
    return [(value >> (word * i)) & ((1 << word) - 1) for i in range(count)]
