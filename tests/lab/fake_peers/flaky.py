"""A test peer that is right, and whose reported times are those of the second story: 20 ms, or 6 to 9 s, at random.

It sleeps for none of them. `FLAKY_SEED` seeds the order; the copy takes 6 ms in a fast call and 77 to 111 ms in a slow
one, and the evidence carries the clock and P-state that were seen beside each (P0 at 2,520 MHz, P5 at 1,400 to 1,700).
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from echo import ECHO

MS = 1_000_000
SLOW_SHARE = 0.5


def sample(dice: random.Random) -> tuple[dict[str, int], dict[str, Any]]:
    """One call's clocks and the state of the card beside it."""
    if dice.random() < SLOW_SHARE:
        copy, device = dice.uniform(77, 111), dice.uniform(6000, 9000)
        state = {"sm_clock_mhz": dice.randint(1400, 1700), "p_state": 5, "sm_utilisation": 0.17}
    else:
        copy, device = dice.uniform(6, 7), dice.uniform(17, 20)
        state = {"sm_clock_mhz": 2520, "p_state": 0, "sm_utilisation": 0.17}
    times = {"copy_ns": int(copy * MS), "device_ns": int(device * MS)}
    return {"wall_ns": sum(times.values()) + MS, "cpu_ns": 2 * MS, **times}, state


def main() -> None:
    """Like `echo`, but with the story's clocks."""
    from multiscalar.lab.peers.served import Session

    session, dice = Session(ECHO), random.Random(int(os.environ.get("FLAKY_SEED", "5090")))
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["do"] == "bye":
            print('{"ok": true}', flush=True)
            return
        if asked["do"] == "hello":
            answer = {**ECHO.hello(), "name": "flaky", "paths": ["cuda"], "devices": ["GeForce RTX 4090 (replayed)"]}
        elif asked["do"] == "load":
            answer = session.load(asked)
        else:
            answer = session.run({**asked, "warmups": 0, "repeats": 1})
            drawn = [sample(dice) for _ in range(asked.get("warmups", 0) + asked["repeats"])][-asked["repeats"] :]
            answer["samples"] = [times for times, _ in drawn]
            answer["where"] = "cuda"
            answer["evidence"] = {"launches": 9, "telemetry": [state for _, state in drawn]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
