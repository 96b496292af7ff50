"""What a kernel takes of a multiprocessor: registers, spills, local memory, as the assembler reports them."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass

from .program import Unit, program

_ENTRY = re.compile(r"Compiling entry function '(\w+)'")
_STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"Used (\d+) registers")


@dataclass(frozen=True)
class Resources:
    """Of one kernel: registers a thread; bytes of stack, spill stores and spill loads a thread."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int


def measure(unit: Unit) -> tuple[bytes, dict[str, Resources]]:
    """Compile `unit`, uncached: the cubin, and the resources of each kernel by name."""
    log = io.StringIO()
    code = program(unit, report=True).compile("cubin", logs=log)
    return bytes(code.code), parse(log.getvalue())


def parse(log: str) -> dict[str, Resources]:
    """The assembler's report, kernel by kernel."""
    found: dict[str, Resources] = {}
    for part in re.split(r"(?=ptxas info\s*: Compiling entry function)", log):
        entry, used, stack = _ENTRY.search(part), _USED.search(part), _STACK.search(part)
        if entry and used:
            frame, stores, loads = (int(value) for value in stack.groups()) if stack else (0, 0, 0)
            found[entry[1]] = Resources(int(used[1]), frame, stores, loads)
    return found
