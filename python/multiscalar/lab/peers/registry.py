"""Every peer the lab knows: its name, what it can do, and how its program comes to be.

Adding a peer is one entry here, its program under `peers/`, and its page in docs/peers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from .cuda_recipe import CudaRecipe
from .faults import Fault, FaultKind
from .recipes import AbsentRecipe, CargoRecipe, GoRecipe, PythonRecipe, Recipe

__all__ = ["PEERS", "PROVER", "PeerSpec", "find", "peer_names"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerSpec:
    """One peer. `serial` is another build of it for exactly one thread, where that is the fair one."""

    name: str
    title: str
    curves: tuple[str, ...]
    recipe: Recipe
    serial: Recipe | None = None
    path: str = "cpu"
    place: str = "cpu"

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """Every build of it."""
        return (self.recipe,) if self.serial is None else (self.recipe, self.serial)

    def recipe_for(self, threads: int) -> Recipe:
        """The build that measures `threads` threads."""
        return self.serial if self.serial is not None and threads == 1 else self.recipe


_ICICLE_V3: Final = "ICICLE v3's CUDA backend is a licensed binary, and this release has no program that drives it"

PEERS: Final[dict[str, PeerSpec]] = {
    spec.name: spec
    for spec in (
        PeerSpec(
            name="arkworks",
            title="arkworks algebra (ark-ec), Rust",
            curves=("bn254", "bls12-377", "bls12-381"),
            recipe=CargoRecipe("peer-arkworks"),
            serial=CargoRecipe("peer-arkworks", default_features=False),
        ),
        PeerSpec(
            name="blst",
            title="blst, C and assembly, through its Rust crate",
            curves=("bls12-381",),
            recipe=CargoRecipe("peer-blst"),
        ),
        PeerSpec(
            name="gnark",
            title="gnark-crypto, Go and assembly",
            curves=("bn254", "bls12-377", "bls12-381"),
            recipe=GoRecipe("gnark"),
        ),
        PeerSpec(
            name="halo2curves",
            title="halo2curves, Rust",
            curves=("bn254", "bls12-381"),
            recipe=CargoRecipe("peer-halo2curves"),
        ),
        PeerSpec(
            name="icicle-v2",
            title="ICICLE v2.8, CUDA",
            curves=("bn254", "bls12-377", "bls12-381"),
            recipe=CudaRecipe("peer-icicle-v2", fetches=("go",)),
            path="cuda",
            place="gpu",
        ),
        PeerSpec(
            name="icicle-v3.2",
            title="ICICLE v3.2, CPU and CUDA backends",
            curves=("bn254", "bls12-377", "bls12-381"),
            recipe=AbsentRecipe(_ICICLE_V3),
            path="cuda",
            place="gpu",
        ),
        PeerSpec(
            name="icicle-v3.9",
            title="ICICLE v3.9, CPU and CUDA backends",
            curves=("bn254", "bls12-377", "bls12-381"),
            recipe=AbsentRecipe(_ICICLE_V3),
            path="cuda",
            place="gpu",
        ),
        PeerSpec(
            name="py-arkworks",
            title="py-arkworks-bls12381, arkworks from Python",
            curves=("bls12-381",),
            recipe=PythonRecipe("multiscalar.lab.peers.py_arkworks", "py_arkworks_bls12381", "py-arkworks-bls12381"),
        ),
        PeerSpec(
            name="snarkvm",
            title="snarkVM's VariableBase::msm, Rust, CPU",
            curves=("bls12-377",),
            recipe=CargoRecipe("peer-snarkvm"),
            path="batched",
        ),
        PeerSpec(
            name="sppark",
            title="sppark, CUDA; path snarkvm calls it as snarkVM does",
            curves=("bn254", "bls12-377", "bls12-381"),
            recipe=CudaRecipe("peer-sppark"),
            path="cuda",
            place="gpu",
        ),
        PeerSpec(
            name="zksnake",
            title="zksnake, arkworks from Python",
            curves=("bn254", "bls12-381"),
            recipe=PythonRecipe("multiscalar.lab.peers.py_zksnake", "zksnake", "zksnake"),
        ),
    )
}

# snarkVM's prover, which `msm prove` measures; it multiplies nothing for `msm bench`, and is no entry of PEERS.
PROVER: Final = PeerSpec(
    name="varuna",
    title="snarkVM's Varuna prover and verifier, Rust, CPU",
    curves=("bls12-377",),
    recipe=CargoRecipe("peer-varuna"),
)

# Names that people use for a peer.
_ALIASES: Final = {"gnark-crypto": "gnark", "py-arkworks-bls12381": "py-arkworks", "snarkVM": "snarkvm"}


def peer_names() -> tuple[str, ...]:
    """All names, in the order of the table."""
    return tuple(PEERS)


def find(name: str) -> PeerSpec | Fault:
    """The peer called `name`."""
    spec = PEERS.get(_ALIASES.get(name, name))
    return spec or Fault(FaultKind.UNAVAILABLE, f"no peer is called {name!r}; known: {', '.join(PEERS)}")
