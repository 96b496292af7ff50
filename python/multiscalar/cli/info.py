"""`msm info`: what this machine is and which of it multiscalar uses."""

from __future__ import annotations

import json
from typing import Any

import typer

from .. import __version__, extras
from ..engine import registry
from ..lab.lacks import own_lack
from ..lab.machine import machine_facts, usable_cpus, version_facts

__all__ = ["command", "fitting_extra"]

_LEAST_CAPABILITY = (7, 5)  # below it there are no kernels


def fitting_extra(gpu: dict[str, Any]) -> str:
    """One sentence: which extra fits this GPU and how it is installed, or why none does."""
    capability = gpu.get("compute_capability")
    if capability and tuple(map(int, capability.split("."))) < _LEAST_CAPABILITY:
        return (
            f"none: {gpu.get('name', 'this GPU')} has compute capability {capability}; "
            f"{'.'.join(map(str, _LEAST_CAPABILITY))} or later is needed"
        )
    driver, cuda = (str(gpu.get(name, "")) for name in ("driver", "driver_cuda"))
    if _major(driver):
        extra = "cu13" if _major(driver) >= extras.CU13_DRIVER else "cu12"
        return f"{extra}: {extras.command(extra)} (driver {driver}; cu13 needs >= {extras.CU13_DRIVER})"
    if _major(cuda):
        extra = "cu13" if _major(cuda) >= 13 else "cu12"
        return f"{extra}: {extras.command(extra)} (the driver speaks CUDA {cuda})"
    if "none" in gpu:
        return f"none ({gpu['none']})"
    return f"cu12 or cu13, the driver's version is unknown. {extras.HINT}"


def _major(version: str) -> int:
    """580 of "580.159.04"; 0 of anything else."""
    head = version.split(".")[0]
    return int(head) if head.isdecimal() else 0


def facts() -> dict[str, Any]:
    """All facts, plain values."""
    machine = machine_facts()
    backends = {}
    for name in registry.names():
        backends[name] = str(own_lack(name) or "usable")
    return {
        "multiscalar": __version__,
        "system": machine["system"],
        "cpu": {**machine["cpu"], **_core_facts()},
        "gpu": machine["gpu"],
        "extra": fitting_extra(machine["gpu"]),
        "backends": backends,
        "versions": version_facts(),
    }


def _core_facts() -> dict[str, Any]:
    """What the native core says of itself: the instruction set in use and those this CPU could run."""
    from .. import curves, msm
    from ..native import _core

    curve = curves.curve("bn254")
    run = msm(curve.known_points(256), curve.random_scalars(256), backend="cpu").run
    return {"isa_in_use": run.isa if run else "unknown", "isas_possible": _core.isas(), "threads": usable_cpus()}


def command(as_json: bool = typer.Option(False, "--json", help="Print one JSON document.")) -> None:
    """Show CPU, instruction set in use, threads after cgroup and affinity, GPU, driver, versions, and the extra to
    install.
    """
    found = facts()
    if as_json:
        typer.echo(json.dumps(found, indent=1))
        return
    typer.echo(f"multiscalar {found['multiscalar']} on {found['system']}")
    for section in ("cpu", "gpu", "backends", "versions"):
        typer.echo(f"\n{section}")
        for key, value in found[section].items():
            typer.echo(f"  {key.removesuffix('_bytes').replace('_', ' '):<20} {_text(key, value)}")
    typer.echo(f"\nextra for this GPU     {found['extra']}")


def _text(key: str, value: Any) -> str:
    if key.endswith("_bytes"):
        return f"{value / 2**30:.1f} GiB"
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
