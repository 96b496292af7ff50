"""What happens behind the calls, one line each on stderr, for those areas that the setting `log` names.

For rare events only: asking costs a microsecond. Nothing here ever holds a scalar or a point.
"""

from __future__ import annotations

import sys

from .settings import setting


def note(area: str, text: str) -> None:
    """Tell `text` if the user wants to hear of `area`, one of `settings.AREAS`."""
    if area in setting("log"):
        print(f"multiscalar {area}: {text}", file=sys.stderr, flush=True)
