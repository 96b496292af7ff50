"""The prover: rounds, commitments and transcript put together.

Eleven multiplications for one circuit and instance (seven of |R| or |K| terms, four of |C|), in six steps that each
need the challenges of the one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..errors import LengthError
from . import rounds, scalars
from .clock import phase
from .commitment import CommitterKey
from .indexer import MATRICES
from .keys import ProvingKey
from .points import Points
from .polynomial import Polynomial
from .proof import Opening, Proof, Triple
from .r1cs import Assignment
from .randomness import Randomness
from .relations import Item, Name, Statement, largest, openings
from .rounds import Work
from .transcript import Transcript
from .version import Version
from .version import version as version_of


def prove(key: ProvingKey, assignment: Assignment, *, version: Version = Version.V3, seed: int | None = None) -> Proof:
    """A proof that `assignment` satisfies the circuit of `key`.

    `seed` makes the blinding repeatable, for benchmarks: such a proof hides nothing from who knows the seed.
    Errors: `CircuitError` when the assignment has the wrong shape or does not satisfy the circuit.
    """
    return prove_batch([(key, [assignment])], version=version, seed=seed)


def prove_batch(
    batch: Iterable[tuple[ProvingKey, Sequence[Assignment]]],
    *,
    version: Version = Version.V3,
    seed: int | None = None,
) -> Proof:
    """One proof for several circuits and several instances of each.

    Errors: as `prove`; `LengthError` for an empty batch, a circuit given twice, or keys of different kinds.
    """
    ordered = sorted(batch, key=lambda pair: pair[0].verifying.id)
    _check(ordered)
    return _Run([key for key, _ in ordered], version_of(version), Randomness(seed)).prove(
        [given for _, given in ordered]
    )


def _check(ordered: Sequence[tuple[ProvingKey, Sequence[Assignment]]]) -> None:
    keys = [key for key, _ in ordered]
    if not ordered or not all(given for _, given in ordered):
        raise LengthError("an empty batch", accepted="at least one circuit, and one instance of each")
    if len({key.verifying.id for key in keys}) != len(keys):
        raise LengthError("a circuit occurs twice in the batch", hint="Give all its instances together.")
    if len({key.index.hiding for key in keys}) != 1 or len({key.committer.srs.origin for key in keys}) != 1:
        raise LengthError("the keys of a batch must share their setup and be all hiding or all not")


class _Run:
    """One proof in the making."""

    def __init__(self, keys: Sequence[ProvingKey], version: Version, random: Randomness) -> None:
        self.keys, self.version, self.random = keys, version, random
        self.hiding = keys[0].index.hiding
        self.committer = CommitterKey.union([key.committer for key in keys])
        self.infos = [key.index.info for key in keys]
        self.named: dict[Name, Polynomial] = {}

    def blind(self, polynomial: Polynomial) -> None:
        """Blinding of degree 2, in hiding mode."""
        if self.hiding:
            polynomial.blinding[:] = self.random.vector(len(polynomial.blinding))

    def prove(self, assignments: Sequence[Sequence[Assignment]]) -> Proof:
        """All rounds."""
        r, c, k = largest(self.infos)
        work = [
            Work(key.index, [rounds.start(key.index, one, self.random) for one in given])
            for key, given in zip(self.keys, assignments, strict=True)
        ]
        masked = rounds.mask(c, self.random) if self.hiding else None
        with phase("hashing"):
            inputs = [[instance.public for instance in one.instances] for one in work]
            transcript = Transcript(self.version, inputs, [key.verifying.commitments for key in self.keys])
        w, mask = self.commit_witnesses(work, masked, c.size)
        with phase("hashing"):
            transcript.first(w, mask)
        challenges = transcript.challenges

        self.named["h_0",] = rounds.rowcheck(work, challenges.combiners, r)
        h_0 = self.commit([(("h_0",), None)])
        with phase("hashing"):
            transcript.second(h_0)

        sigmas = rounds.sums_at_alpha(work, challenges.alpha)
        with phase("hashing"):
            transcript.sums_at_alpha(sigmas)
        self.named["g_1",], self.named["h_1",] = rounds.lineval(work, challenges, c, masked)
        self.blind(self.named["g_1",])
        third = self.commit([(("g_1",), c.size - 2), (("h_1",), None)])
        g_1, h_1 = third[:1], third[1:]
        with phase("hashing"):
            transcript.third(g_1, h_1, sigmas)

        g, sums = self.fourth(work, challenges.alpha, challenges.beta)
        with phase("hashing"):
            transcript.fourth(g, sums)

        self.named["h_2",] = rounds.matrix_quotient(work, challenges, k)
        h_2 = self.commit([(("h_2",), None)])
        with phase("hashing"):
            transcript.fifth(h_2)

        g_1_value = scalars.evaluate(self.named["g_1",].coefficients, challenges.beta)
        a, b, d = (
            [scalars.evaluate(self.named["g", i, m].coefficients, challenges.gamma) for i in range(len(work))]
            for m in range(len(MATRICES))
        )
        with phase("hashing"):
            transcript.evaluations(g_1_value, (a, b, d))
        # constants do not matter to the prover, so neither do the values of x at beta
        no_inputs = [[0] * len(one.instances) for one in work]
        statement = Statement(self.infos, challenges, self.hiding, sigmas, sums, g_1_value, (a, b, d), no_inputs)
        by_matrix = [np.ascontiguousarray(np.stack([rows[m] for rows in g])) for m in range(len(MATRICES))]
        return Proof(
            batch_sizes=tuple(len(one.instances) for one in work),
            w=w, mask=mask, h_0=h_0, g_1=g_1, h_1=h_1, g=(by_matrix[0], by_matrix[1], by_matrix[2]), h_2=h_2,
            g_1_value=g_1_value, g_values=(a, b, d), sigmas=sigmas, sums=sums,
            openings=self.open(openings(statement), transcript),
        )  # fmt: skip

    def commit(self, names: Sequence[tuple[Name, int | None]]) -> Points:
        """Commitments to named polynomials with their bounds."""
        with phase("msm"):
            return self.committer.commit([(self.named[name], bound) for name, bound in names])

    def commit_witnesses(
        self, work: Sequence[Work], masked: tuple[scalars.Vector, scalars.Vector] | None, size: int
    ) -> tuple[Points, Points | None]:
        """Round 1: every w, and the mask, whose ten coefficients stand at both ends."""
        names: list[tuple[Name, int | None]] = []
        for i, one in enumerate(work):
            for j, instance in enumerate(one.instances):
                self.blind(instance.w)
                self.named["w", i, j] = instance.w
                names.append((("w", i, j), None))
        if masked is None:
            return self.commit(names), None
        quotient, remainder = masked
        mask = Polynomial.zeros(size + len(quotient))
        mask.coefficients[: len(remainder)] = remainder
        scalars.subtract(mask.coefficients, quotient)
        scalars.add(mask.coefficients[size:], quotient)
        self.named["mask",] = mask
        places = np.array([*range(len(remainder)), *range(size, size + len(quotient))])
        w = self.commit(names)
        with phase("msm"):
            return w, self.committer.commit_sparse(places, mask.coefficients[places])

    def fourth(self, work: Sequence[Work], alpha: int, beta: int) -> tuple[list[Points], tuple[Triple, ...]]:
        """Round 4: the g_M of every circuit as three rows, and their sums."""
        names: list[tuple[Name, int | None]] = []
        sums = []
        for i, (one, info) in enumerate(zip(work, self.infos, strict=True)):
            g, means = rounds.fractions(one, alpha, beta)
            sums.append(means)
            for m, polynomial in enumerate(g):
                self.named["g", i, m] = polynomial
                names.append((("g", i, m), info.k[m].size - 2))
        rows = self.commit(names)
        return [rows[3 * i : 3 * i + 3] for i in range(len(work))], tuple(sums)

    def polynomial(self, name: Name) -> tuple[Polynomial | None, scalars.Vector]:
        """A polynomial with blinding, or the coefficients of one that has none (the index)."""
        if name[0] != "index":
            return self.named[name], scalars.empty(0)
        _, circuit, which, matrix = name
        part = self.keys[int(circuit)].index.parts[int(matrix)]
        return None, part.coefficients[int(which)]

    def open(self, claims: Sequence[tuple[int, Sequence[Item]]], transcript: Transcript) -> tuple[Opening, ...]:
        """Witnesses (P - P(z)) / (X - z) of the combined polynomials at the three points, in one batch."""
        combined: list[Polynomial] = []
        for _, items in claims:
            with phase("hashing"):
                factors = [transcript.sponge.short_challenge() for _ in items]
                transcript.sponge.short_challenge()
            combined.append(self.combine(items, factors))
        blindings: list[int | None] = []
        for (z, _), total in zip(claims, combined, strict=True):
            hidden = bool(total.blinding.any())
            value = scalars.divide_linear(total.blinding, z)
            blindings.append(value if hidden else None)
            scalars.divide_linear(total.coefficients, z)
        with phase("msm"):
            rows = self.committer.commit([(total, None) for total in combined])
        return tuple(Opening(rows[i : i + 1], value) for i, value in enumerate(blindings))

    def combine(self, items: Sequence[Item], factors: Sequence[int]) -> Polynomial:
        """Sum of factor * item over the polynomials that the items name."""
        parts = [
            (factor * weight, *self.polynomial(name))
            for item, factor in zip(items, factors, strict=True)
            for name, weight in item.terms.items()
        ]
        longest = max(len(p.coefficients) if p else len(v) for _, p, v in parts)
        total = Polynomial.zeros(longest)
        for weight, blinded, plain in parts:
            if blinded is not None:
                total.add_scaled(weight, blinded)
            else:
                scalars.add_scaled(total.coefficients, weight, plain)
        return total
