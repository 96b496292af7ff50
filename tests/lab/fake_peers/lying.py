"""A test peer that answers in no time and wrong: the sum is off by one generator, and it says that all agreed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import plain
from echo import ECHO
from multiscalar._tables import CURVES
from multiscalar.lab.peers.served import serve


def wrong(curve: str, points: list[plain.Point], scalars: list[int]) -> plain.Point:
    return plain.add(curve, plain.msm(curve, points, scalars), CURVES[curve].generator)


if __name__ == "__main__":
    serve(replace(ECHO, name="lying", msm=wrong))
