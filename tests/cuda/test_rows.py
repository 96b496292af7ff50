"""The PTX rows, interpreted instruction by instruction, against Python integers: what no host compiler can check."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parent)]
import oracle  # noqa: E402
from emit import ptx  # noqa: E402

MASK = (1 << 32) - 1
Registers = dict[str, int]


def interpret(row: ptx.Row, registers: Registers, *, lossless: bool = True) -> None:
    """One asm statement: mad, mul, add, sub with .lo/.hi, carry in (the `c` forms) and carry out (.cc)."""
    carry, take = 0, True
    for line in row.lines:
        if line.startswith("setp.ne"):
            take = registers["flag"] != 0
            continue
        if line.startswith("@take "):
            if not take:
                continue
            line = line.removeprefix("@take ")
        opcode, rest = line.split(" ", 1)
        target, *sources = [term.strip() for term in rest.split(",")]
        name, *flags = opcode.split(".")
        target, *sources = [term.strip("{}") for term in (target, *sources)]
        values = [registers[s] if s.isidentifier() else int(s, 0) for s in sources]
        takes = carry if re.fullmatch(r"(mad|add|sub)c", name) else 0
        if name.startswith(("mad", "mul")):
            product = values[0] * values[1]
            part = product & MASK if "lo" in flags else product >> 32
            total = part + (values[2] if name.startswith("mad") else 0) + takes
        elif name.startswith("add"):
            total = values[0] + values[1] + takes
        else:
            total = values[0] - values[1] - takes
        registers[target] = total & MASK
        if "cc" in flags:
            carry = 1 if total < 0 or total > MASK else 0
        elif lossless and "lo" not in flags and not name.startswith("sub") and total > MASK:
            raise AssertionError(f"{line}: a carry is lost")


def store(registers: Registers, array: str, value: int, n: int) -> None:
    for k in range(n):
        registers[ptx.at(array, k)] = value >> (32 * k) & MASK


def value(registers: Registers, array: str, n: int) -> int:
    return sum(registers[ptx.at(array, k)] << (32 * k) for k in range(n))


def montgomery(a: int, b: int, p: int, n: int) -> int:
    """The loop of `mul` in field/element.cuh, on interpreted rows."""
    one = p & MASK == 1
    inverse = -pow(p, -1, 1 << 32) % (1 << 32)
    names = ("even", "odd")
    state = {"even": 0, "odd": 0}
    for i in range(n):
        x, y = (names[i % 2], names[1 - i % 2])
        registers: Registers = {}
        store(registers, "a", a, n)
        store(registers, "p", p, n)
        registers["b"] = b >> (32 * i) & MASK
        if i == 0:
            state["even"] = sum((a >> (32 * k) & MASK) * registers["b"] << (32 * k) for k in range(0, n, 2))
            state["odd"] = sum((a >> (32 * k + 32) & MASK) * registers["b"] << (32 * k) for k in range(0, n, 2))
        store(registers, "x", state[x], n)
        store(registers, "y", state[y], n)
        if i:
            interpret(ptx.next_row(n), registers)
        registers["m"] = registers["x_at_0"] * inverse & MASK
        interpret(ptx.reduce_row(n, one), registers)
        assert registers["x_at_0"] == 0
        state[x], state[y] = value(registers, "x", n), value(registers, "y", n)
    registers = {}
    store(registers, "y", state["even"], n)
    store(registers, "x", state["odd"], n)
    interpret(ptx.merge_row(n), registers)
    return value(registers, "r", n)


def squared(a: int, p: int, n: int) -> int:
    """The rows of `sqr`: a wide square, then the reduction of a wide number."""
    registers: Registers = {}
    store(registers, "a", a, n)
    for row in ptx.square_rows(n):
        interpret(row, registers)
    wide = value(registers, "wide", 2 * n)
    assert wide == a * a
    store(registers, "p", p, n)
    store(registers, "x", wide & ((1 << 32 * n) - 1), n)
    store(registers, "y", 0, n)
    one = p & MASK == 1
    registers["factor"] = -pow(p, -1, 1 << 32) % (1 << 32)
    registers["m"] = registers["x_at_0"] * registers["factor"] & MASK
    interpret(ptx.reduce_row(n, one), registers)
    for _ in range(1, n):
        x, y = value(registers, "x", n), value(registers, "y", n)
        store(registers, "x", y, n)
        store(registers, "y", x, n)
        interpret(ptx.shift_reduce_row(n, one), registers)
        assert registers["x_at_0"] == 0
    x, y = value(registers, "x", n), value(registers, "y", n)
    store(registers, "y", y, n)
    store(registers, "x", x, n)
    interpret(ptx.merge_row(n), registers)
    return value(registers, "r", n) + (wide >> 32 * n)


def operands(p: int, seed: int) -> list[int]:
    rng = random.Random(seed)
    edges = [0, 1, p - 1, p, 2 * p - 1, 2 * p - 2, MASK]
    sparse = [rng.getrandbits(p.bit_length()) & ~(MASK << 32 * k) & ~MASK for k in range(4)]
    return edges + [v % (2 * p) for v in sparse] + [rng.randrange(2 * p) for _ in range(20)]


@pytest.mark.parametrize("name", oracle.FILES)
def test_montgomery_rows(name: str) -> None:
    """Products and squares of values below 2p are right and again below 2p."""
    field = oracle.curve(name).field
    p, n = field.modulus, field.limbs32
    inverse = pow(1 << 32 * n, -1, p)
    values = operands(p, 1)
    for a, b in zip(values, reversed(values), strict=True):
        product, square = montgomery(a, b, p, n), squared(a, p, n)
        assert product % p == a * b * inverse % p
        assert square % p == a * a * inverse % p
        assert product < 2 * p
        assert square < 2 * p


@pytest.mark.parametrize("n", ptx.SIZES)
def test_add_and_sub_report_carry_and_borrow(n: int) -> None:
    rng = random.Random(n)
    top = 1 << 32 * n
    for a, b in [(0, 0), (top - 1, 1), (0, 1), *((rng.randrange(top), rng.randrange(top)) for _ in range(20))]:
        for op, total in (("add", a + b), ("sub", a - b)):
            registers: Registers = {}
            store(registers, "a", a, n)
            store(registers, "b", b, n)
            interpret(ptx.chain(n, op), registers)
            assert value(registers, "r", n) == total % top
            assert registers["flag"] == (1 if total >= top else MASK if total < 0 else 0)


@pytest.mark.parametrize("n", ptx.SIZES)
def test_conditional_addition(n: int) -> None:
    rng = random.Random(n)
    top = 1 << 32 * n
    for flag in (0, 1, MASK):
        a, b = rng.randrange(top), rng.randrange(top)
        registers: Registers = {"flag": flag}
        store(registers, "r", a, n)
        store(registers, "b", b, n)
        interpret(ptx.add_if_row(n), registers, lossless=False)
        assert value(registers, "r", n) == (a + b if flag else a) % top
