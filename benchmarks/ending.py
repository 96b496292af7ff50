"""How a benchmark ends that cannot go on: one line on stderr and the exit code that `msm` has for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NoReturn

from multiscalar.cli.exits import code_of
from multiscalar.errors import MultiscalarError


def run(main: Callable[[], int]) -> NoReturn:
    """Leave with what `main` returns; 130 on Ctrl-C, 1 to 3 for an error of ours, e.g. a setting without meaning."""
    try:
        code = main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = 130
    except MultiscalarError as error:
        print(error, file=sys.stderr)
        code = code_of(error)
    sys.exit(code)
