"""A test peer that greets, loads, and never answers a run."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import plain
from echo import ECHO
from multiscalar.lab.peers.served import serve


def forever(*_: object) -> plain.Point:
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    serve(replace(ECHO, name="hanging", msm=forever))
