"""KZG commitments with degree bounds and hiding, after Sonic.

A bound d is enforced by committing over the last d + 1 powers of the setup, beta^(D - d) .. beta^D, which the verifier
pairs with beta^-(D - d) H. Blinding uses the powers of beta times gamma G at the same offset.
Source: Sonic (eprint 2019/099), Marlin (eprint 2019/1047) appendix B.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..engine.api import Bases, msm
from . import points
from .clock import ran
from .points import Points
from .polynomial import Polynomial
from .scalars import CURVE, Vector
from .srs import HIDING_POWERS, Srs

Bound = int | None


@dataclass(frozen=True)
class CommitterKey:
    """Prepared bases: the plain ones, and one set for every degree bound."""

    srs: Srs
    plain: Points
    bases: dict[Bound, Bases]

    @classmethod
    def of(cls, srs: Srs, count: int, bounds: Iterable[int]) -> CommitterKey:
        """For polynomials of at most `count` coefficients, and for the degree bounds given."""
        rows: dict[Bound, Points] = {None: np.concatenate([srs.hiding(0), srs.powers(count)])}
        for bound in sorted(set(bounds)):
            rows[bound] = np.concatenate([srs.hiding(srs.max_degree - bound), srs.shifted(bound)])
        # the setup's points are known to be in the subgroup: by checksum, or made here
        prepared = {b: Bases(r, curve=CURVE, check="none", assume_subgroup=True) for b, r in rows.items()}
        return cls(srs, rows[None], prepared)

    @classmethod
    def union(cls, keys: Sequence[CommitterKey]) -> CommitterKey:
        """One key for several circuits over the same setup."""
        longest = max(keys, key=lambda key: len(key.plain))
        merged = {bound: bases for key in keys for bound, bases in key.bases.items()}
        return cls(longest.srs, longest.plain, {**merged, None: longest.bases[None]})

    def commit(self, polynomials: Sequence[tuple[Polynomial, Bound]]) -> Points:
        """One commitment each. Those over the same bases are multiplied in one call."""
        out = points.empty(len(polynomials))
        for bound in {bound for _, bound in polynomials}:
            chosen = [i for i, (_, b) in enumerate(polynomials) if b == bound]
            vectors = [polynomials[i][0].slots for i in chosen]
            for i, result in zip(chosen, self.bases[bound].msm(vectors, scalar_form="montgomery"), strict=True):
                out[i] = points.row(result.x, result.y)[0]
                ran(result.run)
        return out

    def commit_sparse(self, places: npt.NDArray[np.int64], coefficients: Vector) -> Points:
        """The commitment to a polynomial of few terms, by the places of its coefficients: always on the CPU."""
        result = msm(
            np.ascontiguousarray(self.plain[places + HIDING_POWERS]), coefficients, curve=CURVE,
            scalar_form="montgomery", check="none", assume_subgroup=True, backend="cpu",
        )  # fmt: skip
        return points.row(result.x, result.y)
