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


class Strange(np.ndarray):
    """A subclass whose elements are not what its memory holds."""

    def __getitem__(self, index: object) -> int:
        return 7

    def __len__(self) -> int:
        return 1


def test_subclasses_are_read_as_the_arrays_they_are() -> None:
    for kind in (Strange, np.ma.MaskedArray):
        assert ms.msm(POINTS.data.view(kind), SCALARS.data.view(kind), curve=C) == EXPECTED


class Odd(int):
    """An int whose methods say something else."""

    def __mod__(self, other: object) -> int:
        return 10**100

    def to_bytes(self, *options: object, **more: object) -> bytes:
        return b"?"

    def __lt__(self, other: object) -> bool:
        return True


def test_an_int_is_its_value() -> None:
    assert ms.msm([C.generator], [Odd(5)]) == 5 * C.generator
    assert C.point(Odd(C.generator.x), Odd(C.generator.y)) == C.generator
    with pytest.raises(ms.errors.ScalarRangeError):
        ms.msm([C.generator], [Odd(-5)])


def test_any_true_byte_is_one() -> None:
    truths = np.array([0, 1, 2, 255], dtype=np.uint8).view(bool)
    assert ms.msm(POINTS[:4], truths) == C.expected_sum(POINTS[:4], [0, 1, 1, 1])
    assert C.expected_sum(POINTS[:4], truths) == C.expected_sum(POINTS[:4], [0, 1, 1, 1])


def test_seeds_of_numpy() -> None:
    assert C.known_points(3, seed=np.int64(7))[2] == C.known_points(3, seed=7)[2]
    assert list(C.random_scalars(3, seed=np.uint8(7))) == list(C.random_scalars(3, seed=7))


def test_no_bytes_are_no_points() -> None:
    for nothing in (b"", np.empty((0, 96), dtype=np.uint8), memoryview(b"")):
        assert len(C.decode(nothing, "zcash")) == 0
