"""Curve, Point, PointArray, ScalarArray, errors: what they hold, how they print, compare and travel."""

from __future__ import annotations

import copy
import pickle

import multiscalar as ms
import numpy as np
import pytest
from multiscalar import curves, errors, reference
from multiscalar._tables import CURVES


@pytest.fixture(params=curves.names())
def curve(request: pytest.FixtureRequest) -> ms.Curve:
    return ms.curve(request.param)


def test_names_and_aliases() -> None:
    assert curves.names() == ("bls12-377", "bls12-381", "bn254")
    for name in ("BN254", "bn256", "alt_bn128", "alt-bn128", " bn254 "):
        assert ms.curve(name) is ms.curve("bn254")
    assert ms.curve("bls12_377") is ms.curve("bls12377") is ms.curve(ms.curve("bls12-377"))


def test_a_curve_is_its_facts(curve: ms.Curve) -> None:
    table = CURVES[curve.name]
    assert (curve.p, curve.r, curve.b, curve.cofactor) == (table.p, table.r, table.b, table.cofactor)
    assert curve.limbs == -(-curve.p.bit_length() // 64)
    assert curve.group == "g1"
    assert (curve.r * curve.generator).is_infinity
    assert curve.identity + curve.generator == curve.generator
    assert pickle.loads(pickle.dumps(curve)) is curve
    assert repr(curve) == f"ms.curve('{curve.name}')"


def test_points(curve: ms.Curve) -> None:
    g = curve.generator
    assert g + g == 2 * g == g * 2
    assert g - g == curve.identity == 0 * g
    assert -g + g == curve.identity
    assert (curve.r + 5) * g == 5 * g
    assert -3 * g == -(3 * g)
    assert g != -g
    assert g != (g.x, g.y)
    assert len({g, 2 * g, g + g}) == 2
    assert curve.identity.affine is None
    assert g.affine == (g.x, g.y)
    assert g.run is None
    assert pickle.loads(pickle.dumps(3 * g)) == 3 * g
    assert "infinity" in repr(curve.identity)
    assert hex(g.x) in repr(g)
    with pytest.raises(TypeError):
        g + 1
    with pytest.raises(TypeError):
        g * 1.5
    with pytest.raises(AttributeError):
        g.x = 5


def test_a_result_travels_with_its_run(curve: ms.Curve) -> None:
    found = ms.msm([curve.generator], [5])
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.run == found.run


def test_point_arrays(curve: ms.Curve) -> None:
    g = curve.generator
    points = curve.points([g, 2 * g, None, (3 * g).affine])
    assert len(points) == 4
    assert list(points) == [g, 2 * g, curve.identity, 3 * g]
    assert points[-1] == 3 * g
    assert list(points[1:3]) == [2 * g, curve.identity]
    assert list(points[::-1]) == list(points)[::-1]
    with pytest.raises(IndexError):
        points[4]
    assert (points.checked, points.pending) == ("curve", "none")
    assert points.in_subgroup == (curve.cofactor == 1)
    assert curve.points([g], check="subgroup").in_subgroup
    assert curve.points([g], check="none", assume_subgroup=True).in_subgroup
    assert np.asarray(points).shape == (4, 2, curve.limbs)
    raised = points.to_form("montgomery")
    assert raised.form == "montgomery"
    assert list(raised) == list(points)
    assert raised[1].x == (2 * g).x
    np.testing.assert_array_equal(raised.to_form("canonical").data, points.data)
    assert int.from_bytes(raised.data[0, 0].tobytes(), "little") == g.x * (1 << 64 * curve.limbs) % curve.p
    assert "n=4" in repr(points)


def test_scalar_arrays(curve: ms.Curve) -> None:
    scalars = curve.scalars([0, 1, curve.r - 1])
    assert list(scalars) == [0, 1, curve.r - 1]
    assert scalars[-1] == curve.r - 1
    assert list(scalars[1:]) == [1, curve.r - 1]
    assert scalars.bits == curve.r.bit_length()
    assert curve.scalars(np.array([True, False])).bits == 1
    assert list(curve.scalars(np.array([7, 9], dtype=np.uint8))) == [7, 9]
    raised = curve.scalars([(1 << 256) * 5 % curve.r], form="montgomery")
    assert list(raised) == [5]
    over = np.array([[2**64 - 1] * 4, [5, 0, 0, 0]], dtype=np.uint64)
    assert list(curve.scalars(over, reduce=True)) == [(2**256 - 1) % curve.r, 5]
    assert over[0, 0] == 2**64 - 1, "reduction works on a copy"
    for value in (curve.r, curve.r + 1, curve.r + (1 << 64)):
        with pytest.raises(errors.ScalarRangeError):
            curve.scalars(np.frombuffer(value.to_bytes(32, "little"), dtype="<u8").reshape(1, 4))


def test_errors_travel() -> None:
    with pytest.raises(errors.ScalarRangeError) as caught:
        ms.msm([(1, 2)], [-1], curve="bn254")
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is errors.ScalarRangeError
    assert (str(again), again.index, again.accepted, again.hint) == (
        str(caught.value), 0, caught.value.accepted, caught.value.hint,
    )  # fmt: skip
    full = pickle.loads(pickle.dumps(errors.OutOfMemoryError("no", need=5, free=3)))
    assert (full.need, full.free) == (5, 3)


def test_one_hierarchy() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert all(issubclass(kind, (errors.MultiscalarError, errors.MultiscalarWarning)) for kind in kinds)
    assert all(kind.__doc__ for kind in kinds)


def test_the_reference_is_a_group(curve: ms.Curve) -> None:
    g, p = curve.generator.affine, curve.p
    points = [reference.multiply(k, g, p) for k in range(7)]
    assert points[0] is None
    for i, a in enumerate(points):
        assert reference.on_curve(a, p, curve.b)
        for j, b in enumerate(points):
            assert reference.add(a, b, p) == reference.multiply(i + j, g, p)
    assert reference.msm(points, range(7), p) == reference.multiply(91, g, p)
    order_two = (curve.p - 1, 0) if curve.b == 1 else None
    assert reference.add(order_two, order_two, p) is None


def test_bases_stay_where_they_are(curve: ms.Curve) -> None:
    bases = ms.Bases([curve.generator])
    assert copy.copy(bases) is copy.deepcopy(bases) is bases
    with pytest.raises(TypeError, match="pickle the points"):
        pickle.dumps(bases)
    points = pickle.loads(pickle.dumps(curve.points([curve.generator])))
    assert ms.Bases(points).msm([3]) == 3 * curve.generator
