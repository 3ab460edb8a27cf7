"""Files, folders, globs and archives to documents; what cannot be read is set aside with its reason."""

from __future__ import annotations

import glob
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from ytrag_core.documents.archive import ArchiveLimits, read_archive
from ytrag_core.documents.kinds import READERS, SUFFIXES
from ytrag_core.documents.model import Document, LongDocument, Problem
from ytrag_core.documents.source import Source, file_source
from ytrag_core.documents.text import path_name
from ytrag_core.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["SUFFIXES", "read_documents"]

_ZIP = ".zip"


def read_documents(
    paths: Sequence[Path], *, skip: Path | None = None, limits: ArchiveLimits | None = None
) -> Iterator[Document | LongDocument | Problem]:
    """Read files, folders and archives one by one, in a fixed order.

    Parameters
    ----------
    paths
        Files (see `SUFFIXES`), zip archives, folders, which are walked sorted by name, and patterns with `*`,
        `?`, `[...]` or `**`. Hidden entries of a folder are passed over; a file reached twice is read once.
    skip
        A folder that is passed over, for example the knowledge base itself; it need not exist.
    limits
        What each archive may unpack to.

    Yields
    ------
    Document, LongDocument or Problem
        A document for each text and each record; a problem for whatever cannot be one. Only one file's text
        is held at a time, and not even that of one with more than `LONG_BYTES`, where its kind is read piece
        by piece.

    Raises
    ------
    DocumentError
        If one of the paths does not exist or a pattern fits nothing, before anything is read.
    """
    found: list[Path] = []
    for path in paths:
        found += _matches(path)
    return _read_all(found, skip, limits)


def _matches(path: Path) -> list[Path]:
    if os.path.lexists(path):
        return [path]
    pattern = os.fspath(path)
    if not glob.has_magic(pattern):
        raise DocumentError(f"{path_name(path)} does not exist; a file or a folder was wanted")
    matches = [Path(match) for match in sorted(glob.glob(pattern, recursive=True))]  # noqa: PTH207
    if not matches:
        raise DocumentError(f"{path_name(path)} fits no file; write it in quotes, and ** for any folders")
    return matches


def _read_all(
    paths: Sequence[Path], skip: Path | None, limits: ArchiveLimits | None
) -> Iterator[Document | LongDocument | Problem]:
    seen_ids: dict[str, str] = {}
    for file in _files(paths, skip):
        for outcome in [file] if isinstance(file, Problem) else _read_file(file_source(file), limits):
            if not isinstance(outcome, Problem):
                earlier = seen_ids.setdefault(outcome.id, outcome.source)
                if earlier != outcome.source:
                    yield Problem(outcome.source, f"the id {outcome.id!r} was already used at {earlier}")
                    continue
            yield outcome


def _files(paths: Sequence[Path], skip: Path | None) -> Iterator[Path | Problem]:
    seen: set[tuple[int, int]] = set()
    if skip is not None and skip.exists():
        status = skip.stat()
        seen.add((status.st_dev, status.st_ino))
    waiting = list(reversed(paths))
    while waiting:
        path = waiting.pop()
        try:
            status = path.stat()
            identity = (status.st_dev, status.st_ino)
            if identity in seen:
                continue
            seen.add(identity)
            if stat.S_ISDIR(status.st_mode):
                entries = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
                waiting.extend(reversed(entries))
            elif stat.S_ISREG(status.st_mode):
                yield path
            else:
                yield Problem(path_name(path), "neither a regular file nor a folder")
        except FileNotFoundError:
            yield Problem(path_name(path), "a symbolic link to nothing" if path.is_symlink() else "vanished")
        except OSError as error:
            yield Problem(path_name(path), f"cannot be read: {error.strerror or error}")


def _read_file(source: Source, limits: ArchiveLimits | None) -> Iterator[Document | LongDocument | Problem]:
    if source.suffix != _ZIP:
        yield from _read_source(source)
        return
    try:
        for member in read_archive(source, limits or ArchiveLimits()):
            if isinstance(member, Problem):
                yield member
            else:
                yield from _read_source(member)
    except ValueError as error:
        yield Problem(source.name, str(error))
    except OSError as error:
        yield Problem(source.name, f"cannot be read: {error.strerror or error}")


def _read_source(source: Source) -> Iterator[Document | LongDocument | Problem]:
    reader = READERS.get(source.suffix)
    if reader is None:
        told = source.suffix or source.name.rpartition("/")[2]
        known = ", ".join((*SUFFIXES, _ZIP))
        yield Problem(source.name, f"unknown file type {told!r}; known are {known}")
        return
    is_silent = True
    try:
        for outcome in reader(source):
            is_silent = False
            yield outcome
    except ValueError as error:
        yield Problem(source.name, str(error))
    except OSError as error:
        yield Problem(source.name, f"cannot be read: {error.strerror or error}")
    else:
        if is_silent:
            yield Problem(source.name, "the file is empty")
