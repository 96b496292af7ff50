"""Plain-Python curve arithmetic for the test peers: slow, short, and by nobody's fast code."""

from __future__ import annotations

from multiscalar._tables import CURVES

Point = tuple[int, int] | None


def add(curve: str, a: Point, b: Point) -> Point:
    """Affine addition; None is infinity."""
    if a is None or b is None:
        return b if a is None else a
    p = CURVES[curve].p
    if a[0] == b[0]:
        if (a[1] + b[1]) % p == 0:
            return None
        slope = 3 * a[0] * a[0] * pow(2 * a[1], -1, p) % p
    else:
        slope = (b[1] - a[1]) * pow(b[0] - a[0], -1, p) % p
    x = (slope * slope - a[0] - b[0]) % p
    return x, (slope * (a[0] - x) - a[1]) % p


def multiply(curve: str, scalar: int, point: Point) -> Point:
    """Double and add."""
    total: Point = None
    while scalar:
        if scalar & 1:
            total = add(curve, total, point)
        point, scalar = add(curve, point, point), scalar >> 1
    return total


def msm(curve: str, points: list[Point], scalars: list[int]) -> Point:
    """The sum, term by term."""
    total: Point = None
    for point, scalar in zip(points, scalars, strict=True):
        total = add(curve, total, multiply(curve, scalar, point))
    return total
