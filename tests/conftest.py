"""For every test: settings, profiles and terminal of the user play no part, random examples are the same each time."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# Caches and the public setup stay where they are: both are costly to make anew.
_KEPT = ("MULTISCALAR_CACHE_DIR", "MULTISCALAR_SRS_DIR", "MULTISCALAR_PEER_")

for _name in [name for name in os.environ if name.startswith("MULTISCALAR_") and not name.startswith(_KEPT)]:
    del os.environ[_name]

# What programs print is up to them: not to a terminal's colours and width, to a CI's, or to an interpreter told to
# buffer nothing, to warn of everything, or to say more when it dies. Tests that are about one of these set it.
_STEERING = (
    *("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "PY_COLORS", "GITHUB_ACTIONS", "TERMINAL_WIDTH"),
    *("TTY_COMPATIBLE", "TTY_INTERACTIVE", "LINES", "MPLBACKEND", "MSM_"),
    *("PYTHONUNBUFFERED", "PYTHONFAULTHANDLER", "PYTHONDEVMODE", "PYTHONWARNINGS", "PYTHONVERBOSE", "PYTHONINSPECT"),
    *("PYTHONOPTIMIZE", "PYTHONIOENCODING", "PYTHONTRACEMALLOC", "PYTHONPROFILEIMPORTTIME", "PYTHONMALLOCSTATS"),
)
for _name in [name for name in os.environ if name.startswith(_STEERING)]:
    del os.environ[_name]
os.environ["COLUMNS"] = "100"

# A shell that starts the tests in the background has SIGINT ignored, and programs started here would ignore it too.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no fault of a test; `--hypothesis-profile=explore` looks for new examples.
settings.register_profile("explore", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("explore"), derandomize=True, database=None)
settings.load_profile("same")


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Profiles and baselines of the user are neither used nor changed, by this process and those it starts."""
    os.environ["MULTISCALAR_STATE_DIR"] = str(tmp_path_factory.mktemp("state"))
    yield
    os.environ.pop("MULTISCALAR_STATE_DIR", None)
