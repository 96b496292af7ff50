"""Options: an argument wins over every setting, and a backend asked for by name honours an option or refuses it."""

from __future__ import annotations

from typing import Any

import multiscalar as ms
import numpy as np
import pytest
from multiscalar import _core
from multiscalar.engine import registry
from multiscalar.engine.backend import Availability, Choice, Request
from multiscalar.engine.precompute import checked, parse_budget
from multiscalar.errors import BackendUnavailableError, OptionError

CURVE = ms.curve("bn254")
POINTS, SCALARS = CURVE.known_points(9000), CURVE.random_scalars(9000)


def threads_of(points: list[ms.Point]) -> set[int]:
    return {point.run.threads for point in points}


def test_threads_of_an_argument_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULTISCALAR_THREADS", "2")
    assert ms.msm(POINTS, SCALARS, backend="cpu").run.threads == 2
    assert ms.msm(POINTS, SCALARS, backend="cpu", threads=1).run.threads == 1
    assert threads_of(ms.msm(POINTS, [SCALARS, SCALARS], backend="cpu", threads=1)) == {1}
    bases = ms.Bases(POINTS, backend="cpu", threads=1)
    assert bases.msm(SCALARS).run.threads == 1
    assert bases.msm(SCALARS, threads=2).run.threads == 2
    with ms.using(threads=2):
        assert threads_of(bases.msm([SCALARS, SCALARS])) == {1}
    assert ms.Bases(POINTS, backend="cpu").msm(SCALARS, threads=1).run.threads == 1


def test_threads_in_force_when_bases_were_prepared_are_the_last_resort() -> None:
    with ms.using(threads=1):
        bases = ms.Bases(POINTS, backend="cpu")
    assert bases.msm(SCALARS).run.threads == 1
    with ms.using(threads=2):
        assert bases.msm(SCALARS).run.threads == 2


class Policy:
    """Chooses the CPU and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    def choose(self, request: Request) -> Choice:
        self.asked.append(request)
        return Choice("cpu", "by the test")


def test_auto_as_an_argument_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy()
    monkeypatch.setattr(registry, "_chooser", [policy])
    few, ones = POINTS[:3], [1, 1, 1]
    monkeypatch.setenv("MULTISCALAR_BACKEND", "cuda")
    monkeypatch.setattr(registry, "require", refuse_cuda)
    assert ms.msm(few, ones, backend="auto").run.choice == "by the test"
    assert ms.msm(few, [ones, ones], backend="auto")[1].run.choice == "by the test"
    bases = ms.Bases(few, backend="auto", threads=1)
    assert bases.msm(ones).run.choice == "by the test"
    assert policy.asked[-1].threads == policy.asked[-2].threads == 1, "when bases are prepared as when they are used"
    with pytest.raises(BackendUnavailableError):
        ms.Bases(few)
    monkeypatch.delenv("MULTISCALAR_BACKEND")
    later = ms.Bases(few)
    with ms.using(backend="cuda"), pytest.raises(BackendUnavailableError):
        later.msm(ones)


def refuse_cuda(name: str) -> Any:
    if name != "cpu":
        raise BackendUnavailableError(f"{name} was asked for")
    return registry.load(name)


@pytest.mark.parametrize(
    ("option", "value"),
    [("devices", [99]), ("devices", [0]), ("precompute", 4), ("precompute", "2GiB")],
)
def test_cpu_refuses_what_it_cannot_honour(option: str, value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_chooser", [Policy()])
    with pytest.raises(OptionError, match=f"{option}.*cpu"):
        ms.Bases(POINTS[:4], backend="cpu", **{option: value})
    assert ms.Bases(POINTS[:4], backend="auto", **{option: value}).msm([1, 1]) == POINTS[0] + POINTS[1]
    if option == "devices":
        with pytest.raises(OptionError, match=r"devices.*cpu"):
            ms.msm(POINTS[:4], [1], backend="cpu", devices=value)


@pytest.mark.parametrize("value", [1, "1", "auto", None])
def test_one_table_is_none(value: object) -> None:
    assert ms.Bases(POINTS[:4], backend="cpu", precompute=value).msm([1]) == POINTS[0]


def test_cuda_refuses_to_be_told_of_the_endomorphism(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry.load("cuda"), "availability", lambda: Availability(True))
    with pytest.raises(OptionError, match=r"endomorphism.*cuda"):
        ms.msm(POINTS[:4], [1], backend="cuda", endomorphism=False)


@pytest.mark.parametrize(
    "value",
    [0, 65, -1, True, 1.5, "banana", "1.2.3", "1e3", "", "-1GiB", "2 XB", "9" * 400 + "G", "0", "99", b"2GiB", [2]],
    ids=lambda value: str(value)[:8],
)
def test_tables_that_mean_nothing(value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """On every backend, chosen or asked for: the mistake is the caller's, wherever the sum is computed."""
    monkeypatch.setattr(registry, "_chooser", [Policy()])
    for backend in ("auto", "cpu"):
        with pytest.raises(OptionError, match=r"precompute.*2GiB"):
            ms.Bases(POINTS[:4], backend=backend, precompute=value)


def test_tables_as_they_may_be_written() -> None:
    assert [checked(value) for value in (None, 1, 64, "4", " auto ", "2GiB")] == [None, 1, 64, 4, "auto", "2GiB"]
    assert [parse_budget(text) for text in ("512MiB", "2 GB", "1.5g", "1000", "1000B", "1T")] == [
        512 << 20, 2 << 30, 3 << 29, 1000, 1000, 1 << 40,
    ]  # fmt: skip


@pytest.mark.parametrize("value", [0, "0", [-1], [], [True], [1.0], ["0"], object()])
def test_devices_that_are_none(value: object) -> None:
    with pytest.raises(OptionError, match="devices"):
        ms.msm(POINTS[:2], [1, 1], devices=value)


def test_own_bases_are_parts_of_one_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bases are prepared once, also where vectors use parts of them, with infinities wherever they lie."""
    data = POINTS.data[:9000].copy()
    data[[0, 17, 4000, 8999]] = 0
    lengths = [1, 16, 0, 4000, 4983]
    bases = ms.Bases(data, curve=CURVE, backend="cpu")
    monkeypatch.setattr(_core, "prepare", None)
    vectors = [CURVE.random_scalars(n, seed=n) for n in lengths]
    found = bases.msm(vectors, own_bases=True, threads=1)
    starts = np.cumsum([0, *lengths])
    for sum_, vector, start in zip(found, vectors, starts, strict=False):
        plain = vector.data.copy()
        plain[(data[start : start + len(vector)] == 0).all(axis=(1, 2))] = 0
        assert sum_ == CURVE.expected_sum(POINTS[start : start + len(vector)], plain)
        assert sum_.run.threads == 1
