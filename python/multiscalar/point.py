"""Point: one point of a curve, in affine coordinates, as Python integers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import reference
from .errors import CoordinateRangeError, CurveMismatchError, EncodingError, InputTypeError, NotOnCurveError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .curves import Curve
    from .engine.run import Run, RunInfo


class Point:
    """An immutable point (x, y); infinity is (0, 0) with `is_infinity`.

    Results of a multiplication carry `run`, which says where and how they were computed. Arithmetic (`+`, `-`, `*`
    by an int) is plain Python: a convenience, about 2 ms a multiplication. Equality compares curve and coordinates.
    """

    __slots__ = ("_curve", "_is_infinity", "_run", "_x", "_y")

    def __init__(
        self, curve: Curve, x: int, y: int, *, is_infinity: bool | None = None, run: Run | None = None
    ) -> None:
        """Trusts its caller; `Curve.point(x, y)` is the checked way to make a point."""
        self._curve = curve
        self._x = x
        self._y = y
        self._is_infinity = (x == 0 and y == 0) if is_infinity is None else is_infinity
        self._run = run

    @classmethod
    def results(cls, curve: Curve, outcomes: Iterable[tuple[int, int, bool, Run]]) -> list[Point]:
        """Points of a multiplication from (x, y, is_infinity, run): of a batch, so as cheap as they can be made."""
        points, new = [], cls.__new__
        for x, y, is_infinity, run in outcomes:
            point = new(cls)
            point._curve, point._x, point._y, point._is_infinity, point._run = curve, x, y, is_infinity, run
            points.append(point)
        return points

    @classmethod
    def checked(cls, curve: Curve, x: int, y: int) -> Point:
        """(x, y) on `curve`, or `CoordinateRangeError`, `NotOnCurveError`. (0, 0) is infinity."""
        plain = []
        for name, value in (("x", x), ("y", y)):
            if not isinstance(value, int):
                raise InputTypeError(f"coordinate {name} is a {type(value).__name__}", accepted="int")
            plain.append(int.__index__(value))  # whatever a subclass makes of its methods
            if not 0 <= plain[-1] < curve.p:
                raise CoordinateRangeError(
                    f"{name} = {shown(value)} is no coordinate of {curve.name}",
                    accepted=f"0 <= {name} < p = {curve.p:#x}",
                )
        x, y = plain
        if (x or y) and not reference.on_curve((x, y), curve.p, curve.b):
            raise NotOnCurveError(
                f"({x:#x}, {y:#x}) is not on {curve.name}",
                accepted=f"y^2 = x^3 + {curve.b} mod p, or (0, 0) for infinity",
                hint="Check the curve and the form of the coordinates.",
            )
        return cls(curve, x, y)

    @classmethod
    def from_bytes(
        cls, data: object, codec: str, *, curve: str | Curve, compressed: bool = True, check: str = "curve"
    ) -> Point:
        """The one point that `data` encodes, see `Curve.decode`."""
        from .curves import curve as find_curve

        points = find_curve(curve).decode(data, codec, compressed=compressed, check=check)
        if len(points) != 1:
            raise EncodingError(f"the bytes hold {len(points)} points", accepted="one point")
        return points[0]

    def to_bytes(self, codec: str, *, compressed: bool = True) -> bytes:
        """This point in a named format (`Curve.codecs`), e.g. "zcash" for BLS12-381."""
        return self._curve.points([self], check="none").to_bytes(codec, compressed=compressed)

    @property
    def curve(self) -> Curve:
        """The curve."""
        return self._curve

    @property
    def x(self) -> int:
        """x in canonical form; 0 at infinity."""
        return self._x

    @property
    def y(self) -> int:
        """y in canonical form; 0 at infinity."""
        return self._y

    @property
    def is_infinity(self) -> bool:
        """Whether this is the identity of the group."""
        return self._is_infinity

    @property
    def run(self) -> RunInfo | None:
        """Where and how this point was computed; None if it was not the result of a multiplication."""
        run = self._run
        if callable(run):  # it was left to be written down until now
            run = self._run = run()
        return run

    @property
    def affine(self) -> tuple[int, int] | None:
        """(x, y), or None at infinity: the form of `multiscalar.reference`."""
        return None if self._is_infinity else (self._x, self._y)

    def _like(self, affine: tuple[int, int] | None) -> Point:
        x, y = affine or (0, 0)
        return Point(self._curve, x, y, is_infinity=affine is None)

    def _other(self, other: Point) -> tuple[int, int] | None:
        if other._curve is not self._curve:
            raise CurveMismatchError(
                f"a point of {self._curve.name} and a point of {other._curve.name} have no sum",
                accepted="points of one curve",
            )
        return other.affine

    def __add__(self, other: object) -> Point:
        if not isinstance(other, Point):
            return NotImplemented
        return self._like(reference.add(self.affine, self._other(other), self._curve.p))

    def __sub__(self, other: object) -> Point:
        if not isinstance(other, Point):
            return NotImplemented
        return self._like(
            reference.add(self.affine, reference.negate(self._other(other), self._curve.p), self._curve.p)
        )

    def __neg__(self) -> Point:
        return self._like(reference.negate(self.affine, self._curve.p))

    def __mul__(self, k: object) -> Point:
        if not hasattr(k, "__index__"):
            return NotImplemented
        return self._like(reference.multiply(k.__index__(), self.affine, self._curve.p))

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Point):
            return NotImplemented
        return (self._curve.name, self._is_infinity, self._x, self._y) == (
            other._curve.name,
            other._is_infinity,
            other._x,
            other._y,
        )

    def __hash__(self) -> int:
        return hash((self._curve.name, self._is_infinity, self._x, self._y))

    def __repr__(self) -> str:
        if self._is_infinity:
            return f"Point({self._curve.name}, infinity)"
        return f"Point({self._curve.name}, x={self._x:#x}, y={self._y:#x})"

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickle, (self._curve.name, self._x, self._y, self._is_infinity, self.run)


def _unpickle(name: str, x: int, y: int, is_infinity: bool, run: RunInfo | None) -> Point:
    from .curves import curve

    return Point(curve(name), x, y, is_infinity=is_infinity, run=run)
