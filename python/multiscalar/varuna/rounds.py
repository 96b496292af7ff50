"""The five rounds of the prover, as functions from polynomials and challenges to polynomials.

Nothing here commits or talks to the transcript (`prover` does). Quotients by X^n - 1 are taken on the coset 22 * H,
where that polynomial is constant, at the size of the domain itself instead of twice it.
Cost in transforms: round 1 one of |C|; round 2 per circuit and instance five of |R| and one; round 3 five of |C|;
round 4 three of |K|; round 5 three of |K| and one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..errors import CircuitError
from . import scalars
from .domain import Domain, elements
from .indexer import COSET, ZK_VARIABLES, Index, from_coset, on_coset, positions
from .polynomial import Polynomial
from .proof import Triple
from .r1cs import Assignment
from .randomness import Randomness
from .scalars import MODULUS, Vector
from .transcript import Challenges, Combiner

MASK_QUOTIENT = 4  # coefficients of h and g in the mask (X^|C| - 1) h + g; g_0 = 0, so the mask sums to zero
MASK_REMAINDER = 6


@dataclass
class Instance:
    """One assignment: its public inputs, and what it is over the domains."""

    public: Vector  # padded
    z: Vector  # values over C
    z_coefficients: Vector
    w: Polynomial
    products: tuple[Vector, Vector, Vector]  # A z, B z, C z over R


@dataclass
class Work:
    """One circuit of the batch while it is proven."""

    index: Index
    instances: list[Instance]
    inverse_rows: Vector = field(default_factory=lambda: scalars.empty(0))  # 1 / (alpha - r), r in R
    at_alpha: tuple[Vector, ...] = ()  # M(alpha, c), c in C
    fractions: list[Vector] = field(default_factory=list)  # f_M by coefficients


def start(index: Index, assignment: Assignment, random: Randomness) -> Instance:
    """Round 1: the assignment over C, its products over R, and w = (z - x) / v_X.

    Errors: `CircuitError` with the row that is not satisfied.
    """
    info, circuit = index.info, index.circuit
    if (len(assignment.public), len(assignment.private)) != (circuit.public, circuit.private):
        raise CircuitError(
            f"an assignment of {len(assignment.public)} public and {len(assignment.private)} private values",
            accepted=f"{circuit.public} and {circuit.private}",
        )
    if scalars.integer(assignment.public, 0) != 1:
        raise CircuitError("public input 0 is not the constant 1", index=0)
    public = scalars.padded(assignment.public, info.public)
    place = positions(info.public, info.variables, info.c.size)
    z = scalars.zeros(info.c.size)
    z[place[: info.public]] = public
    z[place[info.public : info.public + circuit.private]] = assignment.private
    if index.hiding:
        one, two = random.scalar(), random.scalar()
        z[place[-ZK_VARIABLES:]] = scalars.vector([one, two, one * two])
    products = _products(index, z)
    coefficients = z.copy()
    scalars.interpolate(coefficients)
    return Instance(public, z, coefficients, _witness(coefficients, public), products)


def _products(index: Index, z: Vector) -> tuple[Vector, Vector, Vector]:
    a, b, c = (scalars.empty(index.info.r.size) for _ in range(3))
    for matrix, out in zip(index.products, (a, b, c), strict=True):
        matrix.multiply(z, out, scalars.threads())
    left = a.copy()
    scalars.multiply(left, b)
    if not np.array_equal(left, c):
        row = int(np.flatnonzero((left != c).any(axis=1))[0])
        raise CircuitError(f"the assignment does not satisfy row {row}: (A z)(B z) differs from C z", index=row)
    return a, b, c


def _witness(z: Vector, public: Vector) -> Polynomial:
    x = public.copy()
    scalars.interpolate(x)
    difference = z.copy()
    scalars.subtract(difference, x)
    quotient, _ = scalars.divide_vanishing(difference, len(public))
    return Polynomial.of(quotient)


def mask(c: Domain, random: Randomness) -> tuple[Vector, Vector]:
    """Quotient h and remainder g of a random mask that sums to zero over C."""
    remainder = random.vector(MASK_REMAINDER)
    remainder[0] = 0
    return random.vector(MASK_QUOTIENT), remainder


def rowcheck(work: Sequence[Work], combiners: Sequence[Combiner], r: Domain) -> Polynomial:
    """Round 2: h_0 = sum c_i |R_i| / |R| sum t_ij (z_A z_B - z_C) / v_{R_i}."""
    h_0 = Polynomial.zeros(r.size - 1)
    for one, combiner in zip(work, combiners, strict=True):
        own = one.index.info.r
        product, remainder = scalars.zeros(own.size), scalars.zeros(own.size)
        for t, instance in zip(combiner.instances, one.instances, strict=True):
            a, b, c = instance.products
            for values in (a, b):
                scalars.interpolate(values)
            left = on_coset(a)
            scalars.multiply(left, on_coset(b))
            scalars.add_scaled(product, t, left)
            scalars.add_scaled(remainder, t, c)
        scalars.interpolate(remainder)
        quotient = _quotient(product, remainder)
        factor = combiner.circuit * own.size * scalars.inverse(r.size)
        scalars.add_scaled(h_0.coefficients, factor, quotient[: own.size - 1])
    return h_0


def _quotient(product: Vector, remainder: Vector) -> Vector:
    """q of p = q (X^n - 1) + r, from the values of p on the coset and the coefficients of r; both are overwritten.

    On 22 H, X^n is the constant 22^n; there p and q (22^n - 1) + r are one polynomial of degree below n.
    """
    from_coset(product)
    scalars.subtract(product, remainder)
    scalars.scale(product, scalars.inverse(pow(COSET, len(product), MODULUS) - 1))
    return product


def sums_at_alpha(work: Sequence[Work], alpha: int) -> tuple[tuple[Triple, ...], ...]:
    """Round 3a: M(alpha, X) over C for every matrix, and sigma_M = sum over C of M(alpha, X) z(X)."""
    result = []
    for one in work:
        info = one.index.info
        inverses = elements(info.r.size).copy()
        scalars.subtract_from(alpha, inverses)
        scalars.invert(inverses)
        one.inverse_rows = inverses
        lagrange = inverses.copy()
        scalars.multiply(lagrange, elements(info.r.size))
        scalars.scale(lagrange, info.r.vanishing_at(alpha) * scalars.inverse(info.r.size))
        rows = np.ascontiguousarray(lagrange[: info.constraints])
        vectors = []
        for matrix in one.index.transposed:
            out = scalars.empty(info.c.size)
            matrix.multiply(rows, out, scalars.threads())
            vectors.append(out)
        one.at_alpha = tuple(vectors)
        a, b, c = vectors
        result.append(tuple((scalars.dot(a, i.z), scalars.dot(b, i.z), scalars.dot(c, i.z)) for i in one.instances))
    return tuple(result)


def lineval(
    work: Sequence[Work], challenges: Challenges, c: Domain, masked: tuple[Vector, Vector] | None
) -> tuple[Polynomial, Polynomial]:
    """Round 3b: g_1 and h_1 with sum (..) = h_1 v_C + X g_1 + const."""
    h_1, x_g_1 = Polynomial.zeros(max(c.size - 1, MASK_QUOTIENT)), scalars.zeros(c.size)
    for one, combiner in zip(work, challenges.combiners_lineval, strict=True):
        own = one.index.info.c
        left, z, z_coefficients = (scalars.zeros(own.size) for _ in range(3))
        for eta, vector in zip(challenges.eta, one.at_alpha, strict=True):
            scalars.add_scaled(left, eta, vector)
        for t, instance in zip(combiner.instances, one.instances, strict=True):
            scalars.add_scaled(z, t, instance.z)
            scalars.add_scaled(z_coefficients, t, instance.z_coefficients)
        remainder = left.copy()
        scalars.multiply(remainder, z)
        scalars.interpolate(remainder)
        scalars.interpolate(left)
        product = on_coset(left)
        scalars.multiply(product, on_coset(z_coefficients))
        quotient = _quotient(product, remainder)
        factor = combiner.circuit * own.size * scalars.inverse(c.size)
        scalars.add_scaled(h_1.coefficients, factor, quotient[: own.size - 1])
        for at in range(0, c.size, own.size):  # remainder * v_C / v_{C_i}
            scalars.add_scaled(x_g_1[at : at + own.size], factor, remainder)
    if masked is not None:
        quotient, remainder = masked
        scalars.add(h_1.coefficients, quotient)
        scalars.add(x_g_1, remainder)
    return Polynomial.of(x_g_1[1:]), h_1


def fractions(one: Work, alpha: int, beta: int) -> tuple[list[Polynomial], Triple]:
    """Round 4: f_M = v row_col_val / (n (alpha - row) (beta - col)) over K_M; its mean, and g_M = (f_M - mean) / X."""
    info = one.index.info
    inverse_columns = elements(info.c.size).copy()
    scalars.subtract_from(beta, inverse_columns)
    scalars.invert(inverse_columns)
    v = info.r.vanishing_at(alpha) * info.c.vanishing_at(beta)
    scalars.scale(inverse_columns, v * scalars.inverse(info.r.size * info.c.size))
    g, means = [], []
    for part in one.index.parts:
        f = np.take(one.inverse_rows, part.rows, axis=0)
        scalars.multiply(f, np.take(inverse_columns, part.columns, axis=0))
        scalars.multiply(f, part.weights)
        scalars.interpolate(f)
        one.fractions.append(f)
        means.append(scalars.integer(f, 0))
        g.append(Polynomial.of(f[1:]))
    return g, (means[0], means[1], means[2])


def matrix_quotient(work: Sequence[Work], challenges: Challenges, k: Domain) -> Polynomial:
    """Round 5: h_2 = sum delta_M |K_M| / |K| (a - b f) / v_{K_M}, one inverse transform a size of K_M."""
    by_size: dict[int, Vector] = {}
    alpha, beta = challenges.alpha, challenges.beta
    for one, delta in zip(work, challenges.delta, strict=True):
        info = one.index.info
        v = info.r.vanishing_at(alpha) * info.c.vanishing_at(beta)
        n = info.r.size * info.c.size
        for part, f, own, factor in zip(one.index.parts, one.fractions, info.k, delta, strict=True):
            col, row, row_col, row_col_val = part.coset
            b = col.copy()  # becomes alpha beta - alpha col - beta row + row_col
            scalars.scale(b, alpha)
            scalars.add_scaled(b, beta, row)
            scalars.subtract(b, row_col)
            scalars.subtract_from(alpha * beta, b)
            scalars.multiply(b, on_coset(f))
            share = factor * own.size * scalars.inverse(k.size)
            total = by_size.setdefault(own.size, scalars.zeros(own.size))
            scalars.add_scaled(total, share * v, row_col_val)
            scalars.add_scaled(total, -share * n, b)
    h_2 = Polynomial.zeros(k.size - 1)
    for size, total in by_size.items():
        from_coset(total, scalars.inverse(pow(COSET, size, MODULUS) - 1))
        scalars.add(h_2.coefficients, total[: size - 1])
    return h_2
