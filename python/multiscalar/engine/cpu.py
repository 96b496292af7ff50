"""The `cpu` backend: the native core with SIMD and threads.

Prepared bases are immutable and belong to no thread, so any number of calls may share them. The core keeps nothing
between calls that a fork could break, and looks for Ctrl-C every 20 ms during long ones.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, cast

import numpy as np

from .. import memory
from ..arrays import DeviceArray, Form, PointArray, ScalarArray
from ..curves import Curve
from ..errors import InputError
from ..failures import translate, translated
from ..native import _core
from .backend import Availability, MsmOptions, Outcome, PrepareOptions
from .run import RunInfo

_KINDS: Final = {
    np.dtype(np.bool_): "bool",
    np.dtype(np.uint8): "u8",
    np.dtype(np.uint16): "u16",
    np.dtype(np.uint32): "u32",
    np.dtype(np.uint64): "u64",
}
_SCRATCH: Final = 40  # bytes a term of digits, queues and copies that the core takes at its peak


def _on_host(operand: object) -> None:
    if isinstance(operand, DeviceArray):
        raise InputError(
            f"the {operand.role} are in device memory and backend cpu was asked for",
            accepted="arrays in host memory",
            hint='Use backend="cuda" or "auto", or copy the array to the host yourself.',
        )


def _kind(scalars: ScalarArray) -> str:
    """The core's word for the layout and form of these scalars."""
    if scalars.is_narrow:
        return _KINDS[scalars.data.dtype]
    return "montgomery" if scalars.form is Form.MONTGOMERY else "full"


class CpuBases:
    """Bases prepared for the native core."""

    __slots__ = ("_bases", "_curve")

    def __init__(self, points: PointArray, options: PrepareOptions) -> None:
        self._curve = points.curve
        memory.require(points.data.nbytes, f"preparing {len(points):,} bases of {points.curve.name}")
        with translated(self._curve):
            self._bases = _core.prepare(
                self._curve.name,
                points.data,
                points.form is Form.MONTGOMERY,
                str(points.pending),
                points.in_subgroup,
                options.isa,
                options.threads or 0,
            )

    @property
    def curve(self) -> Curve:
        """The curve of the bases."""
        return self._curve

    @property
    def nbytes(self) -> int:
        """Bytes that the prepared form occupies."""
        return self._bases.nbytes

    def __len__(self) -> int:
        return len(self._bases)

    def msm(self, vectors: Sequence[ScalarArray | DeviceArray], options: MsmOptions) -> list[Outcome]:
        """One outcome a vector, see `Prepared.msm`."""
        if not options.own_bases:
            return [self._one(vector, options, len(vectors)) for vector in vectors]
        ends = accumulate(map(len, vectors))
        return [
            self._one(vector, options, len(vectors), end - len(vector))
            for vector, end in zip(vectors, ends, strict=True)
        ]

    def _one(self, scalars: ScalarArray | DeviceArray, options: MsmOptions, batch: int, first: int = 0) -> Outcome:
        """The sum over the bases from number `first` on."""
        _on_host(scalars)
        scalars = cast(ScalarArray, scalars)
        data = scalars.data
        kind = _kind(scalars)
        memory.require(_SCRATCH * len(scalars), f"a sum of {len(scalars):,} terms")
        if kind == "bool":
            data = data.view(np.uint8)
        started = time.perf_counter_ns()
        try:
            x, y, is_infinity, facts = self._bases.msm(
                data, kind, options.threads or 0, options.reduce, options.window, options.path,
                options.endomorphism, options.stop, first,
            )  # fmt: skip
        except _core.Failure as failure:
            raise translate(failure, self._curve) from None
        path, isa, window, windows, endomorphism, threads, terms, phases, counts = facts
        reading, adding, combining = phases
        additions, inversions, projective = counts
        run = RunInfo(
            backend="cpu",
            device="cpu",
            curve=self._curve.name,
            n=len(scalars),
            batch=batch,
            threads=threads,
            isa=isa,
            path=path,
            window=window,
            wall_ns=time.perf_counter_ns() - started,
            phases_ns={"scalars": reading, "buckets": adding, "combine": combining},
            evidence={
                "windows": windows,
                "endomorphism": endomorphism,
                "terms": terms,
                "additions": additions,
                "inversions": inversions,
                "projective": projective,
            },
        )
        return Outcome(int.from_bytes(x, "little"), int.from_bytes(y, "little"), is_infinity, run)


_USABLE: Final = Availability(True)


class CpuBackend:
    """`backend="cpu"`."""

    name = "cpu"

    def availability(self) -> Availability:
        """Always usable: every CPU runs the 64-bit path."""
        return _USABLE

    def prepare(self, points: PointArray | DeviceArray, options: PrepareOptions) -> CpuBases:
        """Bases in the core's form; makes the pending check in the same pass."""
        _on_host(points)
        return CpuBases(cast(PointArray, points), options)

    def msm(self, points: PointArray | DeviceArray, scalars: ScalarArray | DeviceArray, options: MsmOptions) -> Outcome:
        """Prepare and multiply: preparing costs a few multiplications a point."""
        bases = self.prepare(points, PrepareOptions(threads=options.threads, isa=options.isa))
        return bases.msm([scalars], options)[0]


_BACKEND: Final = CpuBackend()


def backend() -> CpuBackend:
    """The one instance."""
    return _BACKEND
