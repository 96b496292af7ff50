"""Pages of docs that are made from code say what the code says."""

from __future__ import annotations

from tests import fieldcases


def test_the_list_of_field_cases() -> None:
    assert fieldcases.PAGE.read_text() == fieldcases.page(), "run: python -m tests.fieldcases --write"
    assert len(fieldcases.marked()) >= 30
