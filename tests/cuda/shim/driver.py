"""Compiles a curve's kernels as C++ and runs layouts on the host, step by step as a plan does on a GPU.

Threads and blocks run in an order that a seed draws, the same for the same seed and launch; seed 0 is the order of
their numbers, in which much that nothing orders on a GPU comes out right.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from multiscalar.cuda import sources
from multiscalar.cuda.shape import SHARED_BYTES
from multiscalar.cuda.steps import Fill, Launch, Ref, Step
from multiscalar.errors import DeviceError
from numpy.typing import NDArray

HERE = Path(__file__).parent
CURVES = HERE.parents[2] / "curves"
PORTABLE = {f"ptx/{name}": f"{name}.hpp" for name in ("rows", "memory", "warp", "order")}
# Fortified longjmp, which some distributions switch on, refuses to go from one fibre's stack to another's.
FLAGS = ("-std=c++17", "-O2", "-fPIC", "-shared", "-fno-strict-aliasing", "-w", "-U_FORTIFY_SOURCE")
Bytes = NDArray[np.uint8]
SEED = 1  # of every test that does not ask for another
MOST_BLOCKS = (2**31 - 1, 65_535)  # of a grid, by dimension
MOST_THREADS = 1024


def require_launchable(launch: Launch) -> None:
    """What the driver refuses is refused here: an empty grid or block, and one beyond its limits (CUDA C++ Programming
    Guide, "Compute Capabilities", the same for all of them).
    """
    assert launch.shared <= SHARED_BYTES, f"{launch.kernel}: {launch.shared} bytes of shared memory"
    sizes, most = (*launch.grid, launch.block), (*MOST_BLOCKS, MOST_THREADS)
    if not all(1 <= size <= limit for size, limit in zip(sizes, most, strict=True)):
        raise DeviceError(f"the GPU failed with CUDA_ERROR_INVALID_VALUE in cuLaunchKernel ({launch.kernel}, {sizes})")


def order_seed(seed: int, launch: Launch) -> int:
    """The 32-bit seed of a launch: a function of what is launched, so that it depends neither on what ran before nor on
    which thread of the host comes first. 0 stays 0.
    """
    text = repr((seed, launch.kernel, launch.grid, launch.block))
    return (zlib.crc32(text.encode()) or 1) if seed else 0


def translation_unit(constants: str) -> str:
    """The kernels as C++: portable twins in the place of kernels/ptx, everything else the very same text."""
    kernels = Path(sources.__file__).parent / "kernels"
    parts = ['#include "language.hpp"', '#include "launch.hpp"', constants]
    for name in sources.SOURCES:
        parts.append(f'#include "{PORTABLE[name]}"' if name in PORTABLE else f'#include "{kernels / name}.cuh"')
    parts.append("SHIM_ENTRY(" + " ".join(f"SHIM_KERNEL({name})" for name in sources.KERNELS) + ")")
    return "\n".join(parts) + "\n"


def compiler() -> str:
    """The C++ compiler; without one the tests of the kernels' text are skipped: the package itself needs only C."""
    for name in filter(None, (os.environ.get("CXX"), "c++", "g++", "clang++")):
        if found := shutil.which(name):
            return found
    pytest.skip("no C++ compiler (c++, g++, clang++, or CXX)")


@cache  # its digest is of forty files
def build(module: str, constants: str) -> ctypes.CDLL:
    """The shared library of a curve, cached by digest of everything that goes into it."""
    kernels = Path(sources.__file__).parent / "kernels"
    return compiled(module, translation_unit(constants), tuple(sorted(kernels.rglob("*.cuh"))))


def compiled(name: str, text: str, included: tuple[Path, ...] = ()) -> ctypes.CDLL:
    """The shared library of a translation unit, cached by digest of it, of the shim and of what else it includes."""
    digest = hashlib.sha256(text.encode())
    for path in sorted([*HERE.glob("*.hpp"), *included]):
        digest.update(path.read_bytes())
    folder = Path(tempfile.gettempdir()) / f"multiscalar-shim-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    library = folder / f"{name}-{digest.hexdigest()[:16]}.so"
    if not library.exists():
        source = library.with_suffix(f".{os.getpid()}.cpp")
        source.write_text(text)
        made = library.with_suffix(f".{os.getpid()}.so")
        command = [compiler(), *FLAGS, f"-I{HERE}", "-o", str(made), str(source)]
        subprocess.run(command, check=True)
        source.unlink()
        made.replace(library)
    return ctypes.CDLL(str(library))


def aligned(size: int) -> Bytes:
    """`size` bytes of junk at a 256-byte boundary: a kernel that reads what nobody wrote shows."""
    raw = np.full(size + 256, 0xA5, np.uint8)
    start = -raw.ctypes.data % 256
    return raw[start : start + size]


@dataclass
class Machine:
    """A device made of host memory."""

    library: ctypes.CDLL
    seed: int = SEED

    def launch(self, step: Launch, buffers: dict[str, Bytes]) -> None:
        words = [0 if a is None else a if isinstance(a, int) else self.address(a, buffers) for a in step.arguments]
        require_launchable(step)
        array = (ctypes.c_uint64 * len(words))(*words)
        seed = order_seed(self.seed, step)
        code = self.library.shim_launch(step.kernel.encode(), *step.grid, step.block, step.shared, seed, array)
        assert code == 0, f"{step.kernel}: {'no such kernel' if code == 1 else 'deadlock'}"

    @staticmethod
    def address(ref: Ref, buffers: dict[str, Bytes]) -> int:
        assert 0 <= ref.offset < buffers[ref.buffer].size, f"{ref} lies outside its buffer"
        return int(buffers[ref.buffer].ctypes.data) + ref.offset

    def run(self, steps: list[Step], buffers: dict[str, Bytes]) -> None:
        for step in steps:
            if isinstance(step, Fill):
                buffers[step.target.buffer][step.target.offset : step.target.offset + step.size] = step.value
            else:
                self.launch(step, buffers)
