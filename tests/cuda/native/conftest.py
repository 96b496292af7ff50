"""Tests that need a real GPU; without one they are skipped with the reason."""

from __future__ import annotations

import pytest
from multiscalar.engine import registry


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    state = registry.availability("cuda")
    if state.usable:
        return
    for item in items:
        if "cuda/native" in str(item.path):
            item.add_marker(pytest.mark.skip(reason=f"no GPU here: {state.reason}"))
