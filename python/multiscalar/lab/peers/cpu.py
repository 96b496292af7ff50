"""What a CPU can do and what a program may ask of it: "native" for a program that stays, a level for one that travels.

A level is one of the x86-64 ABI's (v3: AVX2 and BMI, v4: AVX-512; x86-64 psABI, 3.1.1), here always with ADX: the
peers' assembly needs it, and every CPU of these levels since 2015 has it. A native build may use whatever a compiler
knows of this CPU; the many flags that speak of the system (virtualisation, timers, mitigations) bind no program.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

__all__ = ["LEVELS", "NATIVE", "cpu_flags", "go_level", "lacking", "needs", "rustflags"]

NATIVE: Final = "native"

_V2: Final = frozenset({"cx16", "lahf_lm", "popcnt", "pni", "ssse3", "sse4_1", "sse4_2"})
_V3: Final = _V2 | {"avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave", "adx"}
_V4: Final = _V3 | {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
# Names as /proc/cpuinfo writes them: pni is SSE3, abm holds LZCNT.
LEVELS: Final = {"x86-64-v3": _V3, "x86-64-v4": _V4}

# Features that rustc, LLVM and Go put into code of their own accord, apart from all that begin with sse or avx.
_COMPILED: Final = _V4 | {"aes", "pclmulqdq", "vaes", "vpclmulqdq", "gfni", "sha_ni", "cmov", "cx8", "mmx", "ssse3"}


def cpu_flags(path: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """Feature flags of the first processor; empty where the system does not tell."""
    try:
        lines: Sequence[str] = path.read_text().splitlines()
    except OSError:
        return frozenset()
    line = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return frozenset(line.partition(":")[2].split())


def needs(cpu: str) -> frozenset[str]:
    """What a program that was built here for `cpu` asks of a machine. On other architectures than x86-64: all flags."""
    return LEVELS[cpu] if cpu in LEVELS else _compiled(cpu_flags())


def lacking(needed: Iterable[str], here: frozenset[str]) -> list[str]:
    """Features that a program needs and this CPU lacks, in order.

    Records of earlier versions list every flag of the machine that built it; only those that a compiler uses count.
    """
    return sorted(_compiled(needed) - here)


def _compiled(flags: Iterable[str]) -> frozenset[str]:
    if platform.machine() not in ("x86_64", "AMD64"):
        return frozenset(flags)
    return frozenset(flag for flag in flags if flag in _COMPILED or flag.startswith(("sse", "avx")))


def rustflags(cpu: str) -> str:
    """Flags for rustc."""
    return f"-C target-cpu={cpu}" + ("" if cpu == NATIVE else " -C target-feature=+adx")


def go_level(cpu: str) -> str:
    """GOAMD64 for a level; for the native CPU the highest that it has, unless the user has set one."""
    if cpu in LEVELS:
        return cpu.rpartition("-")[2]
    if chosen := os.environ.get("GOAMD64"):
        return chosen
    flags = cpu_flags()
    return next((level.rpartition("-")[2] for level, needed in reversed(LEVELS.items()) if needed <= flags), "v1")
