"""What helpers begin to copy for a one-shot call, on the shim: it ends with the call, however that ends."""

from __future__ import annotations

from typing import Any

import multiscalar as ms
import numpy as np
import pytest
from multiscalar.cuda import compiled, once, staging, whole
from multiscalar.cuda.plan import Plan

from tests.cuda.test_host_inputs import inputs
from tests.cuda.test_once import EAGER


@EAGER
def test_what_was_begun_for_a_call_that_broke_off_never_reaches_the_next_one(
    shim: Any, monkeypatch: pytest.MonkeyPatch, eager: bool
) -> None:
    """With somebody who holds the error, and so the frames with what was begun."""
    monkeypatch.setattr(whole, "RUNS_BEFORE", 1 << 30)
    shim(eager_copies=eager)
    points, scalars, expected = inputs("bls12-377", 45)
    other, more, wanted = inputs("bls12-377", 31)
    assert ms.msm(points, scalars, backend="cuda") == expected
    lane, held = compiled.kernels(points.curve).lane, []

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for owner, step in ((once._Call, "_course"), (Plan, "begin"), (Plan, "digits"), (Plan, "sort"), (Plan, "finish")):
        with monkeypatch.context() as broken:
            broken.setattr(owner, step, interrupt)
            with pytest.raises(KeyboardInterrupt) as caught:
                ms.msm(points, scalars, backend="cuda")
        held.append(caught.value)
        assert lane.staging._coming == [], "all that was begun has ended"
        assert ms.msm(other, more, backend="cuda") == wanted
        assert ms.msm(points, scalars, backend="cuda") == expected
    assert lane.staging._coming == [], "nobody's memory is kept"


def test_points_of_a_call_that_broke_off_do_not_come_later(shim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever copies them may come late, and somebody may keep the traceback that refers to it all."""
    shim()
    curve = ms.curve("bn254")
    points, others = curve.known_points(60, seed=1), curve.known_points(60, seed=2)
    scalars = curve.random_scalars(60, seed=3)
    ended: list[bool] = []

    class Late:
        def __init__(self, target: Any, row: Any) -> None:
            self.target, self.row, self.copied = target, row.view(np.uint8).reshape(-1), False
            ended.append(False)
            self.number = len(ended) - 1

        def finish(self) -> None:
            if not self.copied:
                self.target[: self.row.size] = self.row
            self.copied = ended[self.number] = True

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(staging._core, "ahead", Late)
    with monkeypatch.context() as broken:
        broken.setattr(Plan, "sort", interrupt)
        with pytest.raises(KeyboardInterrupt) as kept:
            ms.msm(others.data, scalars.data, curve=curve, backend="cuda")
    assert ended == [True], "nothing of a call that broke off is under way"
    assert ms.msm(points.data, scalars.data, curve=curve, backend="cuda") == curve.expected_sum(points, scalars)
    del kept
