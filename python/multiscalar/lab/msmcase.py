"""The lab's main question: one multi-scalar multiplication, as a case with its inputs and its right answer.

Inputs have known discrete logarithms, so that the right answer comes from one scalar multiplication by code apart
from the engine (blueprint section 4). `known` points are related to each other; `independent` ones are the control,
and the labels name the kind. Peers read the same inputs from raw files (`MsmInputs.files`).
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import curves
from .subject import Case, Scope

if TYPE_CHECKING:
    from ..arrays import PointArray, ScalarArray
    from ..curves import Curve
    from ..point import Point

__all__ = ["Kind", "MsmInputs", "Question", "msm_case", "question_of"]


class Kind(StrEnum):
    """How the points are related; part of every row's labels."""

    KNOWN = "known-dlog"
    INDEPENDENT = "independent"


@dataclass(frozen=True, kw_only=True)
class Question:
    """What an MSM case asks. `threads` None means: every CPU the process may use."""

    curve: str
    n: int
    seed: int = 5090
    shape: str = "uniform"
    scope: Scope = Scope.END_TO_END
    threads: int | None = None
    isa: str = "auto"
    batch: int = 1
    precompute: str | None = None
    inputs: Kind = Kind.KNOWN
    group: str = "g1"

    def labels(self) -> dict[str, str | int | None]:
        """The cell's labels, plain values."""
        return {key: str(value) if isinstance(value, StrEnum) else value for key, value in vars(self).items()}


@dataclass
class MsmInputs:
    """Inputs of one case: points, one scalar vector per batch entry, and the expected sums."""

    curve: Curve
    points: PointArray
    scalars: Sequence[ScalarArray]
    expected: Sequence[Point]
    _folder: Path | None = field(default=None, repr=False)

    def files(self) -> tuple[Path, Path]:
        """(points, scalars) as raw little-endian limbs, uint64[n, 2, L] and uint64[batch, n, 4]; written once."""
        import numpy as np

        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="multiscalar-lab-"))
            np.ascontiguousarray(self.points.data, dtype="<u8").tofile(self._folder / "points.bin")
            with (self._folder / "scalars.bin").open("wb") as stream:
                for vector in self.scalars:
                    _wide(vector).tofile(stream)
        return self._folder / "points.bin", self._folder / "scalars.bin"

    def remove_files(self) -> None:
        """Delete what `files` wrote."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def __del__(self) -> None:
        self.remove_files()


def _wide(vector: ScalarArray) -> Any:
    """Scalars as uint64[n, 4] whatever their width: peers take no narrow ones."""
    import numpy as np

    if not vector.is_narrow:
        return np.ascontiguousarray(vector.data, dtype="<u8")
    out = np.zeros((len(vector), 4), dtype="<u8")
    out[:, 0] = vector.data
    return out


class _Store:
    """Makes inputs, keeping the last case's: consecutive cases often differ in scope or threads only."""

    def __init__(self) -> None:
        self._key: Mapping[str, Any] | None = None
        self._inputs: MsmInputs | None = None

    def get(self, question: Question) -> MsmInputs:
        names = ("curve", "n", "seed", "shape", "batch", "inputs")
        key = {name: getattr(question, name) for name in names}
        if self._inputs is None or key != self._key:
            self._inputs = None
            self._inputs, self._key = _make(question), key
        return self._inputs


def _make(question: Question) -> MsmInputs:
    handle = curves.curve(question.curve)
    known = question.inputs is Kind.KNOWN
    points = (handle.known_points if known else handle.random_points)(question.n, seed=question.seed)
    vectors = [
        handle.random_scalars(question.n, seed=question.seed + i, shape=question.shape) for i in range(question.batch)
    ]
    return MsmInputs(handle, points, vectors, [handle.expected_sum(points, vector) for vector in vectors])


def _verify(inputs: Any, result: object) -> str | None:
    """Compare in affine form. `result` is a list of (x, y) with (0, 0) for infinity, one per scalar vector."""
    want = [(point.x, point.y) for point in inputs.expected]
    if result == want:
        return None
    if not isinstance(result, list) or len(result) != len(want):
        return f"expected {len(want)} points, got {result!r:.200}"
    index = next(i for i, pair in enumerate(want) if result[i] != pair)
    return f"vector {index}: got {_hex(result[index])}, expected {_hex(want[index])}"


def _hex(point: object) -> str:
    if isinstance(point, tuple) and len(point) == 2 and all(isinstance(value, int) for value in point):
        return f"({point[0]:#x}, {point[1]:#x})"
    return f"{point!r:.200}"


_store = _Store()


def question_of(case: Case) -> Question:
    """The question of a case that `msm_case` made."""
    labels: dict[str, Any] = dict(case.labels)
    labels["scope"], labels["inputs"] = Scope(labels["scope"]), Kind(labels["inputs"])
    return Question(**labels)


def msm_case(question: Question) -> Case:
    """The case of a question; inputs are made when its turn comes."""
    return Case(question.labels(), lambda: _store.get(question), _verify)
