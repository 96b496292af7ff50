"""The conversation of prover and verifier: what is absorbed, what is drawn, in the order of each version.

Both sides run this one class, so they cannot disagree about it. Source: snarkVM 4.12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .indexer import Info
from .points import Points
from .proof import Triple
from .scalars import Vector
from .sponge import Sponge
from .version import Version


@dataclass(frozen=True)
class Combiner:
    """Factors of one circuit and of its instances in a batch."""

    circuit: int
    instances: tuple[int, ...]


@dataclass
class Challenges:
    """All that the verifier draws."""

    combiners: list[Combiner] = field(default_factory=list)
    combiners_lineval: list[Combiner] = field(default_factory=list)
    alpha: int = 0
    eta: Triple = (1, 1, 1)
    beta: int = 0
    delta: list[Triple] = field(default_factory=list)
    gamma: int = 0


class Transcript:
    """One run of the protocol. The methods are called in the order in which they stand here."""

    def __init__(
        self,
        version: Version,
        inputs: Sequence[Sequence[Vector]],
        keys: Sequence[Points],
    ) -> None:
        """`inputs`: for every circuit, in order of ids, the padded public inputs of its instances; `keys`: the
        commitments of the verifying keys."""
        self.version = version
        self.challenges = Challenges()
        self.sponge = Sponge()
        self._sizes = [len(instances) for instances in inputs]
        self.sponge.absorb_bytes(version.domain_tag)
        for instances in inputs:
            self.sponge.absorb_bytes(len(instances).to_bytes(8, "little"))
            for vector in instances:
                self.sponge.absorb_vector(vector)
        for rows in keys:
            self.sponge.absorb_points(rows)

    def _draw_combiners(self) -> list[Combiner]:
        combiners = []
        for i, size in enumerate(self._sizes):
            drawn = self.sponge.challenges(size - 1 + (i > 0))
            circuit = drawn.pop() if i > 0 else 1
            combiners.append(Combiner(circuit, (1, *drawn)))
        return combiners

    def first(self, w: Points, mask: Points | None) -> None:
        """After the witness commitments: combiners."""
        self.sponge.absorb_points(w)
        if mask is not None:
            self.sponge.absorb_points(mask)
        self.challenges.combiners = self._draw_combiners()

    def second(self, h_0: Points) -> None:
        """After h_0: alpha, and in V1 the eta of the matrices."""
        self.sponge.absorb_points(h_0)
        if self.version is Version.V1:
            self.challenges.alpha, eta_b, eta_c = self.sponge.challenges(3)
            self.challenges.eta = (1, eta_b, eta_c)
            self.challenges.combiners_lineval = self.challenges.combiners
        else:
            self.challenges.alpha = self.sponge.challenge()

    def sums_at_alpha(self, sigmas: Sequence[Sequence[Triple]]) -> None:
        """After the sums, in V2 and V3: new combiners, and eta."""
        if self.version is Version.V1:
            return
        self._absorb_triples(sigmas)
        self.challenges.combiners_lineval = self._draw_combiners()
        if self.version is Version.V2:
            eta_b, eta_c = self.sponge.challenges(2)
            self.challenges.eta = (1, eta_b, eta_c)
        else:
            eta_a, eta_b, eta_c = self.sponge.challenges(3)
            self.challenges.eta = (eta_a, eta_b, eta_c)

    def third(self, g_1: Points, h_1: Points, sigmas: Sequence[Sequence[Triple]]) -> None:
        """After g_1 and h_1 (V1: and the sums): beta."""
        self.sponge.absorb_points(g_1)
        self.sponge.absorb_points(h_1)
        if self.version is Version.V1:
            self._absorb_triples(sigmas)
        self.challenges.beta = self.sponge.challenge()

    def _absorb_triples(self, sigmas: Sequence[Sequence[Triple]]) -> None:
        for instances in sigmas:
            for triple in instances:
                self.sponge.absorb_scalars(triple)

    def fourth(self, g: Sequence[Points], sums: Sequence[Triple]) -> None:
        """After the g_M of every circuit (rows a, b, c) and their sums: delta."""
        for rows in g:
            self.sponge.absorb_points(rows)
        for triple in sums:
            self.sponge.absorb_scalars(triple)
        for i in range(len(self._sizes)):
            drawn = self.sponge.challenges(2 if i == 0 else 3)
            first = 1 if i == 0 else drawn.pop(0)
            self.challenges.delta.append((first, drawn[0], drawn[1]))

    def fifth(self, h_2: Points) -> None:
        """After h_2: gamma."""
        self.sponge.absorb_points(h_2)
        self.challenges.gamma = self.sponge.challenge()

    def evaluations(self, g_1: int, g: Sequence[Sequence[int]]) -> None:
        """After the evaluations, absorbed as one list: g_1, all g_a, all g_b, all g_c."""
        self.sponge.absorb_scalars([g_1, *(value for values in g for value in values)])

    def outside_domains(self, infos: Sequence[Info]) -> bool:
        """Whether alpha, beta, gamma lie outside R, C and K of every circuit: the equations divide by their v."""
        c = self.challenges
        return not any(
            info.r.contains(c.alpha) or info.c.contains(c.beta) or any(k.contains(c.gamma) for k in info.k)
            for info in infos
        )
