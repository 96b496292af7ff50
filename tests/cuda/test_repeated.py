"""Device memory that comes again, on the shim: it is described once, its run is one graph, and nobody's is kept."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import multiscalar as ms
import numpy as np
import pytest
from multiscalar.cuda import bases as cuda_bases
from multiscalar.cuda import compiled
from multiscalar.engine import vectors
from multiscalar.errors import LengthError, ScalarRangeError, ShapeError

from tests.cuda.test_backend import inputs
from tests.cuda.test_host_inputs import OnDevice, per_call


def device_bases(n: int = 33) -> tuple[ms.Bases, OnDevice, ms.Point]:
    points, scalars, expected = inputs("bn254", n)
    return ms.Bases(points, backend="cuda"), OnDevice(scalars.data.copy()), expected


def test_a_run_over_memory_that_comes_again_is_one_graph(shim: Any) -> None:
    runtime = shim()
    bases, device, expected = device_bases()
    scalars, bounds = device.array, {"stream": None}
    device.__cuda_array_interface__ |= bounds
    for _ in range(3):
        assert bases.msm(device) == expected
    assert per_call(runtime, lambda: bases.msm(device)) == {"replay": 1}
    assert per_call(runtime, lambda: bases.msm(scalars), after=5) == {"replay": 1}, "from the host through a slot"
    other = OnDevice(scalars.copy())
    other.__cuda_array_interface__ |= bounds
    turns = [device, other]
    assert per_call(runtime, lambda: [bases.msm(one) for one in turns]) == {"record": 2, "launch": 2, "replay": 2}
    for one in [*(other,) * 5, device, *(other,) * 3, *(device,) * 5]:
        assert bases.msm(one) == expected
    assert per_call(runtime, lambda: bases.msm(device)) == {"replay": 1}


def test_who_changes_places_makes_few_graphs(shim: Any) -> None:
    runtime = shim()
    bases, device, expected = device_bases()
    other = OnDevice(device.array.copy())
    for _ in range(2):
        assert bases.msm(device) == expected
    for times in (2, 3, 5):
        before = runtime.log.get("capture", 0)
        for one in (device, other) * 20:
            assert all(bases.msm(one) == expected for _ in range(times))
        assert runtime.log.get("capture", 0) - before <= 10


def test_it_waits_for_the_stream_that_wrote_the_memory(shim: Any) -> None:
    runtime = shim()
    bases, device, expected = device_bases()
    for _ in range(4):
        assert bases.msm(device) == expected
    assert per_call(runtime, lambda: bases.msm(device)) == {"record": 1, "wait": 1, "replay": 1}


def test_memory_that_comes_again_is_described_once(shim: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shim()
    bases, device, expected = device_bases()
    for _ in range(3):
        assert bases.msm(device) == expected
    for module, name in ((vectors, "scalars_operand"), (cuda_bases, "works"), (cuda_bases, "source_of")):
        monkeypatch.setattr(module, name, lambda *_, **__: pytest.fail("looked at again"))
    assert bases.msm(device) == expected
    again = OnDevice(device.array)  # another object, the same memory
    assert bases.msm(again) == expected


def test_its_contents_are_read_each_time(shim: Any) -> None:
    shim()
    bases, device, expected = device_bases()
    curve, points = ms.curve("bn254"), inputs("bn254", 33)[0]
    for seed in range(4):
        assert bases.msm(device) == expected
        other = curve.random_scalars(33, seed=seed)
        device.array[:] = other.data
        expected = curve.expected_sum(points, other)
    assert bases.msm(device) == expected


def test_nobody_keeps_the_memory(shim: Any) -> None:
    shim()
    bases, device, expected = device_bases()
    gone = weakref.ref(device)
    for _ in range(4):
        assert bases.msm(device) == expected
    del device
    gc.collect()
    assert gone() is None


def test_other_words_for_the_same_memory_are_other_calls(shim: Any) -> None:
    shim()
    bases, device, expected = device_bases()
    points, scalars, _ = inputs("bn254", 33)
    curve = ms.curve("bn254")
    for _ in range(3):
        assert bases.msm(device) == expected
    assert bases.msm(OnDevice(device.array[:20])) == curve.expected_sum(points[:20], scalars[:20])
    narrow = OnDevice(device.array.reshape(-1)[:30])  # words of 64 bits
    assert bases.msm(narrow) == curve.expected_sum(points[:30], device.array.reshape(-1)[:30])
    in_montgomery = [(s << 256) % curve.r for s in map(int, scalars)]
    device.array[:] = [[s >> 64 * k & 2**64 - 1 for k in range(4)] for s in in_montgomery]
    for _ in range(3):
        assert bases.msm(device, scalar_form="montgomery") == expected
    device.array[:] = scalars.data
    for asked in ({"window": 5}, {"path": "sorted"}, {"reduce": True}, {}):
        assert bases.msm(device, **asked) == expected
    assert bases.msm([device, device]) == [expected] * 2
    assert bases.msm([device], own_bases=True) == [expected]


def test_words_that_change_in_place_are_other_words(shim: Any) -> None:
    shim()
    bases, device, expected = device_bases()
    words = device.__cuda_array_interface__
    words["shape"], words["data"] = list(words["shape"]), list(words["data"])
    for _ in range(3):
        assert bases.msm(device) == expected
    words["shape"][0] = 20
    points, scalars, _ = inputs("bn254", 33)
    assert bases.msm(device) == ms.curve("bn254").expected_sum(points[:20], scalars[:20])
    words["shape"][0] = 34
    with pytest.raises(LengthError):
        bases.msm(device)
    words["shape"] = (2, 33, 4)
    for _ in range(3):
        with pytest.raises(ShapeError, match=r"shape \(2, 33, 4\)"):
            bases.msm(device)


def test_a_bad_scalar_is_found_each_time(shim: Any) -> None:
    shim()
    bases, device, expected = device_bases()
    good = device.array[7].copy()
    for _ in range(3):
        device.array[7] = np.uint64(2**64 - 1)
        with pytest.raises(ScalarRangeError) as caught:
            bases.msm(device)
        assert caught.value.index == 7
        assert bases.msm(device, reduce=True) != expected
        device.array[7] = good
        assert bases.msm(device) == expected


def test_a_plan_that_went_is_made_again(shim: Any) -> None:
    shim()
    bases, device, expected = device_bases()
    lane = compiled.kernels(ms.curve("bn254")).lane
    for _ in range(3):
        assert bases.msm(device) == expected
        with lane.lock:
            lane.release()
    assert bases.msm(device) == expected


def test_threads_share_bases_with_memory_of_their_own(shim: Any) -> None:
    shim()
    points, _, _ = inputs("bn254", 33)
    curve, bases = ms.curve("bn254"), ms.Bases(points, backend="cuda")
    wrong: list[int] = []

    def work(seed: int) -> None:
        scalars = curve.random_scalars(33 - seed, seed=seed)
        device, expected = OnDevice(scalars.data), curve.expected_sum(points[: 33 - seed], scalars)
        wrong.extend(seed for _ in range(8) if bases.msm(device) != expected)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
