"""A test peer that dies of a signal in its first run, with a last word on stderr."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import plain
from echo import ECHO
from multiscalar.lab.peers.served import serve


def abort(*_: object) -> plain.Point:
    print("bucket 17 is not where it was", file=sys.stderr, flush=True)
    os.abort()


if __name__ == "__main__":
    serve(replace(ECHO, name="crashing", msm=abort))
