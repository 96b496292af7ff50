"""For every test of the command: its files lie in a folder whose name has a blank, as many a user's do."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A folder of the test's own."""
    folder = tmp_path / "a b"
    folder.mkdir()
    return folder
