"""A test peer with the right sums and the clocks of a formula: `card.py gpu` has launches and copies.

The card takes 2 ms and 0.1 us a term, the CPU 1 us a term, both with 1 % of jitter: they meet at 2,222 terms. `liar` as
second word makes every sum wrong. The sums are the engine's own.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import multiscalar as ms
import numpy as np

US = 1000


def times(gpu: bool, n: int, dice: random.Random) -> dict[str, int]:
    if not gpu:
        return {"wall_ns": int(n * US * dice.uniform(0.99, 1.01)), "cpu_ns": n * US}
    device, copy = int(1500 * US * dice.uniform(0.99, 1.01)), int(n * US * 0.1)
    return {"wall_ns": device + copy + 500 * US, "cpu_ns": 50 * US, "device_ns": device, "copy_ns": copy}


def hello(gpu: bool) -> dict[str, Any]:
    return {"ok": True, "name": "card", "version": "1", "curves": ["bn254", "bls12-377", "bls12-381"], "groups": ["g1"],
            "devices": ["a card of the tests"] if gpu else ["cpu"],
            "paths": ["cuda", "snarkvm"] if gpu else ["cpu", "batched"], "scopes": ["end-to-end", "resident-bases"],
            "options": [], "timed": "a formula"}  # fmt: skip


def run(asked: dict[str, Any], total: ms.Point, n: int, gpu: bool, dice: random.Random) -> dict[str, Any]:
    evidence = {"launches": 3, "bytes_moved": 128 * n, "device": "a card of the tests"} if gpu else {}
    result = {"x": hex(total.x), "y": hex(total.y), "is_infinity": total.is_infinity}
    samples = [times(gpu, n, dice) for _ in range(asked.get("repeats", 1))]
    return {"ok": True, "samples": samples, "result": result, "agree": True, "where": "cuda" if gpu else "cpu",
            "evidence": evidence}  # fmt: skip


def main() -> None:
    gpu, lies, dice = sys.argv[1] == "gpu", "liar" in sys.argv, random.Random(1)
    total, n = None, 0
    for line in sys.stdin:
        asked = json.loads(line)
        match asked["do"]:
            case "hello":
                answer = hello(gpu)
            case "load":
                curve, n = ms.curve(asked["curve"]), asked["n"]
                points = np.fromfile(asked["points"], "<u8", n * 2 * curve.limbs).reshape(n, 2, curve.limbs)
                scalars = np.fromfile(asked["scalars"], "<u8", n * 4).reshape(n, 4)
                total = curve.generator if lies else ms.msm(points, scalars, curve=curve, backend="cpu")
                answer = {"ok": True, "ns": 1}
            case "run":
                answer = run(asked, total, n, gpu, dice)
            case _:
                return
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
