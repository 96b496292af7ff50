"""The driver refuses an empty grid and one of too many rows: no call asks for either, and the shim refuses them too."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import multiscalar as ms
import numpy as np
import pytest
from driver import require_launchable
from multiscalar.cuda import layout, work
from multiscalar.cuda.layout import lay_out
from multiscalar.cuda.records import lay_out_table
from multiscalar.cuda.shape import CurveShape, DeviceShape, Shape, Tuning, divide_up
from multiscalar.cuda.sources import kernel_source
from multiscalar.cuda.steps import Launch, Ref
from multiscalar.cuda.tune import fewer_sets, tune
from multiscalar.errors import DeviceError

SHAPES = [CurveShape("bn254", 8, 254, 128), CurveShape("bls12-381", 12, 255, 128)]
LARGE_BATCHES = [(work.MOST_VECTORS, n) for n in (1, 2, 100, 1 << 10, 1 << 20)]
LAUNCH = Launch("msm_convert", (1, 1), 128, (Ref("points"), Ref("table"), Ref("status"), 1, 2, 0, 0))


@pytest.mark.parametrize("change", [{"grid": (0, 1)}, {"grid": (1, 0)}, {"block": 0}])
def test_the_shim_refuses_what_is_empty(shim: Any, change: dict[str, Any]) -> None:
    runtime = shim()
    bound = runtime.bind({"shim_launch": None}, replace(LAUNCH, **change), lambda ref: 0)
    with pytest.raises(DeviceError, match="CUDA_ERROR_INVALID_VALUE in cuLaunchKernel"):
        bound(runtime.stream())


@pytest.mark.parametrize("change", [{"grid": (1 << 31, 1)}, {"grid": (1, 1 << 16)}, {"block": 1025}])
def test_the_shim_refuses_what_is_too_large(change: dict[str, Any]) -> None:
    with pytest.raises(DeviceError, match="CUDA_ERROR_INVALID_VALUE in cuLaunchKernel"):
        require_launchable(replace(LAUNCH, **change))


def test_no_bases_need_no_launch(shim: Any) -> None:
    curve = ms.curve("bn254")
    runtime, none = shim(), curve.known_points(3)[:0]
    for precompute in (None, 4):
        assert ms.Bases(none, backend="cuda", precompute=precompute).msm([]).is_infinity
    assert ms.msm(none, [], backend="cuda").is_infinity
    assert "launch" not in runtime.log


@pytest.mark.parametrize("curve", SHAPES, ids=lambda curve: curve.name)
@pytest.mark.parametrize(
    ("batch", "n"), [(1, 1), (1, 2), (1, 100), (1, 1 << 13), (1, (1 << 28) + 1), (2, 1 << 20), *LARGE_BATCHES]
)
def test_every_launch_of_a_call_can_be_launched(curve: CurveShape, batch: int, n: int) -> None:
    widest = Shape(curve=curve, n=n, batch=batch, points=n, subgroup=False)
    glv = replace(widest, subgroup=True, endomorphism=True)
    cases = [(shape, 0) for shape in (widest, glv, replace(widest, scalar_bytes=1), replace(widest, factor=3))]
    cases += [(shape, divide_up(shape.bits, 3)) for shape in (widest, glv)]  # the narrowest that can be asked for
    for shape, windows in cases:
        if shape.factor * n > (1 << 30) - 1:
            continue
        tuning = tune(shape, DeviceShape(132), windows=windows)
        for choice in (tuning, fewer_sets(shape, tuning) or tuning):
            for step in lay_out(shape, choice, DeviceShape(132)).steps:
                if isinstance(step, Launch):
                    require_launchable(step)


def test_limits_are_those_that_the_kernels_have_room_for() -> None:
    text = kernel_source("bn254")
    known = {name: int(value) for name, value in re.findall(r"\b([A-Z_]{4,}) = (\d+)[,;]", text)}
    for name in ("PAIR_THREADS", "MAX_PAIR_ROWS", "JOINED_ITEMS", "SORT_THREADS"):
        assert getattr(layout, name) == known[name], name
    assert known["HELD"] == layout.HELD_DIGITS


@pytest.mark.parametrize("pair_run", [1, 192, 1 << 20])
@pytest.mark.parametrize("n", [1 << 10, 1 << 22])
def test_tiles_of_pairs_have_room_for_their_rows(n: int, pair_run: int) -> None:
    shape = Shape(curve=SHAPES[0], n=n)
    tuning = Tuning(windows=16, slice=16, run=1, grouped=False, pair_rounds=2, pair_run=pair_run)
    made = lay_out(shape, tuning, DeviceShape(2))
    runs = [s.arguments[-3] for s in made.steps if isinstance(s, Launch) and s.kernel.startswith("msm_pairs")]
    assert len(runs) == 2
    assert all(isinstance(run, int) and 1 <= run <= layout.MAX_PAIR_ROWS for run in runs)
    blocks, room = 2 * layout.PAIR_BLOCKS[8], 128 * SHAPES[0].coordinate_bytes
    assert made.buffers["prefixes"] >= blocks * room * max(run for run in runs if isinstance(run, int))


@pytest.mark.parametrize(("batch", "apart"), [(1, False), (2, True), (64, True), (528, True), (529, False)])
@pytest.mark.parametrize("shared_bytes", [64 << 10, 100 << 10, 164 << 10, 228 << 10])
def test_the_last_blocks_of_a_batch_lie_four_on_a_multiprocessor(shared_bytes: int, batch: int, apart: bool) -> None:
    shape, device = Shape(curve=SHAPES[0], n=64, batch=batch), DeviceShape(132, shared_bytes)
    last = lay_out(shape, tune(shape, device), device).steps[-1]
    assert isinstance(last, Launch)
    assert last.kernel == "msm_combine"
    block = last.shared + layout.BLOCK_SHARED_BYTES
    assert 4 * block <= shared_bytes
    assert (last.shared > 0) == apart
    assert (5 * block > min(shared_bytes, 5 * (48 << 10))) == apart


@pytest.mark.parametrize("factor", [1, 5])
@pytest.mark.parametrize("points", [0, 1, 1 << 28])
def test_every_launch_of_a_table_can_be_launched(points: int, factor: int) -> None:
    made = lay_out_table(SHAPES[0], points, montgomery=False, check=True, endomorphism=False, factor=factor)
    assert len(made) == (factor if points else 0)
    for step in made:
        assert isinstance(step, Launch)
        require_launchable(step)


@pytest.mark.parametrize("own", [False, True])
def test_a_very_large_batch_is_several(own: bool) -> None:
    curve, total = ms.curve("bn254"), 2 * work.MOST_VECTORS + 3
    vectors = [curve.scalars(np.ones(2, np.uint8))] * total
    pieces = work.works(list(vectors), own)
    assert [len(piece.vectors) for piece in pieces] == [work.MOST_VECTORS] * 2 + [3]
    assert [k for piece in pieces for k in piece.positions] == list(range(total))
    assert [piece.first for piece in pieces] == [2 * piece.positions[0] if own else 0 for piece in pieces]
