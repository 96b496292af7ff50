"""When memory is short: an error with need and free, before anything is allocated, and the next call is right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import multiscalar as ms
import pytest
from multiscalar import memory
from multiscalar.errors import OutOfMemoryError

from tests.fieldcases import field_case
from tests.patience import PATIENCE_S

CURVE = ms.curve("bls12-381")


@field_case("MI-17")
def test_short_of_memory(field_case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    points = CURVE.known_points(1 << 20)
    bases = ms.Bases(points, backend="cpu")
    scalars = CURVE.random_scalars(1 << 20, shape="bool")
    monkeypatch.setattr(memory, "free_bytes", lambda: 1 << 20)
    for call in (
        lambda: ms.Bases(points, backend="cpu"),
        lambda: ms.msm(points, scalars, backend="cpu"),
        lambda: CURVE.known_points(1 << 20),
        lambda: CURVE.random_points(2**44),
        lambda: CURVE.random_scalars(1 << 20),
        lambda: CURVE.points(points.data[::-1]),
        lambda: CURVE.points(points.data),
    ):
        with pytest.raises(OutOfMemoryError, match=r"1,048,576 are free") as caught:
            call()
        assert caught.value.free == 1 << 20
        assert caught.value.need is not None
        assert caught.value.need > caught.value.free
        few = scalars[:1000]
        assert bases.msm(few) == CURVE.expected_sum(points, few)
        assert ms.msm(points[:1000], few, backend="cpu") == CURVE.expected_sum(points, few)


def test_small_needs_never_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    def asked() -> int:
        raise AssertionError("files were read for a small call")

    monkeypatch.setattr(memory, "free_bytes", asked)
    memory.require(64 << 20, "64 MiB")
    with pytest.raises(AssertionError):
        memory.require((64 << 20) + 1, "more")


def test_unknown_is_never_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda: None)
    memory.require(1 << 60, "anything")


def test_what_is_free() -> None:
    free = memory.free_bytes()
    assert free is None or 0 <= free < 1 << 50


GIB = 1 << 30
CACHED = "anon 5\ninactive_file {0}\nactive_file {0}\nslab_reclaimable 7\nfile 99999999999\n".format(2 * GIB)
CACHED_V1 = f"cache 99999999999\ninactive_file 1\ntotal_inactive_file {2 * GIB}\ntotal_active_file {2 * GIB}\n"


def system(folder: Path, groups: str, files: dict[str, object]) -> int | None:
    """What is free on a machine of 16 GiB whose process is in `groups` and whose cgroup files are `files`."""
    (folder / "proc" / "self").mkdir(parents=True)
    (folder / "proc" / "meminfo").write_text(f"MemTotal: 99 kB\nMemAvailable: {16 << 20} kB\n")
    (folder / "proc" / "self" / "cgroup").write_text(groups)
    for name, text in files.items():
        path = folder / "cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return memory.free_bytes(folder / "proc", folder / "cgroup")


@pytest.mark.parametrize(
    ("groups", "files", "free"),
    [
        ("", {}, 16 * GIB),
        ("0::/\n", {}, 16 * GIB),
        ("0::/\n", {"memory.max": "max", "memory.current": GIB}, 16 * GIB),
        ("0::/\n", {"memory.max": 8 * GIB, "memory.current": 3 * GIB}, 5 * GIB),
        ("0::/\n", {"memory.max": 8 * GIB, "memory.current": 8 * GIB, "memory.stat": CACHED}, 4 * GIB + 7),
        ("0::/\n", {"memory.max": 8 * GIB, "memory.current": 9 * GIB}, 0),
        ("0::/a/b\n", {"a/b/memory.max": 3 * GIB, "a/b/memory.current": GIB}, 2 * GIB),
        (
            "0::/a/b\n",
            {
                "a/b/memory.max": 9 * GIB,
                "a/b/memory.current": GIB,
                "a/memory.max": 4 * GIB,
                "a/memory.current": 3 * GIB,
            },
            GIB,
        ),
        ("0::/elsewhere\n", {"memory.max": 3 * GIB, "memory.current": GIB}, 2 * GIB),
        (
            "5:cpu:/\n4:hugetlb,memory:/a\n0::/\n",
            {
                "memory/a/memory.limit_in_bytes": 8 * GIB,
                "memory/a/memory.usage_in_bytes": 8 * GIB,
                "memory/a/memory.stat": CACHED_V1,
                "memory/memory.limit_in_bytes": 9223372036854771712,
                "memory/memory.usage_in_bytes": 12 * GIB,
            },
            4 * GIB,
        ),
    ],
    ids=[
        "no-groups",
        "no-files",
        "no-limit",
        "limit",
        "cached",
        "over",
        "own-group",
        "group-above",
        "another-view",
        "version-1",
    ],
)
def test_what_a_cgroup_leaves(tmp_path: Path, groups: str, files: dict[str, object], free: int) -> None:
    """Cached files are not in the way: a build beside us fills a container with them."""
    assert system(tmp_path, groups, files) == free


LIMITED = """
import resource
resource.setrlimit(resource.RLIMIT_{0}, (3 << 30, 3 << 30))
from multiscalar import memory
print(memory.free_bytes())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")
@pytest.mark.parametrize("limit", ["AS", "DATA"])
def test_what_a_limit_of_the_process_leaves(limit: str) -> None:
    told = subprocess.run(
        [sys.executable, "-c", LIMITED.format(limit)], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert told.returncode == 0, told.stderr
    assert 0 < int(told.stdout) < 3 << 30


SHORT = """
import resource
import multiscalar as ms
curve = ms.curve("bls12-381")
points, scalars = curve.known_points(1 << 20), curve.random_scalars(1 << 20)
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (100 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    ms.msm(points, scalars, threads=2)
except MemoryError as error:
    print(type(error).__name__)
assert ms.msm(points[:1000], scalars[:1000], threads=2) == curve.expected_sum(points, scalars[:1000])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads Linux's /proc")
def test_a_sum_beyond_the_limit_of_the_process() -> None:
    """The core's allocations end the process where there is no room, so the limit has to be seen before."""
    told = subprocess.run([sys.executable, "-c", SHORT], capture_output=True, text=True, timeout=PATIENCE_S)
    assert (told.returncode, told.stdout.strip()) == (0, "OutOfMemoryError"), told.stderr[-2000:]
