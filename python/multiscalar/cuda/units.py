"""The kernels of a curve cut into units that compile side by side.

All kernels in one unit take some 35 seconds of one core, twelve-limb curves most; eight units take 40 in all, of which
the longest is 8. A unit is the whole text with the other units' kernels made ordinary functions that nobody calls,
which the compiler drops before it optimises anything.
"""

from __future__ import annotations

import re
from typing import Final

from ..curves import Curve
from .program import Unit
from .sources import KERNELS, kernel_source

# What takes long, about 5 seconds a group and two that cannot be cut; all other kernels together are one more unit.
HEAVY: Final = (
    ("msm_join",),
    ("msm_reduce_runs",),
    ("msm_reduce_tree", "msm_pairs_entries", "msm_pairs_points"),
    ("msm_fixup", "msm_combine"),
    ("msm_accumulate", "msm_accumulate_points"),
    ("msm_convert", "msm_precompute"),
    ("msm_reduce_last",),
)
_KERNEL: Final = re.compile(r'extern "C" __global__ void(?:\s+__(?:launch_bounds|maxnreg)__\([^)]*\))?\s+(\w+)\(')


def groups() -> tuple[tuple[str, ...], ...]:
    """All kernels, each in one group."""
    heavy = {kernel for group in HEAVY for kernel in group}
    known = tuple(tuple(kernel for kernel in group if kernel in KERNELS) for group in HEAVY)
    return (*(group for group in known if group), tuple(kernel for kernel in KERNELS if kernel not in heavy))


def only(text: str, kernels: tuple[str, ...]) -> str:
    """`text` with no kernels but these."""
    return _KERNEL.sub(lambda found: found[0] if found[1] in kernels else f"static __device__ void {found[1]}(", text)


def units(curve: Curve, arch: str) -> list[Unit]:
    """The compilations that make the kernels of `curve` for `arch`, the longest ones first."""
    text = kernel_source(curve.name.replace("-", "_"))
    return [Unit(only(text, group), f"{curve.name} ({group[0]} ...)", arch) for group in groups()]
