"""What a path, ours or a peer's, lacks on this machine, the first thing first: driver, GPU, then packages or tools.

A compiler or a package is of no use where there is no driver, so it is not advised there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ..engine import registry
from .gpu import Lack, gpu_lack
from .peers.build import no_device, status_of
from .peers.faults import Fault
from .peers.registry import PeerSpec, find

__all__ = ["lack", "own_lack", "parts_of"]

# snarkVM's GPU path is sppark, called as snarkVM calls it; its dispatch has that and its own CPU path.
_MADE_OF: Final = {"snarkvm:cuda": ("sppark",), "snarkvm:dispatch": ("snarkvm", "sppark")}


def lack(path: str) -> str | None:
    """What `path` lacks to be measured here, and the next step; None if nothing, or only a build that can be made."""
    if path in registry.names():
        missing = own_lack(path)
        return str(missing) if missing else None
    specs = [spec for spec in map(find, parts_of(path)) if not isinstance(spec, Fault)]
    return next(filter(None, (_peer_lack(spec) for spec in specs)), None)


def parts_of(path: str) -> Sequence[str]:
    """The peers whose programs serve a peer's path."""
    return _MADE_OF.get(path, (path.partition(":")[0],))


def own_lack(backend: str) -> Lack | None:
    """What our `backend` lacks."""
    state = registry.availability(backend)
    if state.usable:
        return None
    return (gpu_lack() if backend == "cuda" else None) or Lack(state.reason, state.hint.rstrip("."))


def _peer_lack(spec: PeerSpec) -> str | None:
    if first := no_device(spec):
        return first
    status = status_of(spec)
    return f"the peer {spec.name} is UNAVAILABLE ({status.note})" if status.state == "UNAVAILABLE" else None
