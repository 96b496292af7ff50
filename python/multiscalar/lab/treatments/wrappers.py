"""Subjects that treat another subject. The inner subject's clocks are untouched: a cure acts around the timed call."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ..status import FAILURES, SubjectError, failure
from ..subject import Case, Place, Sample, Scope, Subject

__all__ = ["KeptAlive", "Rescoped", "Treated", "WarmedUp", "WithEnvironment"]


class Treated:
    """Passes everything on under another name; the cures override what they change."""

    def __init__(self, inner: Subject, cure: str) -> None:
        self.name = f"{inner.name}+{cure}"
        self.inner = inner

    @property
    def place(self) -> Place:
        """That of the inner subject, which may learn it late."""
        return self.inner.place

    def describe(self) -> dict[str, Any]:
        """The inner subject's facts."""
        return self.inner.describe()

    def prepare(self, case: Case, inputs: Any) -> None:
        """Prepare the inner subject."""
        self.inner.prepare(case, inputs)

    def take(self, count: int, warmups: int) -> Sequence[Sample]:
        """Samples of the inner subject."""
        return self.inner.take(count, warmups)

    def close(self) -> None:
        """Close the inner subject."""
        self.inner.close()


class WarmedUp(Treated):
    """An untimed call right before every timed one: the "warm-up kernel"."""

    def take(self, count: int, warmups: int) -> Sequence[Sample]:
        """One warm-up a sample."""
        return [sample for _ in range(count) for sample in self.inner.take(1, 1)]


class KeptAlive(Treated):
    """Small work on the device from another thread, from preparing to closing, so that it never idles."""

    def __init__(self, inner: Subject, cure: str, pulse: Callable[[], object]) -> None:
        super().__init__(inner, cure)
        self._pulse = pulse
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._fault: SubjectError | None = None

    def take(self, count: int, warmups: int) -> Sequence[Sample]:
        """The pulse beats while samples are taken."""
        self._stop.clear()
        self._thread = threading.Thread(target=self._beat, name="msm-keep-alive", daemon=True)
        self._thread.start()
        try:
            samples = self.inner.take(count, warmups)
        finally:
            self._stop.set()
            self._thread.join()
        if self._fault is not None:
            raise self._fault
        return samples

    def _beat(self) -> None:
        try:
            while not self._stop.is_set():
                self._pulse()
                self._stop.wait(0.001)
        except FAILURES as error:  # the cure was not given: its samples are not of a treated subject
            self._fault = failure(error)


class Rescoped(Treated):
    """The same question with another scope: data kept on the device."""

    def __init__(self, inner: Subject, cure: str, scope: Scope) -> None:
        super().__init__(inner, cure)
        self._scope = scope

    def prepare(self, case: Case, inputs: Any) -> None:
        """Prepare for the other scope."""
        self.inner.prepare(replace(case, labels={**case.labels, "scope": str(self._scope)}), inputs)


class WithEnvironment(Treated):
    """Starts the subject's process with more environment variables."""

    def __init__(self, inner: Subject, cure: str, variables: Mapping[str, str]) -> None:
        super().__init__(inner, cure)
        self._variables = dict(variables)

    def prepare(self, case: Case, inputs: Any) -> None:
        """The process is started here."""
        with _environment(self._variables):
            self.inner.prepare(case, inputs)


@contextmanager
def _environment(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
