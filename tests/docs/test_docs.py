"""Every snippet and command in README.md and docs/ is run, or is backed by a committed record.

A fenced `python` block is executed; the blocks of one page share a namespace, so a page reads as one program.
In a `console` block each line that starts with "$ " is a command, and is run and must succeed. A command that
needs a GPU or minutes says so in a comment before its block, in one of two ways:

    <!-- recorded: results/FILE.jsonl -->    the record exists and holds a run of that command
    <!-- run by: FILE -->                    that file (CI's, the Makefile) contains the command

and a `text` block under a command is its output, for the reader only.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"(?:<!-- (recorded|run by|not run): (.+?) -->\n+)?^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block: its language, text, and what stands in for running it."""

    line: int
    language: str
    text: str
    proof: tuple[str, str] | None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        proof = (match[1], match[2]) if match[1] else None
        found.append(Block(text.count("\n", 0, match.start(4)), match[3], match[4], proof))
    return found


def commands(block: Block) -> list[str]:
    return [line[2:].split("  #")[0].strip() for line in block.text.splitlines() if line.startswith("$ ")]


def pages(language: str) -> list[pytest.ParameterSet]:
    return [
        pytest.param(page, id=str(page.relative_to(ROOT)))
        for page in PAGES
        if any(block.language == language for block in blocks(page))
    ]


@pytest.mark.parametrize("page", pages("python"))
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__docs__"}
    for block in blocks(page):
        if block.language == "python":
            if block.proof:
                check_proof(block, [])
                continue
            code = compile("\n" * block.line + block.text, str(page), "exec")
            exec(code, namespace)


@pytest.mark.parametrize("page", pages("console"))
def test_commands_run(page: Path, tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for block in blocks(page):
        if block.language != "console":
            continue
        if block.proof:
            check_proof(block, commands(block))
            continue
        for command in commands(block):
            done = subprocess.run(
                command,
                shell=True,
                cwd=tmp_path,
                env={**os.environ, "PATH": path},
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
            )
            assert done.returncode == 0, f"{page.name}:{block.line}: {command}\n{done.stderr[-2000:]}"


def check_proof(block: Block, wanted: list[str]) -> None:
    """A block that is not run here is backed by a file of this repository that holds its commands."""
    assert block.proof is not None
    kind, name = block.proof
    file = ROOT / name
    assert file.is_file(), f"{name} does not exist"
    text = file.read_text(encoding="utf-8")
    if kind == "recorded":
        recorded = [options(line) for line in recorded_commands(text)]
        for command in wanted:
            assert options(behind_make(command)) in recorded, f"{name} holds no run of: {command}"
    else:
        for command in wanted:
            assert command in text, f"{name} does not run: {command}"


def behind_make(command: str) -> str:
    """What a make target runs: the command that its record holds."""
    if not command.startswith("make "):
        return command
    done = subprocess.run(["make", "-n", command.split()[1]], cwd=ROOT, capture_output=True, text=True, check=True)
    return next(line[line.index("/msm ") + 1 :] for line in done.stdout.splitlines() if "/msm " in line)


def options(command: str) -> list[str]:
    """The words of a command, without where its record and its form went: those do not change what is measured."""
    words = shlex.split(command)
    kept, skip = [], False
    for word in words:
        if skip or word in ("--record", "--format"):
            skip = not skip
            continue
        kept.append(word)
    return kept


def recorded_commands(text: str) -> list[str]:
    """The commands that made a record, from its header lines."""
    found = []
    for line in text.splitlines():
        entry = json.loads(line)
        if isinstance(entry.get("command"), str):
            found.append(entry["command"])
    return found


def test_pages_are_found() -> None:
    assert len(PAGES) > 1
    assert sum(len(commands(block)) for page in PAGES for block in blocks(page)) > 0
