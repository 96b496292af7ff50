"""How what the GPU backend needs is installed: the one place that says it.

The package is on no index yet, so the sentence names what the extras of pyproject.toml consist of: that works from a
checkout and from a wheel, and builds nothing.
"""

from __future__ import annotations

from typing import Final

__all__ = ["CU13_DRIVER", "HINT", "PACKAGES", "command"]

CU13_DRIVER: Final = 580  # the least driver that speaks CUDA 13 (NVIDIA's release notes)

PACKAGES: Final = {
    "cu12": ("cuda-core[cu12]>=1.0,<2", "nvidia-ml-py>=12.575"),
    "cu13": ("cuda-core[cu13]>=1.0,<2", "nvidia-ml-py>=12.575"),
}


def command(extra: str) -> str:
    """The command that installs an extra of this package into the Python in use."""
    return f"pip install {' '.join(map(repr, PACKAGES[extra]))}"


HINT: Final = (
    f"With a driver of {CU13_DRIVER} or later: {command('cu13')}; with an older one: {command('cu12')}. "
    "`msm info` names the right one."
)
