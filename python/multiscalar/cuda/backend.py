"""`backend="cuda"`: NVIDIA GPUs of compute capability 7.5 and newer.

A request by name is strict: every reason why the GPU cannot be used is an error with its next step, never an answer
from somewhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from ..arrays import DeviceArray, PointArray, ScalarArray
from ..engine.backend import Availability, MsmOptions, Outcome, Prepared, PrepareOptions
from ..errors import MultiscalarError
from . import device, program
from .bases import DeviceBases
from .compiled import Kernels, kernels
from .once import sum_once
from .precompute import choose_facts
from .split import SplitBases
from .table import Table


class CudaBackend:
    """See the module."""

    name = "cuda"

    def __init__(self) -> None:
        self._state: Availability | None = None

    def availability(self) -> Availability:
        """Whether driver, GPU and compiler are there. A lack is looked for again at every call: it may be mended."""
        if self._state is None or not self._state.usable:
            try:
                device.open_device(0)
                program.compiler()
            except MultiscalarError as error:
                self._state = Availability(False, error.what, error.hint or "")
            else:
                self._state = Availability(True)
        return self._state

    def prepare(self, points: PointArray | DeviceArray, options: PrepareOptions) -> Prepared:
        """Bases as a table in device memory, on one GPU or split over several."""
        ordinals = options.devices or (0,)
        if len(ordinals) > 1:
            return SplitBases.over(points, options, ordinals)
        return prepare_on(kernels(points.curve, ordinals[0]), points, options)

    def msm(self, points: PointArray | DeviceArray, scalars: ScalarArray | DeviceArray, options: MsmOptions) -> Outcome:
        """One-shot: points and scalars come in together. Over several GPUs each takes its part of the points first."""
        ordinals = options.devices or (0,)
        if len(ordinals) == 1:
            return sum_once(kernels(points.curve, ordinals[0]), points, scalars, options)
        (outcome,) = self.prepare(points, PrepareOptions(devices=ordinals)).msm([scalars], options)
        return outcome


def prepare_on(made: Kernels, points: PointArray | DeviceArray, options: PrepareOptions) -> DeviceBases:
    """A table of `points` on the device of `made`, filled and checked."""
    table = Table(made, choose_facts(made, points, options.precompute))
    try:
        table.fill(points)
    except BaseException:
        table.close()
        raise
    return DeviceBases(made, table, points)


_BACKEND: Final = CudaBackend()


def backend() -> CudaBackend:
    """The one instance."""
    return _BACKEND


def warm_up(curves: Sequence[str], ordinal: int = 0) -> None:
    """Compile (or load) the kernels of `curves` now, side by side, so that no later call has to wait for it."""
    from ..curves import curve

    with ThreadPoolExecutor(max(1, len(curves))) as pool:
        for made in [pool.submit(kernels, curve(name), ordinal) for name in curves]:
            made.result()
