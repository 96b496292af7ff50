"""`msm` and `Bases`: the calls of the package.

Both validate types, shapes, forms and lengths here, and leave to the backend what needs every element: the range of
the scalars and the check of the points.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

from ..arrays import Check, DeviceArray, PointArray, ScalarArray
from ..curves import Curve
from ..errors import ShapeError
from ..forks import renewed
from ..point import Point
from ..settings import setting
from . import operands, options
from .backend import Backend, MsmOptions, Prepared, Request
from .oneshot import Meaning, Meanings, lasts
from .select import Selection, carry_out, points_of, select, strictly
from .vectors import Recent, Vectors, lengths, longest_of, vector_operands

Scalars = Any  # uint64[n, 4], bool or uint8/16/32/64 [n], device arrays, ScalarArray, sequence of ints
Batch = list[Scalars] | tuple[Scalars, ...]


class Bases:
    """Points prepared once for many multiplications.

    `points`: as for `msm`. `backend`: where to prepare them; with "auto" the chooser decides call by call and the
    points are prepared for a backend the first time it is chosen. `check`, `form`, `assume_subgroup`: as for `msm`.
    `precompute`: tables of multiples for the cuda backend, as a factor, a memory budget ("2GiB") or "auto"; they
    know what they were built for. `isa` is fixed here, since it decides the form. Safe to share between threads.

    Errors: as `msm`; `BackendUnavailableError` for a backend that cannot be had; `OutOfMemoryError`.
    """

    def __init__(
        self,
        points: Any,
        *,
        curve: str | Curve | None = None,
        form: str | None = None,
        check: str | None = None,
        assume_subgroup: bool = False,
        backend: str | None = None,
        precompute: int | str | None = None,
        threads: int | None = None,
        isa: str | None = None,
        devices: Sequence[int] | None = None,
    ) -> None:
        self._curve = operands.curve_of(curve, points)
        self._points = operands.points_operand(
            points, self._curve, form=form, check=check, assume_subgroup=assume_subgroup
        )
        self._size = len(self._points)
        self._recent = Recent(self._curve)
        self._options = options.of_bases(threads=threads, isa=isa, precompute=precompute, devices=devices)
        self._threads_given = threads is not None
        # Settings of later calls decide only where neither the argument nor a setting of now does.
        name = setting("backend", backend)
        self._asked = None if backend is None else name
        self._strict = None if name == "auto" else strictly(name)
        if self._strict is not None:
            options.honoured(name, precompute=self._options.precompute, devices=self._options.devices)
        self._lock = threading.RLock()
        renewed(self, "_lock")
        self._forms: dict[str, Prepared] = {}
        selection = self._select(self._size, 1, (), self._options.threads)
        carry_out(selection, self._prepared)

    def _prepared(self, backend: Backend) -> Prepared:
        """The bases in the form of this backend, made on first use."""
        found = self._forms.get(backend.name)
        if found is None:
            with self._lock:
                found = self._forms.get(backend.name)
                if found is None:
                    found = backend.prepare(self._points, self._options)
                    self._forms[backend.name] = found
                    if isinstance(self._points, PointArray):
                        self._points = self._points.verified()
        return found

    def _select(self, n: int, batch: int, vectors: Sequence[object], threads: int | None) -> Selection:
        if self._strict is not None:
            return self._strict
        some = vectors[:1] if isinstance(vectors, Vectors) else vectors  # those are of one type
        values = (self._points, *some)

        def request() -> Request:
            return Request(
                self._curve.name, n, "resident-bases", batch,
                precompute=self._options.precompute, scalar_bits=_bits(values), threads=threads,
            )  # fmt: skip

        return select(self._asked, request, values)

    @property
    def curve(self) -> Curve:
        """The curve of the bases."""
        return self._curve

    @property
    def backends(self) -> tuple[str, ...]:
        """The backends that the bases are prepared for by now."""
        return tuple(self._forms)

    @property
    def nbytes(self) -> int:
        """Bytes of all prepared forms together."""
        return sum(form.nbytes for form in self._forms.values())

    def __len__(self) -> int:
        return self._size

    def __copy__(self) -> Bases:
        return self  # nothing of it changes

    def __deepcopy__(self, memo: object) -> Bases:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("prepared bases stay in their process: pickle the points, and make Bases of them there")

    def __repr__(self) -> str:
        return f"Bases({self._curve.name}, n={len(self)}, prepared for {', '.join(self._forms) or 'none'})"

    def msm(
        self,
        scalars: Scalars | Batch,
        *,
        scalar_form: str | None = None,
        reduce: bool = False,
        own_bases: bool = False,
        threads: int | None = None,
        window: int | None = None,
        path: str | None = None,
        endomorphism: bool | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Any:
        """sum s_i P_i over the first len(scalars) bases: a Point; for a batch a list of Points, in order.

        A batch is uint64[m, n, 4] or a sequence of vectors, whose lengths may differ. All vectors share the bases;
        with `own_bases=True` they use consecutive parts of them, and the lengths must add up. `scalar_form`,
        `reduce`, `threads`, `window`, `path`, `endomorphism`, `stop`: as for `msm`.

        Errors: `LengthError` for more scalars than bases, `ScalarRangeError` with the index, `InputTypeError`,
        `ShapeError`, `OptionError`, `OutOfMemoryError`, `DeviceError`, `CancelledError`.
        """
        batch: list[Any] | None = None
        vectors: Sequence[operands.ScalarOperand] | None = None
        if scalar_form is None:
            vectors = self._recent.described(scalars)
        if vectors is None:
            batch = operands.vectors_of(scalars)
            given = [scalars] if batch is None else batch
            vectors = vector_operands(given, self._curve, form=scalar_form, reduce=reduce)
        wanted = options.of_call(
            self._options, self._threads_given, threads=threads, window=window, path=path, reduce=reduce,
            own_bases=own_bases, endomorphism=endomorphism, stop=stop,
        )  # fmt: skip
        if endomorphism is not None and self._strict is not None:
            options.honoured(self._strict.backend, endomorphism=endomorphism)
        longest = longest_of(vectors)
        if own_bases:
            operands.fit_own(self._size, lengths(vectors))
        else:
            operands.fit(self._size, longest)
        if not vectors:
            return []
        selection = self._select(longest, len(vectors), vectors, wanted.threads)
        ready = self._forms.get(selection.backend) if selection.strict else None
        if ready is not None:  # nothing to prepare, nothing to fall back to
            outcomes, fallback = ready.msm(vectors, wanted), None
        else:
            outcomes, fallback = carry_out(selection, lambda backend: self._prepared(backend).msm(vectors, wanted))
        points = points_of(outcomes, self._curve, selection, fallback)
        return points[0] if batch is None else points

    def submit(self, scalars: Scalars | Batch, **arguments: Any) -> Future[Any]:
        """`msm` in the background: a future of its result, with the settings that are in force now.

        The scalars may be changed or freed once the future is done, not before. `cancel()` has no effect on a call
        that runs: pass `stop`.
        """
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        context = copy_context()

        def work() -> None:
            try:
                future.set_result(context.run(self.msm, scalars, **arguments))
            except BaseException as error:  # whatever it is belongs to whoever asks the future
                future.set_exception(error)

        threading.Thread(target=work, name="multiscalar-submit", daemon=True).start()
        return future


def _bits(values: tuple[object, ...]) -> int:
    """Widest scalar by type; 256 where nothing is known."""
    widths = [value.bits for value in values if isinstance(value, ScalarArray)]
    return max(widths, default=256)


def msm(
    points: Any,
    scalars: Scalars | Batch,
    *,
    curve: str | Curve | None = None,
    form: str | None = None,
    scalar_form: str | None = None,
    check: str | None = None,
    assume_subgroup: bool = False,
    reduce: bool = False,
    own_bases: bool = False,
    backend: str | None = None,
    threads: int | None = None,
    isa: str | None = None,
    window: int | None = None,
    path: str | None = None,
    endomorphism: bool | None = None,
    stop: Callable[[], bool] | None = None,
    devices: Sequence[int] | None = None,
) -> Any:
    """sum s_i P_i on an elliptic curve, as a `Point`; its `.run` says where and how it was computed.

    `points`: `PointArray`, uint64[n, 2, L] (numpy, DLPack, buffer protocol, device arrays), or a sequence of (x, y)
    ints, `Point`s and None. `scalars`: `ScalarArray`, uint64[n, 4], bool or uint8/16/32/64 [n], or a sequence of
    ints; a batch (uint64[m, n, 4], or a sequence of vectors) gives a list of Points. Fewer scalars than points use
    the first points; more are an error. n = 0 gives the identity.

    `curve`: needed unless an operand knows it. `form`, `scalar_form`: "canonical" (default) or "montgomery", for
    the points and the scalars. `check`: "curve" (default), "subgroup" or "none"; unchecked points that are not on the
    curve give an undefined point. Points on the curve and outside the subgroup are added up exactly as integers
    times points, unless `assume_subgroup` promised otherwise (on cuda not those of even order, which bls12-377 alone
    has: check="subgroup" there). `reduce`: reduce scalars >= r instead of refusing.

    `backend`: "auto", "cpu", "cuda"; the last two are strict. `threads` caps CPU threads, `isa` is the CPU's
    instruction set; `devices` lists GPUs to split over. `window`, `path`, `endomorphism` (cpu only) force what the
    cost model would choose. `stop` is a function that a long call on the CPU asks every few milliseconds; when it
    returns true the call ends with `CancelledError` (`threading.Event().is_set` will do). Ctrl-C ends a call within
    300 ms; everything stays usable. On cuda a signal handler or finalizer cannot call while its thread is in a call
    (`DeviceError`). docs/options.md says which backend honours what.

    Errors: `multiscalar.errors`. Variable time: not for secret scalars that an observer could time.
    """
    words = (
        curve, form, scalar_form, check, assume_subgroup, reduce, own_bases, backend, threads, isa, window, path,
        endomorphism, stop, devices,
    )  # fmt: skip
    meaning = _meanings.find(words)
    known = None if meaning is None else meaning.operands(points, scalars)
    if meaning is not None and known is not None:
        return _sum(meaning.curve, *known, meaning.options, meaning.selection)
    handle = operands.curve_of(curve, points, scalars)
    placed = operands.points_operand(points, handle, form=form, check=check, assume_subgroup=assume_subgroup)
    batch = operands.vectors_of(scalars)
    if batch is not None:
        bases = Bases(placed, curve=handle, backend=backend, threads=threads, isa=isa, devices=devices)
        return bases.msm(
            batch, scalar_form=scalar_form, reduce=reduce, own_bases=own_bases,
            window=window, path=path, endomorphism=endomorphism, stop=stop,
        )  # fmt: skip
    vector = operands.scalars_operand(scalars, handle, form=scalar_form, reduce=reduce)
    wanted = options.of_call(
        options.of_bases(threads=threads, isa=isa, devices=devices), True, window=window, path=path, reduce=reduce,
        own_bases=own_bases, endomorphism=endomorphism, stop=stop,
    )  # fmt: skip
    n = len(vector)
    if own_bases:
        operands.fit_own(len(placed), [n])
    operands.fit(len(placed), n)
    if n < len(placed):
        placed = _prefix(placed, n)
    selection = select(backend, lambda: _request(handle, vector, wanted), (placed, vector))
    if selection.named:
        options.honoured(selection.backend, devices=wanted.devices, endomorphism=wanted.endomorphism)
    if lasts(points, scalars, wanted, selection) and isinstance(placed, PointArray) and isinstance(vector, ScalarArray):
        kept = Meaning(handle, placed.form, placed.pending, assume_subgroup, vector.form, wanted, selection)
        _meanings.keep(words, kept)
    return _sum(handle, placed, vector, wanted, selection)


_meanings = Meanings()


def _request(curve: Curve, scalars: operands.ScalarOperand, wanted: MsmOptions) -> Request:
    return Request(curve.name, len(scalars), scalar_bits=_bits((scalars,)), threads=wanted.threads)


def _sum(
    curve: Curve,
    points: operands.PointOperand,
    scalars: operands.ScalarOperand,
    wanted: MsmOptions,
    selection: Selection,
) -> Point:
    """One sum over points that are used for nothing else."""
    outcome, fallback = carry_out(selection, lambda chosen: chosen.msm(points, scalars, wanted))
    return points_of([outcome], curve, selection, fallback)[0]


def _prefix(points: PointArray | DeviceArray, n: int) -> PointArray | DeviceArray:
    """The first n points; a device array is described anew and not touched."""
    if isinstance(points, PointArray):
        return points[:n]
    if n == 0 and points.wanted is Check.NONE:
        return points
    raise ShapeError(
        f"{n} scalars for {len(points)} points on a device",
        accepted="equal lengths for device arrays",
        hint="Slice the device array, or prepare it once: ms.Bases(points).msm(scalars) uses the prefix.",
    )
