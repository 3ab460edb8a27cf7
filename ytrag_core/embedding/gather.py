"""Brings an encoder's published files into the cache, each under its name only when its checksum is right."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from ytrag_core.embedding.cache import file_sha256, read_sources, write_sources
from ytrag_core.embedding.sources import SOURCES, take_from_path
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ytrag_core.embedding.description import EncoderDescription

__all__ = ["gather", "take", "wanted_files"]

_log = logging.getLogger(__name__)


def gather(description: EncoderDescription, path: Path | None, files: Path) -> dict[str, str]:
    """Bring the verified published files into `files`; return where each came from."""
    if path is not None:
        problems = take(
            description, str(path), files, lambda folder: take_from_path(description, path, folder)
        )
        if problems is not None:
            raise ModelError(f"{path} does not hold the encoder {description.name}: {problems}")
        return _sources(description, files)
    tried: list[str] = []
    for name, fetch in SOURCES.items():
        missing = _drop_wrong(description, files)
        if not missing:
            break
        _log.info("fetching %s of the encoder %s from %s", ", ".join(missing), description.name, name)
        problem = take(
            description,
            name,
            files,
            lambda folder, fetch=fetch: fetch(description, folder),  # type: ignore[misc]
        )
        if problem is not None:
            _log.info("%s: %s", name, problem)
            tried.append(f"{name}: {problem}")
    if _drop_wrong(description, files):
        raise ModelError(
            f"the encoder {description.name} is not in the cache and could not be fetched. Tried "
            + "; ".join(tried)
            + f". Connect to one of them once, or give the path of a folder with {wanted_files(description)}"
        )
    return _sources(description, files)


def take(
    description: EncoderDescription,
    source: str,
    files: Path,
    fetch: Callable[[Path], str | None],
) -> str | None:
    """Let a source deliver into a folder of its own, and keep what is right; return what is missing."""
    with tempfile.TemporaryDirectory(prefix=".incoming-", dir=files.parent) as incoming:
        folder = Path(incoming)
        problem = fetch(folder)
        sources = read_sources(files)
        for file in description.files:
            arrived = folder / file.name
            if not arrived.is_file():
                problem = problem or f"{file.name} is missing"
                continue
            found = file_sha256(arrived)
            if found != file.sha256:
                problem = problem or f"{file.name} has the sha256 {found}, wanted {file.sha256}"
                continue
            sources[file.name] = source
            write_sources(files, sources)
            arrived.replace(files / file.name)
        for name in description.licences:
            base = name.rpartition("/")[2]
            if (folder / base).is_file():
                sources[base] = source
                write_sources(files, sources)
                (folder / base).replace(files / base)
    return problem


def _drop_wrong(description: EncoderDescription, files: Path) -> list[str]:
    """Remove published files of another content; return the names of those that are not there."""
    missing = []
    for file in description.files:
        path = files / file.name
        if path.is_file() and file_sha256(path) != file.sha256:
            _log.warning("%s is damaged and fetched again", path)
            path.unlink()
        if not path.is_file():
            missing.append(file.name)
    return missing


def _sources(description: EncoderDescription, files: Path) -> dict[str, str]:
    known = read_sources(files)
    names = [file.name for file in description.files]
    names += [path.name for path in files.iterdir() if path.name in known]
    return {name: known.get(name, "an earlier run") for name in dict.fromkeys(names)}


def wanted_files(description: EncoderDescription) -> str:
    """Return the names of the published files, for a message."""
    return " and ".join(file.name for file in description.files)
