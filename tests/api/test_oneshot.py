"""One-shot calls that say the same again: they mean the same, as long as nothing they depend on has changed."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import multiscalar as ms
import numpy as np
import pytest
from multiscalar import _core
from multiscalar.engine import operands
from multiscalar.errors import LengthError, MultiscalarError, NotOnCurveError, OptionError, ScalarRangeError

CURVE = ms.curve("bls12-377")
N = 40


def arrays(n: int = N, seed: int = 1) -> tuple[np.ndarray, np.ndarray, ms.Point]:
    points, scalars = CURVE.known_points(n, seed=seed), CURVE.random_scalars(n, seed=seed + 1)
    return points.data.copy(), scalars.data.copy(), CURVE.expected_sum(points, scalars)


def call(points: Any, scalars: Any, **words: Any) -> ms.Point:
    return ms.msm(points, scalars, **{"curve": CURVE, "backend": "cpu", **words})  # type: ignore[no-any-return]


def test_a_call_that_says_the_same_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = arrays(), arrays(N - 3, seed=7)
    assert call(*first[:2]) == first[2]
    with monkeypatch.context() as patched:
        patched.setattr(operands, "points_operand", lambda *_, **__: pytest.fail("looked at again"))
        for points, scalars, expected in (first, second, first):
            assert call(points, scalars) == expected
    assert call(*second[:2], check="none") == second[2]


def test_settings_that_change_change_what_it_means() -> None:
    points, scalars, expected = arrays()
    for isa in ("scalar", "auto", "scalar"):
        with ms.using(isa=isa):
            for _ in range(2):
                result = call(points, scalars)
                assert result == expected
                assert (result.run.isa == "scalar") is (isa == "scalar" or _core.isas() == ["scalar"])


def test_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    points, scalars, expected = arrays()
    assert call(points, scalars) == expected
    monkeypatch.setenv("MULTISCALAR_THREADS", "none at all")
    with pytest.raises(OptionError, match="MULTISCALAR_THREADS"):
        call(points, scalars)
    monkeypatch.delenv("MULTISCALAR_THREADS")
    assert call(points, scalars) == expected


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ({"reduce": True}, {"reduce": 1}),
        ({"assume_subgroup": True}, {"assume_subgroup": 1}),
        ({"threads": 1}, {"threads": True}),
    ],
)
def test_what_is_equal_and_not_the_same_is_refused_as_ever(good: dict[str, Any], bad: dict[str, Any]) -> None:
    points, scalars, expected = arrays()
    for _ in range(2):
        assert call(points, scalars, **good) == expected
        with pytest.raises(OptionError):
            call(points, scalars, **bad)


def test_data_are_looked_at_each_time() -> None:
    points, scalars, expected = arrays()
    for _ in range(2):
        assert call(points, scalars) == expected
        with pytest.raises(LengthError):
            call(points[:-1], scalars)
        assert call(points, scalars[:-1]) == call(points[:-1], scalars[:-1])
        assert call(points[::-1], scalars[::-1]) == expected
        assert call(points.tolist() and CURVE.points(points), scalars) == expected
        assert call(points, list(CURVE.scalars(scalars))) == expected
        narrow = np.arange(N, dtype=np.uint16)
        assert call(points, narrow) == CURVE.expected_sum(CURVE.known_points(N, seed=1), narrow)
        for wrong in (points[:, :, :4], points.astype(np.float64), points.reshape(-1)):
            with pytest.raises(MultiscalarError):
                call(wrong, scalars)
        good = scalars[5].copy()
        scalars[5] = 2**64 - 1
        with pytest.raises(ScalarRangeError) as caught:
            call(points, scalars)
        assert caught.value.index == 5
        scalars[5] = good
        x = points[9, 0, 0].copy()
        points[9, 0, 0] ^= 1
        with pytest.raises(NotOnCurveError) as found:
            call(points, scalars)
        assert found.value.index == 9
        points[9, 0, 0] = x


def test_forms_are_part_of_the_words() -> None:
    points, scalars, expected = arrays()
    montgomery = CURVE.points(points).to_form("montgomery").data
    for _ in range(2):
        assert call(points, scalars) == expected
        assert call(montgomery, scalars, form="montgomery") == expected
        assert call(CURVE.points(points).to_form("montgomery"), scalars) == expected


def test_a_function_that_stops_and_a_list_that_grows_are_asked_each_time() -> None:
    points, scalars, expected = arrays()
    devices: list[int] = []
    with pytest.raises(OptionError):
        call(points, scalars, devices=devices)
    devices.append(0)
    with pytest.raises(OptionError, match="cpu"):
        call(points, scalars, devices=devices)
    stopping = lambda: False  # noqa: E731
    gone = weakref.ref(stopping)
    assert call(points, scalars, stop=stopping) == expected
    del stopping
    gc.collect()
    assert gone() is None


def test_nobody_keeps_the_arrays() -> None:
    points, scalars, expected = arrays()
    gone = [weakref.ref(points), weakref.ref(scalars)]
    for _ in range(3):
        assert call(points, scalars) == expected
    del points, scalars
    gc.collect()
    assert [one() for one in gone] == [None, None]


@pytest.mark.parametrize("asked", [{"reduce": 0}, {"own_bases": 0}, {"window": np.arange(3)}, {"stop": np.arange(2)}])
def test_what_equals_nothing_is_not_nothing(asked: dict[str, Any]) -> None:
    curve = ms.curve("bn254")
    points, scalars = curve.known_points(3), curve.random_scalars(3)
    with pytest.raises(OptionError):
        ms.Bases(points, backend="cpu").msm(scalars, **asked)
