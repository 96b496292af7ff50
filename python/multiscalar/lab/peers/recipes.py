"""How a peer's program is made: with cargo, with go, or not at all because it is a Python module (GPU: `cuda_recipe`).

A recipe names its tool, what is missing, the command and the environment. Programs are built as their authors build
for speed: release, link-time optimisation, the native CPU, hand-written assembly on. One that is to be carried to
another machine is built for a level of CPUs instead (`cpu`). All of it goes into the record.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, Self

from .cpu import NATIVE, go_level, needs, rustflags
from .lockfile import locked_closure

__all__ = ["AbsentRecipe", "CargoRecipe", "GoRecipe", "PythonRecipe", "Recipe", "Step", "output_of"]


@dataclass(frozen=True, slots=True)
class Step:
    """One build: the command, the folder it runs in, additions to the environment, and where the program appears."""

    command: tuple[str, ...]
    folder: Path
    env: Mapping[str, str]
    output: Path


class Recipe(Protocol):
    """What the builder asks of a recipe."""

    @property
    def key(self) -> str:
        """Names this build among those of the same peer."""
        ...

    @property
    def sources(self) -> str | None:
        """Folder under the sources that goes into the build; None when nothing is built."""
        ...

    @property
    def parts(self) -> tuple[str, ...]:
        """Files and folders there that this program is made of: a change elsewhere asks for no new build."""
        ...

    def pinned(self, sources: Path) -> str:
        """What a lock file shared with other programs pins for this one."""
        ...

    def missing(self) -> str | None:
        """Why this cannot be built or run here, or None."""
        ...

    def built_for(self, cpu: str) -> Self:
        """The same program for another CPU than this one ("native" or a level), where that makes a difference."""
        ...

    def needs(self) -> frozenset[str]:
        """CPU features that the program asks of a machine it is carried to."""
        ...

    def versions(self) -> dict[str, str]:
        """Toolchain and flags, for the record; part of the build's identity."""
        ...

    def step(self, sources: Path, scratch: Path) -> Step:
        """The build of a copy of the sources that lies in `sources`, using `scratch` for intermediate files."""
        ...

    def command(self, program: Path) -> tuple[str, ...]:
        """How the program is started."""
        ...


@dataclass(frozen=True, slots=True)
class CargoRecipe:
    """A package of the workspace peers/rust."""

    package: str
    default_features: bool = True
    cpu: str = NATIVE

    def built_for(self, cpu: str) -> CargoRecipe:
        """The same package for a level of CPUs."""
        return replace(self, cpu=cpu)

    def needs(self) -> frozenset[str]:
        """What rustc may use."""
        return needs(self.cpu)

    @property
    def key(self) -> str:
        """The package, and whether its default features are on."""
        return self.package if self.default_features else f"{self.package}-no-default-features"

    @property
    def sources(self) -> str | None:
        """One workspace for all Rust peers."""
        return "rust"

    @property
    def parts(self) -> tuple[str, ...]:
        """The shared library and the program."""
        return ("protocol", self.package.removeprefix("peer-"))

    def pinned(self, sources: Path) -> str:
        """The package's part of the workspace's lock file."""
        return locked_closure(sources / "Cargo.lock", self.package)

    def missing(self) -> str | None:
        """cargo is all that is needed; the crates come from cargo's registry."""
        return None if shutil.which("cargo") else "cargo is not installed; get it with rustup (rustup.rs)"

    def versions(self) -> dict[str, str]:
        """Compiler and flags."""
        return {
            "rustc": output_of("rustc", "--version"),
            "RUSTFLAGS": rustflags(self.cpu),
            "profile": "release, lto=fat, codegen-units=1",
            "features": "default" if self.default_features else "no default features",
        }

    def step(self, sources: Path, scratch: Path) -> Step:
        """`cargo build --release --locked`."""
        features = () if self.default_features else ("--no-default-features",)
        command = ("cargo", "build", "--release", "--locked", "--package", self.package, *features)
        target = scratch / ("rust" if self.default_features else "rust-bare")
        env = {"RUSTFLAGS": rustflags(self.cpu), "CARGO_TARGET_DIR": str(target)}
        return Step(command, sources, env, target / "release" / self.package)

    def command(self, program: Path) -> tuple[str, ...]:
        """The program itself."""
        return (str(program),)


@dataclass(frozen=True, slots=True)
class GoRecipe:
    """A module under peers/go."""

    module: str
    cpu: str = NATIVE

    def built_for(self, cpu: str) -> GoRecipe:
        """The same module for a level of CPUs."""
        return replace(self, cpu=cpu)

    def needs(self) -> frozenset[str]:
        """What Go's compiler may use."""
        return needs(self.cpu)

    @property
    def key(self) -> str:
        """The module's name."""
        return self.module

    @property
    def sources(self) -> str | None:
        """Each Go peer is a module of its own."""
        return f"go/{self.module}"

    @property
    def parts(self) -> tuple[str, ...]:
        """All of the module."""
        return (".",)

    def pinned(self, sources: Path) -> str:
        """go.sum is one of the parts."""
        return ""

    def missing(self) -> str | None:
        """go is all that is needed; modules come from the module proxy."""
        return None if shutil.which("go") else "go is not installed; get it from go.dev"

    def versions(self) -> dict[str, str]:
        """Toolchain and flags."""
        return {"go": output_of("go", "version"), "GOAMD64": go_level(self.cpu), "flags": "-trimpath -mod=readonly"}

    def step(self, sources: Path, scratch: Path) -> Step:
        """`go build`."""
        output = scratch / self.module
        command = ("go", "build", "-trimpath", "-mod=readonly", "-o", str(output), ".")
        return Step(command, sources, {"GOAMD64": go_level(self.cpu), "GOWORK": "off"}, output)

    def command(self, program: Path) -> tuple[str, ...]:
        """The program itself."""
        return (str(program),)


@dataclass(frozen=True, slots=True)
class PythonRecipe:
    """A module of ours that serves the protocol for an installed Python package."""

    module: str
    imports: str
    distribution: str

    def built_for(self, cpu: str) -> PythonRecipe:
        """There is nothing to compile for one."""
        return self

    def needs(self) -> frozenset[str]:
        """None are known."""
        return frozenset()

    @property
    def key(self) -> str:
        """The module's name."""
        return self.module

    @property
    def sources(self) -> str | None:
        """Nothing is built."""
        return None

    @property
    def parts(self) -> tuple[str, ...]:
        """Nothing is built."""
        return ()

    def pinned(self, sources: Path) -> str:
        """Nothing is built."""
        return ""

    def missing(self) -> str | None:
        """The package must be installed beside this one."""
        if importlib.util.find_spec(self.imports) is not None:
            return None
        return f"the package is not installed; pip install {self.distribution}"

    def versions(self) -> dict[str, str]:
        """Python and the package."""
        try:
            version = importlib.metadata.version(self.distribution)
        except importlib.metadata.PackageNotFoundError:
            version = "not installed"
        return {"python": platform.python_version(), self.distribution: version}

    def step(self, sources: Path, scratch: Path) -> Step:
        """There is none."""
        raise NotImplementedError(f"{self.module} needs no build")

    def command(self, program: Path) -> tuple[str, ...]:
        """A Python of the same environment."""
        return (sys.executable, "-m", self.module)


@dataclass(frozen=True, slots=True)
class AbsentRecipe:
    """A peer that cannot be had, and why."""

    reason: str

    def built_for(self, cpu: str) -> AbsentRecipe:
        """There is nothing to compile for one."""
        return self

    def needs(self) -> frozenset[str]:
        """None are known."""
        return frozenset()

    @property
    def key(self) -> str:
        """Nothing is built."""
        return "absent"

    @property
    def sources(self) -> str | None:
        """Nothing is built."""
        return None

    @property
    def parts(self) -> tuple[str, ...]:
        """Nothing is built."""
        return ()

    def pinned(self, sources: Path) -> str:
        """Nothing is built."""
        return ""

    def missing(self) -> str | None:
        """Always the reason."""
        return self.reason

    def versions(self) -> dict[str, str]:
        """None are known."""
        return {}

    def step(self, sources: Path, scratch: Path) -> Step:
        """There is none."""
        raise NotImplementedError(self.reason)

    def command(self, program: Path) -> tuple[str, ...]:
        """There is none."""
        raise NotImplementedError(self.reason)


@functools.cache
def output_of(*command: str) -> str:
    """What a tool prints about itself, asked once; "unknown" when it does not answer."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.strip() or "unknown"
