"""A test peer that is slow and right: plain Python, all three curves."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import plain
from multiscalar._tables import CURVES
from multiscalar.lab.peers.served import Library, serve


def point(_: str, x: bytes, y: bytes) -> plain.Point:
    pair = int.from_bytes(x, "little"), int.from_bytes(y, "little")
    return pair if any(pair) else None


ECHO = Library(
    name="echo",
    version="1",
    coordinate_bytes={name: 8 * table.limbs for name, table in CURVES.items()},
    point=point,
    scalar=lambda _, raw: int.from_bytes(raw, "little"),
    msm=plain.msm,
    coordinates=lambda _, total: total,
    timed="plain Python, term by term",
)

if __name__ == "__main__":
    serve(ECHO)
