"""The carry-chain rows of multi-precision arithmetic as inline PTX (kernels/ptx/rows.cuh).

A carry flag does not survive from one asm statement to the next except by luck, so each row of a
multiplication is one statement; statements that long are better written by a program.
"""

from __future__ import annotations

SIZES = (8, 12)  # limbs of 254-bit and of 377/381-bit fields


class Row:
    """One asm statement under construction: read-write, write-only and read-only operands by name."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.operands: dict[str, str] = {}  # name -> constraint
        self.locals: list[str] = []

    def ref(self, name: str, constraint: str) -> str:
        kept = self.operands.setdefault(name, constraint)
        if constraint == "+r":
            kept = self.operands[name] = "+r" if kept in ("+r", "r") else kept
        return "{" + name + "}"

    def local(self, name: str, kind: str) -> str:
        """A register of the statement's own."""
        self.locals.append(f".reg .{kind} {name};")
        return name

    def op(self, text: str) -> None:
        self.lines.append(text)

    def render(self, indent: str) -> str:
        order = [n for n, c in self.operands.items() if c != "r"] + [n for n, c in self.operands.items() if c == "r"]
        index = {name: f"%{i}" for i, name in enumerate(order)}
        body = "\n".join(f'{indent}    "{line.format(**index)};"' for line in self.lines)
        if self.locals:
            body = f'{indent}    "{{{" ".join(self.locals)}"\n{body}\n{indent}    "}}"'
        outs = ", ".join(
            f'"{self.operands[n]}"({n.replace("_at_", "[") + ("]" if "_at_" in n else "")})'
            for n in order
            if self.operands[n] != "r"
        )
        ins = ", ".join(
            f'"r"({n.replace("_at_", "[") + ("]" if "_at_" in n else "")})' for n in order if self.operands[n] == "r"
        )
        return f"{indent}asm(\n{body}\n{indent}    : {outs}\n{indent}    : {ins});\n"


def at(array: str, k: int) -> str:
    return f"{array}_at_{k}"


def next_row(n: int) -> Row:
    """Shift (x, y) by one word and add a * b; see the comment of `Rows` in the emitted text."""
    row = Row()
    rw = lambda array, k: row.ref(at(array, k), "+r")  # noqa: E731
    b = row.ref("b", "r")
    a = lambda k: row.ref(at("a", k), "r")  # noqa: E731
    row.op(f"add.cc.u32 {rw('x', 0)}, {rw('x', 0)}, {rw('y', 1)}")
    for k in range(0, n, 2):
        last = k == n - 2
        low, high = ("0", "0") if last else (rw("y", k + 2), rw("y", k + 3))
        row.op(f"madc.lo.cc.u32 {rw('y', k)}, {a(k + 1)}, {b}, {low}")
        row.op(f"madc.hi{'' if last else '.cc'}.u32 {rw('y', k + 1)}, {a(k + 1)}, {b}, {high}")
    for k in range(0, n, 2):
        row.op(f"mad{'c' if k else ''}.lo.cc.u32 {rw('x', k)}, {a(k)}, {b}, {rw('x', k)}")
        row.op(f"madc.hi.cc.u32 {rw('x', k + 1)}, {a(k)}, {b}, {rw('x', k + 1)}")
    row.op(f"addc.u32 {rw('y', n - 1)}, {rw('y', n - 1)}, 0")
    return row


def reduce_row(n: int, one: bool) -> Row:
    """Add p * m, which clears x[0]; `one` is the form for p[0] = 1, where that product is m itself."""
    row = Row()
    rw = lambda array, k: row.ref(at(array, k), "+r")  # noqa: E731
    m = row.ref("m", "r")
    p = lambda k: row.ref(at("p", k), "r")  # noqa: E731
    for k in range(0, n, 2):
        row.op(f"mad{'c' if k else ''}.lo.cc.u32 {rw('y', k)}, {p(k + 1)}, {m}, {rw('y', k)}")
        row.op(f"madc.hi{'' if k == n - 2 else '.cc'}.u32 {rw('y', k + 1)}, {p(k + 1)}, {m}, {rw('y', k + 1)}")
    if one:
        row.op(f"add.cc.u32 {rw('x', 0)}, {rw('x', 0)}, {m}")
        row.op(f"addc.cc.u32 {rw('x', 1)}, {rw('x', 1)}, 0")
    for k in range(2 if one else 0, n, 2):
        row.op(f"mad{'c' if k else ''}.lo.cc.u32 {rw('x', k)}, {p(k)}, {m}, {rw('x', k)}")
        row.op(f"madc.hi.cc.u32 {rw('x', k + 1)}, {p(k)}, {m}, {rw('x', k + 1)}")
    row.op(f"addc.u32 {rw('y', n - 1)}, {rw('y', n - 1)}, 0")
    return row


def wide_chain(row: Row, started: set[str], array: str, first: int, a: str, others: list[str]) -> None:
    """array += a * others, each product at its own pair of words from `first` on; words appear when first written."""

    def word(k: int) -> tuple[str, str]:
        name = at(array, k)
        known = name in started
        started.add(name)
        target = row.ref(name, "+r" if known else "=&r")
        return target, target if known else "0"

    for step, b in enumerate(others):
        for half in ("lo", "hi"):
            target, addend = word(first + 2 * step + (half == "hi"))
            head = "mad" if step == 0 and half == "lo" else "madc"
            row.op(f"{head}.{half}.cc.u32 {target}, {row.ref(a, 'r')}, {row.ref(b, 'r')}, {addend}")
    target, addend = word(first + 2 * len(others))
    row.op(f"addc.u32 {target}, {addend}, 0")


def join_row(n: int, started: set[str]) -> Row:
    """wide = even + 2^32 odd; words that no product reached are zero."""
    row = Row()
    part = lambda array, k: row.ref(at(array, k), "r") if at(array, k) in started else "0"  # noqa: E731
    for k in range(1, 2 * n):
        flags = "add.cc" if k == 1 else "addc" if k == 2 * n - 1 else "addc.cc"
        row.op(f"{flags}.u32 {row.ref(at('wide', k), '=&r')}, {part('even', k)}, {part('odd', k - 1)}")
    return row


def square_rows(n: int) -> list[Row]:
    """wide = a^2 without reduction, 2 n words: products of different limbs by parity, doubled, plus squares."""
    rows: list[Row] = []
    started: set[str] = set()
    for i in range(n - 1):
        row = Row()
        for array, j in (("odd", i + 1), ("even", i + 2)):
            if j < n:
                others = [at("a", k) for k in range(j, n, 2)]
                wide_chain(row, started, array, i + j - (array == "odd"), at("a", i), others)
        rows.append(row)
    double, squares = Row(), Row()
    for k in range(1, 2 * n):
        flags = "add.cc" if k == 1 else "addc" if k == 2 * n - 1 else "addc.cc"
        word = double.ref(at("wide", k), "+r")
        double.op(f"{flags}.u32 {word}, {word}, {word}")
    for i in range(n):
        a = squares.ref(at("a", i), "r")
        target = squares.ref(at("wide", 2 * i), "+r" if i else "=&r")
        squares.op(f"mad{'c' if i else ''}.lo.cc.u32 {target}, {a}, {a}, {target if i else '0'}")
        word = squares.ref(at("wide", 2 * i + 1), "+r")
        squares.op(f"madc.hi{'.cc' if i < n - 1 else ''}.u32 {word}, {a}, {a}, {word}")
    return [*rows, join_row(n, started), double, squares]


def shift_reduce_row(n: int, one: bool) -> Row:
    """Shift (x, y) by one word as `next_row` does, without a product, and clear x[0] again."""
    row = Row()
    rw = lambda array, k: row.ref(at(array, k), "+r")  # noqa: E731
    p = lambda k: row.ref(at("p", k), "r")  # noqa: E731
    m = row.local("m", "u32")
    row.op(f"add.cc.u32 {rw('x', 0)}, {rw('x', 0)}, {rw('y', 1)}")
    if one:  # m = -x[0] without touching the carry
        row.op(f"mad.lo.u32 {m}, {rw('x', 0)}, 0xfffffffe, {rw('x', 0)}")
    else:
        row.op(f"mul.lo.u32 {m}, {rw('x', 0)}, {row.ref('factor', 'r')}")
    for k in range(0, n, 2):
        last = k == n - 2
        low, high = ("0", "0") if last else (rw("y", k + 2), rw("y", k + 3))
        row.op(f"madc.lo.cc.u32 {rw('y', k)}, {p(k + 1)}, {m}, {low}")
        row.op(f"madc.hi{'' if last else '.cc'}.u32 {rw('y', k + 1)}, {p(k + 1)}, {m}, {high}")
    if one:
        row.op(f"add.cc.u32 {rw('x', 0)}, {rw('x', 0)}, {m}")
        row.op(f"addc.cc.u32 {rw('x', 1)}, {rw('x', 1)}, 0")
    for k in range(2 if one else 0, n, 2):
        row.op(f"mad{'c' if k else ''}.lo.cc.u32 {rw('x', k)}, {p(k)}, {m}, {rw('x', k)}")
        row.op(f"madc.hi.cc.u32 {rw('x', k + 1)}, {p(k)}, {m}, {rw('x', k + 1)}")
    row.op(f"addc.u32 {rw('y', n - 1)}, {rw('y', n - 1)}, 0")
    return row


def merge_row(n: int) -> Row:
    """r = y + x / 2^32, for x with x[0] = 0 (or not looked at)."""
    row = Row()
    out = lambda k: row.ref(at("r", k), "=&r")  # noqa: E731
    for k in range(n):
        flags = "add.cc" if k == 0 else "addc.cc" if k < n - 1 else "addc"
        high = "0" if k == n - 1 else row.ref(at("x", k + 1), "r")
        row.op(f"{flags}.u32 {out(k)}, {row.ref(at('y', k), 'r')}, {high}")
    return row


def chain(n: int, op: str) -> Row:
    """r = a op b over n words; the flag goes to `flag` (carry: 0 or 1, borrow: 0 or all ones)."""
    row = Row()
    out = lambda k: row.ref(at("r", k), "=&r")  # noqa: E731
    for k in range(n):
        flags = f"{op}.cc" if k == 0 else f"{op}c.cc"
        row.op(f"{flags}.u32 {out(k)}, {row.ref(at('a', k), 'r')}, {row.ref(at('b', k), 'r')}")
    row.op(f"{op}c.u32 {row.ref('flag', '=&r')}, 0, 0")
    return row


def add_if_row(n: int) -> Row:
    """r += b where `flag` is not zero: predicated, which spares masking b."""
    row = Row()
    take = row.local("take", "pred")
    row.op(f"setp.ne.u32 {take}, {row.ref('flag', 'r')}, 0")
    for k in range(n):
        flags = "add.cc" if k == 0 else "addc.cc" if k < n - 1 else "addc"
        word = row.ref(at("r", k), "+r")
        row.op(f"@{take} {flags}.u32 {word}, {word}, {row.ref(at('b', k), 'r')}")
    return row


HEADER = """// Generated by tools/generate.py. Do not edit.
// Carry-chain rows over N words, each one asm statement: ptxas fuses a lo/hi pair into IMAD.WIDE.U32.X.
//
// A running Montgomery product is x + 2^32 y: x collects the products of even limbs, y those of odd limbs, so that
// each 64-bit product lands on a fixed pair of words and no carry has to leave the chain.
//   first   x, y  = a b                                  N wide
//   next    x, y  = (x, y with roles exchanged) / 2^32 + a b    N wide; called as next(y, x, ...)
//   reduce  x, y += p m, so that x[0] = 0                N wide
//   reduce_one    the same for p[0] = 1                  N - 1 wide
//   shift_reduce  x, y = (x, y with roles exchanged) / 2^32 + p m    N wide: `next` and `reduce` without a factor
//   merge   r     = y + x / 2^32                         N adds
//   square  wide  = a^2, 2 N words, not reduced          (N^2 + N) / 2 wide
// The portable twin, which is also the reference, is tests/cuda/shim/rows.hpp.

// -a. Written as the head of a borrow chain, because a plain negation is folded by ptxas into the products that use it,
// which then no longer fuse (BLS12-377: 482 instructions a product instead of 360).
static __device__ __forceinline__ u32 negate_opaque(u32 a) {
    u32 r;
    asm("sub.cc.u32 %0, 0, %1;" : "=r"(r) : "r"(a));
    return r;
}

template <int N>
struct Rows;
"""


def emit() -> str:
    text = HEADER
    for n in SIZES:
        i = "        "
        text += f"""
template <>
struct Rows<{n}> {{
    static __device__ __forceinline__ void first(u32 (&x)[{n}], u32 (&y)[{n}], const u32 (&a)[{n}], u32 b) {{
#pragma unroll
        for (int k = 0; k < {n}; k += 2) {{
            u64 even = u64(a[k]) * b, odd = u64(a[k + 1]) * b;
            x[k] = u32(even), x[k + 1] = u32(even >> 32), y[k] = u32(odd), y[k + 1] = u32(odd >> 32);
        }}
    }}
    static __device__ __forceinline__ void next(u32 (&x)[{n}], u32 (&y)[{n}], const u32 (&a)[{n}], u32 b) {{
{next_row(n).render(i)}    }}
    static __device__ __forceinline__ void reduce(u32 (&x)[{n}], u32 (&y)[{n}], const u32 (&p)[{n}], u32 m) {{
{reduce_row(n, False).render(i)}    }}
    static __device__ __forceinline__ void reduce_one(u32 (&x)[{n}], u32 (&y)[{n}], const u32 (&p)[{n}], u32 m) {{
{reduce_row(n, True).render(i)}    }}
    static __device__ __forceinline__ void shift_reduce(u32 (&x)[{n}], u32 (&y)[{n}], const u32 (&p)[{n}],
                                                        u32 factor) {{
{shift_reduce_row(n, False).render(i)}    }}
    static __device__ __forceinline__ void shift_reduce_one(u32 (&x)[{n}], u32 (&y)[{n}], const u32 (&p)[{n}]) {{
{shift_reduce_row(n, True).render(i)}    }}
    static __device__ __forceinline__ void square(u32 (&wide)[{2 * n}], const u32 (&a)[{n}]) {{
        u32 even[{2 * n}], odd[{2 * n}];
{"".join(row.render(i) for row in square_rows(n))}    }}
    static __device__ __forceinline__ void merge(u32 (&r)[{n}], const u32 (&y)[{n}], const u32 (&x)[{n}]) {{
{merge_row(n).render(i)}    }}
    // Returns the carry.
    static __device__ __forceinline__ u32 add(u32 (&r)[{n}], const u32 (&a)[{n}], const u32 (&b)[{n}]) {{
        u32 flag;
{chain(n, "add").render(i)}        return flag;
    }}
    // r += b if flag.
    static __device__ __forceinline__ void add_if(u32 (&r)[{n}], const u32 (&b)[{n}], u32 flag) {{
{add_if_row(n).render(i)}    }}
    // Returns all ones when a < b, else 0.
    static __device__ __forceinline__ u32 sub(u32 (&r)[{n}], const u32 (&a)[{n}], const u32 (&b)[{n}]) {{
        u32 flag;
{chain(n, "sub").render(i)}        return flag;
    }}
}};
"""
    return text
