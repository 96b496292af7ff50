"""What a plan needs of a device: memory, kernels, order, graphs, time. `GpuRuntime` is the real one.

The protocol is small on purpose: the test suite has a second implementation that runs the same kernels, compiled
as C++, on the host, so that a whole plan is tested where there is no GPU. All work of a runtime goes to the
streams it makes; the legacy default stream, which orders everything against everything, is never used.
"""

from __future__ import annotations

import ctypes
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import OutOfMemoryError
from . import driver
from .device import Device

Bytes = NDArray[np.uint8]
Argument = ctypes.c_uint64 | ctypes.c_uint32


@dataclass(frozen=True)
class Launch:
    """One kernel launch, all of it decided: `shared` is dynamic shared memory in bytes."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    arguments: tuple[Argument, ...]


class Runtime(Protocol):
    """Memory, order and time on one device. Pointers are integers; sizes are bytes."""

    def allocate(self, size: int) -> int: ...
    def free(self, pointer: int) -> None: ...
    def pinned(self, size: int) -> Bytes: ...
    def stream(self) -> Any: ...
    def event(self) -> Any: ...
    def copy_in(self, target: int, source: int, size: int, stream: Any) -> None: ...
    def copy_out(self, target: int, source: int, size: int, stream: Any) -> None: ...
    def clear(self, target: int, size: int, stream: Any) -> None: ...
    def launch(self, launch: Launch, stream: Any) -> None: ...
    def record(self, event: Any, stream: Any) -> None: ...
    def wait(self, stream: Any, event: Any) -> None: ...
    def synchronize(self, stream: Any) -> None: ...
    def elapsed_us(self, start: Any, stop: Any) -> float: ...
    def capture(self, work: Callable[[Any], None], stream: Any) -> Any: ...
    def replay(self, graph: Any, stream: Any) -> None: ...


class GpuRuntime:
    """A `Runtime` on one GPU. Every public call leaves the caller's current device as it was."""

    def __init__(self, device: Device, cubins: Sequence[bytes]) -> None:
        self.device = device
        self._kernels: dict[str, Any] = {}
        self._libraries: list[Any] = []
        self._lock = threading.Lock()
        with driver.current(device.context):
            for code in cubins:
                self._load(code)

    def _load(self, code: bytes) -> None:
        """Load machine code now, not at the first launch: lazy loading would put it into somebody's timed call."""
        library = driver.call("cuLibraryLoadData", code, [], [], 0, [], [], 0)
        self._libraries.append(library)
        total = driver.call("cuLibraryGetKernelCount", library)
        for kernel in driver.call("cuLibraryEnumerateKernels", total, library):
            name = driver.call("cuKernelGetName", kernel).decode()
            self._kernels[name] = driver.call("cuKernelGetFunction", kernel)

    def kernel_names(self) -> list[str]:
        return sorted(self._kernels)

    def allow_shared(self, kernel: str, size: int) -> None:
        """Let `kernel` use `size` bytes of dynamic shared memory (more than 48 KiB must be asked for)."""
        attribute = driver.load().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        with driver.current(self.device.context):
            driver.call("cuFuncSetAttribute", self._kernels[kernel], attribute, size)

    # --- memory ---------------------------------------------------------------------------------

    def allocate(self, size: int) -> int:
        """Device memory; plain allocations, since a pool would give it back at the next synchronisation."""
        with driver.current(self.device.context):
            try:
                return int(driver.call("cuMemAlloc", max(size, 1)))
            except OutOfMemoryError as error:
                free, total = driver.call("cuMemGetInfo")
                raise OutOfMemoryError(
                    f"{size:,} bytes are needed on {self.device.name}, {free:,} of {total:,} are free",
                    need=size,
                    free=int(free),
                    hint="Free device memory, use fewer terms per call, or backend='cpu'.",
                ) from error

    def free(self, pointer: int) -> None:
        with driver.current(self.device.context):
            driver.call("cuMemFree", pointer)

    def pinned(self, size: int) -> Bytes:
        """Page-locked host memory as an array; released when the array is."""
        with driver.current(self.device.context):
            pointer = int(driver.call("cuMemAllocHost", max(size, 1)))
        array = np.ctypeslib.as_array((ctypes.c_uint8 * max(size, 1)).from_address(pointer))
        weakref.finalize(array, _free_pinned, self.device.context, pointer)
        return array

    def free_memory(self) -> int:
        return self.device.free_memory()

    # --- order ----------------------------------------------------------------------------------

    def stream(self) -> Any:
        flags = driver.load().CUstream_flags.CU_STREAM_NON_BLOCKING
        with driver.current(self.device.context):
            return driver.call("cuStreamCreate", flags)

    def event(self) -> Any:
        with driver.current(self.device.context):
            return driver.call("cuEventCreate", 0)

    def record(self, event: Any, stream: Any) -> None:
        driver.call("cuEventRecord", event, stream)

    def wait(self, stream: Any, event: Any) -> None:
        driver.call("cuStreamWaitEvent", stream, event, 0)

    def synchronize(self, stream: Any) -> None:
        driver.call("cuStreamSynchronize", stream)

    def elapsed_us(self, start: Any, stop: Any) -> float:
        return 1e3 * float(driver.call("cuEventElapsedTime", start, stop))

    # --- work -----------------------------------------------------------------------------------

    def copy_in(self, target: int, source: int, size: int, stream: Any) -> None:
        if size:
            driver.call("cuMemcpyHtoDAsync", target, source, size, stream)

    def copy_out(self, target: int, source: int, size: int, stream: Any) -> None:
        if size:
            driver.call("cuMemcpyDtoHAsync", target, source, size, stream)

    def clear(self, target: int, size: int, stream: Any) -> None:
        if size:
            driver.call("cuMemsetD8Async", target, 0, size, stream)

    def launch(self, launch: Launch, stream: Any) -> None:
        pointers = (ctypes.c_void_p * max(1, len(launch.arguments)))(
            *(ctypes.addressof(argument) for argument in launch.arguments)
        )
        driver.call(
            "cuLaunchKernel",
            self._kernels[launch.kernel],
            *launch.grid,
            *launch.block,
            launch.shared,
            stream,
            ctypes.addressof(pointers),
            0,
        )

    def capture(self, work: Callable[[Any], None], stream: Any) -> Any:
        """`work(stream)` as a graph, instantiated and uploaded: a replay is one submission."""
        api = driver.load()
        with driver.current(self.device.context):
            # Thread-local: other threads may allocate or synchronise meanwhile without spoiling the capture.
            driver.call("cuStreamBeginCapture", stream, api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            try:
                work(stream)
            finally:
                graph = driver.call("cuStreamEndCapture", stream)
            executable = driver.call("cuGraphInstantiate", graph, 0)
            driver.call("cuGraphDestroy", graph)
            driver.call("cuGraphUpload", executable, stream)
        return executable

    def replay(self, graph: Any, stream: Any) -> None:
        driver.call("cuGraphLaunch", graph, stream)

    def drop_graph(self, graph: Any) -> None:
        with driver.current(self.device.context):
            driver.call("cuGraphExecDestroy", graph)

    def current(self) -> Any:
        """The device current in this thread for a block (see `driver.current`)."""
        return driver.current(self.device.context)


def _free_pinned(context: Any, pointer: int) -> None:
    try:
        with driver.current(context):
            driver.call("cuMemFreeHost", pointer)
    except Exception:  # at interpreter exit the driver may be gone; the process gives the memory back
        return
