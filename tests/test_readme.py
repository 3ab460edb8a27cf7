"""The README is true: its Python example runs, and every command, option and make target in it exists."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from itertools import groupby
from typing import TYPE_CHECKING

import pytest
import typer.main

from tests.house import REPOSITORY
from ytrag_core.cli import app

if TYPE_CHECKING:
    from pathlib import Path

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def _blocks(*languages: str) -> list[str]:
    return [text for language, text in BLOCK.findall(README) if language in languages]


def _commands() -> list[list[str]]:
    commands: list[list[str]] = []
    for text in _blocks("sh", "bash", "shell", "console"):
        for line in text.replace("\\\n", " ").splitlines():
            if re.match(r"(\$ )?(ytrag|make|pip|git|cd) ", line):
                words = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="&|;<>")
                words.whitespace_split = True
                ends = groupby(words, key=lambda word: word in {"&&", "||", "&", "|", ";", "<", ">", ">>"})
                commands += [list(part) for is_end, part in ends if not is_end]
    return [command for command in commands if command[0] in {"ytrag", "make"}]


def test_the_python_example_runs(tmp_path: Path) -> None:
    (example,) = _blocks("python")
    done = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", "-c", example],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip(), "the example shows nothing"


def test_the_readme_shows_commands() -> None:
    assert ["make", "demo"] in _commands()
    assert any(command[0] == "ytrag" for command in _commands())


@pytest.mark.parametrize("command", [c for c in _commands() if c[0] == "ytrag"], ids=shlex.join)
def test_every_command_shown_exists(command: list[str]) -> None:
    here, words = typer.main.get_command(app), command[1:]
    while words and words[0] in getattr(here, "commands", {}):
        here = getattr(here, "commands")[words.pop(0)]  # noqa: B009
    assert not hasattr(here, "commands"), f"no such command: {shlex.join(command)}"
    known = {option for parameter in here.params for option in parameter.opts} | {"--help"}
    shown = {word.partition("=")[0] for word in words if word.startswith("-")}
    assert shown <= known, f"{shlex.join(command)} has no {sorted(shown - known)}"


@pytest.mark.parametrize("command", [c for c in _commands() if c[0] == "make"], ids=shlex.join)
def test_every_make_target_shown_exists(command: list[str]) -> None:
    targets = set(re.findall(r"^(\w+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    wanted = {word for word in command[1:] if "=" not in word and not word.startswith("-")}
    assert wanted <= targets
