"""Setting up says what is missing and repeats safely. Python is real here, pip and venv are stand-ins."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.house import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

TOOLS = ("bash", "awk", "cat", "cmp", "cp", "dirname", "grep", "mkdir", "rm", "tail", "tee")
# Answers for venv, pip and the look for hnswlib; everything else goes to the interpreter that runs the tests.
PYTHON = """
case "$*" in
"-m venv --clear .venv") rm -rf .venv && mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
"-m pip --version") ;;
"-c import hnswlib") exit 1 ;;
"-m pip install --quiet --only-binary hnswlib hnswlib") exit "$NOT_BUILT" ;;
"-m pip install "*) echo "$*" >>pip-calls; echo "$PIP_SAYS"; [ -z "$PIP_SAYS" ] ;;
*) exec "{real}" "$@" ;;
esac
"""


class Machine:
    """A clone and a PATH of its own, with only the commands a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.clone = folder / "a clone"
        self.venv = self.clone / ".venv"
        self.path = folder / "bin"
        self.path.mkdir()
        (self.clone / ".ci").mkdir(parents=True)
        shutil.copy(REPOSITORY / ".ci" / "setup", self.clone / ".ci")
        (self.clone / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
        for tool in TOOLS:
            found = shutil.which(tool)
            if found is None:
                pytest.skip(f"no {tool} here")
            (self.path / tool).symlink_to(found)

    def command(self, name: str, script: str) -> None:
        file = self.path / name
        file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        file.chmod(0o755)

    def python(self, name: str = "python3") -> None:
        self.command(name, PYTHON.replace("{real}", sys.executable))

    def compiler(self) -> None:
        self.command("g++", "exit 0")

    def setup(self, kind: str = "runtime", **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.clone / ".ci" / "setup"), kind],
            env={
                "PATH": str(self.path),
                "HOME": str(self.clone),
                "PIP_SAYS": "",
                "NOT_BUILT": "1",
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def pip_calls(self) -> list[str]:
        """What pip was asked since the last look."""
        file = self.clone / "pip-calls"
        calls = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return [call.removeprefix("-m pip install ") for call in calls]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """Return a machine without Python and without a compiler."""
    return Machine(tmp_path)


def test_no_python_at_all(machine: Machine) -> None:
    done = machine.setup()
    assert done.returncode == 1
    assert "ytrag needs Python 3.11 or newer" in done.stderr
    assert not machine.venv.exists()


def test_each_python_that_will_not_do_is_named_with_its_reason(machine: Machine) -> None:
    machine.command("python3.13", "echo 'shim: command not found' >&2; exit 127")
    machine.command("python3.12", "echo 'has no ensurepip module'")
    machine.command("python3", "echo 'is Python 3.9, 3.11 or newer is needed'")
    done = machine.setup()
    assert done.returncode == 1
    assert "python3.13: does not run" in done.stderr
    assert "python3.12: has no ensurepip module" in done.stderr
    assert "python3: is Python 3.9" in done.stderr


def test_a_failing_shim_is_passed_over(machine: Machine) -> None:
    machine.command("python3.13", "exit 127")
    machine.python("python3.12")
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert machine.pip_calls()


def test_a_python_asked_for_is_used_or_refused(machine: Machine) -> None:
    machine.python()
    done = machine.setup(PYTHON="python9")
    assert done.returncode == 1
    assert "PYTHON=python9 cannot be used: not found" in done.stderr


def test_an_unknown_wish_is_refused(machine: Machine) -> None:
    done = machine.setup("everything")
    assert done.returncode == 1
    assert "wanted 'runtime' or 'dev', got 'everything'" in done.stderr


def test_using_it_needs_no_compiler(machine: Machine) -> None:
    machine.python()
    done = machine.setup()
    assert done.returncode == 0, done.stderr


def test_a_missing_compiler_is_told(machine: Machine) -> None:
    machine.python()
    done = machine.setup("dev")
    assert done.returncode == 1
    assert "a C++ compiler is missing, and hnswlib" in done.stderr
    assert "apt-get install g++ python3-dev" in done.stderr


def test_missing_headers_are_told(machine: Machine) -> None:
    machine.python()
    machine.command("g++", 'case "$*" in *python.cpp*) exit 1 ;; esac')
    done = machine.setup("dev")
    assert done.returncode == 1
    assert "Python's headers (Python.h is not in " in done.stderr


def test_no_compiler_is_needed_where_hnswlib_comes_built(machine: Machine) -> None:
    machine.python()
    done = machine.setup("dev", NOT_BUILT="0")
    assert done.returncode == 0, done.stderr


def test_repeating_does_nothing_until_something_changes(machine: Machine) -> None:
    machine.python()
    machine.compiler()
    machine.setup()
    installed = "--no-compile --progress-bar off"
    assert machine.pip_calls() == [f"{installed} --upgrade pip", f"{installed} --editable ."]
    again = machine.setup()
    assert (again.returncode, again.stdout, machine.pip_calls()) == (0, "", [])
    machine.setup("dev")
    assert machine.pip_calls()[1:] == [f"{installed} --editable .[dev]"]
    machine.setup("runtime")
    assert not machine.pip_calls()
    (machine.clone / "pyproject.toml").write_text("[project]\nname = 'ytrag'\n", encoding="utf-8")
    machine.setup("runtime")
    assert machine.pip_calls()


@pytest.mark.parametrize(
    ("pip_says", "hint"),
    [
        ("NewConnectionError: Temporary failure in name resolution", "index was not reached"),
        ("SSLError: CERTIFICATE_VERIFY_FAILED", "set PIP_CERT"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("ERROR: No matching distribution found for onnxruntime", "no build of that package"),
        ("ERROR: Failed building wheel for hnswlib", "hnswlib did not compile"),
        ("something else", "Run the same command again"),
    ],
)
def test_a_failing_pip_is_explained_and_tried_again(machine: Machine, pip_says: str, hint: str) -> None:
    machine.python()
    machine.compiler()
    failed = machine.setup(PIP_SAYS=pip_says)
    assert failed.returncode == 1
    assert pip_says in failed.stderr
    assert hint in failed.stderr
    assert "ytrag-install.log" in failed.stderr
    assert machine.setup().returncode == 0


def test_an_interrupted_installation_is_started_again(machine: Machine) -> None:
    machine.python()
    machine.compiler()
    machine.venv.mkdir()
    (machine.venv / "ytrag-unfinished").write_text("999999999\n", encoding="utf-8")
    (machine.venv / "left over").touch()
    done = machine.setup()
    assert done.returncode == 0, done.stderr
    assert "the last installation was interrupted" in done.stdout
    assert not (machine.venv / "left over").exists()


def test_two_setups_do_not_tread_on_each_other(machine: Machine) -> None:
    machine.python()
    machine.venv.mkdir()
    (machine.venv / "ytrag-unfinished").write_text(f"{os.getpid()}\n", encoding="utf-8")
    done = machine.setup()
    assert done.returncode == 1
    assert f"process {os.getpid()} is setting up" in done.stderr
