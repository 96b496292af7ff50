"""Benchmark inputs whose right answer is known, and the oracle that computes it.

Points are multiples of the generator with known logarithms k_i, so sum s_i P_i = (sum s_i k_i mod r) G: the sum of
products is exact float64 linear algebra on 16-bit limbs, the one multiplication is plain Python. Neither shares code
with the engine. The algebra is written with `einsum`, which stays on this thread: after a BLAS product workers spin
on every core for a tenth of a second, into the very calls that are timed. Randomness is Philox (counter-based, the
same on every machine), keyed by seed and purpose.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from . import cpus, memory, reference
from .arrays import Check, Form, PointArray, ScalarArray
from .curves import Curve
from .errors import CurveMismatchError, InputError, LengthError, OptionError, shown
from .failures import translated
from .intake import scalar_array
from .native import _core
from .point import Point
from .settings import parse_size, setting

Limbs = npt.NDArray[np.uint64]

_BLOCK: Final = 1 << 16  # rows of 16-bit limbs whose products with 16-bit weights sum to less than 2^48 < 2^53
_LIMB_BITS: Final = 16


class Logs(Protocol):
    """Discrete logarithms k_i of an array of points."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> int:
        """k_i."""

    def part(self, index: slice) -> Logs:
        """The logarithms of a slice of the points."""

    def dot(self, scalars: ScalarArray) -> int:
        """sum k_i s_i mod r over the first len(scalars) points."""


@dataclass(frozen=True, slots=True)
class Progression:
    """k_i = a + i b mod r, for 0 <= i < n."""

    a: int
    b: int
    n: int
    r: int

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> int:
        if not -self.n <= index < self.n:
            raise IndexError(index)
        return (self.a + index % self.n * self.b) % self.r

    def part(self, index: slice) -> Progression:
        start, _, step = index.indices(self.n)
        n = len(range(*index.indices(self.n)))
        return Progression((self.a + start * self.b) % self.r, step * self.b % self.r, n, self.r)

    def dot(self, scalars: ScalarArray) -> int:
        total, weighted = 0, 0
        ramp = np.arange(_BLOCK, dtype=np.float64)
        for start, block in _limb_blocks(scalars.data):
            sums = _combine(block.sum(axis=0))
            total += sums
            weighted += _combine(np.einsum("i,ij->j", ramp[: len(block)], block)) + start * sums
        return _plain(self.a * total + self.b * weighted, scalars)


@dataclass(frozen=True, slots=True)
class Listed:
    """Any k_i below r, as uint64[n, 4]."""

    values: Limbs

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> int:
        return int.from_bytes(self.values[index].astype("<u8").tobytes(), "little")

    def part(self, index: slice) -> Listed:
        return Listed(self.values[index])

    def dot(self, scalars: ScalarArray) -> int:
        total = 0
        for (_, block), (_, logs) in zip(_limb_blocks(scalars.data), _limb_blocks(self.values), strict=False):
            table = np.einsum("ij,ik->jk", logs[: len(block)], block)
            total += sum(_combine(row) << (_LIMB_BITS * i) for i, row in enumerate(table))
        return _plain(total, scalars)


def _limb_blocks(data: npt.NDArray[Any]) -> Any:
    """(first row, rows as float64 16-bit limbs) of full or narrow scalars, block by block."""
    if not len(data):
        return
    if data.dtype.itemsize == 1:
        rows = (data.view(np.uint8) != 0 if data.dtype == bool else data).reshape(len(data), -1)
    else:
        rows = data.astype(data.dtype.newbyteorder("<"), copy=False).view("<u2").reshape(len(data), -1)
    for start in range(0, len(rows), _BLOCK):
        yield start, rows[start : start + _BLOCK].astype(np.float64)


def _combine(limbs: npt.NDArray[np.float64]) -> int:
    """sum limbs_i 2^(16 i), exactly."""
    return sum(int(limb) << (_LIMB_BITS * i) for i, limb in enumerate(limbs.tolist()))


def _plain(total: int, scalars: ScalarArray) -> int:
    """The sum mod r; sums are linear, so the Montgomery factor of the scalars comes out once."""
    r = scalars.curve.r
    return total * pow(1 << 256, -1, r) % r if scalars.form is Form.MONTGOMERY else total % r


class Stream:
    """Raw 64-bit words of Philox-4x64, keyed by (seed, purpose). Errors: `OptionError` for a seed that is no int.

    Counter-based: any stretch can be drawn for itself, so that many candidates are drawn side by side and the numbers
    are the same on one thread and on all.
    """

    def __init__(self, seed: int, purpose: str) -> None:
        try:
            seed = operator.index(seed)
        except TypeError as error:
            raise OptionError(f"seed = {shown(seed)}", accepted="an int") from error
        tag = int.from_bytes(purpose.encode()[:8].ljust(8, b"\0"), "little")
        self._key = np.array([seed % 2**64, tag], dtype=np.uint64)
        self._drawn = 0

    def words(self, n: int) -> Limbs:
        """The next n words."""
        self._drawn += n
        return self._stretch(self._drawn - n, n)

    def _stretch(self, start: int, n: int) -> Limbs:
        """Words `start` to `start + n`; a step of the counter makes four."""
        bits = np.random.Philox(key=self._key)
        bits.advance(start // 4)
        return np.asarray(bits.random_raw(start % 4 + n), dtype=np.uint64)[start % 4 :]

    def below(self, bound: int, n: int) -> Limbs:
        """n integers uniform below `bound` as uint64[n, 4], by rejection."""
        bits = bound.bit_length()
        mask = np.array([((1 << bits) - 1) >> (64 * i) & (2**64 - 1) for i in range(4)], dtype=np.uint64)
        out, have = np.empty((n, 4), dtype=np.uint64), 0

        def accepted(piece: tuple[int, int]) -> Limbs:
            rows = self._stretch(*piece).reshape(-1, 4) & mask
            return rows[_below(rows, bound)]

        while have < n:
            # for every missing one, 1.1 / (share that is accepted) candidates, in order: a prefix of a longer draw
            count = 4 * (2 + int(1.1 * (n - have) * (1 << bits) / bound))
            last = self._drawn + count
            pieces = [(start, min(4 * _BLOCK, last - start)) for start in range(self._drawn, last, 4 * _BLOCK)]
            self._drawn = last
            for rows in _on_threads(accepted, pieces):
                taken = min(n - have, len(rows))
                out[have : have + taken] = rows[:taken]
                have += taken
        return out


def _on_threads(work: Callable[[tuple[int, int]], Limbs], pieces: list[tuple[int, int]]) -> Iterable[Limbs]:
    """`work` of each piece, in their order; where the system grants no thread, one after the other."""
    threads = min(setting("threads") or cpus.allowed(), len(pieces))
    if threads < 2:
        return map(work, pieces)
    from concurrent.futures import ThreadPoolExecutor  # takes longer to import than most draws take

    try:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(work, pieces))
    except RuntimeError:  # can't start new thread
        return map(work, pieces)


def _below(rows: Limbs, bound: int) -> npt.NDArray[np.bool_]:
    less = np.zeros(len(rows), dtype=bool)
    for i in range(4):
        limb = np.uint64(bound >> (64 * i) & (2**64 - 1))
        less = (rows[:, i] < limb) | ((rows[:, i] == limb) & less)
    return less


def size(n: object) -> int:
    """A number of terms, or `OptionError`."""
    try:
        return parse_size(n)
    except (TypeError, ValueError) as error:
        raise OptionError(f"n = {shown(n)} is no number of terms", accepted="0 <= n, an int") from error


def _limbs_of(value: int) -> Limbs:
    return np.frombuffer(value.to_bytes(32, "little"), dtype="<u8").astype(np.uint64)


def known_points(curve: Curve, n: int, seed: int) -> PointArray:
    """See `Curve.known_points`."""
    n = size(n)
    memory.require(n * 16 * curve.limbs, f"{n:,} points of {curve.name}")
    a, b = (int(k) for k in ScalarArray.unverified(Stream(seed, "points").below(curve.r, 2), curve))
    out = np.empty((n, 2, curve.limbs), dtype=np.uint64)
    with translated(curve):
        _core.known_points(curve.name, _limbs_of(a), _limbs_of(b), setting("threads") or 0, out)
    return PointArray.unverified(
        out, curve, wanted=Check.SUBGROUP, checked=Check.SUBGROUP, logs=Progression(a, b, n, curve.r)
    )


def multiples(curve: Curve, scalars: ScalarArray) -> PointArray:
    """k_i G for canonical full scalars k_i, with the logarithms kept."""
    logs = np.ascontiguousarray(scalars.data)
    _require_multiples(curve, len(logs))
    out = np.empty((len(logs), 2, curve.limbs), dtype=np.uint64)
    with translated(curve):
        _core.multiples(curve.name, logs, setting("threads") or 0, out)
    return PointArray.unverified(out, curve, wanted=Check.SUBGROUP, checked=Check.SUBGROUP, logs=Listed(logs))


def random_points(curve: Curve, n: int, seed: int) -> PointArray:
    """See `Curve.random_points`."""
    n = size(n)
    _require_multiples(curve, n)  # before their logarithms take any
    return multiples(curve, ScalarArray.unverified(Stream(seed, "control").below(curve.r, n), curve))


def _require_multiples(curve: Curve, n: int) -> None:
    memory.require(n * 24 * curve.limbs, f"{n:,} points of {curve.name}")


def expected_sum(curve: Curve, points: PointArray, scalars: object) -> Point:
    """See `Curve.expected_sum`."""
    if not isinstance(points, PointArray) or points.logs is None:
        raise InputError(
            "the points have no known logarithms",
            accepted="the result of curve.known_points or curve.random_points, or a slice of one",
        )
    if not isinstance(scalars, ScalarArray):
        scalars = ScalarArray.unverified(scalar_array(scalars, curve, reduce=True), curve)
    for operand in (points, scalars):
        if operand.curve is not curve:
            raise CurveMismatchError(f"an operand belongs to {operand.curve.name}", accepted=curve.name)
    if len(scalars) > len(points):
        raise LengthError(f"{len(scalars)} scalars for {len(points)} points", accepted="at most as many")
    affine = reference.multiply(points.logs.dot(scalars), curve.generator.affine, curve.p)
    x, y = affine or (0, 0)
    return Point(curve, x, y, is_infinity=affine is None)
