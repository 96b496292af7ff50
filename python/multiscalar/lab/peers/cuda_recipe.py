"""How a GPU peer's program is made: kernels by CUDA's compiler, no GPU needed, the rest by cargo; one file comes out.

The compiler is `NVCC` from the environment, else `nvcc` in the path, else the one of the PyPI package nvidia-cuda-nvcc
in this Python. `CUDA_ARCHS` names the architectures ("75,90"), else that of this machine's GPU, else 90. The CUDA
runtime is linked statically, and the host's code is for any CPU of the kind, so that the program can be carried to a
GPU machine.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from .recipes import Step, output_of

__all__ = ["CudaRecipe"]

_WHEELS = "pip install 'nvidia-cuda-nvcc==13.*' nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime nvidia-cuda-cccl"


@dataclass(frozen=True, slots=True)
class CudaRecipe:
    """A package of its own workspace under peers/rust; `fetches` are further tools that its build script calls."""

    package: str
    fetches: tuple[str, ...] = ()

    def built_for(self, cpu: str) -> CudaRecipe:
        """The host's part is for any CPU as it is."""
        return self

    def needs(self) -> frozenset[str]:
        """Nothing of the CPU."""
        return frozenset()

    @property
    def key(self) -> str:
        """The package's name."""
        return self.package

    @property
    def sources(self) -> str | None:
        """The Rust peers."""
        return "rust"

    @property
    def parts(self) -> tuple[str, ...]:
        """The protocol, the shared GPU crate, the program."""
        return ("protocol", "gpu", self.package.removeprefix("peer-"))

    def pinned(self, sources: Path) -> str:
        """The lock file is its own, and one of the parts."""
        return ""

    def missing(self) -> str | None:
        """Compilers and tools; a GPU is needed to run it, not to build it."""
        for tool in ("cargo", *self.fetches, "objcopy"):
            if shutil.which(tool) is None:
                return f"{tool} is not installed, and no built program was carried here (msm peers pack)"
        return None if nvcc() is not None else f"CUDA's compiler is not installed; {_WHEELS}"

    def versions(self) -> dict[str, str]:
        """Compilers and architectures."""
        compiler = nvcc()
        release = output_of(str(compiler), "--version").splitlines()[-1] if compiler else "none"
        return {"rustc": output_of("rustc", "--version"), "nvcc": release, "architectures": architectures()}

    def step(self, sources: Path, scratch: Path) -> Step:
        """`cargo build --release --locked` in the program's own workspace."""
        target = scratch / "target"
        env = {
            "CARGO_TARGET_DIR": str(target),
            "NVCC_PEERS": str(nvcc()),
            "NVCC": "off",  # the sppark crate would compile with flags of its own; ours are recorded
            "CUDA_ARCHS": architectures(),
        }
        folder = sources / self.package.removeprefix("peer-")
        return Step(("cargo", "build", "--release", "--locked"), folder, env, target / "release" / self.package)

    def command(self, program: Path) -> tuple[str, ...]:
        """The program itself."""
        return (str(program),)


def nvcc() -> Path | None:
    """CUDA's compiler, or None."""
    named = os.environ.get("NVCC") or "nvcc"
    found = shutil.which(named)
    if found:
        return Path(found)
    try:
        wheel = importlib.metadata.distribution("nvidia-cuda-nvcc")
    except importlib.metadata.PackageNotFoundError:
        return None
    inside = (Path(str(wheel.locate_file(file))) for file in wheel.files or () if file.name == "nvcc")
    return next((path for path in inside if os.access(path, os.X_OK)), None)


def architectures() -> str:
    """Architectures to compile for, as "90" or "75,90"."""
    if chosen := os.environ.get("CUDA_ARCHS"):
        return chosen
    told = output_of("nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader")
    found = sorted({line.strip().replace(".", "") for line in told.splitlines() if line.strip()[:1].isdigit()})
    return ",".join(found) or "90"
