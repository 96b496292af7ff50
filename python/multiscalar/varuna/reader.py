"""Reading bytes from others: every length is bounded before anything is allocated, every fault names its place."""

from __future__ import annotations

from ..errors import EncodingError, InputTypeError
from . import points, scalars
from .points import COMPRESSED, Points


class Reader:
    """A cursor over bytes; `what` names them in errors."""

    def __init__(self, data: bytes, what: str) -> None:
        try:
            self._data = bytes(memoryview(data))  # not bytes(data), which makes so many zeros of a number
        except TypeError:
            raise InputTypeError(f"a {what} of type {type(data).__name__}", accepted="bytes-like objects") from None
        self._what, self._at = what, 0

    def fail(self, message: str) -> EncodingError:
        """The error for a fault here."""
        return EncodingError(f"{self._what}, byte {self._at}: {message}")

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        if count > len(self._data) - self._at:
            raise self.fail(f"{count:,} bytes are needed, {len(self._data) - self._at:,} are left")
        self._at += count
        return self._data[self._at - count : self._at]

    def number(self, low: int, high: int, meaning: str, width: int = 8) -> int:
        """A little-endian number of `width` bytes that must lie in low..high."""
        value = int.from_bytes(self.take(width), "little")
        if not low <= value <= high:
            self._at -= width
            raise self.fail(f"{meaning} is {value:,}, accepted: {low:,} to {high:,}")
        return value

    def flag(self, meaning: str) -> bool:
        """One byte, 0 or 1."""
        value = self.take(1)[0]
        if value > 1:
            raise self.fail(f"the flag of {meaning} is {value}, accepted: 0 or 1")
        return value == 1

    def scalar(self) -> int:
        """A canonical scalar."""
        value = scalars.from_bytes(self.take(scalars.BYTES))
        if value >= scalars.MODULUS:
            raise self.fail("a scalar is not below the group order r")
        return value

    def scalars(self, count: int) -> list[int]:
        """`count` canonical scalars."""
        return [self.scalar() for _ in range(count)]

    def points(self, count: int) -> Points:
        """`count` compressed points of the subgroup."""
        return points.decompress(self.take(COMPRESSED * count), f"{self._what}, byte {self._at}")

    def left(self) -> int:
        """Bytes not yet read."""
        return len(self._data) - self._at

    def end(self) -> None:
        """Nothing may follow."""
        if self.left():
            raise self.fail(f"{self.left():,} bytes follow the end")
