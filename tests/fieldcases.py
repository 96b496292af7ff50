"""Marks a test with the field cases it reproduces, so that their ids stand in the test's id (`pytest -k MI-13`).

`python -m tests.fieldcases --write` puts the list of cases with their tests into docs/field-cases.md.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "field-cases.md"
FOLDERS = ("conformance", "api", "property")


def field_case(*ids: str) -> pytest.MarkDecorator:
    """Puts the ids into the id of the test, which takes the argument `field_case`: `test_237[bn254-MI-13+MI-15]`."""
    return pytest.mark.parametrize("field_case", ["+".join(ids)])


def marked() -> dict[str, list[str]]:
    """id -> tests that carry it, in order."""
    found: dict[str, list[str]] = {}
    for path in sorted(path for folder in FOLDERS for path in (ROOT / "tests" / folder).glob("test_*.py")):
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.FunctionDef):
                continue
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and getattr(mark.func, "id", "") == "field_case":
                    for case in mark.args:
                        test = f"{path.relative_to(ROOT).as_posix()}::{node.name}"
                        found.setdefault(str(ast.literal_eval(case)), []).append(test)
    return dict(sorted(found.items()))


def page() -> str:
    """docs/field-cases.md."""
    lines = [
        "# Field cases and their tests",
        "",
        "Faults that users of MSM libraries reported, by the id of our notes, and the tests that reproduce them on",
        "every backend at hand. `pytest -k MI-13` runs those of one case.",
        "Made by `python -m tests.fieldcases --write`.",
        "",
        "| case | tests |",
        "|---|---|",
    ]
    lines += [f"| {case} | {', '.join(f'`{test}`' for test in tests)} |" for case, tests in marked().items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page())
    else:
        sys.stdout.write(page())
