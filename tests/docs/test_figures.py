"""Tables in the pages are functions of committed records: made again here and compared.

A comment `<!-- made by: SCRIPT RECORD... -->` stands before such a table.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
_TABLE = re.compile(r"<!-- made by: (.+?) -->\n+((?:\|.*\n)+)")


def tables() -> list[pytest.ParameterSet]:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "results").rglob("*.md"))]
    return [
        pytest.param(match[1], match[2].strip(), id=f"{page.name}-{k}")
        for page in pages
        for k, match in enumerate(_TABLE.finditer(page.read_text(encoding="utf-8")))
    ]


@pytest.mark.parametrize(("command", "text"), tables())
def test_a_table_is_what_its_records_say(command: str, text: str) -> None:
    done = subprocess.run(
        [sys.executable, *command.split()], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == text


def test_the_readme_has_tables() -> None:
    assert len(tables()) >= 2
