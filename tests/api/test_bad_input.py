"""Every bad input gets its error, with index and words; the process goes on; the page in docs is what happens."""

from __future__ import annotations

import multiscalar as ms
import numpy as np
import pytest
from multiscalar import errors

from . import bad_inputs


@pytest.mark.parametrize("row", bad_inputs.ROWS, ids=lambda row: row.what.replace(" ", "-"))
def test_bad_input(row: bad_inputs.BadInput) -> None:
    text, error = bad_inputs.message(row)
    assert error is not None, text
    assert type(error) is row.error, text
    for words in row.says:
        assert words in str(error)
    if row.index is not None:
        assert error.index == row.index
    assert error.accepted or error.hint, "the error says neither what is accepted nor what to do"
    assert error.__cause__ is None or not isinstance(error.__cause__, errors.MultiscalarError)
    curve = bad_inputs.C
    assert ms.msm([curve.generator], [2]) == 2 * curve.generator, "the next call is right"


def test_there_are_thirty() -> None:
    assert len(bad_inputs.ROWS) >= 30
    assert len({row.what for row in bad_inputs.ROWS}) == len(bad_inputs.ROWS)


def test_the_page_is_up_to_date() -> None:
    assert bad_inputs.PAGE.read_text() == bad_inputs.page(), "run: python -m tests.api.bad_inputs --write"


def test_inputs_are_what_python_expects() -> None:
    """Code that knows nothing of this package catches ValueError, TypeError and MemoryError."""
    with pytest.raises(ValueError, match="scalars for"):
        ms.msm([], [1], curve="bn254")
    with pytest.raises(TypeError, match="float64"):
        ms.msm([], np.ones(3), curve="bn254")
    with pytest.raises(MemoryError, match="bytes"):
        ms.curve("bn254").known_points(2**44)
