"""A core of other sources than the Python modules beside it is refused at once, in words, by library and command."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from multiscalar.errors import BackendUnavailableError, CoreError
from multiscalar.native import _core, check

# Stands where the core would be: one of before it carried its interface, one of another, and none at all.
OTHER_CORE = """
import sys, types
import multiscalar
core = types.ModuleType("multiscalar._core")
{facts}
sys.modules["multiscalar._core"] = multiscalar._core = core
{then}
"""
CORES = {"older": "", "other": "core.INTERFACE = 'def prepare() -> None: ...'", "missing": "core = None"}


def with_other_core(core: str, then: str) -> subprocess.CompletedProcess[str]:
    code = OTHER_CORE.format(facts=CORES[core], then=then)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("core", CORES)
def test_the_library_raises_one_import_error(core: str) -> None:
    done = with_other_core(
        core, "try:\n    multiscalar.curve('bn254').known_points(4)\nexcept ImportError as e: print(e)"
    )
    assert "run `make build`" in done.stdout, done.stderr
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("command", ["info", "bench"])
def test_a_command_says_it_in_one_line(core: str, command: str) -> None:
    done = with_other_core(core, f"from multiscalar.cli import main\nmain([{command!r}])")
    assert (done.returncode, done.stdout) == (3, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("msm: the native core")
    assert "run `make build`" in line


def test_the_core_in_use_is_of_these_sources(tmp_path: Path) -> None:
    check(_core.INTERFACE)
    check(None, str(tmp_path / "no stub was installed"))
    for other in (None, "", _core.INTERFACE + "\n"):
        with pytest.raises(CoreError, match="other sources") as caught:
            check(other)
        assert isinstance(caught.value, ImportError | BackendUnavailableError)
