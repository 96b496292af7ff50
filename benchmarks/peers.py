"""Every CPU library at hand beside ours: `python benchmarks/peers.py --record FILE.jsonl`, or `make bench-peers`.

Three curves, 2^8 to 2^18, all threads, interleaved, every result checked, a control of independent points a curve. Then
the record is judged (`msm check`) and drawn (`msm report`, FILE.html). Peers that are not built are built first
(`msm peers build`, up to an hour); measuring takes some ten minutes on two cores. Exit code: that of the first command
that failed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import ending
from multiscalar import curves
from multiscalar.lab.peers import statuses
from multiscalar.lab.peers.registry import PEERS, PeerSpec


def libraries(curve: str) -> list[str]:
    """CPU peers for a curve that are ready, or can be built here."""
    usable = {peer.name for peer in statuses() if peer.ready or peer.state == "to build"}
    return [spec.name for spec in PEERS.values() if _fits(spec, curve) and spec.name in usable]


def _fits(spec: PeerSpec, curve: str) -> bool:
    return spec.place == "cpu" and curve in spec.curves


def commands(record: Path, sizes: str, repeats: int, names: Sequence[str]) -> Iterator[list[str]]:
    """The words of each `msm` command, in order."""
    for curve in names:
        peers = ",".join(libraries(curve))
        asked = {"curve": curve, "sizes": sizes, "paths": "cpu", "peers": peers, "scope": "resident-bases"}
        limits = {"repeats": str(repeats), "time-limit": "30", "record": str(record)}
        options = [word for name, value in {**asked, **limits}.items() for word in (f"--{name}", value)]
        yield ["bench", *options, "--control"]
    yield ["check", str(record)]
    yield ["report", str(record), "-o", str(record.with_suffix(".html")), "--title", "CPU libraries side by side"]


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--sizes", default="2^8..2^18")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--curves", default=",".join(curves.names()))
    asked = parser.parse_args(words)
    try:
        names = [curves.curve(name).name for name in asked.curves.split(",")]
    except ValueError as error:
        parser.error(str(error))
    for command in commands(asked.record, asked.sizes, asked.repeats, names):
        print("msm", *command, file=sys.stderr)
        done = subprocess.run([sys.executable, "-m", "multiscalar.cli", *command], check=False)
        if done.returncode:
            return done.returncode
    return 0


if __name__ == "__main__":
    ending.run(lambda: main(sys.argv[1:]))
