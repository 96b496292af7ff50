"""Files from others are read whole and bounded: no device fills the memory, no pipe holds the caller."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import multiscalar as ms
import pytest
from multiscalar import boundedfile
from multiscalar.cli import main
from multiscalar.cuda.cache import CubinCache
from multiscalar.dispatch import store
from multiscalar.errors import OptionError, ProfileWarning

posix = pytest.mark.skipif(sys.platform == "win32", reason="named pipes of another kind")


def pipe(folder: Path) -> Path:
    """A pipe that nobody writes to: opening it to read waits for ever."""
    path = folder / "pipe"
    os.mkfifo(path)
    return path


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 100)
    path.chmod(0o600)  # whatever the umask of this process is
    assert boundedfile.read(path, 100) == boundedfile.read(path, 1000, own=True) == b"x" * 100
    with pytest.raises(ValueError, match="larger than 99 bytes"):
        boundedfile.read(path, 99)
    with pytest.raises(FileNotFoundError):
        boundedfile.read(tmp_path / "none", 1)
    with pytest.raises(ValueError, match="not a regular file"):
        boundedfile.read(tmp_path, 1)


@posix
def test_what_is_no_file(tmp_path: Path) -> None:
    for path in (pipe(tmp_path), Path("/dev/zero")):
        with pytest.raises(ValueError, match="not a regular file"):
            boundedfile.read(path, 100)


@posix
def test_own_files_only(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_bytes(b"x")
    link.symlink_to(path)
    assert boundedfile.read(link, 1) == b"x"
    with pytest.raises(OSError, match="link"):
        boundedfile.read(link, 1, own=True)
    path.chmod(0o622)
    with pytest.raises(PermissionError):
        boundedfile.read(path, 1, own=True)


@posix
def test_nothing_of_the_system_leaks(tmp_path: Path) -> None:
    path = pipe(tmp_path)
    gc.collect()  # what earlier tests left to the collector
    before = len(os.listdir("/dev/fd"))
    for _ in range(20):
        with pytest.raises(ValueError, match="not a regular file"):
            boundedfile.read(path, 100)
        with pytest.raises(ValueError, match="not a regular file"):
            boundedfile.read(tmp_path, 100)
    assert len(os.listdir("/dev/fd")) <= before


@posix
def test_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pipe(tmp_path)
    monkeypatch.setattr(store, "_warned", set())  # each file is warned of once in a process
    with pytest.warns(ProfileWarning, match="not a regular file"):
        assert store.read(path, "test") is None
    monkeypatch.setenv("MULTISCALAR_PROFILE", "/dev/zero")
    with pytest.raises(OptionError, match=r"/dev/zero.* is not a regular file"):
        ms.msm([(1, 2)], [1], curve="bn254")


@posix
def test_compiled_kernels(tmp_path: Path) -> None:
    cache = CubinCache(tmp_path)
    os.mkfifo(cache.path("k"))
    assert cache.load("k") is None


@posix
@pytest.mark.parametrize("place", ["proof", "--key", "--inputs"])
def test_msm_verify(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = pipe(tmp_path)
    files = {"proof": "/dev/null", "--key": "/dev/null", "--inputs": "/dev/null", place: str(path)}
    for name in files:
        if files[name] == "/dev/null":
            files[name] = str(tmp_path / "empty")
    (tmp_path / "empty").write_bytes(b"")
    words = ["verify", files.pop("proof"), *(word for pair in files.items() for word in pair)]
    with pytest.raises(SystemExit) as end:
        main([*words, "--insecure-setup", "1:64"])
    assert end.value.code == 1
    said = capsys.readouterr().err
    assert place != "proof" or "not a regular file" in said
