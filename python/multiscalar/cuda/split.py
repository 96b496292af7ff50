"""One sum over several GPUs: each holds a part of the bases and adds its own terms; the host adds the parts.

The split is by terms, in proportion to multiprocessors, so that no data cross between GPUs. Each GPU is driven by a
thread of its own; the caller's current device is never touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ..arrays import DeviceArray, PointArray, ScalarArray
from ..curves import Curve
from ..engine.backend import MsmOptions, Outcome, PrepareOptions
from ..errors import InputError, OptionError, ScalarRangeError
from .bases import DeviceBases
from .compiled import Kernels, kernels
from .outcomes import nothing, out_of_range, total


class SplitBases:
    """`Prepared` over several devices. `bounds[k]` .. `bounds[k + 1]` are the bases of device k."""

    def __init__(self, parts: Sequence[DeviceBases], bounds: Sequence[int]) -> None:
        self._parts = parts
        self._bounds = bounds
        self._pool = ThreadPoolExecutor(len(parts), thread_name_prefix="multiscalar-gpu")

    @classmethod
    def over(cls, points: PointArray | DeviceArray, options: PrepareOptions, ordinals: Sequence[int]) -> SplitBases:
        """Prepare a part of the points on each device, side by side."""
        from .backend import prepare_on

        if len(set(ordinals)) != len(ordinals):
            raise OptionError(f"devices = {list(ordinals)}", accepted="each device once")
        if isinstance(points, DeviceArray):
            raise OptionError(
                "points on one device cannot be split over several",
                accepted="points in host memory",
                hint="Leave devices out, or pass the points as a numpy array.",
            )
        made = [kernels(points.curve, ordinal) for ordinal in ordinals]
        bounds = _bounds(len(points), made)
        with ThreadPoolExecutor(len(made)) as pool:
            futures = [
                pool.submit(prepare_on, one, points[bounds[k] : bounds[k + 1]], options) for k, one in enumerate(made)
            ]
            try:
                return cls([future.result() for future in futures], bounds)
            except InputError as error:
                if error.index is not None:
                    points.verify()  # a part counts from its own first point
                raise

    @property
    def curve(self) -> Curve:
        """The curve of the bases."""
        return self._parts[0].curve

    @property
    def nbytes(self) -> int:
        """Device memory of all tables together."""
        return sum(part.nbytes for part in self._parts)

    def __len__(self) -> int:
        return self._bounds[-1]

    def msm(self, vectors: Sequence[ScalarArray | DeviceArray], options: MsmOptions) -> list[Outcome]:
        """One outcome a vector, see `engine.backend.Prepared.msm`."""
        if options.own_bases:
            raise OptionError("own_bases over several devices", accepted="one device", hint="Leave devices out.")
        if any(isinstance(vector, DeviceArray) for vector in vectors):
            raise OptionError(
                "scalars on one device cannot be split over several",
                accepted="scalars in host memory",
                hint="Leave devices out, or pass the scalars as a numpy array.",
            )
        futures = [self._pool.submit(self._part, k, vectors, options) for k in range(len(self._parts))]
        try:
            found = [future.result() for future in futures]
        except ScalarRangeError as error:
            raise out_of_range(list(vectors), error.index or 0) from None  # a part counts from its own first term
        return [total(self.curve, parts) for parts in zip(*found, strict=True)]

    def _part(self, k: int, vectors: Sequence[ScalarArray | DeviceArray], options: MsmOptions) -> list[Outcome]:
        low, high = self._bounds[k], self._bounds[k + 1]
        mine = [vector[low : min(high, len(vector))] for vector in vectors if isinstance(vector, ScalarArray)]
        return self._parts[k].msm(mine, options) if low < high else [nothing(self.curve) for _ in mine]


def _bounds(n: int, made: Sequence[Kernels]) -> list[int]:
    """Cut n terms in proportion to the devices' multiprocessors."""
    weights = [one.device_shape.multiprocessors for one in made]
    total, bounds, sofar = sum(weights), [0], 0
    for weight in weights:
        sofar += weight
        bounds.append(n * sofar // total)
    return bounds
