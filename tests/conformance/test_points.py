"""Points that break addition formulas: copies, opposites, multiples of each other, infinity, small order."""

from __future__ import annotations

import multiscalar as ms
import numpy as np
import pytest
from multiscalar import reference
from multiscalar.errors import CoordinateRangeError, NotInSubgroupError, NotOnCurveError, ShapeError

from tests.fieldcases import field_case

from .conftest import Engine

REPEATED = (
    7688067217989994385175370005327028282099909322677106416431281707406319639423,
    7687918639911294339882576580611551419932980906448618049918745820988988940544,
)
REPEATED_SCALAR = 0x2F01189EB498B10CF6D1069EA03FF3C04E53984EBF57F9A7D1FAF1A18C7788F


@field_case("MI-01")
@pytest.mark.parametrize("n", [1, 2, 3, 4, 31, 32, 33, 1000])
def test_the_same_pair_again_and_again(field_case: str, backend: Engine, n: int) -> None:
    backend.needs(n)
    curve = ms.curve("bn254")
    found = backend.msm([REPEATED] * n, [REPEATED_SCALAR] * n, curve=curve)
    assert found == (n * REPEATED_SCALAR % curve.r) * curve.point(*REPEATED)
    if n == 3:
        assert found.x == 0x2712082E4ECCC9EC2BB7F31E374E9705EE98F62CE0F1CBEA03BCD199F04A06AC
        assert found.y == 0x0FB43F0EAC521B783F3FE830ECBAFC4A574E1453496462DF842265AB69D26AE3


@field_case("MI-02", "MI-58")
@pytest.mark.parametrize("n", [512, 8103, 8104, 8105, 8192])
def test_all_bases_equal(field_case: str, backend: Engine, curve: ms.Curve, n: int) -> None:
    backend.needs(n)
    row = curve.points([curve.generator]).data
    bases = backend.bases(np.repeat(row, n, axis=0), curve=curve, assume_subgroup=True)
    ones = bases.msm(np.ones(n, dtype=bool))
    assert ones == n * curve.generator
    if curve.name == "bn254" and n == 8192:
        assert ones.x == 0x133B598ECF07B15B4BADC0AF8B67D74F574A29C1EF79A426FE1271E235E61E00
    s = curve.random_scalars(1)[0]
    assert bases.msm(curve.scalars([s] * n)) == (n * s % curve.r) * curve.generator


@field_case("MI-02")
def test_pairs_that_cancel(field_case: str, backend: Engine, curve: ms.Curve, multiples: ms.PointArray) -> None:
    p = 7 * curve.generator
    for n in backend.sizes(2, 3, 64, 65, 1000):
        s = curve.random_scalars(1, seed=n)[0]
        points = [p, -p] * (n // 2) + [p] * (n % 2)
        expected = s * p if n % 2 else curve.identity
        assert backend.msm(points, [s] * n) == expected, f"n = {n}"


@field_case("MI-02")
@pytest.mark.parametrize("times", [1, 40])
def test_related_points(field_case: str, backend: Engine, curve: ms.Curve, times: int) -> None:
    """2 P + 1 (-2 P), 3 P + 1 (-3 P), 5 P + 1 (-2 P), alone and forty times over."""
    p = 11 * curve.generator
    for k, m, rest in ((2, 2, 0), (3, 3, 0), (5, 2, 3)):
        found = backend.msm([p, -(m * p)] * times, [k, 1] * times)
        assert found == (rest * times) * p, f"{k} P - {m} P"


@field_case("MI-04")
@pytest.mark.parametrize("n", [1, 2, 33, 1024])
@pytest.mark.parametrize("where", ["first", "last", "tenth", "all"])
def test_infinity_among_the_points(
    field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray, n: int, where: str
) -> None:
    backend.needs(n)
    data = known.data[:n].copy()
    chosen = {"first": [0], "last": [n - 1], "tenth": list(range(n // 3 % 10, n, 10)), "all": list(range(n))}[where]
    data[chosen] = 0
    scalars = curve.random_scalars(n)
    kept = scalars.data.copy()
    kept[chosen] = 0
    expected = curve.expected_sum(known, curve.scalars(kept))
    assert backend.msm(data, scalars) == expected
    assert backend.bases(data, curve=curve).msm(scalars) == expected


@field_case("MI-04")
@pytest.mark.parametrize("n", [1, 2, 33, 1024])
def test_all_scalars_zero(field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray, n: int) -> None:
    backend.needs(n)
    found = backend.msm(known[:n], np.zeros((n, 4), dtype=np.uint64))
    assert found.is_infinity
    assert (found.x, found.y) == (0, 0)
    assert backend.msm(np.zeros_like(known.data[:n]), np.zeros(n, dtype=np.uint8), curve=curve).is_infinity


@field_case("MI-05")
def test_sums_that_vanish(field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray) -> None:
    p = 3 * curve.generator
    assert backend.msm([p, p], [1, curve.r - 1]).is_infinity
    for n in backend.sizes(2, 64, 1000):
        scalars = curve.random_scalars(n, seed=n)
        last = curve.expected_sum(known, scalars[: n - 1])
        found = backend.msm([*known[: n - 1], -last], [*scalars[: n - 1], 1])
        assert found.is_infinity, f"n = {n}"
    assert backend.msm([p], [curve.r - 1]) + p == curve.identity
    assert backend.msm([p], [curve.r - 1]) == -p


@field_case("MI-05")
def test_one_window_cancels(field_case: str, backend: Engine, curve: ms.Curve) -> None:
    """The lowest digits cancel, the others do not."""
    p = 3 * curve.generator
    for bits in (4, 8, 13, 16):
        scalars = [(1 << bits) + 5, 5]
        assert backend.msm([p, -p], scalars) == (1 << bits) * p, f"{bits} bits"


@field_case("MI-12", "MI-40")
def test_projective_points_are_refused(field_case: str, backend: Engine, curve: ms.Curve) -> None:
    """There is no projective layout: three coordinates are an error, and (0, 0) is infinity, never (0, 0, 1)."""
    with pytest.raises(ShapeError, match=r"\[n, 2, "):
        backend.msm(np.zeros((4, 3, curve.limbs), dtype=np.uint64), [1] * 4, curve=curve)
    assert backend.msm([(0, 0)], [5], curve=curve).is_infinity


@field_case("MI-43")
@pytest.mark.parametrize("check", ["curve", "subgroup"])
@pytest.mark.parametrize("scalar", [0, 1])
def test_off_curve_points_whatever_the_scalar(
    field_case: str, backend: Engine, curve: ms.Curve, check: str, scalar: int
) -> None:
    g = curve.generator
    for bad in ((1, 1), (g.x, (g.y + 1) % curve.p)):
        with pytest.raises(NotOnCurveError, match="point 1") as caught:
            backend.msm([(g.x, g.y), bad, (g.x, g.y)], [scalar, scalar, 0], curve=curve, check=check)
        assert caught.value.index == 1
        with pytest.raises(NotOnCurveError, match="point 2"):
            backend.bases([(g.x, g.y), (g.x, g.y), bad], curve=curve, check=check)


@field_case("MI-40", "MI-43")
def test_coordinates_not_below_p(field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray) -> None:
    """p + x is no other name of x, even unchecked."""
    data = known.data[:5].copy()
    x = known[3].x + curve.p
    if x >> (64 * curve.limbs):
        x = curve.p
    data[3, 0] = np.frombuffer(x.to_bytes(8 * curve.limbs, "little"), dtype="<u8")
    for check in ("none", "curve"):
        with pytest.raises(CoordinateRangeError, match="point 3"):
            backend.msm(data, [1] * 5, curve=curve, check=check)


SMALL_ORDER = {
    "bls12-377": [((0, 1), 3), ((2, 3), 6), ((-1, 0), 2)],
    "bls12-381": [((0, 2), 3)],
}


@field_case("MI-44")
@pytest.mark.parametrize("name", SMALL_ORDER)
def test_small_order_points_are_refused(field_case: str, backend: Engine, name: str) -> None:
    curve = ms.curve(name)
    for (x, y), order in SMALL_ORDER[name]:
        point = (x % curve.p, y)
        assert reference.multiply(order, point, curve.p) is None
        for position in (0, 63):
            points: list[object] = [curve.generator] * 64
            points[position] = point
            with pytest.raises(NotInSubgroupError, match=f"point {position}") as caught:
                backend.msm(points, [1] * 64, check="subgroup", curve=curve)
            assert caught.value.index == position


@field_case("MI-44", "MI-54")
@pytest.mark.parametrize("name", SMALL_ORDER)
def test_small_order_points_are_added_exactly(field_case: str, backend: Engine, name: str) -> None:
    """With check="curve" a sum is that of integer multiples: (r - 1) (2, 3) vanishes as r = 1 mod 6."""
    curve = ms.curve(name)
    for (x, y), order in SMALL_ORDER[name]:
        point = curve.point(x % curve.p, y)
        assert backend.msm([point], [curve.r - 1]) == (curve.r - 1) % order * point
        assert backend.msm([point, point], [1, 1]) == 2 * point
        for n in backend.sizes(64, 700):
            points = [point if i % 3 == 0 else (i + 1) * curve.generator for i in range(n)]
            scalars = list(curve.random_scalars(n, seed=n))
            good = sum(s * (i + 1) for i, s in enumerate(scalars) if i % 3) * curve.generator
            bad = sum(s for i, s in enumerate(scalars) if i % 3 == 0) % order * point
            assert backend.msm(points, scalars) == good + bad, f"n = {n}"


@field_case("MI-44")
def test_a_point_outside_the_subgroup_with_large_order(field_case: str, backend: Engine) -> None:
    """BLS12-381, x = 4: on the curve, of order divisible by r and more."""
    curve = ms.curve("bls12-381")
    rhs = (4**3 + curve.b) % curve.p
    y = pow(rhs, (curve.p + 1) // 4, curve.p)
    assert y * y % curve.p == rhs
    point = curve.point(4, y)
    s = curve.random_scalars(1)[0]
    assert backend.msm([point] * 3, [s, curve.r - 1, 5]) == (s + curve.r - 1 + 5) * point
    with pytest.raises(NotInSubgroupError, match="point 0"):
        backend.msm([point], [1], check="subgroup")
