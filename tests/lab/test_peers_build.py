"""Building peers into the cache and finding them again, with recipes that take no compiler; and `msm peers`."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest
from multiscalar.cli.peers import app
from multiscalar.lab.peers import Fault, FaultKind, build, open_peer, peer_names, recipes, statuses
from multiscalar.lab.peers.build import Program, build_peer, program_of, sources_folder, status_of
from multiscalar.lab.peers.lockfile import locked_closure
from multiscalar.lab.peers.pack import pack
from multiscalar.lab.peers.recipes import CargoRecipe, GoRecipe, Step
from multiscalar.lab.peers.registry import PEERS, PeerSpec
from typer.testing import CliRunner

from tests.patience import PATIENCE_S


@dataclass
class ScriptRecipe:
    """Builds by running a Python script that lies in the sources."""

    key: str = "script"
    sources: str | None = "made"
    parts: tuple[str, ...] = (".",)
    flags: str = "fast"
    builds: list[Path] = field(default_factory=list)

    def missing(self) -> str | None:
        return None

    def versions(self) -> dict[str, str]:
        return {"flags": self.flags}

    def pinned(self, sources: Path) -> str:
        lock = sources / "pins.lock"
        return lock.read_text() if lock.is_file() else ""

    def step(self, sources: Path, scratch: Path) -> Step:
        self.builds.append(sources)
        output = scratch / "program"
        return Step((sys.executable, "make.py", str(output)), sources, {}, output)

    def built_for(self, cpu: str) -> ScriptRecipe:
        return self if cpu == "native" else ScriptRecipe(flags=cpu)

    def needs(self) -> frozenset[str]:
        return frozenset({"avx2"}) if self.flags == "x86-64-v3" else frozenset({"avx2", "avx512f"})

    def command(self, program: Path) -> tuple[str, ...]:
        return (str(program),)


MAKE = "import os, sys; open(sys.argv[1], 'w').write('made'); os.chmod(sys.argv[1], 0o755)\n"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sources folder of one Python script, and an empty cache."""
    monkeypatch.setenv("MULTISCALAR_CACHE_DIR", str(tmp_path / "cache"))
    sources = tmp_path / "sources" / "made"
    sources.mkdir(parents=True)
    (sources / "make.py").write_text(MAKE)
    monkeypatch.setattr(build, "sources_folder", lambda: sources.parent)
    return sources


def spec_of(recipe: ScriptRecipe) -> PeerSpec:
    return PeerSpec(name="made", title="made by a script", curves=("bn254",), recipe=recipe)


def built(recipe: ScriptRecipe) -> Program:
    program = build_peer(spec_of(recipe), recipe)
    assert isinstance(program, Program), program
    return program


def test_a_build_is_kept_and_recorded(made: Path) -> None:
    recipe = ScriptRecipe()
    first = built(recipe)
    assert Path(first.command[0]).read_text() == "made"
    assert first.facts["flags"] == "fast"
    assert first.facts["sources"]
    assert built(recipe).command == first.command
    assert len(recipe.builds) == 1
    assert status_of(spec_of(recipe)).state == "ready"
    assert not list(Path(first.command[0]).parents[1].glob("build-*")), "intermediate files are removed"


def test_a_level_is_another_build_that_records_what_it_needs(made: Path, tmp_path: Path) -> None:
    recipe = ScriptRecipe()
    native, level = built(recipe), built(recipe.built_for("x86-64-v3"))
    assert native.command != level.command
    for cpu, needed in (("native", ["avx2", "avx512f"]), ("x86-64-v3", ["avx2"])):
        (carried,) = pack([spec_of(recipe)], tmp_path / cpu, cpu)
        facts = json.loads((carried.parent / "build.json").read_text())
        assert facts["cpu_flags"] == needed
        assert facts["flags"] == ("fast" if cpu == "native" else cpu)


@pytest.mark.parametrize("change", ["sources", "flags"])
def test_a_change_asks_for_a_new_build(made: Path, change: str) -> None:
    first = built(ScriptRecipe())
    if change == "sources":
        (made / "make.py").write_text(MAKE + "# changed\n")
    second = built(ScriptRecipe(flags="faster" if change == "flags" else "fast"))
    assert second.command != first.command


LOCK = """
[[package]]
name = "peer-a"
version = "0.1.0"
dependencies = ["shared", "twice 2.0.0"]

[[package]]
name = "peer-b"
version = "0.1.0"
dependencies = ["twice 1.0.0"]

[[package]]
name = "shared"
version = "3.1.0"
checksum = "aa"
dependencies = ["peer-a"]

[[package]]
name = "twice"
version = "1.0.0"
checksum = "bb"

[[package]]
name = "twice"
version = "2.0.0"
checksum = "cc"
"""


def test_a_package_depends_on_its_own_part_of_a_lock_file(tmp_path: Path) -> None:
    lock = tmp_path / "Cargo.lock"
    lock.write_text(LOCK)
    assert locked_closure(lock, "peer-a").splitlines() == ["peer-a 0.1.0 -", "shared 3.1.0 aa", "twice 2.0.0 cc"]
    assert locked_closure(lock, "peer-b").splitlines() == ["peer-b 0.1.0 -", "twice 1.0.0 bb"]
    before = locked_closure(lock, "peer-a")
    lock.write_text(LOCK.replace('"bb"', '"dd"'))
    assert locked_closure(lock, "peer-a") == before
    lock.write_text(LOCK.replace('"cc"', '"dd"'))
    assert locked_closure(lock, "peer-a") != before


def test_a_failed_build_says_why_and_where(made: Path) -> None:
    (made / "make.py").write_text("print('error: the sky fell'); raise SystemExit(1)\n")
    recipe = ScriptRecipe()
    fault = build_peer(spec_of(recipe), recipe)
    assert isinstance(fault, Fault)
    assert fault.status == FaultKind.UNAVAILABLE
    assert "the sky fell" in fault.reason
    assert "script.log" in fault.reason


def test_a_build_that_takes_too_long_ends_with_all_it_started(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_BUILD_LIMIT_S", 1.5)
    child = made.parent.parent / "child"
    (made / "make.py").write_text(
        "import pathlib, subprocess, sys, time\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"made = pathlib.Path({str(child)!r})\n"
        "made.with_suffix('.part').write_text(str(p.pid))\n"
        "made.with_suffix('.part').rename(made)\n"
        "time.sleep(600)\n"
    )
    recipe = ScriptRecipe()
    fault = build_peer(spec_of(recipe), recipe)
    assert isinstance(fault, Fault)
    assert "took over 1.5 s" in fault.reason
    if child.exists():  # a machine that took over 1.5 s to start two interpreters has nothing to show
        assert ended(int(child.read_text()))


def ended(pid: int, limit_s: float = PATIENCE_S) -> bool:
    """Whether a process that was killed is gone, or waits to be reaped, within the limit: the kernel takes its time."""
    for _ in range(int(limit_s / 0.05)):
        try:
            if psutil.Process(pid).status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.05)
    return False


def test_first_use_builds_with_one_line(made: Path) -> None:
    said: list[str] = []
    recipe = ScriptRecipe()
    refused = program_of(spec_of(recipe), threads=1, build=False, say=said.append)
    assert refused == Fault(FaultKind.UNAVAILABLE, "not built; run: msm peers build made")
    for _ in range(2):
        assert isinstance(program_of(spec_of(recipe), threads=1, build=True, say=said.append), Program)
    assert len(said) == 1
    assert len(recipe.builds) == 1


def test_a_spoilt_cache_entry_is_built_anew(made: Path) -> None:
    recipe = ScriptRecipe()
    program = Path(built(recipe).command[0])
    (program.parent / "build.json").write_text('{"program": "../../../bin/sh"}')
    assert isinstance(program_of(spec_of(recipe), threads=1, build=False, say=print), Fault)
    (program.parent / "build.json").write_text("{")
    assert built(recipe).command[0] == str(program)


def test_an_unwritable_cache_is_a_fault(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MULTISCALAR_CACHE_DIR", os.devnull)
    recipe = ScriptRecipe()
    fault = build_peer(spec_of(recipe), recipe)
    assert isinstance(fault, Fault)
    assert "cannot build in" in fault.reason


def test_without_a_toolchain_the_reason_names_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MULTISCALAR_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(recipes.shutil, "which", lambda _: None)
    states = {peer.name: peer for peer in statuses()}
    for name, tool in (("gnark", "go.dev"), ("arkworks", "rustup")):
        assert states[name].state == "UNAVAILABLE"
        assert tool in states[name].note
        fault = open_peer(name)
        assert isinstance(fault, Fault)
        assert fault.status == FaultKind.UNAVAILABLE


def test_an_unknown_peer_lists_the_known_ones() -> None:
    fault = open_peer("arkwork")
    assert isinstance(fault, Fault)
    assert "arkworks" in fault.reason


def test_sources_of_every_recipe_are_part_of_the_package() -> None:
    folder = sources_folder()
    assert folder is not None
    for spec in PEERS.values():
        for recipe in filter(None, (spec.recipe, spec.serial)):
            for part in recipe.parts:
                assert (folder / str(recipe.sources) / part).exists(), (spec.name, part)
            if isinstance(recipe, CargoRecipe):
                assert f"{recipe.package} " in recipe.pinned(folder / "rust")
            if isinstance(recipe, GoRecipe):
                assert (folder / str(recipe.sources) / "go.sum").is_file()


def test_every_peer_has_its_page() -> None:
    pages = Path(__file__).resolve().parents[2] / "docs" / "peers"
    for name in peer_names():
        assert (pages / f"{name}.md").is_file(), name


def test_the_command_lists_all_peers() -> None:
    table = CliRunner().invoke(app, [])
    listed = CliRunner().invoke(app, ["--format", "json"])
    assert (table.exit_code, listed.exit_code) == (0, 0)
    assert [peer["name"] for peer in json.loads(listed.output)] == [*peer_names(), "varuna"]
    assert all(name in table.output for name in peer_names())


def test_the_command_refuses_what_it_does_not_know() -> None:
    assert CliRunner().invoke(app, ["build", "arkwork"]).exit_code == 2
    assert CliRunner().invoke(app, ["build", "blst", "--cpu", "x86-64-v9"]).exit_code == 2
    assert CliRunner().invoke(app, ["--format", "xml"]).exit_code == 2
