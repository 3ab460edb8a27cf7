"""Remembers which files of a snapshot were checksummed, so that only files touched since are read again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ytrag_core.errors import SnapshotError
from ytrag_core.storage.files import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

__all__ = ["STAMPS_NAME", "drop_stamps", "read_stamps", "stamp", "write_stamps"]

STAMPS_NAME = ".verified"

Stamp = list[int]
"""Size, time of the last change in nanoseconds, and inode of a file: a copy or a write changes it."""


def stamp(path: Path) -> Stamp:
    """Return what tells an untouched file from a changed one."""
    status = path.stat()
    return [status.st_size, status.st_mtime_ns, status.st_ino]


def read_stamps(folder: Path) -> dict[str, Stamp]:
    """Return the stamps of the files whose checksums were right, empty where none are recorded."""
    try:
        content = json.loads((folder / STAMPS_NAME).read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def write_stamps(folder: Path, names: Iterable[str]) -> None:
    """Record that the checksums of these files are right; without write access they are read each time."""
    try:
        stamps = {name: stamp(folder / name) for name in names}
        replace_file(folder / STAMPS_NAME, json.dumps(stamps).encode())
    except (OSError, SnapshotError):
        return


def drop_stamps(folder: Path, names: Iterable[str]) -> None:
    """Forget that files were found right: they are read again before they are used."""
    stamps, wrong = read_stamps(folder), set(names)
    if wrong.isdisjoint(stamps):
        return
    kept = {name: value for name, value in stamps.items() if name not in wrong}
    try:
        replace_file(folder / STAMPS_NAME, json.dumps(kept).encode())
    except SnapshotError:
        return
