"""Vectors over the scalar field against Python integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multiscalar.varuna import scalars
from multiscalar.varuna.domain import Domain, elements, size_for
from multiscalar.varuna.scalars import MODULUS

element = st.integers(0, MODULUS - 1)
vectors = st.lists(element, min_size=1, max_size=40)


@settings(deadline=None)
@given(vectors, element)
def test_round_trip_and_arithmetic(values: list[int], k: int) -> None:
    v = scalars.vector(values)
    assert scalars.integers(v) == values
    doubled = v.copy()
    scalars.add(doubled, v)
    scalars.scale(doubled, k)
    scalars.subtract(doubled, v)
    scalars.add_scaled(doubled, k, v)
    scalars.add_constant(doubled, 7)
    expected = [(3 * k * x - x) % MODULUS for x in values]
    expected[0] = (expected[0] + 7) % MODULUS
    assert scalars.integers(doubled) == expected
    assert scalars.dot(v, v) == sum(x * x for x in values) % MODULUS


@settings(deadline=None)
@given(st.lists(st.integers(1, MODULUS - 1), min_size=1, max_size=20))
def test_inverses(values: list[int]) -> None:
    v = scalars.vector(values)
    scalars.invert(v)
    assert scalars.integers(v) == [pow(x, -1, MODULUS) for x in values]


def test_zero_has_no_inverse() -> None:
    with pytest.raises(ValueError, match="element 2"):
        scalars.invert(scalars.vector([1, 2, 0, 4]))


@settings(deadline=None)
@given(vectors, element)
def test_evaluation_and_division(values: list[int], z: int) -> None:
    p = scalars.vector(values)
    value = sum(c * pow(z, i, MODULUS) for i, c in enumerate(values)) % MODULUS
    assert scalars.evaluate(p, z) == value
    quotient = p.copy()
    assert scalars.divide_linear(quotient, z) == value
    q = scalars.integers(quotient)
    product = [-z * q[0], *(q[i] - z * q[i + 1] for i in range(len(q) - 1))]
    product[0] += value
    assert [c % MODULUS for c in product] == values


@pytest.mark.parametrize("log", [0, 1, 3, 6])
def test_transform_is_evaluation_on_the_domain(log: int) -> None:
    n = 1 << log
    p = scalars.powers(3, n, first=5)
    values = p.copy()
    scalars.transform(values)
    assert scalars.integers(values) == [scalars.evaluate(p, w) for w in scalars.integers(elements(n))]
    scalars.interpolate(values)
    assert np.array_equal(values, p)


def test_canonical_values_are_checked() -> None:
    limbs = np.frombuffer(MODULUS.to_bytes(32, "little"), np.uint64).reshape(1, 4)
    with pytest.raises(ValueError, match="scalar 0"):
        scalars.from_canonical(limbs)


def test_changed_and_read_vectors_must_not_overlap() -> None:
    v = scalars.vector([1, 2, 3])
    with pytest.raises(ValueError, match="overlaps"):
        scalars.native.add(v, v, 1)
    with pytest.raises(ValueError, match="overlaps"):
        scalars.native.add(v[:2], v[1:], 1)


def test_threads_do_not_change_results() -> None:
    import multiscalar as ms

    p = scalars.powers(7, 1 << 13)
    results = []
    for count in (1, 2, 5):
        with ms.using(threads=count):
            values = p.copy()
            scalars.transform(values)
            scalars.invert(values)
            results.append((values, scalars.evaluate(p, 11)))
    assert all(np.array_equal(results[0][0], other) and value == results[0][1] for other, value in results)


@pytest.mark.parametrize(("count", "size"), [(0, 1), (1, 1), (2, 2), (3, 4), (1024, 1024), (1025, 2048)])
def test_domain_sizes(count: int, size: int) -> None:
    assert size_for(count) == size


def test_lagrange_and_selectors() -> None:
    small, large, x = Domain(8), Domain(32), 123456789
    lagrange = small.lagrange_at(x)
    p = scalars.powers(5, 8)
    values = p.copy()
    scalars.transform(values)
    assert scalars.dot(lagrange, values) == scalars.evaluate(p, x)
    expected = 8 * (pow(x, 32, MODULUS) - 1) * pow(32 * (pow(x, 8, MODULUS) - 1), -1, MODULUS) % MODULUS
    assert small.selector_at(x, large) == expected
    assert small.selector_at(x, small) == 1
    assert small.contains(small.root)
    assert not small.contains(x)
