"""The two protocols that backends and choosers implement.

A backend turns checked points into its own form (*prepared*) and multiplies them by vectors of scalars. It is loaded
by name (`registry`), so nothing here knows which ones exist. The engine has validated shapes, types, forms and
lengths before it calls; a backend checks data only where it must touch them anyway (scalars >= r).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

from .run import Run

if TYPE_CHECKING:
    from ..arrays import DeviceArray, PointArray, ScalarArray
    from ..curves import Curve


class Availability(NamedTuple):
    """Whether a backend can be used on this machine; if not, why, and what would help."""

    usable: bool
    reason: str = ""
    hint: str = ""


class PrepareOptions(NamedTuple):
    """How bases are prepared. None means: the backend decides."""

    threads: int | None = None
    isa: str = "auto"
    precompute: int | str | None = None  # factor, "auto", or a memory budget such as "2GiB"
    devices: tuple[int, ...] | None = None


class MsmOptions(NamedTuple):
    """How one multiplication runs. None means: the backend's cost model decides."""

    threads: int | None = None
    isa: str = "auto"
    window: int | None = None
    path: str | None = None
    reduce: bool = False
    own_bases: bool = False  # vectors use consecutive parts of the bases instead of sharing their beginning
    endomorphism: bool | None = None
    stop: Callable[[], bool] | None = None  # looked at every few milliseconds; true ends the call with CancelledError
    devices: tuple[int, ...] | None = None


class Outcome(NamedTuple):
    """One result in affine form: (0, 0) with `is_infinity` for the identity."""

    x: int
    y: int
    is_infinity: bool
    run: Run


class Prepared(Protocol):
    """Bases in a backend's own form, reusable and safe to share between threads."""

    @property
    def curve(self) -> Curve:
        """The curve of the bases."""

    @property
    def nbytes(self) -> int:
        """Memory that the prepared form holds, in bytes, wherever it is."""

    def __len__(self) -> int:
        """Number of bases."""

    def msm(self, vectors: Sequence[ScalarArray | DeviceArray], options: MsmOptions) -> list[Outcome]:
        """One outcome a vector, in order. Each vector is at most as long as the bases and uses their prefix; with
        `options.own_bases` the vectors use consecutive parts, and their lengths add up to the number of bases.

        Errors: `ScalarRangeError` with the index of the first scalar >= r unless `options.reduce`,
        `OutOfMemoryError`, `DeviceError`, and KeyboardInterrupt when the user cancelled.
        """


@runtime_checkable
class Backend(Protocol):
    """A place to compute: "cpu" or "cuda"."""

    @property
    def name(self) -> str:
        """The word of `backend=`."""

    def availability(self) -> Availability:
        """Whether this backend can be used here and now. Cheap after the first call; raises nothing."""

    def prepare(self, points: PointArray | DeviceArray, options: PrepareOptions) -> Prepared:
        """Bases in this backend's own form. The points were checked as the caller asked."""

    def msm(self, points: PointArray | DeviceArray, scalars: ScalarArray | DeviceArray, options: MsmOptions) -> Outcome:
        """One-shot: raw arrays in, point out (scope `end-to-end`). Lengths are equal.

        `points.pending` is the check that the backend has to make (or have made by `points.verify()`); for device
        arrays it is `points.wanted`.
        """


class Request(NamedTuple):
    """What `auto` decides on. `scope` is end-to-end, resident-bases or resident."""

    curve: str
    n: int
    scope: str = "end-to-end"
    batch: int = 1
    group: str = "g1"
    precompute: int | str | None = None
    scalar_bits: int = 256
    threads: int | None = None


class Choice(NamedTuple):
    """A backend and the reason in a few words, e.g. "profile 3f9c: n=65536 > crossover 9216"."""

    backend: str
    reason: str


@runtime_checkable
class Chooser(Protocol):
    """The policy of `backend="auto"`. Implemented by `multiscalar.dispatch.chooser`."""

    def choose(self, request: Request) -> Choice:
        """Deterministic, microseconds, never measures, never raises for lack of a profile."""
