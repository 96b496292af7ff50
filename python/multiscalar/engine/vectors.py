"""The vectors of one call, described together where they are of one type.

A batch of 64 short vectors is 64 of everything that is done for each: an object in every ring, with its checks, cost a
tenth of the sum's own time. So the first vector is looked at as a single one is, and of each other one only what may
differ: whether it is of the same type, its length, and where it lies. Cost: half a microsecond a vector. Device memory
that is used again and again (`Recent`) is described once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, overload

import numpy as np

from ..arrays import DeviceArray, Form, ScalarArray
from ..curves import Curve
from ..intake import SCALAR_LIMBS, is_full
from .operands import DEVICE_TYPES, ScalarOperand, scalars_operand

_SIZES: Final = dict(DEVICE_TYPES.values())
_WORDS: Final = {name: word for word, (name, _) in DEVICE_TYPES.items()}  # how the interface names a type
_HOST: Final[list[Any]] = []  # of vectors on the host: addresses that nobody asks for


@dataclass(slots=True, eq=False)
class Vectors(Sequence[ScalarOperand]):
    """Vectors of one type and form, all on the host or all on a device: as a sequence, each is made when asked for.

    `first` is the first one, all of it where this is a part of one. `owners` are the arrays on the host, or what offers
    device memory; `pointers` and `producers` say where that is and which stream wrote it, if it says so. Treat as
    read-only.
    """

    first: ScalarOperand
    owners: list[Any]
    counts: list[int]
    pointers: list[int]
    producers: list[int | None]
    item_bytes: int
    on_host: bool = field(init=False)
    montgomery: bool = field(init=False)
    longest: int = field(init=False)  # terms of the longest vector
    uneven: bool = field(init=False)  # whether lengths differ

    @classmethod
    def of(cls, vectors: Sequence[ScalarOperand]) -> Vectors:
        """Vectors of one `kind`, of which there is one at least; on a device with known addresses."""
        first = vectors[0]
        if len(vectors) == 1 and isinstance(first, ScalarArray):
            data = first.data
            return cls(first, [data], [len(data)], _HOST, [], item_bytes(first))
        counts = [len(vector) for vector in vectors]
        if isinstance(first, ScalarArray):
            arrays = [vector.data for vector in vectors if isinstance(vector, ScalarArray)]
            return cls(first, arrays, counts, _HOST, [], item_bytes(first))
        there = [vector for vector in vectors if isinstance(vector, DeviceArray) and vector.pointer is not None]
        pointers = [vector.pointer or 0 for vector in there]
        return cls(
            first, [one.source for one in there], counts, pointers, [one.producer for one in there], item_bytes(first)
        )

    def __post_init__(self) -> None:
        self.on_host = isinstance(self.first, ScalarArray)
        self.montgomery = self.first.form is Form.MONTGOMERY
        self.longest = self.counts[0] if len(self.counts) == 1 else max(self.counts)
        self.uneven = len(self.counts) > 1 and min(self.counts) != self.longest

    @property
    def size(self) -> int:
        """Bytes of all vectors."""
        return self.item_bytes * (sum(self.counts) if self.uneven else self.longest * len(self.counts))

    def some(self, positions: Sequence[int]) -> Vectors:
        """The vectors at `positions`."""
        first, owners, counts = self[positions[0]], self.owners, self.counts
        pointers = [self.pointers[k] for k in positions] if self.pointers else self.pointers
        producers = [self.producers[k] for k in positions] if self.producers else self.producers
        return replace(
            self, first=first, owners=[owners[k] for k in positions], counts=[counts[k] for k in positions],
            pointers=pointers, producers=producers,
        )  # fmt: skip

    def part(self, first: int, count: int) -> Vectors:
        """Scalars first .. first + count of the one vector there is."""
        (owner,) = self.owners
        if self.on_host:
            return replace(self, owners=[owner[first : first + count]], counts=[count])
        return replace(self, counts=[count], pointers=[self.pointers[0] + first * self.item_bytes])

    def __len__(self) -> int:
        return len(self.counts)

    @overload
    def __getitem__(self, index: int) -> ScalarOperand: ...
    @overload
    def __getitem__(self, index: slice) -> list[ScalarOperand]: ...
    def __getitem__(self, index: int | slice) -> ScalarOperand | list[ScalarOperand]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        first, owner = self.first, self.owners[index]
        if isinstance(first, ScalarArray):
            return ScalarArray.unverified(owner, first.curve, first.form)
        shape = (self.counts[index], *first.shape[1:])
        return replace(first, source=owner, shape=shape, pointer=self.pointers[index], producer=self.producers[index])


def item_bytes(vector: ScalarOperand) -> int:
    """Bytes of one scalar."""
    if isinstance(vector, ScalarArray):
        return vector.data.itemsize * (SCALAR_LIMBS if vector.data.ndim == 2 else 1)
    return _SIZES[vector.dtype] * (SCALAR_LIMBS if len(vector.shape) == 2 else 1)


def kind(vector: ScalarOperand) -> tuple[object, ...]:
    """Vectors of one kind can be described together."""
    return item_bytes(vector), vector.form, isinstance(vector, ScalarArray)


def vector_operands(values: list[Any], curve: Curve, *, form: str | None, reduce: bool) -> Sequence[ScalarOperand]:
    """The vectors of a call: `Vectors` where all are of one type, else a list. Errors: those of `scalars_operand`."""
    if not values:
        return []
    first = scalars_operand(values[0], curve, form=form, reduce=reduce)
    together = _of_host(first, values) if isinstance(first, ScalarArray) else _of_device(first, values)
    return together or [first, *(scalars_operand(value, curve, form=form, reduce=reduce) for value in values[1:])]


class Recent:
    """The device vector that the last call through some bases was given. Where the same memory comes again, in the same
    words of its interface, it is described once for all these calls, without its owner: nobody keeps that alive.
    """

    __slots__ = ("_curve", "_last")

    def __init__(self, curve: Curve) -> None:
        self._curve = curve
        self._last: tuple[tuple[object, ...], Vectors | None] = (), None

    def described(self, value: object) -> Vectors | None:
        """`value` as vectors of a call, or None if it is not the one of the last call."""
        words = _words(value)
        if words is None:
            return None
        before, vectors = self._last
        if words != before:
            self._last = words, None
            return None
        if vectors is None:
            first = scalars_operand(value, self._curve, form=None, reduce=False)
            if not isinstance(first, DeviceArray) or first.pointer is None:
                return None
            first.source = None
            vectors = Vectors.of([first])
            self._last = words, vectors
        return vectors


def _words(value: object) -> tuple[object, ...] | None:
    """All that one device vector is asked by `scalars_operand`, None for anything else. No words can change later."""
    if isinstance(value, (np.ndarray, list, tuple)):
        return None
    try:
        interface = value.__cuda_array_interface__  # type: ignore[attr-defined] # most have none
        shape, strides, producer = tuple(interface["shape"]), interface.get("strides"), interface.get("stream")
        strides = None if strides is None else tuple(strides)
        words = (type(value), shape, interface["typestr"], tuple(interface["data"]), strides, producer)
    except Exception:  # whoever is asked to read it says what is wrong with it
        return None
    return words if len(shape) < 3 else None


def lengths(vectors: Sequence[ScalarOperand]) -> list[int]:
    """Terms of each vector."""
    return vectors.counts if isinstance(vectors, Vectors) else [len(vector) for vector in vectors]


def longest_of(vectors: Sequence[ScalarOperand]) -> int:
    """Terms of the longest vector, 0 if there is none."""
    return vectors.longest if isinstance(vectors, Vectors) else max(lengths(vectors), default=0)


def _of_host(first: ScalarArray, values: list[Any]) -> Vectors | None:
    """Arrays of full scalars that can be read as they lie, or operands of one type."""
    data = first.data
    if len(values) == 1:
        owners = [data]
    elif values[0] is data:
        if not all(map(is_full, values)):
            return None
        owners = values
    elif values[0] is first:
        if not all(type(value) is ScalarArray and _alike(first, value) for value in values):
            return None
        owners = [value.data for value in values]
    else:
        return None
    return Vectors(first, owners, [len(array) for array in owners], _HOST, [], item_bytes(first))


def _alike(first: ScalarArray, other: ScalarArray) -> bool:
    one, two = first.data, other.data
    same = other.curve is first.curve and other.form is first.form
    return same and two.dtype == one.dtype and two.ndim == one.ndim


def _of_device(first: DeviceArray, values: list[Any]) -> Vectors | None:
    """Arrays of one class that offer the interface and say nothing of strides."""
    if first.pointer is None:
        return None
    counts, pointers, producers = [first.shape[0]], [first.pointer], [first.producer]
    if len(values) == 1:
        return Vectors(first, values, counts, pointers, producers, item_bytes(first))
    owner, tail, word = type(values[0]), first.shape[1:], _WORDS[first.dtype]
    try:
        for value in values[1:]:
            if type(value) is not owner:
                return None
            interface = value.__cuda_array_interface__
            shape, producer = interface["shape"], interface.get("stream")
            if shape[1:] != tail or interface["typestr"] != word or interface.get("strides") is not None:
                return None
            counts.append(int(shape[0]))
            pointers.append(int(interface["data"][0]))
            producers.append(None if producer is None else int(producer))
    except (AttributeError, KeyError, IndexError, TypeError, ValueError):
        return None  # one by one it is found out which one, and said
    return Vectors(first, values, counts, pointers, producers, item_bytes(first))
