"""The shape of a call, the free choices for it, and the counts that follow from both. Pure arithmetic.

A `Shape` says what is asked for, a `Tuning` how it is to be done (tuning.py picks one), `Sizes` how many buckets,
entries and slices that makes. Everything else, buffers and launches, is built from these in layout.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

SHARED_BYTES: Final = 48 * 1024  # of a block, without opting in to more


def divide_up(a: int, b: int) -> int:
    return -(-a // b)


@dataclass(frozen=True)
class CurveShape:
    """What sizes depend on: 32-bit limbs of a coordinate, bits of the group order and of a GLV half."""

    name: str
    limbs: int
    order_bits: int
    glv_bits: int

    @property
    def coordinate_bytes(self) -> int:
        return 4 * self.limbs


@dataclass(frozen=True)
class DeviceShape:
    """What grids depend on."""

    multiprocessors: int = 132
    shared_bytes: int = 228 * 1024  # shared memory of a multiprocessor


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One shape of call: `batch` MSMs of up to `n` terms over tables of `points` bases."""

    curve: CurveShape
    n: int
    batch: int = 1
    points: int = 0  # bases of one part of the table; 0 means n (or n batch with own bases)
    own_bases: bool = False  # each MSM has its own n bases, one after the other in the table
    scalar_bytes: int = 32
    montgomery: bool = False
    subgroup: bool = True  # bases are known to lie in the subgroup of order r
    lengths: bool = False  # a buffer `lengths` gives the terms of each MSM
    rows: bool = False  # the scalars of each MSM lie somewhere of their own: `scalars` is a list of addresses
    factor: int = 1  # parts of the table: part j holds 2^(j shift) times the bases
    endomorphism: bool = False  # table records have both forms, (x, y) and (beta x, y)

    @cached_property
    def table_points(self) -> int:
        return self.points or (self.n * self.batch if self.own_bases else self.n)

    @cached_property
    def coordinates(self) -> int:
        return 4 if self.endomorphism else 2

    @cached_property
    def glv(self) -> bool:
        return self.endomorphism and self.subgroup and self.scalar_bytes == 32 and self.factor == 1

    @cached_property
    def bits(self) -> int:
        """Bits that the windows must cover: one more than a scalar's, so that the top digit has room for a carry."""
        if self.scalar_bytes < 32:
            return 8 * self.scalar_bytes + 1
        if self.glv:
            return self.curve.glv_bits + 1
        return self.curve.order_bits + (0 if self.subgroup else 1)

    @cached_property
    def halves(self) -> int:
        return 2 if self.glv else 1


@dataclass(frozen=True, kw_only=True)
class Tuning:
    """The free choices. `windows` cut the bits evenly; see the kernels for the rest."""

    windows: int
    slice: int  # list entries a thread of msm_accumulate, at most: when every bucket needs all of its padding
    run: int  # buckets a thread of msm_reduce_runs, a power of two; 1 skips that kernel
    grouped: bool  # group in one block a set, instead of the two-level sort
    pair_rounds: int = 0  # rounds of affine pair addition before the XYZZ accumulation
    pair_run: int = 192  # sums a thread of a pair tile, about
    sets_per_pass: int = 0  # sets worked on together; 0 means all. Fewer need less memory


@dataclass(frozen=True)
class Sizes:
    """Counts that follow from shape and tuning; each is worked out once, since the cost model asks often."""

    shape: Shape
    tuning: Tuning

    @cached_property
    def bits(self) -> int:
        """With precomputed parts all windows must be of one width, since a part's shift is a number of windows."""
        exact = self.shape.bits
        return self.tuning.windows * divide_up(exact, self.tuning.windows) if self.shape.factor > 1 else exact

    @cached_property
    def width(self) -> int:
        return divide_up(self.bits, self.tuning.windows)

    @cached_property
    def buckets(self) -> int:
        return 1 << (self.width - 1)

    @cached_property
    def groups(self) -> int:
        """Sets of one MSM: windows that share buckets count once."""
        return divide_up(self.tuning.windows, self.shape.factor)

    @cached_property
    def shift(self) -> int:
        """Part j of the table holds 2^(j shift) times the bases."""
        return self.width * self.groups

    @cached_property
    def sets(self) -> int:
        return self.groups * self.shape.batch

    @cached_property
    def candidates(self) -> int:
        """Entries of a set, zero digits included: the stride of digits."""
        return self.shape.factor * self.shape.halves * self.shape.n

    @cached_property
    def pad(self) -> int:
        return 1 << self.tuning.pair_rounds

    @cached_property
    def entries(self) -> int:
        """Capacity of a grouped list, padding of buckets included."""
        return divide_up(self.candidates + self.buckets * (self.pad - 1), self.pad) * self.pad

    @cached_property
    def listed(self) -> int:
        """Capacity of the list that is accumulated."""
        return self.entries >> self.tuning.pair_rounds

    @cached_property
    def low_bits(self) -> int:
        """Digit bits that the second level of the sort tells apart."""
        return self.width // 2

    @cached_property
    def bins(self) -> int:
        return self.buckets >> self.low_bits

    @cached_property
    def slices(self) -> int:
        return max(1, divide_up(self.listed, self.tuning.slice))

    @cached_property
    def sets_per_pass(self) -> int:
        return min(self.sets, self.tuning.sets_per_pass or self.sets)
