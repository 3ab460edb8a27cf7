"""Names inside a knowledge base's directory, and whose directory it is."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from ytrag_core.errors import SnapshotError
from ytrag_core.storage.advice import repair_advice
from ytrag_core.storage.files import reading, replace_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = [
    "ASIDE_NAME",
    "CURRENT_NAME",
    "HOLDER_NAME",
    "LOCK_NAME",
    "META_NAME",
    "NEW_META_NAME",
    "SNAPSHOTS_NAME",
    "VECTORS_NAME",
    "check_buildable",
    "check_known",
    "folders_to_make",
    "holder",
    "is_written",
    "live_name",
    "partial_name",
    "read_current",
    "remove_made",
    "remove_partials",
    "snapshot_name",
    "snapshot_numbers",
    "write_current",
    "write_holder",
]

CURRENT_NAME = "CURRENT"
LOCK_NAME = ".lock"
HOLDER_NAME = ".writer"
META_NAME = "meta.sqlite"
NEW_META_NAME = "meta.sqlite.new"
"""A store that a repair has finished, and is about to put in place."""

SNAPSHOTS_NAME = "snapshots"
VECTORS_NAME = "vectors"
ASIDE_NAME = "damaged"
"""Where a repair puts what it replaces; nothing there is ever read again."""

_LOCK_ONLY = frozenset({LOCK_NAME, HOLDER_NAME})
_UNFINISHED = _LOCK_ONLY | {
    META_NAME,
    f"{META_NAME}-wal",
    f"{META_NAME}-shm",
    f"{META_NAME}-journal",
    f"{META_NAME}.tmp",
    NEW_META_NAME,
    SNAPSHOTS_NAME,
    VECTORS_NAME,
    f"{CURRENT_NAME}.tmp",
}
_NAME = re.compile(r"[0-9]{6,12}")
_PARTIAL = re.compile(r"\.[0-9]{6,12}\.partial")
_CURRENT_BYTES = 64


def is_written(root: Path) -> bool:
    """Tell whether a process is writing the knowledge base at this moment."""
    if not (root / LOCK_NAME).exists():
        return False
    lock = FileLock(root / LOCK_NAME)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    except OSError:  # the lock cannot be tried where nothing can be written
        return (root / HOLDER_NAME).exists()
    lock.release()
    return False


def write_holder(root: Path) -> None:
    """Say in a file which process writes."""
    (root / HOLDER_NAME).write_text(f"{os.getpid()}\n", encoding="ascii")


def holder(root: Path) -> str:
    """Return the words ` (pid 123)` about the process that writes, empty where it is not known."""
    try:
        pid = (root / HOLDER_NAME).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
    return f" (pid {pid})" if pid.isdigit() else ""


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
            f"{root} is not a knowledge base, or the file was damaged: {repair_advice(path)}"
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
    if is_written(root):
        raise SnapshotError(
            f"{root} has no finished snapshot yet: its first build is running{holder(root)}; "
            "wait for it to end, then run again"
        )
    if snapshot_numbers(root):
        raise SnapshotError(
            f"{root} has no finished snapshot: {CURRENT_NAME} is missing; {repair_advice(root)}"
        )
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
    ours = entries - {ASIDE_NAME}
    unfinished = ours <= _LOCK_ONLY or (ours <= _UNFINISHED and META_NAME in ours)
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
            f"{repair_advice(root / CURRENT_NAME)}"
        )


def check_known(root: Path) -> None:
    """Check that there is something of a knowledge base at `root`, in whatever state.

    Raises
    ------
    SnapshotError
        As for `live_name`, but for a build that was interrupted.
    """
    with reading(root):
        entries = _entries(root) if root.is_dir() else set()
    if META_NAME in entries and entries <= {*_UNFINISHED, ASIDE_NAME}:
        return
    if {META_NAME, NEW_META_NAME} & entries and {CURRENT_NAME, SNAPSHOTS_NAME} & entries:
        return
    if any((root / SNAPSHOTS_NAME).glob("*/manifest.json")):
        return
    live_name(root)


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
