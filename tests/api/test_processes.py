"""Fork, spawn, many threads, long life, import: one process or many, the answers are right."""

from __future__ import annotations

import multiprocessing
import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import multiscalar as ms
import psutil
import pytest

from tests.children import in_child
from tests.fieldcases import field_case
from tests.patience import PATIENCE_S

CURVE = ms.curve("bn254")


def child(seed: int) -> bool:
    """An MSM large enough for threads, in another process."""
    points, scalars = CURVE.known_points(3000, seed=seed), CURVE.random_scalars(3000, seed=seed)
    return bool(ms.msm(points, scalars, threads=2) == CURVE.expected_sum(points, scalars))


@field_case("MI-45")
@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("used", [False, True], ids=["fresh-parent", "used-parent"])
def test_children(field_case: str, method: str, used: bool) -> None:
    if used:
        assert child(0)
    with multiprocessing.get_context(method).Pool(4) as pool:
        assert pool.map_async(child, range(8)).get(timeout=PATIENCE_S) == [True] * 8
        pool.close()  # the children leave of their own accord: none is ended while it holds the queue
        pool.join()


@field_case("MI-45")
def test_fork_while_another_thread_computes(field_case: str) -> None:
    bases = ms.Bases(CURVE.known_points(1 << 16))
    scalars = CURVE.random_scalars(1 << 16)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(bases.msm, scalars, threads=2)
        assert in_child(lambda: child(1))
        assert running.result() == CURVE.expected_sum(CURVE.known_points(1 << 16), scalars)


@field_case("MI-46", "MI-20")
@pytest.mark.parametrize("shared", [True, False], ids=["shared-bases", "own-bases"])
def test_eight_threads(field_case: str, shared: bool) -> None:
    points = CURVE.known_points(600)
    common = ms.Bases(points)
    cases = [CURVE.random_scalars(n, seed=n) for n in (1, 3, 17, 64, 65, 300, 600)]
    answers = [CURVE.expected_sum(points, scalars) for scalars in cases]

    def work(seed: int) -> int:
        bases = common if shared else ms.Bases(points)
        order = random.Random(seed)
        wrong = 0
        for _ in range(60):
            i = order.randrange(len(cases))
            wrong += bases.msm(cases[i], threads=order.choice([1, 2, None])) != answers[i]
        return wrong

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(work, range(8))) == 0


@field_case("MI-18", "MI-46")
def test_thousands_of_calls_hold_no_memory(field_case: str) -> None:
    points = CURVE.known_points(2000)
    bases = ms.Bases(points)
    scalars = CURVE.random_scalars(2000)
    sizes = random.Random(5090)
    process = psutil.Process()

    def calls(count: int) -> int:
        for i in range(count):
            n = sizes.choice([0, 1, 7, 64, 500])
            (ms.Bases(points[:n]) if i % 5 == 0 else bases).msm(scalars[:n], threads=1)
            if i % 50 == 0:
                with pytest.raises(ms.errors.LengthError):
                    ms.Bases(points[:n]).msm(scalars)
        return int(process.memory_info().rss)

    held = [calls(300)]
    for _ in range(5):  # a leak takes as much every time; the allocator and others of this process do so once
        held.append(calls(1500))
        if held[-1] - held[-2] < 16 << 20:
            return
    pytest.fail(f"resident bytes grew at each of five turns: {held}")


PURE = """
import sys
before = set(sys.modules)
import multiscalar
loaded = set(sys.modules) - before
heavy = {"numpy", "psutil", "matplotlib", "cuda", "typer", "rich", "multiscalar._core", "asyncio", "subprocess"}
assert not loaded & heavy, loaded & heavy
assert not [name for name in loaded if name.split(".")[0] == "cuda"]
threads = [line for line in open("/proc/self/status") if line.startswith("Threads:")]
assert threads[0].split()[1] == "1", threads
assert all(hasattr(multiscalar, name) for name in multiscalar.__all__)
assert set(multiscalar.__all__) <= set(dir(multiscalar))
print("pure")
"""

OFFLINE = """
import sys
def watch(event, args):
    if event.startswith("socket.") or event in ("subprocess.Popen", "os.system"):
        raise SystemExit(f"{event} {args}")
sys.addaudithook(watch)
import multiscalar as ms
curve = ms.curve("bls12-381")
points, scalars = curve.known_points(100), curve.random_scalars(100)
assert ms.msm(points, scalars) == curve.expected_sum(points, scalars)
print("offline")
"""


def run(code: str, **environment: str) -> str:
    env = {**os.environ, **environment}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, env=env)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout.strip()


def test_import_is_pure() -> None:
    """No numpy, no native code, no thread, nothing of a GPU, until something is used."""
    assert run(PURE) == "pure"


@field_case("MI-48")
def test_no_network_and_no_other_program(field_case: str) -> None:
    assert run(OFFLINE) == "offline"


THREADLESS = """
import multiscalar as ms
curve = ms.curve("bn254")
points, scalars = curve.known_points(1 << 14), curve.random_scalars(1 << 14)
assert ms.msm(points, scalars, threads=4) == curve.expected_sum(points, scalars)
assert curve.points(curve.random_points(100).data, check="subgroup")[99] != curve.identity
print("alone")
"""


def test_a_system_that_refuses_threads() -> None:
    """No stack so large can be had: every new thread is refused, and the work is done on the one there is."""
    assert run(THREADLESS, RUST_MIN_STACK=str(1 << 62)) == "alone"
