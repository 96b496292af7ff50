"""The kernel cache: only whole files of our own are used; anything else is as if it were absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from multiscalar.cuda.cache import MAGIC, CubinCache

CODE = os.urandom(4096)


@pytest.fixture
def cache(tmp_path: Path) -> CubinCache:
    return CubinCache(tmp_path / "kernels")


def test_round_trip(cache: CubinCache) -> None:
    assert cache.load("k") is None
    cache.store("k", CODE)
    assert cache.load("k") == CODE


@pytest.mark.parametrize("size", [0, 1, len(MAGIC), len(MAGIC) + 31, len(MAGIC) + 32, len(MAGIC) + 1000])
def test_a_truncated_file_is_ignored(cache: CubinCache, size: int) -> None:
    cache.store("k", CODE)
    whole = cache.path("k").read_bytes()
    cache.path("k").write_bytes(whole[:size])
    assert cache.load("k") is None


def test_a_flipped_bit_is_noticed_anywhere(cache: CubinCache) -> None:
    cache.store("k", CODE)
    whole = bytearray(cache.path("k").read_bytes())
    for position in range(0, len(whole), 97):
        damaged = bytearray(whole)
        damaged[position] ^= 1
        cache.path("k").write_bytes(damaged)
        assert cache.load("k") is None
    cache.store("k", CODE)
    assert cache.load("k") == CODE, "a damaged file is replaced by the next store"


def test_a_file_that_others_may_write_is_ignored(cache: CubinCache) -> None:
    cache.store("k", CODE)
    cache.path("k").chmod(0o666)
    assert cache.load("k") is None


def test_a_link_is_not_followed(cache: CubinCache, tmp_path: Path) -> None:
    cache.store("k", CODE)
    cache.path("k").rename(tmp_path / "elsewhere")
    cache.path("k").symlink_to(tmp_path / "elsewhere")
    assert cache.load("k") is None


def test_an_oversized_file_is_ignored(cache: CubinCache) -> None:
    cache.store("k", CODE)
    with cache.path("k").open("r+b") as file:
        file.truncate(1 << 30)  # sparse
    assert cache.load("k") is None


def test_the_folder_stays_within_its_bound(tmp_path: Path) -> None:
    cache = CubinCache(tmp_path, max_bytes=5 * 4200)
    for index in range(20):
        cache.store(f"k{index}", CODE)
        os.utime(cache.path(f"k{index}"), (index, index))
    kept = sorted(path.stem for path in tmp_path.glob("*.cubin"))
    assert len(kept) <= 5
    assert "k19" in kept


def test_an_unwritable_place_costs_only_time(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    cache = CubinCache(blocker / "kernels")
    cache.store("k", CODE)
    assert cache.load("k") is None
