"""The native core. Private: use `multiscalar` itself."""

from collections.abc import Callable
from types import ModuleType
from typing import Final, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "Bases",
    "Failure",
    "__version__",
    "convert",
    "decode",
    "encode",
    "gather",
    "isas",
    "known_points",
    "multiples",
    "normalize",
    "point_size",
    "prepare",
    "provoke_panic",
    "snark",
]

__version__: Final[str]
snark: ModuleType

_Limbs = npt.NDArray[np.uint64]
_Facts = tuple[str, str, int, int, bool, int, int, tuple[int, int, int], tuple[int, int, int]]

class Failure(Exception):
    """A fault found by the native core: args are (kind, index or None, text)."""

@final
class Bases:
    def __len__(self) -> int: ...
    @property
    def isa(self) -> str: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def is_subgroup(self) -> bool: ...
    def msm(
        self,
        scalars: npt.NDArray[np.unsignedinteger[npt.NBitBase]] | npt.NDArray[np.generic],
        kind: str,
        threads: int,
        reduce: bool,
        window: int | None,
        path: str | None,
        endomorphism: bool | None,
        stop: Callable[[], bool] | None,
        first: int,
    ) -> tuple[bytes, bytes, bool, _Facts]: ...

def prepare(
    name: str, points: _Limbs, montgomery: bool, check: str, assert_subgroup: bool, isa: str, threads: int
) -> Bases: ...
def known_points(name: str, a: _Limbs, b: _Limbs, out: _Limbs) -> None: ...
def multiples(name: str, scalars: _Limbs, threads: int, out: _Limbs) -> None: ...
def convert(name: str, values: _Limbs, to_montgomery: bool, out: _Limbs) -> None: ...
def normalize(name: str, projective: bytes) -> tuple[bytes, int | None]: ...
def gather(target: npt.NDArray[np.uint8], rows: list[npt.NDArray[np.uint8]], stride: int, threads: int) -> None: ...
def point_size(name: str, format: str, compressed: bool) -> int: ...
def encode(name: str, points: _Limbs, montgomery: bool, format: str, compressed: bool) -> bytes: ...
def decode(name: str, data: bytes, format: str, compressed: bool, check: str, out: _Limbs) -> None: ...
def isas() -> list[str]: ...
def provoke_panic(long: bool) -> None: ...
