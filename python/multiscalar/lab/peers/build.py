"""Builds peers into the user's cache and finds them there again.

A build lies in `<cache>/peers/<name>/<digest>/`, the digest covering sources, recipe, toolchain, flags and CPU: a
change in any of them is another build, and an old one is never taken for it. A program that was built elsewhere and
carried here (`pack`) lies in `<cache>/peers/<name>/carried/`; it serves where nothing was built here. Sources are
copied before they are built, because the package may be installed where nobody may write. One build of a peer at a
time, held by a file lock; a finished build appears by one rename.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ... import jsontext
from ...settings import setting
from ..gpu import gpu_lack
from .cpu import cpu_flags, lacking
from .faults import Fault, FaultKind
from .recipes import AbsentRecipe, Recipe, Step
from .registry import PeerSpec

__all__ = [
    "PeerStatus",
    "Program",
    "build_peer",
    "cache_folder",
    "carried_folder",
    "find_built",
    "no_device",
    "program_of",
    "sources_folder",
    "status_of",
    "why_not",
]

FACTS = "build.json"
_BUILD_LIMIT_S = 3600
# Not part of the sources: what a build or an editor leaves in a checkout.
_IGNORED = shutil.ignore_patterns("target", "*.pyc", "__pycache__", ".*")


@dataclass(frozen=True, slots=True)
class Program:
    """A peer ready to start."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PeerStatus:
    """`state` is "ready", "ready (carried)", "to build" or "UNAVAILABLE"; `note` tells the versions, the command that
    would build it, or the reason.
    """

    name: str
    title: str
    curves: tuple[str, ...]
    place: str
    state: str
    note: str

    @property
    def ready(self) -> bool:
        """Whether it can be measured now, built here or carried here."""
        return self.state.startswith("ready")


def cache_folder() -> Path:
    """Where built peers lie: the setting `cache_dir`, else the user's cache directory."""
    import platformdirs

    chosen = setting("cache_dir")
    return (Path(chosen) if chosen else platformdirs.user_cache_path("multiscalar")) / "peers"


def sources_folder() -> Path | None:
    """The peers' sources, shipped inside this package (in a checkout: a link to `peers/`)."""
    folder = Path(__file__).parent / "sources"
    return folder if folder.is_dir() else None


def status_of(spec: PeerSpec) -> PeerStatus:
    """Whether the peer can be used now, after a build, or not at all. Builds nothing."""
    ready, missing = find_built(spec, spec.recipe), why_not(spec, spec.recipe)
    if ready is not None:
        told = {key: ready.facts[key] for key in spec.recipe.versions() if key in ready.facts}
        state = "ready (carried)" if ready.facts.get("carried") else "ready"
        note = ", ".join(f"{value}" if f"{value}".startswith(key) else f"{key} {value}" for key, value in told.items())
    elif missing:
        state, note = "UNAVAILABLE", missing
    elif sources_folder() is None:
        state, note = "UNAVAILABLE", "the sources of the peers are not part of this installation"
    else:
        state, note = "to build", f"msm peers build {spec.name}"
    return PeerStatus(spec.name, spec.title, spec.curves, spec.place, state, note)


def program_of(spec: PeerSpec, *, threads: int, build: bool, say: Callable[[str], None]) -> Program | Fault:
    """The program that measures `threads` threads; built on first use, with one line to `say`."""
    recipe = spec.recipe_for(threads)
    found = find_built(spec, recipe)
    if found is not None:
        return found
    if missing := no_device(spec) or why_not(spec, recipe):  # nobody waits for a build that cannot run here
        return Fault(FaultKind.UNAVAILABLE, missing)
    if not build:
        return Fault(FaultKind.UNAVAILABLE, f"not built; run: msm peers build {spec.name}")
    say(f"building peer {spec.name} (once, some minutes; log in {_home(spec)})")
    return build_peer(spec, recipe)


def build_peer(spec: PeerSpec, recipe: Recipe) -> Program | Fault:
    """Build one recipe of a peer, unless it lies there already."""
    if missing := recipe.missing():
        return Fault(FaultKind.UNAVAILABLE, missing)
    sources = sources_folder()
    if recipe.sources is not None and sources is None:
        return Fault(FaultKind.UNAVAILABLE, "the sources of the peers are not part of this installation")
    home = _home(spec)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _lock(home / "lock"):
            found = _read(_folder(spec, recipe), recipe) if recipe.sources else find_built(spec, recipe)
            if found is not None or sources is None:
                return found or Fault(FaultKind.UNAVAILABLE, "nothing to build")
            return _build(spec, recipe, sources, home)
    except OSError as error:
        return Fault(FaultKind.UNAVAILABLE, f"cannot build in {home}: {error}")


def _build(spec: PeerSpec, recipe: Recipe, sources: Path, home: Path) -> Program | Fault:
    assert recipe.sources is not None
    started = time.time()
    scratch = Path(tempfile.mkdtemp(prefix="build-", dir=home))
    log = home / f"{recipe.key}.log"
    try:
        shutil.copytree(sources / recipe.sources, scratch / "sources", ignore=_IGNORED)
        step = recipe.step(scratch / "sources", scratch)
        if _run(step, log) != 0 or not step.output.is_file():
            return Fault(FaultKind.UNAVAILABLE, f"build failed: {_first_error(log)} (log: {log})")
        facts = {
            **recipe.versions(),
            "command": " ".join(step.command[:-1] if step.command[-1] == "." else step.command),
            "sources": _digest_of(sources / recipe.sources, recipe),
            "cpu": _cpu_name(),
            "seconds": round(time.time() - started),
        }
        _install(step.output, facts, _folder(spec, recipe))
    except subprocess.TimeoutExpired:
        return Fault(FaultKind.UNAVAILABLE, f"build took over {_BUILD_LIMIT_S} s (log: {log})")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return _read(_folder(spec, recipe), recipe) or Fault(FaultKind.UNAVAILABLE, "the build vanished from the cache")


def _run(step: Step, log: Path) -> int:
    """Run the build with its output in `log`; whatever ends the wait (time, Ctrl-C) ends all that the build started."""
    with log.open("wb") as stream:
        process = subprocess.Popen(
            step.command,
            cwd=step.folder,
            env={**os.environ, **step.env},
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(timeout=_BUILD_LIMIT_S)
        finally:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _install(program: Path, facts: Mapping[str, Any], folder: Path) -> None:
    """Program and facts appear together, by renaming their folder into place."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as staging:
        whole = Path(staging) / folder.name
        whole.mkdir()
        shutil.copy2(program, whole / program.name)
        (whole / FACTS).write_text(json.dumps({**facts, "program": program.name}, indent=1) + "\n")
        shutil.rmtree(folder, ignore_errors=True)  # only ever a spoilt one: a good one is not built again
        os.replace(whole, folder)


def find_built(spec: PeerSpec, recipe: Recipe) -> Program | None:
    """The program if it needs no build: built here before, carried here, or an installed Python package."""
    if recipe.sources is None:
        return None if recipe.missing() else Program(recipe.command(Path()), {}, recipe.versions())
    return _read(_folder(spec, recipe), recipe) or _read(carried_folder(spec, recipe, cache_folder()), recipe)


def carried_folder(spec: PeerSpec, recipe: Recipe, cache: Path) -> Path:
    """Where a program that was built on another machine lies in a cache."""
    return cache / spec.name / "carried" / recipe.key


def no_device(spec: PeerSpec) -> str | None:
    """Why a GPU peer's program could not run here, once built or carried; None if it could, or if there is none."""
    lack = gpu_lack() if spec.place == "gpu" and not isinstance(spec.recipe, AbsentRecipe) else None
    return str(lack) if lack else None


def why_not(spec: PeerSpec, recipe: Recipe) -> str | None:
    """Why the program can neither be built here nor taken from where it was carried, or None if it can be built."""
    missing = recipe.missing()
    if missing is None:
        return None
    absent = _absent(_facts(carried_folder(spec, recipe, cache_folder())))
    if not absent:
        return missing
    return (
        f"the program that was carried here needs CPU features that this machine lacks ({', '.join(absent)}): "
        f"carry one for a level, msm peers pack FOLDER {spec.name} --cpu x86-64-v3; nor can it be built: {missing}"
    )


def _read(folder: Path, recipe: Recipe) -> Program | None:
    facts = _facts(folder)
    program = folder / str(facts.get("program", ""))
    if not facts or program.parent != folder or not os.access(program, os.X_OK) or _absent(facts):
        return None
    return Program(recipe.command(program), {}, facts)


def _facts(folder: Path) -> Mapping[str, Any]:
    """What is written beside a program; empty where nothing sensible is."""
    try:
        facts = jsontext.parse((folder / FACTS).read_text())
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) and facts.get("program") else {}


def _absent(facts: Mapping[str, Any]) -> list[str]:
    """CPU features that a program needs and this machine lacks."""
    needed = facts.get("cpu_flags", ())
    return lacking(map(str, needed), cpu_flags()) if isinstance(needed, list) else []


def _home(spec: PeerSpec) -> Path:
    return cache_folder() / spec.name


def _folder(spec: PeerSpec, recipe: Recipe) -> Path:
    """Where this very build lies."""
    sources = sources_folder()
    inputs = [recipe.key, json.dumps(recipe.versions(), sort_keys=True), _cpu_name()]
    if recipe.sources is not None and sources is not None:
        inputs.append(_digest_of(sources / recipe.sources, recipe))
    return _home(spec) / hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:16]


def _digest_of(folder: Path, recipe: Recipe) -> str:
    """SHA-256 over the names and contents of all source files of a program, and what is pinned for it."""
    total = hashlib.sha256(recipe.pinned(folder).encode())
    for part in recipe.parts:
        root = folder / part
        for path in [root] if root.is_file() else sorted(root.rglob("*")):
            inner = path.relative_to(folder)
            if path.is_file() and not any(name == "target" or name.startswith(".") for name in inner.parts):
                total.update(str(inner).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def _cpu_name() -> str:
    """The CPU that `native` means: model and feature flags, shortened."""
    flags = hashlib.sha256(" ".join(sorted(cpu_flags())).encode()).hexdigest()[:8]
    return f"{platform.machine()} {flags}"


def _first_error(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    wanted = next((line for line in lines if line.lstrip().startswith(("error", "go:", "fatal"))), None)
    return (wanted or (lines[-1] if lines else "no output")).strip()[:300]


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    with path.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
