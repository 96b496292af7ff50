"""Every size: 0 to 300, around powers of two, odd tails, widths that divide, threads that do not."""

from __future__ import annotations

import re

import multiscalar as ms
import numpy as np
import pytest
from multiscalar.errors import OptionError

from tests.fieldcases import field_case

from .conftest import Engine


def squares(n: int) -> int:
    """1 + 4 + 9 + ... + (n - 1)^2."""
    return (n - 1) * n * (2 * n - 1) // 6 if n else 0


@field_case("MI-13", "MI-15")
def test_all_small_sizes(field_case: str, backend: Engine, curve: ms.Curve, multiples: ms.PointArray) -> None:
    """sum i * (i G) = (sum i^2) G for n = 0 .. 300; every point is compared, by additions in the plain reference."""
    backend.needs(300)
    expected, step = curve.identity, curve.generator
    bases = backend.bases(multiples[:301])
    scalars = np.arange(301, dtype=np.uint64)
    full = curve.scalars(list(range(301)))
    for n in range(301):
        assert bases.msm(full[:n]) == expected, f"n = {n}, full scalars"
        assert bases.msm(scalars[:n]) == expected, f"n = {n}, uint64 scalars"
        expected = expected + (n * n) * step


@field_case("MI-13", "MI-30")
@pytest.mark.parametrize("power", [6, 8, 9, 10, 12, 15])
def test_around_powers_of_two(
    field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray, power: int
) -> None:
    backend.needs(1 << power)
    bases = backend.bases(known)
    scalars = curve.random_scalars((1 << power) + 33, seed=power)
    for extra in (-33, -1, 0, 1, 33) if power < 15 else (-17, 0, 31):
        part = scalars[: (1 << power) + extra]
        assert bases.msm(part) == curve.expected_sum(known, part), f"n = {len(part)}"


@field_case("MI-15")
def test_237(field_case: str, backend: Engine, curve: ms.Curve, multiples: ms.PointArray) -> None:
    backend.needs(237)
    points, scalars = multiples[1:238], list(range(1, 238))
    assert backend.msm(points, scalars) == 4465475 * curve.generator


@field_case("MI-13")
def test_closed_forms(field_case: str, backend: Engine, curve: ms.Curve, multiples: ms.PointArray) -> None:
    backend.needs(4096)
    assert backend.msm(multiples[1:514], list(range(1, 514))) == 45133569 * curve.generator
    n = 4096
    assert backend.msm(multiples[1 : n + 1], np.arange(1, n + 1, dtype=np.uint32)) == squares(n + 1) * curve.generator


@field_case("MI-09")
def test_widths_that_divide_the_length(
    field_case: str, backend: Engine, curve: ms.Curve, multiples: ms.PointArray
) -> None:
    """Every width c that divides the bit length L, L + 1, or half of it, on scalars at the edges of windows."""
    backend.needs(300)
    length = curve.r.bit_length()
    half = (length + 1) // 2
    widths = [c for c in range(2, 18) if any(bits % c == 0 for bits in (length, length + 1, half, half + 1))]
    r = curve.r
    edges = [r - 1, r - 2, (r - 1) // 2, (r + 1) // 2, r >> 1 << 1]
    edges += [(1 << k) - 1 for k in range(1, length, 7)] + [1 << k for k in range(0, length - 1, 5)]
    for c in widths:
        at_windows = [x for j in range(1, length // c) for x in (1 << (c * j), 1 << (c * j - 1), (1 << (c * j)) - 1)]
        scalars = [s for s in edges + at_windows if s < r]
        points = multiples[1 : len(scalars) + 1]
        expected = sum(s * (i + 1) for i, s in enumerate(scalars)) % r * curve.generator
        if backend.name == "cpu":
            for endomorphism in (False, True):
                found = backend.msm(points, scalars, path="bucket", window=c, endomorphism=endomorphism)
                assert found == expected, f"c = {c}, endomorphism = {endomorphism}"
        else:
            assert backend.msm(points, scalars, window=c) == expected, f"c = {c}"


@field_case("MI-09")
def test_22529_generators(field_case: str, backend: Engine, curve: ms.Curve) -> None:
    """One length of a real fault: all bases the generator, full-range scalars; the sum of scalars is the oracle."""
    backend.needs(22529)
    x, y = curve.points([curve.generator]).data[0]
    points = curve.points(np.broadcast_to(np.stack([x, y]), (22529, 2, curve.limbs)), check="none")
    scalars = curve.random_scalars(22529)
    total = sum(int.from_bytes(row.tobytes(), "little") for row in scalars.data.astype("<u8"))
    assert backend.msm(points, scalars, assume_subgroup=True) == total % curve.r * curve.generator


@field_case("MI-11")
def test_digits_that_are_zero(field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray) -> None:
    """In every window of width 16: a hundred zero digits, ten digits of one, the rest in the top bucket."""
    n = 2000
    backend.needs(n)
    bases = backend.bases(known[:n])
    for window in range(curve.r.bit_length() // 16 - 1):
        value = np.zeros((n, 4), dtype=np.uint64)
        limb, shift = divmod(16 * window, 64)
        value[:100, (limb + 1) % 4] = 1
        value[100:110, limb] = np.uint64(1 << shift)
        value[110:, limb] = np.uint64(0xFFFF << shift)
        scalars = curve.scalars(value, reduce=True)
        for c in (16, None):
            assert bases.msm(scalars, window=c) == curve.expected_sum(known, scalars), f"window {window}, c = {c}"


@field_case("MI-16")
def test_awkward_widths(field_case: str, backend: Engine, curve: ms.Curve, multiples: ms.PointArray) -> None:
    """Any width gives the right answer or an error that names the accepted range."""
    expected = (5 + 2 * 6 + 3 * 7) * curve.generator
    answered = 0
    wide = (16, 20, 24) if backend.most >= 1 << 20 else ()  # as many buckets as 2^c, a minute on a simulated device
    for c in (1, 2, 8, 12, *wide, 30, 255):
        refusal = ""
        try:
            assert backend.msm(multiples[1:4], [5, 6, 7], window=c) == expected, f"c = {c}"
            answered += 1
        except OptionError as error:
            refusal = str(error)
        if refusal:
            assert re.search(r"\d+( to |\.\.=?)\d+", refusal)
    assert answered >= 1
    for c in (0, -1, 256, 2.5, True):
        with pytest.raises(OptionError, match=r"1\.\.255"):
            backend.msm(multiples[1:4], [5, 6, 7], window=c)


@field_case("MI-16", "MI-32")
@pytest.mark.parametrize("threads", [1, 2, 3, 7, 64, 1000])
def test_any_number_of_threads(
    field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray, threads: int
) -> None:
    bases = backend.bases(known[: min(1024, backend.most)])
    for n in backend.sizes(1, 3, 64, 1024):
        scalars = curve.random_scalars(n)
        assert bases.msm(scalars, threads=threads) == curve.expected_sum(known, scalars), f"n = {n}"


@field_case("MI-09", "MI-16")
def test_all_paths_agree(field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray) -> None:
    """Every path that can be forced, and widths through its range, against the oracle."""
    for n in backend.sizes(1, 2, 5, 33, 100, 700):
        scalars = curve.random_scalars(n, seed=n)
        expected = curve.expected_sum(known, scalars)
        for path in backend.paths:
            assert backend.msm(known[:n], scalars, path=path) == expected, f"n = {n}, path = {path}"
    if backend.name == "cpu":
        for c in range(2, 15):
            assert backend.msm(known[:n], scalars, path="bucket", window=c) == expected, f"window = {c}"
