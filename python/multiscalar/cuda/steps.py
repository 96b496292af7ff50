"""What a call does on the device, as data: launches and fills in order, and the buffers they name.

An argument of a launch is a `Ref` (a device address), an `int` (a 32-bit unsigned number) or `None` (a null address).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from .shape import Shape, Tuning

EXTERNAL: Final = ("scalars", "table", "lengths")  # buffers that the caller owns
# Buffer `status`: lowest index of a bad scalar, of a bad point; NO_INDEX when there is none, as it has to be before a
# call and is after it. What it was at the end is in buffer `report`.
STATUS_WORDS: Final = 2
NO_INDEX: Final = 0xFFFFFFFF


@dataclass(frozen=True)
class Ref:
    """A device address: a buffer and a byte offset in it."""

    buffer: str
    offset: int = 0


Argument = Ref | int | None  # address, 32-bit unsigned number, null address


@dataclass(frozen=True)
class Launch:
    """A kernel launch; `phase` says where its time counts."""

    kernel: str
    grid: tuple[int, int]
    block: int
    arguments: tuple[Argument, ...]
    shared: int = 0
    phase: str = ""


@dataclass(frozen=True)
class Fill:
    """Set `size` bytes to `value`."""

    target: Ref
    size: int
    value: int
    phase: str = ""


Step = Launch | Fill


@dataclass
class Layout:
    """Buffers by name with their sizes in bytes, and the steps of one call.

    The caller provides `scalars`, `table` and, if the shape says so, `lengths`; everything else belongs to the plan.
    `result` receives X, Y, Z of each MSM (3 limbs words each): x = X / Z, y = Y / Z, infinity when Z = 0 mod p.
    """

    shape: Shape
    tuning: Tuning
    buffers: dict[str, int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def need(self, name: str, size: int) -> None:
        self.buffers[name] = max(self.buffers.get(name, 0), (size + 255) // 256 * 256)

    @property
    def scratch_bytes(self) -> int:
        return sum(size for name, size in self.buffers.items() if name not in EXTERNAL)
