"""What the lab and the dispatch themselves cost, as lab records: `python benchmarks/lab.py NAME --record FILE`.

overhead      an empty subject, 1,024 samples: the record's own clock tells what passes between two samples
telemetry     the same MSM with and without the sampler beside it, interleaved (`--pairs`)
decision      1,000 decisions of `auto` a sample, over the profile that ships for the H200, checked
calibration   `msm calibrate` with one thread of this CPU, by CPU time, and a GPU that is a formula
              (`--seconds` a series; `--output FILE` writes the profile, for `msm calibrate --compare`)

Tables of the records, with the bounds: `tools/lab_cost.py`, `tools/regret_table.py`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from math import log2
from pathlib import Path
from typing import Any

import ending
import multiscalar as ms
import numpy as np
from multiscalar.cli.calibrate import _profile
from multiscalar.cli.metering import LabMeter
from multiscalar.cli.session import recorded
from multiscalar.dispatch.calibrate import Grid, Outcome, calibrate
from multiscalar.dispatch.chooser import ProfileChooser
from multiscalar.dispatch.model import crossings
from multiscalar.dispatch.profile import Series, from_json, to_json
from multiscalar.engine.backend import Request
from multiscalar.lab.msmcase import Question, msm_case
from multiscalar.lab.record import Record, RecordError
from multiscalar.lab.runner import Runner
from multiscalar.lab.stopping import Stopping
from multiscalar.lab.subject import Case, Evidence, Place, Sample, Subject
from multiscalar.lab.subjects.own import Own
from multiscalar.lab.telemetry.sampler import Sampler
from multiscalar.lab.warmup import Warmup

SAMPLES = 1024  # of an empty subject
DECISIONS = 1000  # a sample
# us fixed, us a term: a card of a few years ago beside two CPUs, so that every crossover lies inside the grid.
CARD = {"end-to-end": (2500.0, 0.15), "resident-bases": (1200.0, 0.05)}
CURVES = ("bn254", "bls12-377", "bls12-381")


@dataclass
class Timed:
    """A subject that is one call."""

    name: str
    call: Callable[[], object]
    place: Place = Place.CPU

    def describe(self) -> dict[str, Any]:
        return {"library": "multiscalar"}

    def prepare(self, case: Case, inputs: Any) -> None:
        """Nothing is loaded."""

    def take(self, count: int, warmups: int) -> Sequence[Sample]:
        for _ in range(warmups):
            self.call()
        return [self._sample() for _ in range(count)]

    def _sample(self) -> Sample:
        start = time.perf_counter_ns()
        result = self.call()
        return Sample(start, time.perf_counter_ns() - start, None, result, evidence=Evidence("cpu"))

    def close(self) -> None:
        """Nothing is held."""


class Watched(Own):
    """Our CPU backend with the sampler running during its calls."""

    def __init__(self) -> None:
        super().__init__("cpu", name="cpu+telemetry")

    def take(self, count: int, warmups: int) -> Sequence[Sample]:
        with Sampler(None):
            return super().take(count, warmups)


class OnOneThread(Own):
    """Our CPU backend by its CPU time: what a call takes on a machine that has nothing else to do."""

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "clock": "process CPU time, in the place of wall time"}

    def take(self, count: int, warmups: int) -> Sequence[Sample]:
        return [replace(sample, wall_ns=sample.cpu_ns or sample.wall_ns) for sample in super().take(count, warmups)]


def measure(record: Record, case: Case, subjects: Sequence[Subject], stopping: Stopping) -> None:
    Runner(record, seed=5090, warmup=Warmup(1), stopping=stopping).run(case, subjects)


def overhead(record: Record) -> None:
    case = Case({"n": 1, "workload": "nothing"}, lambda: None, lambda _, result: None if result is None else "wrong")
    measure(record, case, [Timed("nothing", lambda: None)], Stopping(SAMPLES))


def telemetry(record: Record, pairs: int) -> None:
    case = msm_case(Question(curve="bn254", n=1 << 18, threads=1))
    measure(record, case, [Own("cpu"), Watched()], Stopping(repeats=pairs, time_limit=600))


def decision(record: Record) -> None:
    path = Path(str(files("multiscalar.dispatch") / "profiles" / "nvidia-h200.json"))
    profile = from_json(path.read_text(encoding="utf-8"), "shipped")
    with ms.using(profile=path):
        for curve in CURVES:
            pair = profile.pair(Series(curve, "cpu"))
            assert pair is not None
            _decide(record, curve, crossings(*pair)[0][0])


def _decide(record: Record, curve: str, at: int) -> None:
    """Samples of DECISIONS choices; right are those of the one crossing at `at`."""
    chooser = ProfileChooser()
    requests = [Request(curve, int(2**x)) for x in np.linspace(0, 22, DECISIONS)]
    right = ["cuda" if request.n > at else "cpu" for request in requests]
    labels: dict[str, str | int | None] = {"n": DECISIONS, "curve": curve, "workload": "decisions"}
    case = Case(labels, lambda: None, lambda _, result: None if result == right else "another choice")
    call = Timed("auto", lambda: [chooser.choose(request).backend for request in requests])
    measure(record, case, [call], Stopping(101))


@dataclass
class Card:
    """A GPU that is a formula with 2 % of noise: it takes no time, and knows the right sums."""

    name: str = "simulated-gpu"
    place: Place = Place.ANY
    inputs: Any = None
    cost: tuple[float, float] = (0.0, 0.0)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng())

    def describe(self) -> dict[str, Any]:
        return {"library": "a formula", "fixed_us": self.cost[0], "us_per_term": self.cost[1]}

    def prepare(self, case: Case, inputs: Any) -> None:
        self.inputs, self.cost = inputs, CARD[str(case.labels["scope"])]

    def take(self, count: int, warmups: int) -> Sequence[Sample]:
        return [self._sample() for _ in range(count)]

    def _sample(self) -> Sample:
        n = len(self.inputs.points)
        us = (self.cost[0] + self.cost[1] * n + 14 * log2(max(n, 1))) * self.rng.lognormal(0, 0.02)
        result = [(point.x, point.y) for point in self.inputs.expected]
        return Sample(
            time.perf_counter_ns(), int(us * 1e3), None, result, evidence=Evidence(detail={"simulated": True})
        )

    def close(self) -> None:
        self.inputs = None


def calibration(record: Record, budget_s: float) -> list[Outcome]:
    """Three curves, two scopes, 44 hold-out sizes each."""
    meter = LabMeter(record, make=lambda name: Card() if name == "cuda" else OnOneThread(name))
    outcomes = []
    for curve in CURVES:
        for scope in CARD:
            grid = Grid(low=1 << 7, high=1 << 15, hold_out=44)
            series = Series(curve, "cpu", scope, threads=1)
            outcomes.append(calibrate(meter, series, grid=grid, budget_s=budget_s, gpu=True))
            meter.close()
            print(curve, scope, *outcomes[-1].found, outcomes[-1].regrets(), file=sys.stderr)
    return outcomes


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", choices=("overhead", "telemetry", "decision", "calibration"))
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=20.0, help="a series of calibration may take")
    parser.add_argument("--pairs", type=int, default=75, help="of calls of telemetry")
    parser.add_argument("--output", type=Path, help="profile of calibration")
    asked = parser.parse_args(words)
    if asked.seconds <= 0 or asked.pairs < 1:
        parser.error(f"--seconds {asked.seconds:g}, --pairs {asked.pairs}: more than 0")
    if asked.output and not asked.output.parent.is_dir():
        parser.error(f"--output {asked.output}: there is no folder {asked.output.parent}")
    try:
        record = Record(asked.record)
    except (OSError, RecordError) as error:
        parser.error(f"cannot write the record: {error}")
    try:
        perform(asked, record)
    except OSError as error:  # the disk is full
        parser.exit(1, f"{parser.prog}: cannot go on: {error}\n")
    return 0


def perform(asked: argparse.Namespace, record: Record) -> None:
    """Measure what was asked for. Errors: `OSError` of the record or the profile."""
    with recorded(record, 5090, {"benchmark": "benchmarks/lab.py"}):
        match asked.name:
            case "overhead":
                overhead(record)
            case "decision":
                decision(record)
            case "telemetry":
                telemetry(record, asked.pairs)
            case "calibration":
                outcomes = calibration(record, asked.seconds)
                if asked.output:
                    asked.output.write_text(to_json(_profile(outcomes, {}, False)), encoding="utf-8")


if __name__ == "__main__":
    ending.run(lambda: main(sys.argv[1:]))
