"""Other people's libraries as programs that the lab talks to: registry, build, client, protocol.

`open_peer("gnark")` gives a running `Peer` or a `Fault`; `statuses()` lists all of them.
"""

from __future__ import annotations

from .build import PeerStatus, status_of
from .client import Peer, open_peer, open_program
from .faults import Fault, FaultKind
from .protocol import Hello, LoadAnswer, PeerSample, RunAnswer
from .registry import PEERS, peer_names

__all__ = [
    "Fault",
    "FaultKind",
    "Hello",
    "LoadAnswer",
    "Peer",
    "PeerSample",
    "PeerStatus",
    "RunAnswer",
    "open_peer",
    "open_program",
    "peer_names",
    "statuses",
]


def statuses() -> tuple[PeerStatus, ...]:
    """What can be used now, what can be built, what cannot be had and why."""
    return tuple(status_of(spec) for spec in PEERS.values())
