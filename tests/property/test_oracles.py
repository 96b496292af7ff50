"""Random sums against independent libraries: plain Python integers, py_ecc, py-arkworks-bls12381."""

from __future__ import annotations

import multiscalar as ms
import py_arkworks_bls12381 as ark
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from multiscalar import curves, reference
from py_ecc import bls12_381 as ecc_bls
from py_ecc import bn128 as ecc_bn

FEW = settings(max_examples=40, deadline=None)


def awkward(modulus: int) -> st.SearchStrategy[int]:
    """Integers below the modulus, with a liking for edges, small ones and single bits."""
    edges = st.sampled_from([0, 1, 2, modulus - 1, modulus - 2, modulus // 2, modulus // 2 + 1])
    bits = st.integers(0, modulus.bit_length() - 2).flatmap(lambda k: st.sampled_from([1 << k, (1 << k) - 1]))
    return st.one_of(edges, bits, st.integers(0, 300), st.integers(0, modulus - 1))


@st.composite
def sums(draw: st.DrawFn, name: str) -> tuple[ms.Curve, list[int], list[int]]:
    """A curve, logarithms of points from a small pool (so that points repeat, oppose and vanish), scalars."""
    curve = ms.curve(name)
    pool = draw(st.lists(awkward(curve.r), min_size=1, max_size=6))
    pool += [curve.r - k if k else 0 for k in pool]
    logs = draw(st.lists(st.sampled_from(pool), max_size=70))
    scalars = draw(st.lists(awkward(curve.r), min_size=len(logs), max_size=len(logs)))
    return curve, logs, scalars


def points_of(curve: ms.Curve, logs: list[int]) -> list[ms.Point]:
    cache = {k: k * curve.generator for k in set(logs)}
    return [cache[k] for k in logs]


@pytest.mark.parametrize("name", curves.names())
def test_plain_integers(name: str) -> None:
    @FEW
    @given(sums(name), st.sampled_from([None, "straus", "bucket"]), st.sampled_from([1, 3]))
    def check(case: tuple[ms.Curve, list[int], list[int]], path: str | None, threads: int) -> None:
        curve, logs, scalars = case
        total = sum(k * s for k, s in zip(logs, scalars, strict=True)) % curve.r
        points = points_of(curve, logs)
        found = ms.msm(points, scalars, curve=curve, backend="cpu", path=path, threads=threads)
        assert found.affine == reference.multiply(total, curve.generator.affine, curve.p)

    check()


@pytest.mark.parametrize("name", curves.names())
def test_one_inversion_for_all_is_the_same_sum(name: str) -> None:
    @FEW
    @given(sums(name))
    def check(case: tuple[ms.Curve, list[int], list[int]]) -> None:
        curve, logs, _ = case
        points = [point.affine for point in points_of(curve, logs)]
        expected = None
        for point in points:
            expected = reference.add(expected, point, curve.p)
        assert reference.total(points, curve.p) == expected

    check()


@pytest.mark.parametrize("name", curves.names())
def test_linearity(name: str) -> None:
    """msm(P, s + t) = msm(P, s) + msm(P, t); msm(P ++ Q, s ++ t) = msm(P, s) + msm(Q, t); order does not matter."""

    @FEW
    @given(sums(name), st.randoms(use_true_random=False))
    def check(case: tuple[ms.Curve, list[int], list[int]], random: object) -> None:
        curve, logs, scalars = case
        points = points_of(curve, logs)
        bases = ms.Bases(points, curve=curve, backend="cpu")
        whole = bases.msm(scalars)
        others = [(s * s + 1) % curve.r for s in scalars]
        both = [(s + t) % curve.r for s, t in zip(scalars, others, strict=True)]
        assert bases.msm(both) == whole + bases.msm(others)
        cut = len(logs) // 3
        left = ms.msm(points[:cut], scalars[:cut], curve=curve)
        assert left + ms.msm(points[cut:], scalars[cut:], curve=curve) == whole
        order = sorted(range(len(logs)), key=lambda i: (scalars[i], i))
        assert ms.msm([points[i] for i in order], [scalars[i] for i in order], curve=curve) == whole

    check()


@FEW
@given(sums("bn254"))
def test_py_ecc_bn254(case: tuple[ms.Curve, list[int], list[int]]) -> None:
    curve, logs, scalars = case
    logs, scalars = logs[:4], scalars[:4]
    total = None
    for k, s in zip(logs, scalars, strict=True):
        total = ecc_bn.add(total, ecc_bn.multiply(ecc_bn.multiply(ecc_bn.G1, k), s))
    found = ms.msm(points_of(curve, logs), scalars, curve=curve)
    assert found.affine == (None if total is None else (int(total[0]), int(total[1])))


@settings(max_examples=15, deadline=None)
@given(sums("bls12-381"))
def test_py_ecc_bls12_381(case: tuple[ms.Curve, list[int], list[int]]) -> None:
    curve, logs, scalars = case
    logs, scalars = logs[:3], scalars[:3]
    total = None
    for k, s in zip(logs, scalars, strict=True):
        total = ecc_bls.add(total, ecc_bls.multiply(ecc_bls.multiply(ecc_bls.G1, k), s))
    found = ms.msm(points_of(curve, logs), scalars, curve=curve)
    assert found.affine == (None if total is None else (int(total[0]), int(total[1])))


def compressed(point: ms.Point) -> bytes:
    """The usual 48 bytes of a BLS12-381 G1 point, written here from its definition."""
    if point.is_infinity:
        return bytes([0xC0]) + bytes(47)
    sign = point.y > (point.curve.p - 1) // 2
    data = bytearray(point.x.to_bytes(48, "big"))
    data[0] |= 0x80 | (0x20 if sign else 0)
    return bytes(data)


@FEW
@given(sums("bls12-381"))
def test_arkworks(case: tuple[ms.Curve, list[int], list[int]]) -> None:
    curve, logs, scalars = case
    if not logs:
        return
    generator = ark.G1Point()
    points = [generator * ark.Scalar.from_le_bytes(k.to_bytes(32, "little")) for k in logs]
    total = ark.G1Point.multiexp_unchecked(
        points, [ark.Scalar.from_le_bytes(s.to_bytes(32, "little")) for s in scalars]
    )
    found = ms.msm(points_of(curve, logs), scalars, curve=curve)
    assert compressed(found) == bytes(total.to_compressed_bytes())
