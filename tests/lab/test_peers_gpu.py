"""GPU peers without a GPU: recipes, carrying, and snarkVM's dispatch over test peers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from multiscalar.cli import story
from multiscalar.lab.gpu import Lack
from multiscalar.lab.peers import (
    Fault,
    FaultKind,
    Peer,
    RunAnswer,
    cpu,
    cuda_recipe,
    open_peer,
    open_program,
    pack,
    recipes,
)
from multiscalar.lab.peers import build as building
from multiscalar.lab.peers.build import carried_folder, find_built, program_of, status_of
from multiscalar.lab.peers.dispatching import CUTOFF, DispatchingPeer
from multiscalar.lab.peers.recipes import Recipe
from multiscalar.lab.peers.registry import PEERS, PROVER

from .peer_inputs import FAKES, usual, workload


def fake(name: str) -> Peer:
    peer = open_program([sys.executable, str(FAKES / f"{name}.py")])
    assert isinstance(peer, Peer), peer
    return peer


@pytest.fixture
def no_tools(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine with a GPU and without any toolchain, and its empty cache."""
    monkeypatch.setattr(building, "gpu_lack", lambda: None)
    monkeypatch.setenv("MULTISCALAR_CACHE_DIR", str(tmp_path / "there"))
    monkeypatch.setattr(recipes.shutil, "which", lambda _: None)
    return tmp_path / "there"


def carry(name: str, cache: Path, program: str, flags: list[str]) -> None:
    """Lay a program into a cache as `pack` does."""
    spec = PEERS[name]
    folder = carried_folder(spec, spec.recipe, cache / "peers")
    folder.mkdir(parents=True)
    (folder / "program").write_text(program)
    (folder / "program").chmod(0o755)
    (folder / "build.json").write_text(json.dumps({"program": "program", "carried": True, "cpu_flags": flags}))


def test_without_compilers_a_gpu_peer_says_what_is_missing(no_tools: Path) -> None:
    fault = open_peer("sppark")
    assert isinstance(fault, Fault)
    assert fault.status == FaultKind.UNAVAILABLE
    assert "cargo is not installed" in fault.reason


def test_without_a_driver_no_compiler_is_missed(no_tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "gpu_lack", lambda: Lack("no driver", "Install one"))
    fault = open_peer("sppark")
    assert isinstance(fault, Fault)
    assert fault.reason == "no driver. Install one"
    assert "licensed" in str(open_peer("icicle-v3.2")), "no driver helps where there is no program"
    assert "cargo is not installed" in str(open_peer("snarkvm"))
    assert story._ready(["snarkvm:dispatch"]) == []


def test_the_compiler_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiler = tmp_path / "nvcc"
    compiler.write_text("#!/bin/sh\necho 'Build cuda_13'\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("NVCC", str(compiler))
    monkeypatch.setenv("CUDA_ARCHS", "75,90")
    recipe = PEERS["sppark"].recipe
    assert cuda_recipe.nvcc() == compiler
    assert recipe.versions()["nvcc"] == "Build cuda_13"
    step = recipe.step(tmp_path, tmp_path / "scratch")
    assert step.env["CUDA_ARCHS"] == "75,90"
    assert step.folder == tmp_path / "sppark"


def test_a_carried_program_serves_where_nothing_can_be_built(no_tools: Path) -> None:
    carry("sppark", no_tools, "#!/bin/sh\nexit 7\n", [])
    spec = PEERS["sppark"]
    assert status_of(spec).state == "ready (carried)"
    program = program_of(spec, threads=1, build=True, say=print)
    assert not isinstance(program, Fault)
    assert open_peer("sppark") == Fault(FaultKind.CRASHED, "exited with 7")


def test_a_program_for_another_cpu_is_not_taken_and_the_features_are_named(
    no_tools: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "cpu_flags", lambda: frozenset({"avx2"}))
    carry("blst", no_tools, "#!/bin/sh\n", ["avx2", "avx512_of_tomorrow"])
    spec = PEERS["blst"]
    assert find_built(spec, spec.recipe) is None
    told = [status_of(spec).note, open_peer("blst")]
    assert status_of(spec).state == "UNAVAILABLE"
    for text in map(str, told):
        assert "lacks (avx512_of_tomorrow)" in text
        assert "--cpu x86-64-v3" in text
        assert "cargo is not installed" in text
    monkeypatch.setattr(building, "cpu_flags", lambda: frozenset({"avx2", "avx512_of_tomorrow"}))
    assert status_of(spec).ready


def test_the_stories_take_a_carried_peer(no_tools: Path, capsys: pytest.CaptureFixture[str]) -> None:
    carry("snarkvm", no_tools, "#!/bin/sh\n", [])
    assert story._ready(["snarkvm:batched", "snarkvm:dispatch"]) == ["snarkvm:batched"]
    told = capsys.readouterr().err
    assert "snarkvm:dispatch: UNAVAILABLE: cargo is not installed" in told


def test_flags_that_bind_no_program_refuse_none(no_tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier versions recorded every flag of the machine that built, mitigations and timers among them."""
    monkeypatch.setattr(cpu.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(building, "cpu_flags", lambda: frozenset({"avx2"}))
    carry("blst", no_tools, "#!/bin/sh\n", ["avx2", "rtm", "arch_capabilities", "tsc_known_freq", "hypervisor"])
    assert status_of(PEERS["blst"]).ready


@pytest.mark.parametrize("recipe", [PEERS["snarkvm"].recipe, PEERS["gnark"].recipe, PROVER.recipe])
def test_a_program_that_travels_is_built_for_a_level(recipe: Recipe, tmp_path: Path) -> None:
    travels = recipe.built_for("x86-64-v3")
    asked = {**travels.step(tmp_path, tmp_path).env, **travels.versions()}
    rust, go = asked.get("RUSTFLAGS"), asked.get("GOAMD64")
    assert (rust, go) in (("-C target-cpu=x86-64-v3 -C target-feature=+adx", None), (None, "v3"))
    assert travels.needs() == cpu.LEVELS["x86-64-v3"] < cpu.LEVELS["x86-64-v4"]
    assert travels.key == recipe.key, "it is found under the peer's own name"


def test_without_travel_programs_are_built_for_this_very_cpu() -> None:
    rust = PEERS["arkworks"].recipe
    assert rust.versions()["RUSTFLAGS"] == "-C target-cpu=native"
    assert rust.needs() <= cpu.cpu_flags()
    assert PEERS["sppark"].recipe.needs() == frozenset()


def test_pack_copies_what_is_built_with_its_facts(no_tools: Path, tmp_path: Path) -> None:
    carry("sppark", no_tools, "kernels", [])
    (copied,) = pack.pack([PEERS["sppark"], PEERS["blst"], PEERS["py-arkworks"]], tmp_path / "folder")
    assert copied.read_text() == "kernels"
    assert copied.is_relative_to(tmp_path / "folder" / "peers" / "sppark" / "carried")
    facts = json.loads((copied.parent / "build.json").read_text())
    assert facts["carried"] is True
    assert facts["cpu_flags"] == []


def test_a_gpu_peer_without_a_device_is_unavailable(no_tools: Path) -> None:
    hello = {"name": "sppark", "version": "0", "curves": [], "groups": [], "devices": [], "paths": ["cuda", "snarkvm"],
             "scopes": [], "options": [], "timed": ""}  # fmt: skip
    carry("sppark", no_tools, f"#!/bin/sh\nread line\necho '{json.dumps(hello)}'\nread line\n", [])
    assert open_peer("snarkvm:cuda") == Fault(FaultKind.UNAVAILABLE, "sppark found no GPU")


@pytest.mark.parametrize(("half", "reason"), [("flaky", None), ("crashing", "SIGABRT")])
def test_dispatch_takes_the_gpu_above_the_cutoff_and_tells_of_a_fallback(
    half: str, reason: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multiscalar.lab.peers.dispatching.CUTOFF", 3)
    work = workload("bls12-377", usual("bls12-377", 4), tmp_path)
    cpu, gpu = fake("echo"), fake(half)
    gpu.path = gpu.hello.paths[0]
    peer = DispatchingPeer(cpu.process, cpu.hello, gpu=gpu)
    loaded = peer.load(curve=work.curve, n=4, points=work.points, scalars=work.scalars)
    below, above = peer.run(n=3, scope="resident-bases"), peer.run(n=4, scope="end-to-end")
    facts = peer.facts()
    peer.close()
    assert not isinstance(loaded, Fault)
    assert isinstance(below, RunAnswer)
    assert isinstance(above, RunAnswer)
    assert below.where == "cpu"
    assert "fallback_reason" not in below.evidence
    assert (above.x, above.y, above.is_infinity) == work.expected(4)
    assert above.where == ("cuda" if reason is None else "cpu")
    assert (reason or "") in above.evidence.get("fallback_reason", "")
    assert facts["path"] == "dispatch"
    assert CUTOFF == 1024, "snarkVM 4.12's cutoff"
