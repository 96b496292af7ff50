"""Scalars at the edges, in every shape, width and form."""

from __future__ import annotations

import multiscalar as ms
import numpy as np
import pytest
from multiscalar.errors import NotOnCurveError, OptionError, ScalarRangeError
from multiscalar.shapes import ScalarShape

from tests.fieldcases import field_case

from .conftest import Engine


@field_case("MI-07", "MI-31")
def test_single_terms(field_case: str, backend: Engine, curve: ms.Curve) -> None:
    g = curve.generator
    assert backend.msm([g], [1]) == g
    assert backend.msm([g], [2]) == g + g
    assert backend.msm([g], [curve.r - 1]) == -g
    assert backend.msm([g], [0]).is_infinity
    assert backend.msm([None], [5], curve=curve).is_infinity
    s = curve.random_scalars(1)[0]
    assert backend.msm([g], [s]) == s * g


@field_case("MI-07")
def test_no_terms(field_case: str, backend: Engine, curve: ms.Curve) -> None:
    assert backend.msm([], [], curve=curve).is_infinity
    empty = np.zeros((0, 2, curve.limbs), dtype=np.uint64)
    assert backend.msm(empty, np.zeros((0, 4), dtype=np.uint64), curve=curve).is_infinity
    assert backend.bases(empty, curve=curve).msm([]).is_infinity


def over(curve: ms.Curve) -> list[int]:
    return [s for s in (curve.r, curve.r + 1, 2 * curve.r - 1, 1 << 255, (1 << 256) - 1) if s >> 256 == 0]


def limbs(*scalars: int) -> np.ndarray:
    return np.frombuffer(b"".join(s.to_bytes(32, "little") for s in scalars), dtype="<u8").reshape(-1, 4)


@field_case("MI-08")
def test_scalars_not_below_r_are_refused(field_case: str, backend: Engine, curve: ms.Curve) -> None:
    g = curve.generator
    for s in over(curve):
        with pytest.raises(ScalarRangeError, match=r"scalar 2\b.*reduce=True") as caught:
            backend.msm([g] * 4, limbs(1, 2, s, s))
        assert caught.value.index == 2
        with pytest.raises(ScalarRangeError, match=r"scalar 1\b"):
            backend.msm([g] * 2, [1, s])
        with pytest.raises(ScalarRangeError, match=r"scalar 0\b"):
            curve.scalars(limbs(s))


@field_case("MI-08")
def test_scalars_not_below_r_are_reduced_on_request(field_case: str, backend: Engine, curve: ms.Curve) -> None:
    g = curve.generator
    for s in over(curve):
        assert backend.msm([g], limbs(s), reduce=True) == s % curve.r * g
        assert backend.msm([g] * 70, limbs(*[s] * 70), reduce=True) == 70 * s % curve.r * g
        assert backend.msm([g], [s], reduce=True) == s % curve.r * g
        assert backend.msm([g], curve.scalars(limbs(s), reduce=True)) == s % curve.r * g
    assert backend.msm([g], [-5], reduce=True) == -(5 * g)


@field_case("MI-08")
def test_the_reported_scalar(field_case: str, backend: Engine) -> None:
    curve = ms.curve("bls12-381")
    s = np.array([[0x025607A7919D793F, 0xBDF7228F3A3DBD99, 0x68D0564B14693662, 0xAF6DD88BB87CB4AC]], dtype=np.uint64)
    found = backend.msm([curve.generator], s, reduce=True)
    assert found.x == int(
        "152e36b70ed314e3af3ac9986e93eddba5b6958a8fcfe960d14811d84ff8487cc82c0629ec52571cf52eee3553f80059", 16
    )


@field_case("MI-36", "MI-37", "MI-60")
@pytest.mark.parametrize("shape", list(ScalarShape))
def test_every_shape(
    field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray, shape: ScalarShape
) -> None:
    bases = backend.bases(known[: min(len(known), backend.most)])
    for n in backend.sizes(33, 1500, 1 << 13):
        scalars = curve.random_scalars(n, shape=shape)
        assert bases.msm(scalars) == curve.expected_sum(known, scalars), f"n = {n}"


@field_case("MI-36")
@pytest.mark.parametrize("shape", ["equal", "minus-one", "witness", "top", "signed-bits"])
def test_shapes_on_independent_points(field_case: str, backend: Engine, curve: ms.Curve, shape: str) -> None:
    """The control: random points without relations among them."""
    backend.needs(1024)
    points = curve.random_points(1024)
    scalars = curve.random_scalars(1024, shape=shape)
    assert backend.msm(points, scalars) == curve.expected_sum(points, scalars)


@field_case("MI-37")
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint16, np.uint32, np.uint64])
def test_narrow_scalars_of_all_values(
    field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray, dtype: type
) -> None:
    top = 1 if dtype is bool else int(np.iinfo(dtype).max)
    values = [0, 1, top, top - 1, top // 2, top // 2 + 1, *range(min(top, 60))]
    narrow = np.array(values, dtype=dtype)
    expected = sum(int(v) * known.logs[i] for i, v in enumerate(narrow)) % curve.r * curve.generator
    assert backend.msm(known[: len(narrow)], narrow) == expected


@field_case("MI-41")
@pytest.mark.parametrize("n", [1, 40, 1000])
def test_four_combinations_of_forms(
    field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray, n: int
) -> None:
    backend.needs(n)
    points, scalars = known[:n], curve.random_scalars(n)
    raised = [s * (1 << 256) % curve.r for s in scalars]
    data = {
        "canonical": (points.data.copy(), scalars.data.copy()),
        "montgomery": (points.to_form("montgomery").data.copy(), limbs(*raised).astype(np.uint64)),
    }
    expected = curve.expected_sum(points, scalars)
    for form in data:
        for scalar_form in data:
            p, s = data[form][0], data[scalar_form][1]
            before = p.copy(), s.copy()
            assert backend.msm(p, s, curve=curve, form=form, scalar_form=scalar_form) == expected
            np.testing.assert_array_equal(p, before[0])
            np.testing.assert_array_equal(s, before[1])


@field_case("MI-41")
def test_wrong_flags(field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray) -> None:
    """Points in the wrong form are off the curve; scalars in the wrong form give another sum; none is guessed."""
    scalars = curve.random_scalars(10)
    with pytest.raises(NotOnCurveError, match="form"):
        backend.msm(known.data[:10], scalars, curve=curve, form="montgomery")
    wrong = backend.msm(known[:10], scalars.data, scalar_form="montgomery")
    assert wrong != curve.expected_sum(known, scalars)
    with pytest.raises(OptionError, match="contradicts"):
        backend.msm(known[:10], scalars, form="montgomery")
    with pytest.raises(OptionError, match="Montgomery"):
        backend.msm(known[:10], np.ones(10, dtype=np.uint8), scalar_form="montgomery")
