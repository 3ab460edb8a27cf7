"""Names inside a knowledge base's directory, and whose directory it is."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from ytrag_core.errors import SnapshotError
from ytrag_core.storage.files import reading, replace_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = [
    "CURRENT_NAME",
    "HOLDER_NAME",
    "LOCK_NAME",
    "META_NAME",
    "SNAPSHOTS_NAME",
    "VECTORS_NAME",
    "check_buildable",
    "folders_to_make",
    "live_name",
    "partial_name",
    "read_current",
    "remove_made",
    "remove_partials",
    "snapshot_name",
    "snapshot_numbers",
    "write_current",
]

CURRENT_NAME = "CURRENT"
LOCK_NAME = ".lock"
HOLDER_NAME = ".writer"
META_NAME = "meta.sqlite"
SNAPSHOTS_NAME = "snapshots"
VECTORS_NAME = "vectors"

_LOCK_ONLY = frozenset({LOCK_NAME, HOLDER_NAME})
_UNFINISHED = _LOCK_ONLY | {
    META_NAME,
    f"{META_NAME}-wal",
    f"{META_NAME}-shm",
    f"{META_NAME}-journal",
    SNAPSHOTS_NAME,
    VECTORS_NAME,
    f"{CURRENT_NAME}.tmp",
}
_NAME = re.compile(r"[0-9]{6,12}")
_PARTIAL = re.compile(r"\.[0-9]{6,12}\.partial")
_CURRENT_BYTES = 64


def snapshot_name(number: int) -> str:
    """Return the directory name of a snapshot: "000007"."""
    return f"{number:06d}"


def partial_name(number: int) -> str:
    """Return the name of the directory in which a snapshot is being written."""
    return f".{snapshot_name(number)}.partial"


def snapshot_numbers(root: Path) -> list[int]:
    """Return the numbers of the finished snapshot directories, ascending."""
    folder = root / SNAPSHOTS_NAME
    if not folder.is_dir():
        return []
    with reading(folder):
        return sorted(
            int(path.name) for path in folder.iterdir() if _NAME.fullmatch(path.name) and path.is_dir()
        )


def read_current(root: Path) -> str | None:
    """Return the name in `CURRENT`, or None where there is no such file.

    Raises
    ------
    SnapshotError
        If it holds anything but the name of a snapshot.
    """
    path = root / CURRENT_NAME
    try:
        with path.open("rb") as file:
            raw = file.read(_CURRENT_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SnapshotError(f"{path} cannot be read: {error.strerror or error}") from error
    name = raw.decode("ascii", errors="replace").removesuffix("\n")
    if not _NAME.fullmatch(name):
        raise SnapshotError(
            f"{path} holds {name!r}, wanted the name of a snapshot such as '000001': "
            f"{root} is not a knowledge base, or the file was damaged"
        )
    return name


def write_current(root: Path, name: str) -> None:
    """Make `name` the live snapshot by one atomic rename."""
    replace_file(root / CURRENT_NAME, f"{name}\n".encode())


def live_name(root: Path) -> str:
    """Return the name of the live snapshot.

    Raises
    ------
    SnapshotError
        If there is none: saying whether the path is missing, empty, foreign, or an unfinished first build.
    """
    with reading(root):
        is_there = root.exists()
    if not is_there:
        raise SnapshotError(f"there is no knowledge base at {root}: the path does not exist; build one first")
    if not root.is_dir():
        raise SnapshotError(f"{root} is a file: a knowledge base is a directory")
    name = read_current(root)
    if name is not None:
        return name
    entries = _entries(root)
    if not entries:
        raise SnapshotError(f"{root} is an empty directory: build a knowledge base there first")
    _check_foreign(root, entries)
    raise SnapshotError(
        f"{root} has no finished snapshot: its first build was interrupted; run the build again"
    )


def check_buildable(root: Path) -> None:
    """Check, without writing anything, that a knowledge base may be built or extended at `root`.

    Raises
    ------
    SnapshotError
        If it is a file, or a directory with something else in it, or its path is not UTF-8.
    """
    try:
        os.fspath(root.absolute()).encode()
    except UnicodeEncodeError:
        raise SnapshotError(f"{os.fsencode(root)!r} is not UTF-8: give a directory whose path is") from None
    with reading(root):
        is_folder = root.is_dir()
    if is_folder:
        if read_current(root) is None:
            _check_foreign(root, _entries(root))
    elif root.exists() or root.is_symlink():
        raise SnapshotError(f"{root} is not a directory: a knowledge base is built in a directory of its own")


def _entries(root: Path) -> set[str]:
    with reading(root):
        return {path.name for path in root.iterdir()}


def _check_foreign(root: Path, entries: set[str]) -> None:
    unfinished = entries <= _LOCK_ONLY or (entries <= _UNFINISHED and META_NAME in entries)
    if not unfinished:
        some = ", ".join(sorted(entries)[:5])
        raise SnapshotError(
            f"{root} is not a knowledge base: it holds {some}, but no {CURRENT_NAME}; "
            "give an empty or a new directory"
        )
    numbers = snapshot_numbers(root)
    if numbers and numbers[-1] > 1:
        raise SnapshotError(
            f"{root / CURRENT_NAME} is missing, but there are snapshots up to {snapshot_name(numbers[-1])}: "
            "restore that file (one line, the name of the snapshot), or build in a new directory"
        )


def folders_to_make(root: Path) -> list[Path] | None:
    """Return the folders that a build at `root` would have to make, the innermost first.

    Returns
    -------
    list of Path or None
        Empty where `root` is an empty directory; None where there is something in it.
    """
    with reading(root):
        if root.is_dir():
            return None if _entries(root) else []
        return [root, *(parent for parent in root.parents if not parent.exists())]


def remove_made(root: Path, made: Sequence[Path]) -> None:
    """Remove what a build wrote into `root`, and the folders that it made, where nothing else is in them."""
    with suppress(OSError):
        for name in sorted(_entries(root) & _UNFINISHED, reverse=True):  # the lock last
            path = root / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        for folder in made:
            folder.rmdir()


def remove_partials(root: Path) -> None:
    """Remove the directories that interrupted writers left behind."""
    for path in (root / SNAPSHOTS_NAME).iterdir():
        if _PARTIAL.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
