"""Marks a test with the field cases it reproduces, so that their ids stand in the test's id (`pytest -k MI-13`)."""

from __future__ import annotations

import pytest


def field_case(*ids: str) -> pytest.MarkDecorator:
    """Puts the ids into the id of the test, which takes the argument `field_case`: `test_237[bn254-MI-13+MI-15]`."""
    return pytest.mark.parametrize("field_case", ["+".join(ids)])
