"""How long a test waits for what must come: no measurement, only the end of a hang. A busy machine is no fault.

Below the limit of a whole test (pyproject.toml: 900 s), so that whoever waits says for what.
"""

from __future__ import annotations

PATIENCE_S = 600.0
