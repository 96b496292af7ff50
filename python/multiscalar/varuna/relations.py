"""The equations of the last step: which combination of polynomials has which value at alpha, beta and gamma.

The prover opens these combinations of polynomials, the verifier checks the same ones of commitments, so both take them
from here. Constants of a combination are moved into its value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import scalars
from .domain import Domain
from .indexer import MATRICES, POLYNOMIALS, Info
from .proof import Triple
from .scalars import MODULUS
from .transcript import Challenges

# a polynomial: ("w", circuit, instance), ("mask",), ("h_0",), ("g_1",), ("h_1",), ("g", circuit, matrix),
# ("index", circuit, which of POLYNOMIALS, matrix), ("h_2",)
Name = tuple[str | int, ...]


@dataclass(frozen=True)
class Item:
    """Sum of terms, with its value at the point; `bound` is the degree bound of a single committed polynomial."""

    terms: dict[Name, int]
    value: int
    bound: int | None = None


@dataclass(frozen=True)
class Statement:
    """What the equations are about: the circuits of a batch, all challenges, all messages that are scalars."""

    infos: Sequence[Info]
    challenges: Challenges
    hiding: bool
    sigmas: Sequence[Sequence[Triple]]
    sums: Sequence[Triple]
    g_1_value: int
    g_values: Sequence[Sequence[int]]  # by matrix, then circuit
    x_at_beta: Sequence[Sequence[int]]  # by circuit, then instance

    @property
    def largest(self) -> tuple[Domain, Domain, Domain]:
        """R, C and K of the batch."""
        return largest(self.infos)


def largest(infos: Sequence[Info]) -> tuple[Domain, Domain, Domain]:
    """R, C and K of a batch: the largest of its circuits."""
    return (
        Domain(max(info.r.size for info in infos)),
        Domain(max(info.c.size for info in infos)),
        Domain(max(k.size for info in infos for k in info.k)),
    )


def at_alpha(s: Statement) -> list[Item]:
    """The rows: v_R h_0 is the combined (z_A z_B - z_C)."""
    r, _, _ = s.largest
    alpha = s.challenges.alpha
    constant = 0
    for info, combiner, sigmas in zip(s.infos, s.challenges.combiners, s.sigmas, strict=True):
        rows = sum(t * (a * b - c) for t, (a, b, c) in zip(combiner.instances, sigmas, strict=True))
        constant += combiner.circuit * info.r.selector_at(alpha, r) * rows
    return [Item({("h_0",): -r.vanishing_at(alpha)}, -constant % MODULUS)]


def at_beta(s: Statement) -> list[Item]:
    """The sums over C: g_1, and the combination of masks, witnesses and h_1."""
    _, c, _ = s.largest
    beta = s.challenges.beta
    terms: dict[Name, int] = {("mask",): 1} if s.hiding else {}
    constant = -beta * s.g_1_value
    claimed = 0
    for i, (info, combiner) in enumerate(zip(s.infos, s.challenges.combiners_lineval, strict=True)):
        weight = sum(e * m * k.size for e, m, k in zip(s.challenges.eta, s.sums[i], info.k, strict=True))
        factor = combiner.circuit * info.c.selector_at(beta, c) * weight % MODULUS
        vanishing = info.x.vanishing_at(beta)
        for j, t in enumerate(combiner.instances):
            constant += factor * t * s.x_at_beta[i][j]
            terms["w", i, j] = factor * t * vanishing % MODULUS
            sigma = sum(e * m for e, m in zip(s.challenges.eta, s.sigmas[i][j], strict=True))
            claimed += combiner.circuit * t * sigma
    constant -= claimed * scalars.inverse(c.size)
    terms["h_1",] = -c.vanishing_at(beta)
    return [Item({("g_1",): 1}, s.g_1_value, c.size - 2), Item(terms, -constant % MODULUS)]


def at_gamma(s: Statement) -> list[Item]:
    """The sums over K: every g_M, and the combination of index polynomials and h_2."""
    _, _, k = s.largest
    ch = s.challenges
    items = [
        Item({("g", i, m): 1}, s.g_values[m][i], info.k[m].size - 2)
        for i, info in enumerate(s.infos)
        for m in range(len(MATRICES))
    ]
    terms: dict[Name, int] = {}
    constant = 0
    for i, info in enumerate(s.infos):
        v = info.r.vanishing_at(ch.alpha) * info.c.vanishing_at(ch.beta)
        n = info.r.size * info.c.size
        for m, k_m in enumerate(info.k):
            factor = ch.delta[i][m] * k_m.selector_at(ch.gamma, k) % MODULUS
            inner = -factor * n * (ch.gamma * s.g_values[m][i] + s.sums[i][m]) % MODULUS
            by_name = {"col": -ch.alpha, "row": -ch.beta, "row_col": 1}
            for which, name in enumerate(POLYNOMIALS):
                terms["index", i, which, m] = (inner * by_name[name] if name in by_name else factor * v) % MODULUS
            constant += inner * ch.alpha * ch.beta
    terms["h_2",] = -k.vanishing_at(ch.gamma)
    return [*items, Item(terms, -constant % MODULUS)]


def openings(s: Statement) -> list[tuple[int, list[Item]]]:
    """The three points with their items, in the order of the transcript."""
    ch = s.challenges
    return [(ch.alpha, at_alpha(s)), (ch.beta, at_beta(s)), (ch.gamma, at_gamma(s))]
