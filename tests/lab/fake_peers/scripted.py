"""A test peer that prints what its arguments say: answer k is argument k, whatever was asked; then it waits or leaves.

An argument `@flood` writes bytes without end and without a newline, `@leave:N` exits with code N.
"""

from __future__ import annotations

import os
import sys
import time


def main() -> None:
    for answer in sys.argv[1:]:
        sys.stdin.readline()
        if answer == "@flood":
            while True:
                os.write(1, b"x" * (1 << 16))
        if answer.startswith("@leave:"):
            sys.exit(int(answer.partition(":")[2]))
        print(answer, flush=True)
    time.sleep(3600)


if __name__ == "__main__":
    main()
