"""What a plan needs of a device: memory, kernels, order, graphs, time. `GpuRuntime` is the real one.

The protocol is small on purpose: the test suite has a second implementation that runs the same kernels, compiled
as C++, on the host, so that a whole plan is tested where there is no GPU. All work of a runtime goes to the
streams it makes; the legacy default stream, which orders everything against everything, is never used.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import OutOfMemoryError
from . import driver
from .device import Device
from .steps import Launch, Ref

Bytes = NDArray[np.uint8]
Module = Mapping[str, Any]  # loaded kernels by name
Address = Callable[[Ref], int]  # where a buffer of a layout lies
DEFAULT_SHARED_BYTES = 48 * 1024  # a block gets more only if asked for
_HOST_MEMORY: Final = 1  # CU_MEMORYTYPE_HOST
EARLY_CAPABILITY = (9, 0)  # Hopper: the oldest whose launches can begin early, see kernels/ptx/order.cuh


class Bound(Protocol):
    """A launch with its addresses: call it with a stream. An `early` one may begin while the launch before it ends."""

    def __call__(self, stream: Any, early: bool = False) -> None: ...

    def move(self, buffer: str, base: int) -> None:
        """From now on `buffer` lies at `base`; a graph that was captured before does not notice."""


class Runtime(Protocol):
    """Memory, order and time on one device. Pointers are integers; sizes are bytes."""

    early: bool  # whether a launch of a graph may begin while the launch before it ends

    def allocate(self, size: int) -> int: ...
    def free(self, pointer: int) -> None: ...
    def pinned(self, size: int) -> Bytes: ...
    def is_pinned(self, pointer: int) -> bool: ...
    def free_memory(self) -> int: ...
    def load(self, code: bytes) -> Module: ...
    def stream(self) -> Any: ...
    def foreign_stream(self, handle: int) -> Any: ...
    def event(self) -> Any: ...
    def drop_event(self, event: Any) -> None: ...
    def copy_in(self, target: int, source: int, size: int, stream: Any) -> None: ...
    def copy_out(self, target: int, source: int, size: int, stream: Any) -> None: ...
    def copy_within(self, target: int, source: int, size: int, stream: Any) -> None: ...
    def fill(self, target: int, value: int, size: int, stream: Any) -> None: ...
    def bind(self, module: Module, launch: Launch, address: Address) -> Bound: ...
    def record(self, event: Any, stream: Any, in_graph: bool = False) -> None: ...
    def wait(self, stream: Any, event: Any) -> None: ...
    def wait_host(self, event: Any) -> None: ...
    def synchronize(self, stream: Any) -> None: ...
    def elapsed_ns(self, marks: Sequence[Any]) -> list[int]: ...
    def capture(self, work: Callable[[Any], None], stream: Any) -> Any: ...
    def replay(self, graph: Any, stream: Any) -> None: ...
    def drop_graph(self, graph: Any) -> None: ...
    def current(self) -> AbstractContextManager[None]: ...


class GpuRuntime:
    """A `Runtime` on one GPU. Every public call leaves the caller's current device as it was."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.early = device.capability >= EARLY_CAPABILITY
        self._launch, self._replay = driver.entry("cuLaunchKernel"), driver.entry("cuGraphLaunch")
        self._record, self._wait = driver.entry("cuEventRecord"), driver.entry("cuStreamWaitEvent")
        self._wait_host, self._synchronize = driver.entry("cuEventSynchronize"), driver.entry("cuStreamSynchronize")
        self._copy_in = driver.entry("cuMemcpyHtoDAsync")
        api = driver.load()
        self._elapsed, self._attributes = api.cuEventElapsedTime, api.cuPointerGetAttributes
        self._memory_type = [api.CUpointer_attribute.CU_POINTER_ATTRIBUTE_MEMORY_TYPE]
        self._launch_early = _EarlyLaunch()
        self._beside: tuple[Any, Any] | None = None  # a stream beside a capture's own, an event to get there
        self._current = driver.current(device.context)

    def load(self, code: bytes) -> Module:
        """Load machine code now, not at the first launch: lazy loading would put it into somebody's timed call."""
        with driver.current(self.device.context):
            library = driver.call("cuLibraryLoadData", code, [], [], 0, [], [], 0)
            total = driver.call("cuLibraryGetKernelCount", library)
            kernels = driver.call("cuLibraryEnumerateKernels", total, library)
            return {
                driver.call("cuKernelGetName", kernel).decode(): driver.call("cuKernelGetFunction", kernel)
                for kernel in kernels
            }

    def _allow_shared(self, kernel: Any, size: int) -> None:
        attribute = driver.load().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        with driver.current(self.device.context):
            driver.call("cuFuncSetAttribute", kernel, attribute, size)

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

    def is_pinned(self, pointer: int) -> bool:
        """Whether host memory at `pointer` is page-locked, so that the device can read it without staging.

        The plural function has an answer, 0, for memory that the driver does not know, where the other one fails, which
        takes longer.
        """
        status, kinds = self._attributes(1, self._memory_type, pointer)
        return not status and int(kinds[0]) == _HOST_MEMORY

    def free_memory(self) -> int:
        return self.device.free_memory()

    # --- order ----------------------------------------------------------------------------------

    def stream(self) -> Any:
        flags = driver.load().CUstream_flags.CU_STREAM_NON_BLOCKING
        with driver.current(self.device.context):
            return driver.call("cuStreamCreate", flags)

    def foreign_stream(self, handle: int) -> Any:
        """A stream of the caller's by its handle (1 and 2 are the legacy and the per-thread default streams)."""
        return driver.load().CUstream(handle)

    def event(self) -> Any:
        with driver.current(self.device.context):
            return driver.call("cuEventCreate", 0)

    def drop_event(self, event: Any) -> None:
        with driver.current(self.device.context):
            driver.call("cuEventDestroy", event)

    def record(self, event: Any, stream: Any, in_graph: bool = False) -> None:
        """Note the time; inside a capture (`in_graph`) as a node beside the way, which only the end waits for."""
        if not in_graph:
            self._record(event, stream)
            return
        beside = self._pass(stream)
        external = driver.load().CUevent_record_flags.CU_EVENT_RECORD_EXTERNAL
        driver.call("cuEventRecordWithFlags", event, beside, int(external))

    def _pass(self, stream: Any, back: bool = False) -> Any:
        """In a capture: the stream beside `stream` goes on after what is on `stream` now, or the other way round."""
        assert self._beside is not None
        beside, passage = self._beside
        first, second = (beside, stream) if back else (stream, beside)
        self._record(passage, first)
        self._wait(second, passage, 0)
        return second

    def wait(self, stream: Any, event: Any) -> None:
        self._wait(stream, event, 0)

    def wait_host(self, event: Any) -> None:
        self._wait_host(event)

    def synchronize(self, stream: Any) -> None:
        self._synchronize(stream)

    def elapsed_ns(self, marks: Sequence[Any]) -> list[int]:
        """From each mark to the next one."""
        elapsed, spans = self._elapsed, []
        for start, stop in pairwise(marks):
            status, milliseconds = elapsed(start, stop)
            if status:
                raise driver.failure("cuEventElapsedTime", status.name)
            spans.append(int(1e6 * milliseconds))
        return spans

    # --- work -----------------------------------------------------------------------------------

    def copy_in(self, target: int, source: int, size: int, stream: Any) -> None:
        if size:
            self._copy_in(target, source, size, stream)

    def copy_out(self, target: int, source: int, size: int, stream: Any) -> None:
        if size:
            driver.call("cuMemcpyDtoHAsync", target, source, size, stream)

    def copy_within(self, target: int, source: int, size: int, stream: Any) -> None:
        if size:
            driver.call("cuMemcpyDtoDAsync", target, source, size, stream)

    def fill(self, target: int, value: int, size: int, stream: Any) -> None:
        if size:
            driver.call("cuMemsetD8Async", target, value, size, stream)

    def bind(self, module: Module, launch: Launch, address: Address) -> Bound:
        """`launch` with its arguments packed once; calling the result with a stream is one driver call."""
        kernel, shared = module[launch.kernel], launch.shared
        if shared > DEFAULT_SHARED_BYTES:
            self._allow_shared(kernel, shared)
        return _Bound(self._launch, self._launch_early, kernel, launch, address)

    def capture(self, work: Callable[[Any], None], stream: Any) -> Any:
        """`work(stream)`, which records events, as a graph, instantiated and uploaded: a replay is one submission."""
        api = driver.load()
        with driver.current(self.device.context):
            self._beside = self._beside or (self.stream(), self.event())
            # Thread-local: other threads may allocate or synchronise meanwhile without spoiling the capture.
            driver.call("cuStreamBeginCapture", stream, api.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            try:
                work(stream)
                self._pass(stream, back=True)
            except BaseException:
                status, graph = api.cuStreamEndCapture(stream)
                if not status:  # a call that fails spoils the capture, another reason does not
                    driver.call("cuGraphDestroy", graph)
                raise
            graph = driver.call("cuStreamEndCapture", stream)
            try:
                executable = driver.call("cuGraphInstantiate", graph, 0)
            finally:
                driver.call("cuGraphDestroy", graph)
            try:
                driver.call("cuGraphUpload", executable, stream)
            except OutOfMemoryError:
                driver.call("cuGraphExecDestroy", executable)
                raise
        return executable

    def replay(self, graph: Any, stream: Any) -> None:
        self._replay(graph, stream)

    def drop_graph(self, graph: Any) -> None:
        with driver.current(self.device.context):
            driver.call("cuGraphExecDestroy", graph)

    def current(self) -> Any:
        """The device current in this thread for a block (see `driver.current`)."""
        return self._current


class _EarlyLaunch:
    """cuLaunchKernel with programmatic stream serialization: see kernels/ptx/order.cuh."""

    def __call__(self, kernel: Any, *rest: Any) -> None:
        api = driver.load()
        names = ("gridDimX", "gridDimY", "gridDimZ", "blockDimX", "blockDimY", "blockDimZ", "sharedMemBytes", "hStream")
        *dimensions, where, extra = rest
        serialize = api.CUlaunchAttribute()
        serialize.id = api.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION
        serialize.value.programmaticStreamSerializationAllowed = 1
        config = api.CUlaunchConfig()
        for name, value in zip(names, dimensions, strict=True):
            setattr(config, name, value)
        config.attrs, config.numAttrs = [serialize], 1
        driver.call("cuLaunchKernelEx", config, kernel, where, extra)


class _Bound:
    """See `Bound`. The driver reads `values` through `pointers` at each launch."""

    __slots__ = ("_dimensions", "_early", "_kernel", "_places", "_pointers", "_run", "_shared", "_values", "_where")

    def __init__(
        self, run: Callable[..., None], early: _EarlyLaunch, kernel: Any, launch: Launch, address: Address
    ) -> None:
        self._run, self._early, self._kernel, self._shared = run, early, kernel, launch.shared
        self._dimensions = (*launch.grid, 1, launch.block, 1, 1)
        self._values = [_packed(argument, address) for argument in launch.arguments]
        self._pointers = (ctypes.c_void_p * len(self._values))(*(ctypes.addressof(value) for value in self._values))
        self._where = ctypes.addressof(self._pointers)
        self._places = [
            (argument.buffer, value, argument.offset)
            for argument, value in zip(launch.arguments, self._values, strict=True)
            if isinstance(argument, Ref)
        ]

    def __call__(self, stream: Any, early: bool = False) -> None:
        run = self._early if early else self._run
        run(self._kernel, *self._dimensions, self._shared, stream, self._where, 0)

    def move(self, buffer: str, base: int) -> None:
        for name, value, offset in self._places:
            if name == buffer:
                value.value = base + offset


def _packed(argument: Ref | int | None, address: Address) -> ctypes.c_uint64 | ctypes.c_uint32:
    """Kernels take addresses of 64 bits and numbers of 32."""
    if argument is None:
        return ctypes.c_uint64(0)
    return ctypes.c_uint64(address(argument)) if isinstance(argument, Ref) else ctypes.c_uint32(argument)


def _free_pinned(context: Any, pointer: int) -> None:
    try:
        with driver.current(context):
            driver.call("cuMemFreeHost", pointer)
    except Exception:  # at interpreter exit the driver may be gone; the process gives the memory back
        return
