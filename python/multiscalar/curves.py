"""Curve handles: `ms.curve(name)`.

A handle holds the curve's constants as Python integers and makes everything that belongs to the curve: points, arrays
of points and scalars, benchmark inputs with known discrete logarithms, and the oracle of their sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from ._tables import CURVES, CurveTable
from .errors import UnknownCurveError
from .point import Point

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from .arrays import PointArray, ScalarArray
    from .shapes import ScalarShape

__all__ = ["Curve", "curve", "names"]


class Curve:
    """y^2 = x^3 + b over F_p with a subgroup of prime order r. One handle a curve; compare with `is` or `==`."""

    __slots__ = ("_table",)

    def __init__(self, table: CurveTable) -> None:
        """Made by this module only; users call `curve(name)`."""
        self._table = table

    @property
    def name(self) -> str:
        """The canonical name, e.g. "bls12-377"."""
        return self._table.name

    @property
    def group(self) -> str:
        """The group of this handle: "g1"."""
        return "g1"

    @property
    def p(self) -> int:
        """Modulus of the base field."""
        return self._table.p

    @property
    def r(self) -> int:
        """Order of the group, modulus of the scalar field."""
        return self._table.r

    @property
    def b(self) -> int:
        """The constant of the curve equation."""
        return self._table.b

    @property
    def cofactor(self) -> int:
        """Points on the curve divided by r; 1 means that every point is in the subgroup."""
        return self._table.cofactor

    @property
    def limbs(self) -> int:
        """64-bit limbs of a coordinate: L in uint64[n, 2, L]."""
        return self._table.limbs

    @property
    def glv_bits(self) -> int:
        """Bits of the longer half of a scalar that the endomorphism splits."""
        return self._table.glv_bits

    @property
    def codecs(self) -> tuple[str, ...]:
        """Names of the byte encodings that are defined for this curve."""
        return self._table.codecs

    @property
    def generator(self) -> Point:
        """The generator of the subgroup."""
        return Point(self, *self._table.generator)

    @property
    def identity(self) -> Point:
        """The point at infinity."""
        return Point(self, 0, 0)

    def point(self, x: int, y: int) -> Point:
        """The point (x, y), checked to be on the curve; (0, 0) is infinity."""
        return Point.checked(self, x, y)

    def points(
        self, data: object, *, form: str = "canonical", check: str = "curve", assume_subgroup: bool = False
    ) -> PointArray:
        """A `PointArray` of this curve, see there."""
        from .arrays import PointArray

        return PointArray(data, curve=self, form=form, check=check, assume_subgroup=assume_subgroup)

    def scalars(self, data: object, *, form: str = "canonical", reduce: bool = False) -> ScalarArray:
        """A `ScalarArray` of this curve, see there."""
        from .arrays import ScalarArray

        return ScalarArray(data, curve=self, form=form, reduce=reduce)

    def decode(self, data: object, codec: str, *, compressed: bool = True, check: str = "curve") -> PointArray:
        """The points that `data` (bytes-like) holds one after the other in the format `codec` (one of `codecs`).

        Decoding is strict and takes the bytes as hostile. Errors: `EncodingError`, `NotInSubgroupError` with the
        index of the first bad point; `OptionError` for a format that the curve does not have.
        """
        from .codecs import decode

        return decode(self, data, codec, compressed=compressed, check=check)

    def known_points(self, n: int, seed: int = 5090) -> PointArray:
        """n points P_i = (a + i b) G with a, b drawn from `seed`, so that any weighted sum is known beforehand.

        Made by batched affine addition on all threads (2^20 in half a second on two). `.logs` holds a and b. Such
        points are related (P_i + P_j = P_k + P_l when i + j = k + l): `random_points` is the control.
        """
        from .inputs import known_points

        return known_points(self, n, seed)

    def random_points(self, n: int, seed: int = 5090) -> PointArray:
        """n independent points k_i G, every k_i drawn from `seed`; `.logs` holds the k_i. Several times the cost of
        `known_points`."""
        from .inputs import random_points

        return random_points(self, n, seed)

    def random_scalars(self, n: int, seed: int = 5090, shape: str | ScalarShape = "uniform") -> ScalarArray:
        """n scalars of a named shape (`multiscalar.shapes.ScalarShape`), the same on every machine for one seed."""
        from .shapes import random_scalars

        return random_scalars(self, n, seed, shape)

    def expected_sum(self, points: PointArray, scalars: ScalarArray | npt.NDArray[np.uint64] | Any) -> Point:
        """The right answer for points with known logarithms: (sum k_i s_i mod r) G by code apart from the engine.

        The sum of products is exact numpy arithmetic, the one scalar multiplication is plain Python. Errors:
        `InputError` if the points have no known logarithms, `LengthError` for more scalars than points.
        """
        from .inputs import expected_sum

        return expected_sum(self, points, scalars)

    def __repr__(self) -> str:
        return f"ms.curve({self.name!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return curve, (self.name,)


_HANDLES: Final[Mapping[str, Curve]] = MappingProxyType({name: Curve(table) for name, table in CURVES.items()})
_WORDS: Final[Mapping[str, Curve]] = MappingProxyType(
    {word.replace("-", ""): _HANDLES[table.name] for table in CURVES.values() for word in (table.name, *table.aliases)}
)


def curve(name: str | Curve) -> Curve:
    """The handle of a curve by name or alias; case and `_`/`-` do not matter.

    Errors: `UnknownCurveError` with the names there are.
    """
    if isinstance(name, Curve):
        return name
    found = _WORDS.get(str(name).strip().lower().replace("_", "").replace("-", ""))
    if found is None:
        known = ", ".join(
            name + (f" ({', '.join(table.aliases)})" if table.aliases else "") for name, table in CURVES.items()
        )
        raise UnknownCurveError(f"no curve is called {str(name)[:80]!r}", accepted=known)
    return found


def names() -> tuple[str, ...]:
    """Canonical names of all curves."""
    return tuple(_HANDLES)
