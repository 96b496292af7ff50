"""Structured reference strings: powers of a secret beta in both groups.

Two kinds. The public one of the Aleo ceremony, read from `.usrs` files whose SHA-256 must match (degree below 2^16
with the files known here). And a seeded one of any size, for tests and benchmarks: whoever knows the seed knows
beta and can prove anything, so it is marked `insecure` and says so.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from .. import memory
from ..errors import MultiscalarWarning, OptionError, SrsError, shown
from ..settings import setting
from . import points, scalars
from .points import Points
from .scalars import MODULUS, native

HIDING_POWERS: Final = 3  # a blinding polynomial has degree 2
CEREMONY_DEGREE: Final = (1 << 28) - 1
FILE_POINTS: Final = 1 << 15
G2_BYTES: Final = 192

_HEADER = 8

# snarkVM's own generators, not the usual ones of other libraries
G: Final = (
    89363714989903307245735717098563574705733591463163614225748337416674727625843187853442697973404985688481508350822,
    3702177272937190650578065972808860481433820514072818216637796320125658674906330993856598323293086021583822603349,
)
H: Final = (
    170590608266080109581922461902299092015242589883741236963254737235977648828052995125541529645051927918098146183295,
    83407003718128594709087171351153471074446327721872642659202721143408712182996929763094113874399921859453255070254,
    1843833842842620867708835993770650838640642469700861403869757682057607397502738488921663703124647238454792872005,
    33145532013610981697337930729788870077912093258611421158732879580766461459275194744385880708057348608045241477209,
)

CHECKSUMS: Final[Mapping[str, str]] = {
    "powers-of-beta-15": "eb7040c25ce1a19a5a9a1d12046c5820ba9c2768c606290f8a80fa2bd0e1e5ed",
    "powers-of-beta-16": "84631bc11e1a6db99db085a8de586014e7dd10e97b42cbd766c105dea014bbd1",
    "shifted-powers-of-beta-15": "7c732bfabee7ac5e4496ccd0db1ee11127adb453b3b6014e6230cb51aba7ed49",
    "shifted-powers-of-beta-16": "d99bcb30361df496b60f2714305fee65068d199d22cafad3bde09e715e47d2b5",
    "powers-of-beta-gamma": "03fd7fc81234b014e1e260c797e9b716b5587429871026f17a455cd0938d8be1",
    "neg-powers-of-beta": "ded57ae81c510f8fd50c8f3ec3387e8397ffdde71acfcc639ff1a2728a0848cd",
    "beta-h": "fd0a8538d4ad4f60694b5e81dec6687d8672480ea6b878205eef0c1bd51dc3bc",
}


class InsecureSetupWarning(MultiscalarWarning):
    """A setup whose secret is known is in use."""


def generator_h() -> Any:
    """The generator of G2 that the setup uses."""
    return native.G2Point(b"".join(part.to_bytes(points.COMPRESSED, "little") for part in H))


class Srs:
    """What prover and verifier need of a setup. Made by `load` or `seeded`."""

    max_degree: int
    insecure: bool
    origin: str

    def powers(self, count: int) -> Points:
        """beta^i G for i < count."""
        raise NotImplementedError

    def shifted(self, bound: int) -> Points:
        """beta^i G for i in max_degree - bound .. max_degree."""
        raise NotImplementedError

    def hiding(self, start: int) -> Points:
        """beta^i gamma G for three i from `start`."""
        raise NotImplementedError

    def negative(self, bound: int) -> Any:
        """beta^-(max_degree - bound) H."""
        raise NotImplementedError

    @property
    def h(self) -> Any:
        """H."""
        return generator_h()

    @property
    def beta_h(self) -> Any:
        """beta H."""
        raise NotImplementedError


# --- the public one -----------------------------------------------------------------------------


def places(directory: str | os.PathLike[str] | None = None) -> list[Path]:
    """Where the public files are looked for, in order."""
    import platformdirs

    chosen = setting("srs_dir", directory)
    own = Path(platformdirs.user_data_dir("multiscalar")) / "srs"
    return [Path(chosen)] if chosen else [own]


def load(directory: str | os.PathLike[str] | None = None) -> Srs:
    """The public setup from `directory`, else the setting `srs_dir`, else the user's data directory.

    Files are read when first needed. Errors: `SrsError` naming where it looked and what is missing.
    """
    looked = places(directory)
    found = next((place for place in looked if (place / "beta-h.usrs").is_file()), None)
    if found is None:
        raise SrsError(
            f"no public SRS files (*.usrs) in {', '.join(map(str, looked))}",
            hint="Name their directory with --srs or MULTISCALAR_SRS_DIR, or take a seeded, insecure "
            "setup for tests: --insecure-setup SEED:POWERS (msm prove names its own), srs.seeded(POWERS, SEED).",
        )
    return Ceremony(found)


class Ceremony(Srs):
    """The setup of the Aleo ceremony, by files of known SHA-256."""

    insecure = False
    max_degree = CEREMONY_DEGREE

    def __init__(self, directory: Path) -> None:
        self.origin = f"public, {directory}"
        self.directory = directory
        self._rows: dict[str, Points] = {}
        self._gamma: dict[int, bytes] = {}
        self._negative: dict[int, bytes] = {}

    def _read(self, name: str) -> bytes:
        path = self.directory / f"{name}.usrs"
        try:
            data = path.read_bytes()
        except OSError as error:
            raise SrsError(
                f"cannot read {path}: {error.strerror}", hint="The files are part of snarkVM's parameters."
            ) from error
        if hashlib.sha256(data).hexdigest() != CHECKSUMS[name]:
            raise SrsError(f"{path} is not the public file: its SHA-256 differs", hint="Fetch it again.")
        return data

    def _points(self, name: str) -> Points:
        if name not in self._rows:
            # the checksum vouches for the contents: canonical, on the curve, in the subgroup, no infinity
            data = self._read(name)[_HEADER:]
            self._rows[name] = np.frombuffer(data, "<u8").reshape(-1, 2, points.LIMBS)
        return self._rows[name]

    def _entries(self, name: str, size: int) -> dict[int, bytes]:
        data = self._read(name)[_HEADER:]
        step = 8 + size
        return {int.from_bytes(data[i : i + 8], "little"): data[i + 8 : i + step] for i in range(0, len(data), step)}

    def _require(self, count: int) -> None:
        if count > 2 * FILE_POINTS:
            raise SrsError(
                f"{count:,} powers are needed, the public files hold {2 * FILE_POINTS:,}",
                hint="Larger files are not known here; use a seeded, insecure setup for benchmarks.",
            )

    def powers(self, count: int) -> Points:
        self._require(count)
        low = self._points("powers-of-beta-15")
        if count <= FILE_POINTS:
            return low[:count]
        return np.concatenate([low, self._points("powers-of-beta-16")[: count - FILE_POINTS]])

    def shifted(self, bound: int) -> Points:
        self._require(bound + 1)
        high = self._points("shifted-powers-of-beta-15")
        if bound < FILE_POINTS:
            return high[FILE_POINTS - bound - 1 :]
        lower = self._points("shifted-powers-of-beta-16")
        return np.concatenate([lower[2 * FILE_POINTS - bound - 1 :], high])

    def hiding(self, start: int) -> Points:
        self._gamma = self._gamma or self._entries("powers-of-beta-gamma", points.UNCOMPRESSED)
        try:
            data = b"".join(self._gamma[start + i] for i in range(HIDING_POWERS))
        except KeyError:
            raise SrsError(f"the public setup has no hiding powers at {start}") from None
        return np.frombuffer(data, "<u8").reshape(-1, 2, points.LIMBS)

    def negative(self, bound: int) -> Any:
        self._negative = self._negative or self._entries("neg-powers-of-beta", G2_BYTES)
        if bound not in self._negative:
            raise SrsError(f"the public setup has no degree bound {bound}", accepted="2^k - 2 for k = 1..27")
        return native.G2Point(self._negative[bound])

    @property
    def beta_h(self) -> Any:
        return native.G2Point(self._read("beta-h"))


# --- the seeded one -----------------------------------------------------------------------------


def seeded(count: int, seed: int, *, warn: bool = True) -> Srs:
    """A setup of `count` powers from `seed`. INSECURE: for tests and benchmarks only.

    Cost: `count` fixed-base multiplications, some 10 microseconds each.
    """
    if count < 1:
        raise OptionError(f"count = {shown(count)}", accepted="1 power or more")
    memory.require(count * (scalars.BYTES + points.UNCOMPRESSED), f"a seeded setup of {count:,} powers")
    if warn:
        warnings.warn(
            f"INSECURE setup from seed {seed}: its secret is known, its proofs prove nothing",
            InsecureSetupWarning,
            stacklevel=2,
        )
    return Seeded(count, seed)


@dataclass(frozen=True)
class _Secret:
    beta: int
    gamma: int

    @classmethod
    def from_seed(cls, seed: int) -> _Secret:
        def draw(tag: bytes) -> int:
            digest = hashlib.blake2b(tag + str(seed).encode(), digest_size=64).digest()
            return 2 + int.from_bytes(digest, "little") % (MODULUS - 2)

        return cls(draw(b"multiscalar insecure beta "), draw(b"multiscalar insecure gamma "))


class Seeded(Srs):
    """Powers of a beta that follows from a seed."""

    insecure = True

    def __init__(self, count: int, seed: int) -> None:
        self.max_degree = count - 1
        self.origin = f"INSECURE, seed {seed}"
        self._secret = _Secret.from_seed(seed)
        self._base = points.row(*G)
        self._powers = self._multiples(scalars.powers(self._secret.beta, count))

    def _multiples(self, factors: scalars.Vector) -> Points:
        out = points.empty(len(factors))
        native.multiples(self._base, factors, out, scalars.threads())
        out.flags.writeable = False
        return out

    def _require(self, count: int) -> None:
        if count > len(self._powers):
            raise SrsError(
                f"{count:,} powers are needed, this seeded setup has {len(self._powers):,}",
                hint="Make a larger one.",
            )

    def powers(self, count: int) -> Points:
        self._require(count)
        return self._powers[:count]

    def shifted(self, bound: int) -> Points:
        self._require(bound + 1)
        return self._powers[len(self._powers) - bound - 1 :]

    def hiding(self, start: int) -> Points:
        first = self._secret.gamma * pow(self._secret.beta, start, MODULUS)
        return self._multiples(scalars.powers(self._secret.beta, HIDING_POWERS, first))

    def negative(self, bound: int) -> Any:
        return self.h.multiply(scalars.to_bytes(pow(self._secret.beta, bound - self.max_degree, MODULUS)))

    @property
    def beta_h(self) -> Any:
        return self.h.multiply(scalars.to_bytes(self._secret.beta))
