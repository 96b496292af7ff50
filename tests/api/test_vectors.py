"""Vectors of a call described together: what that says of each is what describing it alone says."""

from __future__ import annotations

import pickle
from typing import Any

import multiscalar as ms
import numpy as np
import pytest
from multiscalar.arrays import DeviceArray, ScalarArray
from multiscalar.engine.operands import scalars_operand
from multiscalar.engine.vectors import Vectors, kind, vector_operands

C = ms.curve("bn254")
LENGTHS = (5, 5, 3)


class Offered:
    """A device array, as far as anybody asks before the data are touched."""

    def __init__(self, *shape: int, typestr: str = "<u8", **more: Any) -> None:
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": typestr, "data": (0x7000 * (1 + sum(shape)), False), "version": 3, **more,
        }  # fmt: skip


def full(n: int) -> Any:
    return C.random_scalars(n, seed=n).data


ALIKE = {
    "arrays": [full(n) for n in LENGTHS],
    "one array": [full(7)],
    "operands": [C.scalars(full(n)) for n in LENGTHS],
    "narrow operands": [C.scalars(np.arange(n, dtype=np.uint16)) for n in LENGTHS],
    "one list of ints": [[1, 2, 3]],
    "device": [Offered(n, 4, stream=2 if n == 3 else None) for n in LENGTHS],
    "narrow device": [Offered(n, typestr="|b1") for n in LENGTHS],
}
APART = {
    "a list among arrays": [full(5), [1, 2, 3]],
    "another type": [full(5), np.arange(5, dtype=np.uint64)],
    "every second row": [full(5), full(10)[::2]],
    "the other byte order": [full(5), full(5).astype(">u8")],
    "a subclass": [full(5), full(5).view(np.recarray)],
    "narrow arrays": [np.arange(5, dtype=np.uint8)] * 2,
    "operands and arrays": [C.scalars(full(5)), full(5)],
    "device and host": [Offered(5, 4), full(5)],
    "strides that are said": [Offered(5, 4), Offered(5, 4, strides=(32, 8))],
    "two types on the device": [Offered(5, 4), Offered(5, typestr="|u1")],
}


def facts(vector: ScalarArray | DeviceArray) -> tuple[object, ...]:
    if isinstance(vector, DeviceArray):
        return vector.source, vector.shape, vector.dtype, vector.pointer, vector.producer, vector.form, vector.curve
    return vector.data.tobytes(), vector.data.dtype, vector.data.shape, vector.form, vector.curve


def described(values: list[Any], form: str | None = None) -> Any:
    return vector_operands(values, C, form=form, reduce=False)


@pytest.mark.parametrize("what", [*ALIKE, *APART])
def test_each_vector_is_what_it_is_alone(what: str) -> None:
    values = (ALIKE | APART)[what]
    vectors = described(values)
    assert isinstance(vectors, Vectors) == (what in ALIKE)
    alone = [scalars_operand(value, C, form=None, reduce=False) for value in values]
    assert [facts(vector) for vector in vectors] == [facts(vector) for vector in alone]
    if what in ALIKE:
        assert len({kind(vector) for vector in alone}) == 1
        assert vectors.counts == [len(vector) for vector in alone]
        assert [facts(vector) for vector in Vectors.of(alone)] == [facts(vector) for vector in alone]
        assert vectors.longest == max(vectors.counts)
        assert vectors.uneven == (len(set(vectors.counts)) > 1)
        assert vectors.size == sum(vectors.counts) * vectors.item_bytes


def test_arrays_are_shared_and_nothing_is_no_vectors() -> None:
    arrays = ALIKE["arrays"]
    assert all(vector.data is array for vector, array in zip(described(arrays), arrays, strict=True))
    assert described([]) == []


@pytest.mark.parametrize("what", ["arrays", "operands", "device"])
def test_some_and_parts(what: str) -> None:
    vectors = described(ALIKE[what])
    some = vectors.some([2, 0])
    assert [facts(vector) for vector in some] == [facts(vectors[2]), facts(vectors[0])]
    assert [facts(vector) for vector in vectors[1:]] == [facts(vectors[1]), facts(vectors[2])]
    part = some.some([0]).part(1, 2)
    assert part.counts == [2]
    assert facts(part.first) == facts(vectors[2]), "an error names the vector that the caller gave"
    if what == "device":
        assert part.pointers == [vectors[2].pointer + 32]
    else:
        assert part[0].data.tobytes() == vectors[2].data[1:3].tobytes()


@pytest.mark.parametrize(
    ("values", "error"),
    [
        ([Offered(5, 4), Offered(5, 3)], ms.errors.ShapeError),
        ([Offered(5, 4), Offered(5, 4, shape=None)], ms.errors.InputTypeError),
        ([Offered(5, 4), Offered(5, 4, data=())], ms.errors.InputTypeError),
        ([Offered(5, 4), Offered(5, 4, strides=(64, 8))], ms.errors.ShapeError),
        ([full(5), full(5).astype(float)], ms.errors.InputTypeError),
        ([full(5), full(6)[:, :3]], ms.errors.ShapeError),
        ([C.scalars([1]), ms.curve("bls12-377").scalars([1])], ms.errors.CurveMismatchError),
        ([C.scalars([1]), C.scalars([1]), object()], ms.errors.InputTypeError),
    ],
)
def test_the_error_is_that_of_the_vector(values: list[Any], error: type[Exception]) -> None:
    with pytest.raises(error) as together:
        described(values)
    with pytest.raises(error) as alone:
        scalars_operand(values[-1], C, form=None, reduce=False)
    assert str(together.value) == str(alone.value)


def test_montgomery_form_is_said_once_and_kept() -> None:
    vectors = described(ALIKE["arrays"], form="montgomery")
    assert vectors.montgomery
    assert {vector.form for vector in vectors} == {"montgomery"}


def test_points_of_a_batch_stand_alone() -> None:
    points = C.known_points(5, seed=1)
    results = ms.Bases(points, backend="cpu").msm(ALIKE["arrays"])
    assert results == [C.expected_sum(points[: len(one)], C.scalars(one)) for one in ALIKE["arrays"]]
    again = pickle.loads(pickle.dumps(results[2]))
    assert again == results[2]
    assert again.run == results[2].run
    assert again.run.n == 3
