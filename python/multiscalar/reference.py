"""Plain curve arithmetic on Python integers: the reference that every fast path is compared with.

Curves y^2 = x^3 + b over F_p (a = 0). Points are (x, y) or None for infinity. Nothing here is shared with the
native core. Cost: an addition is one inversion mod p (tens of microseconds), a multiplication about 2 ms (Jacobian
double-and-add). Source: Guide to ECC (Hankerson, Menezes, Vanstone), section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable

Affine = tuple[int, int] | None


def on_curve(point: Affine, p: int, b: int) -> bool:
    """Whether the point satisfies y^2 = x^3 + b; infinity does."""
    return point is None or (point[1] * point[1] - point[0] ** 3 - b) % p == 0


def negate(point: Affine, p: int) -> Affine:
    """-P."""
    return None if point is None else (point[0], -point[1] % p)


def add(left: Affine, right: Affine, p: int) -> Affine:
    """P + Q by the affine formulas, all special cases included."""
    if left is None or right is None:
        return left or right
    if left[0] == right[0]:
        if (left[1] + right[1]) % p == 0:
            return None
        slope = 3 * left[0] * left[0] * pow(2 * left[1], -1, p)
    else:
        slope = (right[1] - left[1]) * pow(right[0] - left[0], -1, p)
    x = (slope * slope - left[0] - right[0]) % p
    return x, (slope * (left[0] - x) - left[1]) % p


def _double(point: tuple[int, int, int], p: int) -> tuple[int, int, int]:
    """2P in Jacobian coordinates, a = 0 (dbl-2009-l)."""
    x, y, z = point
    yy = y * y % p
    s = 4 * x * yy % p
    m = 3 * x * x % p
    out = (m * m - 2 * s) % p
    return out, (m * (s - out) - 8 * yy * yy) % p, 2 * y * z % p


def _add_affine(point: tuple[int, int, int], other: tuple[int, int], p: int) -> tuple[int, int, int]:
    """Jacobian + affine (madd), all special cases included."""
    x, y, z = point
    if z == 0:
        return other[0], other[1], 1
    zz = z * z % p
    h = (other[0] * zz - x) % p
    r = (other[1] * zz * z - y) % p
    if h == 0:
        return _double(point, p) if r == 0 else (1, 1, 0)
    hh = h * h % p
    hhh = h * hh % p
    v = x * hh % p
    out = (r * r - hhh - 2 * v) % p
    return out, (r * (v - out) - y * hhh) % p, z * h % p


def multiply(k: int, point: Affine, p: int) -> Affine:
    """k * P for any integer k, by double-and-add from the top bit."""
    if point is None or k == 0:
        return None
    if k < 0:
        k, point = -k, (point[0], -point[1] % p)
    total = (1, 1, 0)
    for bit in bin(k)[2:]:
        total = _double(total, p)
        if bit == "1":
            total = _add_affine(total, point, p)
    return _affine(total, p)


def total(points: Iterable[Affine], p: int) -> Affine:
    """The sum of points: like `add`, but with one inversion for all of them."""
    summed = (1, 1, 0)
    for point in points:
        if point is not None:
            summed = _add_affine(summed, point, p)
    return _affine(summed, p)


def _affine(point: tuple[int, int, int], p: int) -> Affine:
    """Jacobian to affine, one inversion."""
    x, y, z = point
    if z == 0:
        return None
    inverse = pow(z, -1, p)
    square = inverse * inverse % p
    return x * square % p, y * square * inverse % p


def msm(points: Iterable[Affine], scalars: Iterable[int], p: int) -> Affine:
    """Sum of s_i * P_i, term by term."""
    total: Affine = None
    for point, scalar in zip(points, scalars, strict=True):
        total = add(total, multiply(scalar, point, p), p)
    return total
