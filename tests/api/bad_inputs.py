"""The table of bad inputs: what is passed, and the error that says so. Tests run it; docs/bad-input.md is made of it.

`python -m tests.api.bad_inputs` prints the page; `--write` puts it into docs/.
"""

from __future__ import annotations

import array
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import multiscalar as ms
import numpy as np
from multiscalar import errors as e

PAGE = Path(__file__).parents[2] / "docs" / "bad-input.md"

C = ms.curve("bls12-377")
G = C.generator
N = 4
POINTS = C.points([(i + 1) * G for i in range(N)])
DATA = POINTS.data
ONES = np.array([[1, 0, 0, 0]] * N, dtype=np.uint64)


@dataclass(frozen=True)
class BadInput:
    """One row: code as a user would write it, the error, and words that its message must contain."""

    what: str
    call: Callable[[], Any]
    error: type[e.MultiscalarError]
    says: tuple[str, ...]
    index: int | None = None


def _with(array_: np.ndarray, position: Any, value: Any) -> np.ndarray:
    changed = array_.copy()
    changed[position] = value
    return changed


def _limbs(value: int, count: int) -> np.ndarray:
    return np.frombuffer(value.to_bytes(8 * count, "little"), dtype="<u8")


def _huge(rows: int, *shape: int) -> np.ndarray:
    """An array of many terms and no memory."""
    return np.broadcast_to(np.uint64(0), (rows, *shape))


def _many(rows: Any) -> np.ndarray:
    """One row more than path straus takes."""
    return np.resize(np.asarray(rows), (2**14 + 1, *np.asarray(rows).shape[1:]))


class Described:
    """An object with these attributes and no other."""

    def __init__(self, **attributes: object) -> None:
        self.__dict__ |= attributes


ROWS = [
    BadInput("a curve that does not exist", lambda: ms.curve("bls12-999"), e.UnknownCurveError, ("bls12-999", "bn254")),
    BadInput("no curve at all", lambda: ms.msm(DATA, ONES), e.UnknownCurveError, ("curve=",)),
    BadInput(
        "points of one curve, the call for another",
        lambda: ms.msm(POINTS, ONES, curve="bls12-381"),
        e.CurveMismatchError,
        ("bls12-377", "bls12-381"),
    ),
    BadInput(
        "points and scalars of different curves",
        lambda: ms.msm(POINTS, ms.curve("bn254").scalars(ONES)),
        e.CurveMismatchError,
        ("bn254", "bls12-377"),
    ),
    BadInput(
        "points of different curves in one list",
        lambda: ms.msm([G, ms.curve("bn254").generator], [1, 1]),
        e.CurveMismatchError,
        ("point 1", "bn254"),
        1,
    ),
    BadInput("more scalars than points", lambda: ms.msm(POINTS[:3], ONES), e.LengthError, ("4 scalars", "3 bases")),
    BadInput(
        "a batch with one vector too long",
        lambda: ms.Bases(POINTS[:3]).msm([ONES[:2], ONES]),
        e.LengthError,
        ("4 scalars", "3 bases"),
    ),
    BadInput(
        "own bases whose number does not fit",
        lambda: ms.Bases(POINTS).msm([ONES[:2], ONES[:1]], own_bases=True),
        e.LengthError,
        ("3 scalars", "4 bases"),
    ),
    BadInput(
        "a scalar equal to r",
        lambda: ms.msm(POINTS, _with(ONES, 2, _limbs(C.r, 4))),
        e.ScalarRangeError,
        ("scalar 2", hex(C.r), "reduce=True"),
        2,
    ),
    BadInput(
        "an int scalar above r",
        lambda: ms.msm([G, G], [1, C.r + 5]),
        e.ScalarRangeError,
        ("scalar 1", "reduce=True"),
        1,
    ),
    BadInput("a negative int", lambda: ms.msm([G, G], [1, -7]), e.ScalarRangeError, ("scalar 1", "-7"), 1),
    BadInput(
        "a signed array with a negative value",
        lambda: ms.msm(POINTS, np.array([1, 2, -3, 4])),
        e.ScalarRangeError,
        ("scalar 2", "-3", "r - s"),
        2,
    ),
    BadInput(
        "a Montgomery scalar above r",
        lambda: ms.msm(POINTS, _with(ONES, 0, _limbs(2**256 - 1, 4)), scalar_form="montgomery"),
        e.ScalarRangeError,
        ("scalar 0",),
        0,
    ),
    BadInput("NaN", lambda: ms.msm([G], [float("nan")]), e.InputTypeError, ("scalar 0", "nan", "int"), 0),
    BadInput("a float", lambda: ms.msm([G, G], [1, 2.0]), e.InputTypeError, ("scalar 1", "2.0"), 1),
    BadInput("a float array", lambda: ms.msm(POINTS, np.ones(N)), e.InputTypeError, ("float64",)),
    BadInput("a complex array", lambda: ms.msm(POINTS, np.ones(N, complex)), e.InputTypeError, ("complex128",)),
    BadInput("a string", lambda: ms.msm(POINTS, "1234"), e.InputTypeError, ("str",)),
    BadInput("bytes", lambda: ms.msm(POINTS, bytes(128)), e.InputTypeError, ("bytes", "frombuffer")),
    BadInput("a string among ints", lambda: ms.msm([G, G], [1, "2"]), e.InputTypeError, ("scalar 1", "'2'"), 1),
    BadInput("None as scalars", lambda: ms.msm(POINTS, None), e.InputTypeError, ("NoneType",)),
    BadInput(
        "an object array with a None",
        lambda: ms.msm(POINTS, np.array([1, 2, None, 4], dtype=object)),
        e.InputTypeError,
        ("scalar 2", "None"),
        2,
    ),
    BadInput(
        "an object array of two dimensions",
        lambda: ms.msm(POINTS, np.full((2, 2), 1, dtype=object)),
        e.ShapeError,
        ("(2, 2)",),
    ),
    BadInput("scalars of three limbs", lambda: ms.msm(POINTS, ONES[:, :3]), e.ShapeError, ("(4, 3)", "uint64[n, 4]")),
    BadInput(
        "scalars as eight limbs of 32 bits",
        lambda: ms.msm(POINTS, np.ones((N, 8), np.uint32)),
        e.ShapeError,
        ("(4, 8)", "uint32"),
    ),
    BadInput(
        "limbs in a signed type", lambda: ms.msm(POINTS, ONES.astype(np.int64)), e.InputTypeError, ("int64", ".view")
    ),
    BadInput("a scalar and no vector", lambda: ms.msm(POINTS, np.uint64(5)), e.ShapeError, ("()",)),
    BadInput(
        "points with the wrong number of limbs",
        lambda: ms.msm(np.zeros((N, 2, 4), np.uint64), ONES, curve=C),
        e.ShapeError,
        ("(4, 2, 4)", "uint64[n, 2, 6]"),
    ),
    BadInput(
        "points in one dimension less",
        lambda: ms.msm(DATA.reshape(N, 12), ONES, curve=C),
        e.ShapeError,
        ("(4, 12)", "uint64[n, 2, 6]"),
    ),
    BadInput("points as int64", lambda: ms.msm(DATA.view(np.int64), ONES, curve=C), e.InputTypeError, ("int64",)),
    BadInput("a flat list as points", lambda: ms.msm([1, 2, 3, 4], ONES, curve=C), e.InputTypeError, ("point 0",), 0),
    BadInput("a triple as a point", lambda: ms.msm([(1, 2, 1)], [1], curve=C), e.InputTypeError, ("point 0",), 0),
    BadInput("a float coordinate", lambda: ms.msm([G, (1.5, 2)], [1, 1]), e.InputTypeError, ("x of point 1", "1.5"), 1),
    BadInput(
        "a negative coordinate",
        lambda: ms.msm([(G.x, -G.y)], [1], curve=C),
        e.CoordinateRangeError,
        ("y of point 0",),
        0,
    ),
    BadInput(
        "a coordinate equal to p",
        lambda: ms.msm(_with(DATA, (1, 0), _limbs(C.p, 6)), ONES, curve=C),
        e.CoordinateRangeError,
        ("point 1", hex(C.p)),
        1,
    ),
    BadInput(
        "a point off the curve",
        lambda: ms.msm(_with(DATA, (3, 1, 0), 7), ONES, curve=C),
        e.NotOnCurveError,
        ("point 3", "y^2 = x^3 + 1"),
        3,
    ),
    BadInput(
        "an off-curve point with a zero scalar",
        lambda: ms.msm([G, (5, 5)], [1, 0], curve=C),
        e.NotOnCurveError,
        ("point 1",),
        1,
    ),
    BadInput("a point made off the curve", lambda: C.point(1, 1), e.NotOnCurveError, ("0x1", "bls12-377")),
    BadInput(
        "canonical points called Montgomery",
        lambda: ms.msm(DATA, ONES, curve=C, form="montgomery"),
        e.NotOnCurveError,
        ("point 0", "form"),
        0,
    ),
    BadInput(
        "big-endian limbs",
        lambda: ms.msm(DATA[..., ::-1], ONES, curve=C),
        e.CoordinateRangeError,
        ("point 0", "byte"),
        0,
    ),
    BadInput(
        "a point outside the subgroup",
        lambda: ms.msm([G, (2, 3)], [1, 1], curve=C, check="subgroup"),
        e.NotInSubgroupError,
        ("point 1",),
        1,
    ),
    BadInput(
        "an unknown form", lambda: ms.msm(DATA, ONES, curve=C, form="mont"), e.OptionError, ("'mont'", "montgomery")
    ),
    BadInput(
        "an unknown check", lambda: ms.msm(DATA, ONES, curve=C, check="full"), e.OptionError, ("'full'", "subgroup")
    ),
    BadInput(
        "a form that contradicts the operand",
        lambda: ms.msm(POINTS, ONES, form="montgomery"),
        e.OptionError,
        ("contradicts", "to_form"),
    ),
    BadInput(
        "narrow scalars called Montgomery",
        lambda: ms.msm(POINTS, np.ones(N, np.uint8), scalar_form="montgomery"),
        e.OptionError,
        ("uint8", "Montgomery"),
    ),
    BadInput("an unknown backend", lambda: ms.msm(POINTS, ONES, backend="gpu"), e.OptionError, ("'gpu'", "cuda")),
    BadInput("no threads", lambda: ms.msm(POINTS, ONES, threads=0), e.OptionError, ("threads", "1..1024")),
    BadInput("an unknown isa", lambda: ms.msm(POINTS, ONES, isa="avx2"), e.OptionError, ("'avx2'", "ifma512")),
    BadInput("an unknown path", lambda: ms.msm(POINTS, ONES, path="magic"), e.OptionError, ("magic", "bucket")),
    BadInput("a window of no width", lambda: ms.msm(POINTS, ONES, window=0), e.OptionError, ("window", "1..255")),
    BadInput("a window too wide", lambda: ms.msm(POINTS, ONES, window=200), e.OptionError, ("200",)),
    BadInput("an unknown setting", lambda: ms.using(speed=11).__enter__(), e.OptionError, ("'speed'", "threads")),
    BadInput(
        "a setting out of range", lambda: ms.using(crossover="many").__enter__(), e.OptionError, ("'many'", "8192")
    ),
    BadInput("an unknown shape", lambda: C.random_scalars(4, shape="round"), e.OptionError, ("'round'", "uniform")),
    BadInput("a negative number of points", lambda: C.known_points(-1), e.OptionError, ("-1",)),
    BadInput("more points than memory", lambda: C.known_points(2**44), e.OutOfMemoryError, ("bytes", "free")),
    BadInput(
        "an array larger than memory",
        lambda: ms.msm(_huge(2**40, 2, 6), _huge(2**40, 4), curve=C),
        e.OutOfMemoryError,
        ("bytes", "free"),
    ),
    BadInput(
        "half a point in bytes",
        lambda: C.decode(G.to_bytes("gnark")[:-1], "gnark"),
        e.EncodingError,
        ("47 bytes", "48"),
    ),
    BadInput(
        "bytes of another codec",
        lambda: C.decode(G.to_bytes("arkworks"), "gnark"),
        e.EncodingError,
        ("point 0",),
        0,
    ),
    BadInput("a codec the curve does not have", lambda: C.decode(b"", "zcash"), e.OptionError, ("zcash", "snarkvm")),
    BadInput("a string as encoded points", lambda: C.decode("97f1", "gnark"), e.InputTypeError, ("str",)),
    BadInput(
        "points without known logarithms",
        lambda: C.expected_sum(POINTS, ONES),
        e.InputError,
        ("known_points",),
    ),
    BadInput(
        "device scalars and backend cpu",
        lambda: ms.msm(POINTS, OnDevice((N, 4)), backend="cpu"),
        e.InputError,
        ("device", "cpu"),
    ),
    BadInput(
        "device scalars of a wrong shape", lambda: ms.msm(POINTS, OnDevice((N, 5))), e.ShapeError, ("(4, 5)", "device")
    ),
    BadInput("a buffer of floats", lambda: ms.msm(POINTS, array.array("d", [1.0] * N)), e.InputTypeError, ("float64",)),
    BadInput("points added across curves", lambda: G + ms.curve("bn254").generator, e.CurveMismatchError, ("bn254",)),
    BadInput("an int of thousands of digits", lambda: ms.msm([G], [10**5000]), e.ScalarRangeError, ("16,610 bits",), 0),
    BadInput("a coordinate of thousands of digits", lambda: C.point(10**5000, 1), e.CoordinateRangeError, ("bits",)),
    BadInput("a set of scalars", lambda: ms.msm(POINTS, {1, 2, 3}), e.InputTypeError, ("a set", "sequence")),
    BadInput("a dict of points", lambda: ms.msm({(1, 2): 3}, [1], curve=C), e.InputTypeError, ("a dict", "sequence")),
    BadInput(
        "an array with masked scalars",
        lambda: ms.msm(POINTS, np.ma.masked_array(ONES, mask=ONES == 1)),
        e.InputTypeError,
        ("masked", "filled"),
    ),
    BadInput("a list as an index", lambda: POINTS[[0, 1]], e.InputTypeError, ("[0, 1]", "slice")),
    BadInput("an array of truths as an index", lambda: C.scalars(ONES)[np.ones(N, bool)], e.InputTypeError, ("slice",)),
    BadInput("None as an index", lambda: C.scalars(ONES)[None], e.InputTypeError, ("None", "slice")),
    BadInput("half a thread", lambda: ms.msm(POINTS, ONES, threads=1.5), e.OptionError, ("1.5", "1..1024")),
    BadInput("a size below one", lambda: C.known_points("2^-1"), e.OptionError, ("2^-1",)),
    BadInput("a seed that is no int", lambda: C.known_points(2, seed=1.5), e.OptionError, ("seed", "1.5")),
    BadInput("a path that is no word", lambda: ms.msm(POINTS, ONES, path=3), e.OptionError, ("path", "straus")),
    BadInput("reduce that is no truth", lambda: ms.msm(POINTS, ONES, reduce="no"), e.OptionError, ("reduce", "'no'")),
    BadInput("stop that is no function", lambda: ms.msm(POINTS, ONES, stop=True), e.OptionError, ("stop", "function")),
    BadInput("devices that are no list", lambda: ms.msm(POINTS, ONES, devices=0), e.OptionError, ("devices",)),
    BadInput(
        "a promise that is no truth",
        lambda: ms.msm(POINTS, ONES, assume_subgroup="no"),
        e.OptionError,
        ("assume_subgroup", "'no'"),
    ),
    BadInput("a GPU below zero", lambda: ms.msm(POINTS, ONES, devices=[-1]), e.OptionError, ("devices", "[-1]")),
    BadInput(
        "devices for the backend cpu",
        lambda: ms.msm(POINTS, ONES, backend="cpu", devices=[0]),
        e.OptionError,
        ("devices", "cpu", "auto"),
    ),
    BadInput(
        "tables for the backend cpu",
        lambda: ms.Bases(POINTS, backend="cpu", precompute=4),
        e.OptionError,
        ("precompute", "cpu"),
    ),
    BadInput(
        "a budget that is no number",
        lambda: ms.Bases(POINTS, precompute="1.2.3GiB"),
        e.OptionError,
        ("1.2.3GiB", "2GiB"),
    ),
    BadInput(
        "more terms than straus takes",
        lambda: ms.msm(_many(POINTS), _many(ONES), curve=C, backend="cpu", check="none", path="straus"),
        e.OptionError,
        ("straus", "16384"),
    ),
    BadInput(
        "device scalars in a foreign byte order",
        lambda: ms.msm(
            POINTS, Described(__cuda_array_interface__={"shape": (4, 4), "typestr": ">u8", "data": (1, False)})
        ),
        e.ShapeError,
        (">u8", "uint64"),
    ),
    BadInput("an empty word as check", lambda: ms.msm(DATA, ONES, curve=C, check=""), e.OptionError, ("check", "none")),
    BadInput("a codec that is no word", lambda: C.decode(b"", None), e.OptionError, ("codec", "gnark")),
    BadInput(
        "own bases for one vector that is too short",
        lambda: ms.msm(POINTS, ONES[:2], own_bases=True),
        e.LengthError,
        ("2 scalars", "4 bases"),
    ),
    BadInput(
        "an array on a device that it does not name",
        lambda: ms.msm(POINTS, Described(__dlpack_device__=lambda: None)),
        e.InputTypeError,
        ("Described", "data are"),
    ),
    BadInput(
        "a device array without a type",
        lambda: ms.msm(POINTS, Described(__cuda_array_interface__={"shape": (4, 4)})),
        e.InputTypeError,
        ("Described", "typestr", "__cuda_array_interface__"),
    ),
]


class OnDevice:
    """What an array on a GPU looks like from outside; nobody may touch its pointer."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.__cuda_array_interface__ = {"shape": shape, "typestr": "<u8", "data": (0xDEAD0000, True), "version": 3}


def message(row: BadInput) -> tuple[str, e.MultiscalarError | None]:
    """The name and text of the error that the row gets, with machine-dependent numbers replaced."""
    try:
        row.call()
    except e.MultiscalarError as error:
        text = str(error)
        if isinstance(error, e.OutOfMemoryError) and error.free is not None:
            text = text.replace(f"{error.free:,}", "N")
        return f"{type(error).__name__}: {text}", error
    return "nothing was raised", None


def page() -> str:
    """docs/bad-input.md."""
    lines = [
        "# Bad input, and what is said about it",
        "",
        "Made from tests/api/bad_inputs.py by `python -m tests.api.bad_inputs --write`. Every error is in",
        "`multiscalar.errors`, has the parts `what`, `index`, `accepted` and `hint`, and is also a `ValueError`,",
        "`TypeError` or `MemoryError` where that is what it means.",
        "",
        "| input | error |",
        "|---|---|",
    ]
    for row in ROWS:
        text = message(row)[0].replace("|", "\\|")
        lines.append(f"| {row.what} | {text} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page())
    else:
        sys.stdout.write(page())
