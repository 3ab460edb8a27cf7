"""Files that survive a crash: fsync, checksums, and one clear error for what the system refuses."""

from __future__ import annotations

import errno
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ytrag_core.errors import SnapshotError, WriteError
from ytrag_core.storage.advice import repair_advice

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "fsync_path",
    "is_safe_name",
    "list_files",
    "reading",
    "replace_file",
    "sha256_files",
    "write_failure",
    "write_synced",
    "writing",
]

_BLOCK_BYTES = 4 << 20
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_DENIED = frozenset({errno.EROFS, errno.EACCES, errno.EPERM})
_NOT_A_DIRECTORY = frozenset({errno.ENOTDIR, errno.EEXIST})


def write_failure(path: Path, error: OSError) -> str:
    """Return what a failed write to `path` means and what to do about it."""
    if error.errno in _FULL:
        return f"no space left while writing {path}: free some and run again; older snapshots are unchanged"
    if error.errno == errno.EFBIG:
        return (
            f"{path} grew above the file size allowed here: raise `ulimit -f`; older snapshots are unchanged"
        )
    if error.errno in _DENIED:
        return (
            f"{path} cannot be written ({error.strerror}): a knowledge base is built in a writable directory"
        )
    if error.errno in _NOT_A_DIRECTORY:
        return f"{path} cannot be made ({error.strerror}): a file stands where a directory is wanted"
    return f"writing {path} failed: {error}"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an `OSError` that arises while writing `path` into a `WriteError`."""
    try:
        yield
    except SnapshotError:
        raise
    except OSError as error:
        raise WriteError(write_failure(path, error)) from error


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn an `OSError` that arises while reading `path` into a `SnapshotError`."""
    try:
        yield
    except SnapshotError:
        raise
    except FileNotFoundError as error:
        raise SnapshotError(f"{path} is missing: {repair_advice(path)}") from error
    except OSError as error:
        raise SnapshotError(f"{path} cannot be read: {error.strerror or error}") from error


def fsync_path(path: Path) -> None:
    """Flush a file, or the entries of a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_synced(path: Path, content: bytes) -> None:
    """Write a small file and flush it to the disk."""
    with writing(path), path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_file(path: Path, content: bytes) -> None:
    """Replace a small file so that a crash leaves either the old content or the new one."""
    scratch = path.with_name(f"{path.name}.tmp")
    write_synced(scratch, content)
    with writing(path):
        os.replace(scratch, path)  # noqa: PTH105 - tests watch this very call
        fsync_path(path.parent)


def is_safe_name(name: str) -> bool:
    """Tell whether `name` is a relative POSIX path that stays below the directory it is joined to."""
    parts = PurePosixPath(name).parts
    plain = bool(parts) and "/".join(parts) == name
    return plain and not name.startswith("/") and ".." not in parts and not set(name) & {"\\", "\0"}


def list_files(folder: Path) -> dict[str, Path]:
    """Return every file below `folder` by its relative POSIX name, in the order of the names.

    Raises
    ------
    SnapshotError
        If there is a link or another special file: a snapshot holds plain files only.
    """
    found: dict[str, Path] = {}
    with reading(folder):
        for path in sorted(folder.rglob("*")):
            if path.is_dir() and not path.is_symlink():
                continue
            if path.is_symlink() or not path.is_file():
                raise SnapshotError(f"{path} is not a plain file: a snapshot holds files and folders only")
            found[path.relative_to(folder).as_posix()] = path
    return dict(sorted(found.items()))


def sha256_files(paths: Sequence[Path]) -> list[str]:
    """Return the SHA-256 of each file as hex digits, reading several files at a time, the largest first."""
    if not paths:
        return []
    with reading(paths[0].parent):
        sizes = [path.stat().st_size for path in paths]
    order = sorted(range(len(paths)), key=lambda position: -sizes[position])
    digests = [""] * len(paths)
    with ThreadPoolExecutor(max_workers=min(len(paths), os.cpu_count() or 1)) as pool:
        for position, digest in zip(order, pool.map(_sha256, [paths[i] for i in order]), strict=True):
            digests[position] = digest
    return digests


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    block = memoryview(bytearray(_BLOCK_BYTES))
    with reading(path), path.open("rb", buffering=0) as file:
        while n_read := file.readinto(block):
            digest.update(block[:n_read])
    return digest.hexdigest()
