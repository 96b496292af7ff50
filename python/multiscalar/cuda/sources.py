"""The kernels' text: which files make the translation unit of a curve, and which kernels are in it.

Each of `SOURCES` is a path below kernels/ without its suffix. An absolute one is taken as it is, which is how
tools/gpu_tune.py tries another text.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

SOURCES: Final = (
    "ptx/rows", "ptx/memory", "ptx/warp", "ptx/order",
    "field/element", "field/inverse",
    "curve/points", "curve/octet",
    "msm/common", "msm/digits", "msm/group", "msm/tiles", "msm/partition",
    "msm/table", "msm/accumulate", "msm/fixup", "msm/pairs", "msm/passes", "msm/rounds",
    "msm/reduce", "msm/combine", "msm/convert",
)  # fmt: skip
KERNELS: Final = (
    "msm_digits", "msm_group", "msm_bin_count", "msm_bin_scatter", "msm_bucket_count", "msm_bin_lengths",
    "msm_bucket_offsets", "msm_bucket_scatter",
    "msm_accumulate", "msm_accumulate_points", "msm_join", "msm_fixup", "msm_pairs_entries", "msm_pairs_points",
    "msm_reduce_runs", "msm_reduce_tree", "msm_reduce_last", "msm_combine", "msm_convert", "msm_precompute",
)  # fmt: skip


def kernel_source(curve_module: str) -> str:
    """The translation unit of a curve, say `bls12_377`: generated constants first, then the kernels."""
    root = Path(__file__).parent / "kernels"
    parts = [root / f"curve/tables/{curve_module}.cuh", *(root / f"{name}.cuh" for name in SOURCES)]
    return "\n".join(path.read_text() for path in parts)
