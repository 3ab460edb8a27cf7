"""What a user installs: source archive -> wheel -> import in an environment that never saw this folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.house import FOLDERS, PACKAGE, REPOSITORY, product_files

PROBE = f"""
import {PACKAGE}.kernels, {PACKAGE}.storage, {PACKAGE}.schemas
from importlib.metadata import distribution
from importlib.resources import files
from importlib.util import find_spec
for name in ("kernels", "storage", "schemas"):
    assert find_spec(name) is None, name + " was installed at the top level"
assert sum(f.name.endswith(".json") for f in files("{PACKAGE}.schemas").iterdir()) > 0, "no schemas"
print({PACKAGE}.__file__, {PACKAGE}.__version__, distribution("ytrag").version, sep="\\n")
"""


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build the source archive and, from it, the wheel, from a copy that holds what a clone would."""
    clone = tmp_path_factory.mktemp("packaging") / "ytrag clone"
    clone.mkdir()
    for file in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / file, clone)
    for folder in {path.relative_to(REPOSITORY).parts[0] for path in FOLDERS.values()}:
        ignored = shutil.ignore_patterns("__pycache__", ".*")
        shutil.copytree(REPOSITORY / folder, clone / folder, symlinks=True, ignore=ignored)
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", "dist", ".", cwd=clone)
    (source,) = (clone / "dist").glob("*.tar.gz")
    (wheel,) = (clone / "dist").glob("*.whl")
    return source, wheel


@pytest.fixture(scope="module")
def installed(archives: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel in an environment of its own that borrows the dependencies of this one."""
    environment = tmp_path_factory.mktemp("installed") / "env"
    _run(sys.executable, "-m", "venv", "--without-pip", str(environment))
    python = environment / "bin" / "python"
    pip = ("-m", "pip", "--python", str(python), "install", "--quiet", "--no-index", "--no-deps")
    _run(sys.executable, *pip, "--no-compile", str(archives[1]))
    (site,) = (environment / "lib").glob("python*/site-packages")
    # A path line does not run the other folder's own .pth files, so the editable install stays out.
    borrowed = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    (site / "borrowed.pth").write_text("\n".join(borrowed) + "\n", encoding="utf-8")
    return python


def test_the_wheel_holds_every_file_of_the_product(archives: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(archives[1]) as wheel:
        shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}
    wanted = set(product_files())
    assert shipped == wanted, (
        f"missing from the wheel: {sorted(wanted - shipped)}; unexpected in it: {sorted(shipped - wanted)}; "
        "packages and package-data of pyproject.toml say what ships"
    )


def test_the_source_archive_holds_every_file_of_the_product(archives: tuple[Path, Path]) -> None:
    with tarfile.open(archives[0]) as source:
        shipped = {name.partition("/")[2] for name in source.getnames()}
    wanted = {path.relative_to(REPOSITORY).as_posix() for path in product_files().values()}
    assert wanted | {"pyproject.toml", "README.md", "LICENSE"} <= shipped


def test_the_wheel_carries_the_licence_and_the_command(archives: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(archives[1]) as wheel:
        notes = {name.partition(".dist-info/")[2]: name for name in wheel.namelist() if ".dist-info/" in name}
        assert b"Apache License" in wheel.read(notes["licenses/LICENSE"])
        assert f"ytrag = {PACKAGE}.cli:main" in wheel.read(notes["entry_points.txt"]).decode()
        assert "License-Expression: Apache-2.0" in wheel.read(notes["METADATA"]).decode()


def test_an_installed_wheel_imports(installed: Path, tmp_path: Path) -> None:
    home, version, recorded = _run(str(installed), "-c", PROBE, cwd=tmp_path).splitlines()
    assert Path(home).is_relative_to(installed.parent.parent)
    assert version == recorded


def test_an_installed_wheel_brings_the_command(installed: Path, tmp_path: Path) -> None:
    shown = _run(str(installed.with_name("ytrag")), "--help", cwd=tmp_path)
    for command in ("demo", "index", "import", "retrieve", "ask", "eval", "info", "warmup"):
        assert command in shown


def _run(*command: str, cwd: Path | None = None) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
    return done.stdout
