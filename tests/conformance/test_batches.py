"""Many vectors at once, shared and own bases, lengths that do not fit, bases used again and again."""

from __future__ import annotations

import multiscalar as ms
import numpy as np
import pytest
from multiscalar.errors import LengthError

from tests.fieldcases import field_case

from .conftest import Engine


@field_case("MI-52")
@pytest.mark.parametrize("batch", [1, 3, 16])
@pytest.mark.parametrize("n", [1, 200])
def test_shared_bases(
    field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray, batch: int, n: int
) -> None:
    backend.needs(n * batch)
    stack = np.stack([curve.random_scalars(n, seed=i).data for i in range(batch)])
    stack[-1] = 0
    expected = [curve.expected_sum(known, vector) for vector in stack]
    bases = backend.bases(known[:n])
    assert bases.msm(stack) == expected
    assert bases.msm(list(stack)) == expected
    assert backend.msm(known[:n], stack) == expected
    assert expected[-1].is_infinity


@field_case("MI-52")
@pytest.mark.parametrize("batch", [1, 3, 16])
@pytest.mark.parametrize("n", [1, 50])
def test_own_bases(field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray, batch: int, n: int) -> None:
    backend.needs(n * batch)
    stack = np.stack([curve.random_scalars(n, seed=i).data for i in range(batch)])
    expected = [curve.expected_sum(known[i * n : (i + 1) * n], vector) for i, vector in enumerate(stack)]
    bases = backend.bases(known[: batch * n])
    assert bases.msm(stack, own_bases=True) == expected
    assert backend.msm(known[: batch * n], stack, own_bases=True) == expected
    with pytest.raises(LengthError, match=rf"{batch * n} scalars in all for {batch * n + 1} bases"):
        backend.bases(known[: batch * n + 1]).msm(stack, own_bases=True)


@field_case("MI-52", "MI-53")
def test_unequal_lengths(field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray) -> None:
    lengths = [0, 1, 7, 60, 33, 2]
    vectors = [curve.random_scalars(n, seed=n) for n in lengths]
    bases = backend.bases(known[:60])
    assert bases.msm(vectors) == [curve.expected_sum(known, vector) for vector in vectors]
    mixed = [np.ones(5, dtype=bool), [1, 2, 3], vectors[2], np.arange(9, dtype=np.uint8)]
    assert bases.msm(mixed) == [
        curve.expected_sum(known, vector) for vector in (np.ones(5, np.uint8), [1, 2, 3], vectors[2], mixed[3])
    ]
    starts = np.cumsum([0, *lengths])
    own = backend.bases(known[: sum(lengths)]).msm(vectors, own_bases=True)
    assert own == [curve.expected_sum(known[a:], vector) for a, vector in zip(starts, vectors, strict=False)]
    assert bases.msm(np.zeros((0, 5, 4), dtype=np.uint64)) == []


@field_case("MI-53", "MI-54")
@pytest.mark.parametrize(("bases", "scalars"), [(4, 5), (0, 3), (1024, 2000), (2**15, 2**15 + 1)])
def test_more_scalars_than_bases(
    field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray, bases: int, scalars: int
) -> None:
    backend.needs(bases)
    vector = curve.random_scalars(scalars)
    with pytest.raises(LengthError, match=rf"{scalars} scalars for {bases} bases"):
        backend.msm(known[:bases], vector)
    with pytest.raises(LengthError, match=rf"{scalars} scalars for {bases} bases"):
        backend.bases(known[:bases]).msm([vector[:0], vector])


@field_case("MI-53", "MI-54")
@pytest.mark.parametrize(("bases", "scalars"), [(5, 4), (3, 0), (2**12, 2**12 - 1), (2**12, 2**12 - 100)])
def test_fewer_scalars_than_bases(
    field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray, bases: int, scalars: int
) -> None:
    backend.needs(bases)
    vector = curve.random_scalars(scalars)
    expected = curve.expected_sum(known, vector)
    assert backend.msm(known[:bases], vector) == expected
    assert backend.bases(known[:bases]).msm(vector) == expected


@field_case("MI-54")
def test_a_pool_of_32_points(field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray) -> None:
    n = 4096
    backend.needs(n)
    points = np.tile(known.data[:32], (n // 32, 1, 1))
    scalars = curve.random_scalars(n)
    total = [0] * 32
    for i, s in enumerate(scalars):
        total[i % 32] += s
    expected = curve.expected_sum(known, [t % curve.r for t in total])
    assert backend.msm(points, scalars, curve=curve) == expected


@field_case("MI-57", "MI-18")
def test_bases_are_reused(field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray) -> None:
    """Forty calls over one preparation, with vectors at offsets of one array; the bases stay as they were."""
    backend.needs(500)
    bases = backend.bases(known[:500])
    prepared, size = bases.backends, bases.nbytes
    pool = curve.random_scalars(700)
    for i in range(40):
        part = pool.data[i : i + 4 * i + 300]
        assert bases.msm(part) == curve.expected_sum(known, part)
    assert (bases.backends, bases.nbytes) == (prepared, size)
    assert bases.backends == (backend.name,)


@field_case("MI-28", "MI-59")
def test_the_result_says_where_it_came_from(
    field_case: str, backend: Engine, curve: ms.Curve, known: ms.PointArray
) -> None:
    n = min(300, backend.most)
    run = backend.msm(known[:n], curve.random_scalars(n)).run
    assert run.backend == backend.name
    assert (run.curve, run.n, run.fallback_reason) == (curve.name, n, None)
    assert run.wall_ns > 0
    assert sum(run.phases_ns.values()) <= 1.05 * run.wall_ns
    if backend.name == "cpu":
        assert run.isa == backend.options["isa"]
        assert 1 <= run.threads <= backend.options["threads"]
        assert run.path in ("straus", "bucket")
