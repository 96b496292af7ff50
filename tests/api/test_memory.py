"""When memory is short: an error with need and free, before anything is allocated, and the next call is right."""

from __future__ import annotations

import multiscalar as ms
import pytest
from multiscalar import memory
from multiscalar.errors import OutOfMemoryError

from tests.fieldcases import field_case

CURVE = ms.curve("bls12-381")


@field_case("MI-17")
def test_short_of_memory(field_case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    points = CURVE.known_points(1 << 20)
    bases = ms.Bases(points)
    scalars = CURVE.random_scalars(1 << 20, shape="bool")
    monkeypatch.setattr(memory, "free_bytes", lambda: 1 << 20)
    for call in (
        lambda: ms.Bases(points),
        lambda: ms.msm(points, scalars),
        lambda: CURVE.known_points(1 << 20),
        lambda: CURVE.random_scalars(1 << 20),
        lambda: CURVE.points(points.data[::-1]),
    ):
        with pytest.raises(OutOfMemoryError, match=r"1,048,576 are free") as caught:
            call()
        assert caught.value.free == 1 << 20
        assert caught.value.need is not None
        assert caught.value.need > caught.value.free
        few = scalars[:1000]
        assert bases.msm(few) == CURVE.expected_sum(points, few)
        assert ms.msm(points[:1000], few) == CURVE.expected_sum(points, few)


def test_small_needs_never_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked() -> int:
        raise AssertionError("files were read for a small call")

    monkeypatch.setattr(memory, "free_bytes", asked)
    memory.require(64 << 20, "64 MiB")
    with pytest.raises(AssertionError):
        memory.require((64 << 20) + 1, "more")


def test_unknown_is_never_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: None)
    memory.require(1 << 60, "anything")


def test_what_is_free() -> None:
    free = memory.free_bytes()
    assert free is None or 0 < free < 1 << 50
