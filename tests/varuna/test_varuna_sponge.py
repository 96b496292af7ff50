"""The sponge against published vectors (snarkVM 4.12), and the borders of its calls."""

from __future__ import annotations

from multiscalar.varuna import points
from multiscalar.varuna.scalars import CURVE
from multiscalar.varuna.sponge import Sponge


def test_bytes_vector() -> None:
    sponge = Sponge()
    sponge.absorb_bytes(b"VARUNA-2023")
    assert sponge.challenge() == 366320403061895101660240321358696532704234722635149267024081898599257826848


def test_scalar_vector() -> None:
    sponge = Sponge()
    sponge.absorb_scalars([1])
    assert sponge.challenge() == 1374689501375928659002724876291117228534935480450597048009951160439538098639


def test_scalars_are_packed_within_a_call_only() -> None:
    together, apart = Sponge(), Sponge()
    together.absorb_scalars([1, 2])
    apart.absorb_scalars([1])
    apart.absorb_scalars([2])
    assert together.challenge() != apart.challenge()


def test_points_have_no_borders() -> None:
    g = CURVE.generator
    rows = points.stack([points.row(g.x, g.y), points.row(0, 0)])
    together, apart = Sponge(), Sponge()
    together.absorb_points(rows)
    apart.absorb_points(rows[:1])
    apart.absorb_points(rows[1:])
    assert together.challenges(3) == apart.challenges(3)


def test_a_copy_goes_its_own_way() -> None:
    one = Sponge()
    one.absorb_bytes(b"x")
    two = one.copy()
    assert one.short_challenge() == two.short_challenge() < 1 << 168
    two.absorb_bytes(b"y")
    assert one.challenge() != two.challenge()
