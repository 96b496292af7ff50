"""The kernels of one curve on one device, ready to launch, with the lane they go through."""

from __future__ import annotations

import hashlib
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

from ..curves import Curve, names
from ..forks import renewed
from ..log import note
from ..settings import setting
from .cache import CubinCache
from .device import Device, open_device
from .lane import Lane
from .program import Unit, compile_unit
from .runtime import GpuRuntime, Module, Runtime
from .shape import CurveShape, DeviceShape
from .sources import kernel_source
from .units import units

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


class _Turn:
    """One thread makes the kernels of a curve, the others wait for them."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        renewed(self, "lock")


_lock = threading.RLock()
renewed(sys.modules[__name__], "_lock")
_lanes: dict[int, Lane] = {}
_kernels: dict[tuple[int, str], Kernels] = {}
_turns: dict[tuple[int, str], _Turn] = {}  # one a curve and device: curves do not wait for each other


def kernels(curve: Curve, ordinal: int = 0) -> Kernels:
    """The kernels of `curve` on GPU `ordinal`, compiled or from the cache on first use.

    Errors: `BackendUnavailableError` (no driver, no such GPU, too old, no compiler), `CompileError`.
    """
    key = (ordinal, curve.name)
    found = _kernels.get(key)
    if found is not None:
        return found
    device = open_device(ordinal)
    with _lock:
        if ordinal not in _lanes:
            _lanes[ordinal] = Lane(GpuRuntime(device))
        turn = _turns.setdefault(key, _Turn())
    with turn.lock:
        if key not in _kernels:
            started = time.monotonic()
            _kernels[key] = _load(curve, device, _lanes[ordinal])
            spent = time.monotonic() - started
            note("cuda", f"kernels of {curve.name} ready on GPU {ordinal}, {device.name}, in {spent:.2f} s")
    return _kernels[key]


def _load(curve: Curve, device: Device, lane: Lane) -> Kernels:
    module: dict[str, Any] = {}
    for code in machine_code(curve, device.arch):
        module |= lane.runtime.load(code)
    return Kernels(
        curve=curve,
        curve_shape=curve_shape(curve),
        device_name=device.name,
        device_shape=DeviceShape(device.multiprocessors, device.shared_bytes),
        runtime=lane.runtime,
        module=module,
        lane=lane,
    )


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


def machine_code(curve: Curve, arch: str) -> list[bytes]:
    """All units of `curve`: from the cache, or compiled side by side, outside the interpreter lock."""
    cache, work = CubinCache(cache_folder()), units(curve, arch)
    with _Progress(
        f"multiscalar: compiling the {curve.name} kernels for {arch}, once per machine", len(work)
    ) as progress:

        def make(one: Unit) -> bytes:
            code = compile_unit(one, cache)
            progress.done += 1
            return code

        with ThreadPoolExecutor(min(len(work), os.cpu_count() or 1), thread_name_prefix="multiscalar-compile") as pool:
            return list(pool.map(make, work))


class _Progress:
    """A line on stderr about what takes longer than a second: a minute of silence would look like a hang."""

    def __init__(self, what: str, total: int) -> None:
        self.done = 0
        self._what, self._total = what, total
        self._over = threading.Event()
        self._teller = threading.Thread(target=self._tell, daemon=True)

    def __enter__(self) -> _Progress:
        self._teller.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._teller.join()

    def _tell(self) -> None:
        started = time.monotonic()
        if self._over.wait(SLOW_COMPILE_S):
            return
        print(f"{self._what} ", end="", file=sys.stderr, flush=True)
        shown = 0
        while not self._over.wait(1.0):
            news = f" {self.done}/{self._total} " if self.done != shown else "."
            shown = self.done
            print(news, end="", file=sys.stderr, flush=True)
        print(f" {time.monotonic() - started:.0f} s", file=sys.stderr)
