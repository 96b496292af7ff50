"""The doctor beside load made on purpose: does it name the load? `python benchmarks/doctor_load.py --record FILE`

    --load host    every usable CPU is kept busy by another process (subject cpu)
    --load gpu     another process computes on the same GPU (subject cuda)

The load comes in bursts with calm between them, so that fast and slow samples lie side by side; the calls are long
enough for at least two bursts to fall among them. `msm doctor` measures and prints; exit code 0 if its first finding
is the load's cause, 1 if it is another one, 2 if nothing was shown (the load ended before its time, or the samples
before two bursts), else that of `msm doctor`: 2 for a record that cannot be written, 3 without a GPU for its load.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import ending
from multiscalar import cpus
from multiscalar.cli.session import read
from multiscalar.lab.diagnose.rules import Cause
from multiscalar.lab.doctor import diagnoses
from multiscalar.lab.lacks import own_lack
from multiscalar.lab.record import Measurements

BURST_S, CALM_S = 1.5, 3.0
LEAST_BURSTS = 2
BUSY = f"""
import time
while True:
    end = time.monotonic() + {BURST_S}
    while time.monotonic() < end:
        pass
    time.sleep({CALM_S})
"""
COTENANT = f"""
import time, multiscalar as ms
curve = ms.curve("bn254")
bases, scalars = ms.Bases(curve.known_points(2**20, seed=1), backend="cuda"), curve.random_scalars(2**20, seed=2)
bases.msm(scalars)
print("ready", flush=True)
while True:
    end = time.monotonic() + {BURST_S}
    while time.monotonic() < end:
        bases.msm(scalars)
    time.sleep({CALM_S})
"""


class Load(NamedTuple):
    """What is made busy, whom it disturbs, and the cause that the doctor should name."""

    program: str
    processes: int
    subject: str
    size: str
    repeats: int
    cause: Cause


def load(kind: str) -> Load:
    if kind == "gpu":
        return Load(COTENANT, 1, "cuda", "2^20", 2000, Cause.CO_TENANT)
    busy = cpus.allowed()
    # 2^15 terms a CPU keep every CPU busy for some 55 ms a call: 300 calls outlast several bursts on any machine.
    return Load(BUSY, busy, "cpu", str(2**15 * busy), 300, Cause.HOST)


def measured_s(measurements: Measurements) -> float:
    """Seconds from the first sample of the record to the end of its last."""
    samples = [sample for cell in measurements.cells.values() for sample in cell.samples]
    if not samples:
        return 0.0
    return (max(s["at_ns"] + s["wall_ns"] for s in samples) - min(s["at_ns"] for s in samples)) / 1e9


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--load", choices=("host", "gpu"), default="host")
    asked = parser.parse_args(words)
    made = load(asked.load)
    if missing := own_lack(made.subject):  # the load itself could not begin
        print(f"no load {asked.load}: {missing}", file=sys.stderr)
        return 3
    busy = [  # in sessions of their own: Ctrl-C is for this program, which ends them
        subprocess.Popen([sys.executable, "-c", made.program], stdout=subprocess.PIPE, start_new_session=True)
        for _ in range(made.processes)
    ]
    try:
        if made.program is COTENANT and busy[0].stdout is not None:
            busy[0].stdout.readline()  # its own start is not the load that is meant
        command = ["doctor", "--subject", made.subject, "--size", made.size, "--repeats", str(made.repeats)]
        command += ["--record", str(asked.record)]
        code = subprocess.run([sys.executable, "-m", "multiscalar.cli", *command], check=False).returncode
        ended = [process.poll() for process in busy]
    finally:
        for process in busy:
            process.kill()
            process.wait()
    if any(status is not None for status in ended):
        print(f"the load ended by itself, exit codes {ended}: nothing was shown")
        return 2
    if code:
        return code
    measurements = read([asked.record])
    seconds, needed = measured_s(measurements), LEAST_BURSTS * (BURST_S + CALM_S)
    if seconds < needed:
        print(f"the samples took {seconds:.1f} s, {LEAST_BURSTS} bursts need {needed:.1f} s: nothing was shown")
        return 2
    causes = [finding.cause for _, diagnosis in diagnoses(measurements) for finding in diagnosis.findings]
    named = bool(causes) and causes[0] == made.cause
    print(f"load: {made.cause}; first finding: {causes[0] if causes else 'none'}: {'named' if named else 'NOT NAMED'}")
    return 0 if named else 1


if __name__ == "__main__":
    ending.run(lambda: main(sys.argv[1:]))
