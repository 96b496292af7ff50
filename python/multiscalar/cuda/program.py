"""Compile kernels for the exact device, once, and keep the machine code on disk.

NVRTC needs no GPU when the architecture is named, so the same code compiles in tests on any machine. The
result is a cubin, not PTX: a newer compiler's PTX may be too new for an older driver, a cubin is not.
"""

from __future__ import annotations

import hashlib
import sys
import threading
from dataclasses import dataclass
from typing import Any

from .. import extras
from ..errors import BackendUnavailableError, CompileError
from ..forks import renewed
from .cache import CubinCache

_importing = threading.RLock()
renewed(sys.modules[__name__], "_importing")
_OPTIONS_VERSION = 1  # raise it when the options below change


@dataclass(frozen=True)
class Unit:
    """One compilation: the whole source text, a name for messages, and the architecture, e.g. "sm_90"."""

    source: str
    name: str
    arch: str

    def digest(self) -> str:
        """Names the machine code: source, architecture, options and compiler."""
        parts = (self.source, self.arch, str(_OPTIONS_VERSION), compiler())
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def compiler() -> str:
    """The compiler and its version, e.g. "nvrtc 13.0"."""
    nvrtc = _nvrtc()
    try:
        status, major, minor = nvrtc.nvrtcVersion()
    except RuntimeError as error:  # cuda.pathfinder: the library is not installed
        raise BackendUnavailableError(
            "the kernel compiler NVRTC was not found",
            hint=extras.HINT,
        ) from error
    if int(status) != 0:
        raise CompileError(f"NVRTC does not answer ({status.name})", hint="Reinstall the package nvidia-cuda-nvrtc.")
    return f"nvrtc {major}.{minor}"


def _nvrtc() -> Any:
    try:
        from cuda.bindings import nvrtc
    except ImportError as error:
        raise BackendUnavailableError(
            "the CUDA backend needs the package cuda-core, which is not installed",
            hint=extras.HINT,
        ) from error
    return nvrtc


def compile_unit(unit: Unit, cache: CubinCache | None = None) -> bytes:
    """The cubin of `unit`, from `cache` if it is there; raises `CompileError` with the compiler's first lines."""
    key = unit.digest()
    if cache is not None and (code := cache.load(key)) is not None:
        return code
    code = _compile(unit)
    if cache is not None:
        cache.store(key, code)
    return code


def cuda_core() -> Any:
    """The package cuda.core. It redirects its own import: threads that import it first at once see half of it."""
    with _importing:
        import cuda.core

        return cuda.core


def program(unit: Unit, report: bool = False) -> Any:
    """How everything is compiled; `report` makes the assembler say what each kernel takes."""
    core = cuda_core()
    options = core.ProgramOptions(
        arch=unit.arch,
        std="c++17",
        device_as_default_execution_space=False,
        relocatable_device_code=False,
        ptxas_options="-v" if report else None,
    )
    return core.Program(unit.source, code_type="c++", options=options)


def _compile(unit: Unit) -> bytes:
    _nvrtc()
    cuda_core()
    try:
        result = program(unit).compile("cubin")
    except Exception as error:  # the package's error class is not public in every version we support
        first = "\n".join(str(error).splitlines()[:12])
        raise CompileError(
            f"the kernels of {unit.name} do not compile for {unit.arch} with {compiler()}:\n{first}",
            hint="Please report this; until then use backend='cpu'.",
        ) from error
    return bytes(result.code)
