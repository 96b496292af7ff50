"""The kernels of one curve on one device, ready to launch, with the lane they go through."""

from __future__ import annotations

import hashlib
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from ..curves import Curve, names
from ..settings import setting
from .cache import CubinCache
from .device import Device, open_device
from .lane import Lane
from .program import Unit, compile_unit
from .runtime import GpuRuntime, Module, Runtime
from .shape import CurveShape, DeviceShape
from .sources import kernel_source

SLOW_COMPILE_S = 1.0  # say something when a user has to wait longer


@dataclass(frozen=True)
class Kernels:
    """What a multiplication on one curve and one device is made of."""

    curve: Curve
    curve_shape: CurveShape
    device_name: str
    device_shape: DeviceShape
    runtime: Runtime
    module: Module
    lane: Lane


_lock = threading.Lock()
_lanes: dict[int, Lane] = {}
_kernels: dict[tuple[int, str], Kernels] = {}


def kernels(curve: Curve, ordinal: int = 0) -> Kernels:
    """The kernels of `curve` on GPU `ordinal`, compiled or from the cache on first use.

    Errors: `BackendUnavailableError` (no driver, no such GPU, too old, no compiler), `CompileError`.
    """
    found = _kernels.get((ordinal, curve.name))
    if found is not None:
        return found
    device = open_device(ordinal)
    with _lock:
        key = (ordinal, curve.name)
        if key not in _kernels:
            if ordinal not in _lanes:
                _lanes[ordinal] = Lane(GpuRuntime(device))
            _kernels[key] = _load(curve, device, _lanes[ordinal])
    return _kernels[key]


def _load(curve: Curve, device: Device, lane: Lane) -> Kernels:
    code = _machine_code(curve, device.arch)
    return Kernels(
        curve=curve,
        curve_shape=curve_shape(curve),
        device_name=device.name,
        device_shape=DeviceShape(device.multiprocessors),
        runtime=lane.runtime,
        module=lane.runtime.load(code),
        lane=lane,
    )


def unit(curve: Curve, arch: str) -> Unit:
    """The compilation that makes the kernels of `curve` for `arch`."""
    return Unit(kernel_source(curve.name.replace("-", "_")), curve.name, arch)


def kernels_digest() -> str:
    """Names the kernels of this version: all source that a GPU would run, for every curve."""
    text = "".join(kernel_source(name.replace("-", "_")) for name in names())
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def cache_folder() -> Path:
    """Where compiled kernels are kept."""
    chosen = setting("cache_dir", None)
    return (Path(chosen) if chosen else user_cache_path("multiscalar")) / "kernels"


def curve_shape(curve: Curve) -> CurveShape:
    return CurveShape(curve.name, 2 * curve.limbs, curve.r.bit_length(), curve.glv_bits)


def _machine_code(curve: Curve, arch: str) -> bytes:
    """From the cache, or compiled with a line on stderr: a minute of silence would look like a hang."""
    work = unit(curve, arch)
    cache = CubinCache(cache_folder())
    done = threading.Event()

    def announce() -> None:
        started = time.monotonic()
        if done.wait(SLOW_COMPILE_S):
            return
        print(f"multiscalar: compiling the {curve.name} kernels for {arch}, once per machine", end="", file=sys.stderr)
        while not done.wait(1.0):
            print(".", end="", file=sys.stderr, flush=True)
        print(f" {time.monotonic() - started:.0f} s", file=sys.stderr)

    teller = threading.Thread(target=announce, daemon=True)
    teller.start()
    try:
        return compile_unit(work, cache)
    finally:
        done.set()
        teller.join()
