"""Unusual inputs that have a right answer: strides, byte orders, read-only, buffers, DLPack, object arrays."""

from __future__ import annotations

import array
import decimal

import multiscalar as ms
import numpy as np
import pytest

C = ms.curve("bls12-381")
POINTS = C.known_points(64)
SCALARS = C.random_scalars(64)
EXPECTED = C.expected_sum(POINTS, SCALARS)


def read_only(values: np.ndarray) -> np.ndarray:
    copy = values.copy()
    copy.flags.writeable = False
    return copy


def unaligned(values: np.ndarray) -> np.ndarray:
    raw = np.frombuffer(b"\0" + values.tobytes(), dtype=np.uint8)[1:]
    return raw.view(np.uint64).reshape(values.shape)


def every_other(values: np.ndarray) -> np.ndarray:
    wide = np.zeros((2 * len(values), *values.shape[1:]), dtype=np.uint64)
    wide[::2] = values
    return wide[::2]


LAYOUTS = {
    "plain": lambda values: values,
    "read-only": read_only,
    "unaligned": unaligned,
    "every-other-row": every_other,
    "reversed-twice": lambda values: values[::-1].copy()[::-1],
    "fortran-order": np.asfortranarray,
    "big-endian": lambda values: values.astype(">u8"),
    "memoryview": memoryview,
    "dlpack": lambda values: OnlyDlpack(values),
    "array-interface": lambda values: OnlyInterface(values),
}


class OnlyDlpack:
    """An array of another library, seen through DLPack alone."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def __dlpack__(self, **options: object) -> object:
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._values.__dlpack_device__()


class OnlyInterface:
    """An array of another library, seen through the array interface alone."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values
        self.__array_interface__ = values.__array_interface__


@pytest.mark.parametrize("points", LAYOUTS)
@pytest.mark.parametrize("scalars", LAYOUTS)
def test_layouts(points: str, scalars: str) -> None:
    p, s = LAYOUTS[points](POINTS.data.copy()), LAYOUTS[scalars](SCALARS.data.copy())
    assert ms.msm(p, s, curve=C) == EXPECTED


@pytest.mark.parametrize("dtype", ["bool", "u1", "u2", "u4", "u8", ">u2", ">u4", ">u8", "i1", "i2", "i4", "i8", ">i4"])
def test_narrow_types(dtype: str) -> None:
    values = np.array([i % 2 if dtype == "bool" else i for i in range(64)]).astype(dtype)
    expected = C.expected_sum(POINTS, [int(v) for v in values])
    assert ms.msm(POINTS, values) == expected
    assert ms.msm(POINTS[:32], values[::2]) == C.expected_sum(POINTS, [int(v) for v in values[::2]])


def test_sequences() -> None:
    ints = list(SCALARS)
    pairs = [(p.x, p.y) for p in POINTS]
    for points in (pairs, tuple(pairs), list(POINTS), [list(pair) for pair in pairs], np.array(pairs, dtype=object)):
        for scalars in (ints, tuple(ints), np.array(ints, dtype=object)):
            assert ms.msm(points, scalars, curve=C) == EXPECTED
    assert ms.msm(iter(pairs), range(64), curve=C) == C.expected_sum(POINTS, list(range(64)))
    assert ms.msm(POINTS, [np.uint64(5), True, np.int8(3)]) == C.expected_sum(POINTS, [5, 1, 3])


def test_buffers() -> None:
    values = array.array("Q", range(64))
    assert ms.msm(POINTS, values) == C.expected_sum(POINTS, list(range(64)))
    assert ms.msm(POINTS, array.array("I", range(64))) == C.expected_sum(POINTS, list(range(64)))


def test_nothing_is_copied() -> None:
    """Arrays in layout are shared: operands point to the caller's memory."""
    data, limbs = POINTS.data.copy(), SCALARS.data.copy()
    assert np.shares_memory(C.points(data).data, data)
    assert np.shares_memory(C.scalars(limbs).data, limbs)
    assert np.shares_memory(C.points(data)[3:9].data, data)
    assert not np.shares_memory(C.points(every_other(data)).data, data)


def test_inputs_are_left_alone() -> None:
    data, limbs = POINTS.data.copy(), SCALARS.data.copy()
    bases = ms.Bases(data, curve=C)
    for reduce in (False, True):
        bases.msm(limbs, reduce=reduce)
    np.testing.assert_array_equal(data, POINTS.data)
    np.testing.assert_array_equal(limbs, SCALARS.data)


def test_a_decimal_is_not_an_int() -> None:
    with pytest.raises(TypeError, match="Decimal"):
        ms.msm([C.generator], [decimal.Decimal(5)])
