"""A lane: streams for kernels and one for copies, with the memory and the plans of the calls that go through them.

Scratch is one allocation that only grows, and every plan lies in it, so a repeated call allocates nothing. It begins
with what arrives from the host while kernels work on the rest: the inbox. When scratch grows, the plans bound
to the old place go. Calls through one lane come one after the other: a GPU that is busy with one sum gains nothing
from a second one beside it, and batches are there for many small ones.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from ..errors import DeviceError, MultiscalarError, OutOfMemoryError
from ..forks import renewed
from .chunks import Chunk
from .operand import address
from .plan import Answer, Plan
from .runtime import Bytes, Module, Runtime
from .shape import Sizes
from .staging import Staging
from .steps import Layout, Ref, Step
from .tune import path_of

if TYPE_CHECKING:
    from .repeat import Repeat

MAX_PLANS = 64  # a plan is some kilobytes on the host and a graph on the device
MAX_BOUND = 64
STATUS_BYTES = 256  # status words and room to keep the sums aligned
ANSWERING: Final = ("status", "report", "result")  # buffers that are no scratch: they are answered in
ANSWERS: Final = 8  # sums that may be under way at once: the parts of one call
ANSWER_BYTES: Final = 1 << 10  # of one sum: status words, then X, Y, Z
FIRST_ANSWER_BYTES = 1 << 14  # of a batch, until a larger one comes
_BEFORE: Final = (ANSWERS - 1) * ANSWER_BYTES  # a batch has slot 0, which is the last one and so may be of any size


class Kept(Protocol):
    """What a lane keeps for calls that come again, as long as scratch stays where it is."""

    def close(self) -> None:
        """Give back what it holds of the device."""


Something = TypeVar("Something", bound=Kept)


class Planned(NamedTuple):
    """A plan, where its buffers lie, and what `result.run` says about it."""

    plan: Plan
    places: dict[str, int]
    answer: Answer
    path: str
    window: int
    key: Hashable

    def close(self) -> None:
        """Give the graph and the events back."""
        self.plan.close()


class Lane:
    """Hold `lock` around everything below."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.lock = threading.RLock()
        renewed(self, "lock")
        self.stream = runtime.stream()
        self.copies = runtime.stream()
        self.beside = runtime.stream()  # for parts of one call that take turns
        self.staging = Staging(runtime)
        self._base = 0
        self._size = 0
        self._plans: OrderedDict[Hashable, Any] = OrderedDict()
        self._bound: OrderedDict[Hashable, Any] = OrderedDict()
        self._status = 0  # words of every slot on the device, NO_INDEX between calls
        self._answers: Bytes | None = None
        self._read = memoryview(b"")  # of the same: quicker to cut
        self._answer_size = 0
        self._follow_mark: Any = None
        self._spare: tuple[int, int] | None = None
        self._given: deque[tuple[int, int]] = deque()  # back by `give`, and not yet seen to
        self.repeat: Repeat | None = None  # what the last one-shot call was like that can be repeated
        self._caller: FrameType | None = None  # of the call under way
        self._unsettled = False  # a call broke off, and what it left has not been seen to

    @property
    def scratch_bytes(self) -> int:
        """Device memory that this lane holds."""
        return self._size

    # --- plans ----------------------------------------------------------------------------------

    def known(self, key: Hashable) -> Any:
        """What was kept under `key`, None if this lane has it no more."""
        found = self._plans.get(key)
        if found is not None:
            self._plans.move_to_end(key)
        return found

    def has(self, planned: Planned) -> bool:
        """Whether this plan is still there: scratch that grew takes all plans away."""
        return self._plans.get(planned.key) is planned

    def add(
        self,
        key: Hashable,
        module: Module,
        layout: Layout,
        outside: Mapping[str, int],
        *,
        inbox: int = 0,
        offset: int = 0,
        chunks: Sequence[Chunk] = (),
        slot: int = 0,
    ) -> Planned:
        """Place `layout` in scratch and keep its plan under `key`.

        `outside` gives the addresses of buffers that are not scratch. With `inbox` bytes in front of scratch, the
        scalars lie there at `offset`, and come in `chunks`. `slot` tells apart plans whose answers are under way at
        once. `key` has to tell all of these apart.
        """
        if not inbox:
            outside = {"scalars": 0, **outside}  # every call says where they are
        elsewhere = {*outside, *ANSWERING, "scalars"}
        places = self.place({"inbox": inbox, **layout.buffers}, elsewhere) | dict(outside)
        if inbox:
            places["scalars"] = places["inbox"] + offset
        return self.keep(key, self.plan(key, module, layout, places, slot, chunks))

    def plan(
        self,
        key: Hashable,
        module: Module,
        layout: Layout,
        places: dict[str, int],
        slot: int = 0,
        chunks: Sequence[Chunk] = (),
        apart: bool = False,
        points: Sequence[Step] = (),
    ) -> Planned:
        """The plan of `layout` at `places`, its answer in `slot`; `apart` for points that come while it sorts, by the
        steps `points` if they are few. It is the caller's to keep.
        """
        width = STATUS_BYTES + layout.buffers["result"]
        assert slot == 0 or (slot < ANSWERS and width <= ANSWER_BYTES), "a batch has no parts"
        self._reserve_answers(width)
        assert self._answers is not None
        offset = (slot - 1) * ANSWER_BYTES if slot else _BEFORE
        place = slice(offset, offset + width)
        answer = Answer(self._status + slot * STATUS_BYTES, address(self._answers) + offset, place)
        places = {**places, "status": answer.status, "report": answer.host, "result": answer.host + STATUS_BYTES}

        def where(ref: Ref) -> int:
            return places[ref.buffer] + ref.offset

        plan = Plan(self.runtime, module, layout, where, chunks, apart, points)
        sizes = Sizes(layout.shape, layout.tuning)
        return Planned(plan, places, answer, path_of(layout.tuning), sizes.width, key)

    def keep(self, key: Hashable, value: Something) -> Something:
        """Keep `value` under `key`; what was not asked for longest goes."""
        self._plans[key] = value
        if len(self._plans) > MAX_PLANS:
            _, oldest = self._plans.popitem(last=False)
            oldest.close()
        return value

    def bound(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What `make` returns, kept under `key`: launches outside of plans, bound once."""
        found = self._bound.get(key)
        if found is None:
            found = self._bound[key] = make()
            if len(self._bound) > MAX_BOUND:
                self._bound.popitem(last=False)
        return found

    # --- memory ---------------------------------------------------------------------------------

    def place(self, buffers: Mapping[str, int], outside: Container[str] = ()) -> dict[str, int]:
        """Addresses in scratch for every buffer (name to bytes) that is not outside, one after the other."""
        offsets, total = in_line(buffers, outside)
        self.reserve(total)
        return {name: self._base + offset for name, offset in offsets.items()}

    def reserve(self, size: int) -> None:
        """Make scratch at least `size` bytes. On failure nothing is held, and the next call starts afresh."""
        if size <= self._size:
            return
        self.release()
        self._base = self.runtime.allocate(size)
        self._size = size

    def _reserve_answers(self, size: int) -> None:
        """Room for an answer of `size` bytes in slot 0: status and sums, page-locked, where the device writes them."""
        if size <= self._answer_size:
            return
        self._drop_plans()
        if not self._status:
            self._status = self.runtime.allocate(ANSWERS * STATUS_BYTES)
            self.mark_status()
        room = max(FIRST_ANSWER_BYTES, 1 << (size - 1).bit_length())
        self._answers, self._answer_size = self.runtime.pinned(_BEFORE + room), room
        self._read = self._answers.data

    def mark_status(self) -> None:
        """No bad scalar seen, on whichever stream it is looked for next. A plan leaves the status so."""
        if self._status:
            self.runtime.fill(self._status, 0xFF, ANSWERS * STATUS_BYTES, self.stream)
            self.runtime.synchronize(self.stream)

    # --- calls ----------------------------------------------------------------------------------

    @property
    def settled(self) -> bool:
        """Whether nothing has to be seen to before a call."""
        return not (self._unsettled or self._given or self._caller)

    def begin(self) -> None:
        """A call begins, to `end` when its answers are read, or to be abandoned. What an earlier one left is seen to,
        if even its `abandon` broke off, by a second Ctrl-C, say.

        Errors: `DeviceError` inside a call of this thread.
        """
        if not self.settled:
            self._refuse_inside()
            if self._unsettled:
                self.abandon()
            self._take_back()
        self._caller = sys._getframe(1)

    def end(self) -> None:
        """Nothing of the call is under way, and nothing of it is needed any more."""
        self._caller = None

    def abandon(self) -> None:
        """After a call that broke off: nothing of it is under way any more, and the next one starts clean."""
        self._unsettled = True
        self.staging.abandon()
        with contextlib.suppress(MultiscalarError):
            self._finish_all()
            self.mark_status()
            self._unsettled = False
        self._caller = None

    def _refuse_inside(self) -> None:
        """The lock lets its own thread in: a signal handler or a finalizer that multiplies while its thread does would
        overwrite what the call under way has in the slots.
        """
        frame: FrameType | None = sys._getframe()
        while frame is not None and self._caller is not None:
            if frame is self._caller:
                raise DeviceError(
                    "this thread is in the middle of another call on this GPU",
                    hint="Signal handlers and finalizers cannot use it: let another thread do that, or backend='cpu'.",
                )
            frame = frame.f_back
        self._caller = None  # of a call that ended without saying so

    def _finish_all(self) -> None:
        """Until no stream has anything to do."""
        for stream in (self.copies, self.stream, self.beside):
            self.runtime.synchronize(stream)

    def release(self) -> None:
        """Give all scratch and plans back."""
        self._drop_plans()
        self._take_back()
        if self._spare is not None:
            (pointer, _), self._spare = self._spare, None
            self.runtime.free(pointer)
        if self._size:
            base, self._base, self._size = self._base, 0, 0
            self.runtime.free(base)

    def _drop_plans(self) -> None:
        self.repeat = None
        with self.runtime.current():
            self._finish_all()
        while self._plans:  # forgotten before it is closed: an interrupt leaves no closed plan behind
            _, kept = self._plans.popitem()
            kept.close()

    def take(self, size: int) -> int:
        """Device memory for a table: the one that was given back last, if it is large enough, or fresh memory."""
        with self.lock:
            self._refuse_inside()
            self._take_back()
            if self._spare is not None and self._spare[1] == size:
                (pointer, _), self._spare = self._spare, None
                return pointer
            try:
                return self.runtime.allocate(size)
            except OutOfMemoryError:
                if self._spare is None and not self._size:
                    raise
            self.release()
            return self.runtime.allocate(size)

    def give(self, pointer: int, size: int) -> None:
        """Take back what `take` gave. Waits for nobody: the garbage collector calls this wherever it happens to run,
        under any lock. Where a call is under way, the next one sees to it.
        """
        self._given.append((pointer, size))
        if self._caller is not None:  # perhaps of this very thread, in the middle of a capture
            return
        if self.lock.acquire(blocking=False):
            try:
                self._take_back()
            finally:
                self.lock.release()

    def _take_back(self) -> None:
        """Keep or free what was given back. A table of this size is likely to be asked for again by the next call."""
        while True:
            try:
                pointer, size = self._given.popleft()
            except IndexError:  # asked, not looked at before: the collector may come between
                return
            if size <= MAX_SPARE_BYTES:
                (pointer, size), self._spare = self._spare or (0, 0), (pointer, size)
            if pointer:
                self.runtime.free(pointer)

    # --- order ----------------------------------------------------------------------------------

    def follow(self, producer: int | None, stream: Any = None) -> None:
        """Let what comes next on `stream` (else the lane's first) wait for what the caller's `producer` holds now."""
        if producer is None:
            return
        if self._follow_mark is None:
            self._follow_mark = self.runtime.event()
        self.runtime.record(self._follow_mark, self.runtime.foreign_stream(producer))
        self.runtime.wait(stream or self.stream, self._follow_mark)

    def wait(self) -> None:
        """Until all that was submitted is done."""
        self.staging.rewind()
        self.runtime.synchronize(self.stream)

    def read(self, answer: Answer) -> bytes:
        """An answer that has arrived: status words, then sums."""
        return bytes(self._read[answer.place])

    def read_back(self, source: int, size: int) -> bytes:
        """Wait for what is submitted, and bring back `size` bytes of the device."""
        self._reserve_answers(size)
        assert self._answers is not None
        host = address(self._answers) + _BEFORE
        self.runtime.copy_out(host, source, size, self.stream)
        self.runtime.synchronize(self.stream)
        return ctypes.string_at(host, size)


def in_line(buffers: Mapping[str, int], outside: Container[str] = ()) -> tuple[dict[str, int], int]:
    """Offsets of `buffers` (name to bytes) one after the other, without those that lie outside; bytes of all."""
    offsets, total = {}, 0
    for name, size in buffers.items():
        if name not in outside:
            offsets[name] = total
            total += -(-size // 256) * 256
    return offsets, total


MAX_SPARE_BYTES = 64 << 20  # a larger table takes longer to fill than to allocate
