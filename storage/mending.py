"""Damaged files of a snapshot replaced by files that were made again; what they replace is put aside."""

from __future__ import annotations

import errno
import os
import shutil
import time
from contextlib import contextmanager, suppress
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from ytrag_core.errors import LockedError
from ytrag_core.storage import layout
from ytrag_core.storage.files import fsync_path, list_files, sha256_files, writing
from ytrag_core.storage.verified import drop_stamps
from ytrag_core.storage.writer import SnapshotWriter

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from filelock import BaseFileLock

    from ytrag_core.storage.manifest import Manifest
    from ytrag_core.storage.reader import Snapshot

__all__ = ["Aside", "MendingWriter", "link_or_copy", "locked"]


@contextmanager
def locked(root: Path) -> Iterator[BaseFileLock]:
    """Hold the lock of a knowledge base that is there.

    Raises
    ------
    LockedError
        Another process is writing it.
    SnapshotError
        Nothing can be written there.
    """
    lock = FileLock(root / layout.LOCK_NAME)
    with writing(root):
        (root / layout.LOCK_NAME).touch()
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            raise LockedError(
                f"{root} is being written by another process{layout.holder(root)}: wait for it to end, then "
                "run again"
            ) from error
    try:
        with writing(root):
            layout.write_holder(root)
        yield lock
    finally:
        with suppress(OSError):
            (root / layout.HOLDER_NAME).unlink()
        lock.release()


class Aside:
    """The folder to which one repair moves what it replaces; made when the first thing comes.

    Parameters
    ----------
    root
        The knowledge base's directory.

    Attributes
    ----------
    folder
        `damaged/<time>`, of its own also where another repair was done in the same second.
    moved
        What was moved, relative to the knowledge base's directory.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        names = chain([now], (f"{now}-{number}" for number in count(2)))
        self.folder = next(
            folder for name in names if not (folder := root / layout.ASIDE_NAME / name).exists()
        )
        self.moved: list[str] = []

    def move(self, path: Path) -> None:
        """Move a file or folder of the knowledge base here; nothing happens where it is not there.

        Raises
        ------
        SnapshotError
            If it cannot be moved.
        """
        if not (path.exists() or path.is_symlink()):
            return
        place = path.relative_to(self._root)
        target = self.folder / place
        with writing(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            number = 1
            while target.exists() or target.is_symlink():
                number += 1
                target = self.folder / place.with_name(f"{place.name}.{number}")
            path.rename(target)
            fsync_path(target.parent)
            fsync_path(path.parent)
        self.moved.append(place.as_posix())

    def bytes(self) -> int:
        """Return how much lies here."""
        return sum(path.lstat().st_size for path in self.folder.rglob("*") if not path.is_dir())


class MendingWriter(SnapshotWriter):
    """Makes damaged files of the live snapshot again.

    Where the files that were made have the checksums of those that they are for, these are replaced, and
    the snapshot is what it was. Else the next snapshot is made, and the damaged one put aside as it is.

    Parameters
    ----------
    damaged
        The live snapshot.
    names
        Its damaged and missing files.
    aside
        Where they go.
    lock
        The knowledge base's lock, which the caller holds.

    Attributes
    ----------
    in_place
        Whether the damaged files were replaced by the very same ones; said once it has committed.
    """

    def __init__(self, damaged: Snapshot, names: Collection[str], aside: Aside, lock: BaseFileLock) -> None:
        super().__init__(damaged.root, lock=lock)
        self._damaged = damaged
        self._names = sorted(names)
        self._aside = aside
        self.in_place = False

    def _live(self) -> Snapshot:
        return self._damaged

    def take(self, name: str, path: Path) -> None:
        """Take a sound copy of one of the files."""
        target = self.path / name
        with writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            link_or_copy(path, target)

    def commit(self, **said: Any) -> Manifest:
        """Replace the damaged files, or make the next snapshot; see `SnapshotWriter.commit`."""
        manifest = self._damaged.manifest
        made = list_files(self.path)
        if set(self._names) <= made.keys():
            digests = sha256_files([made[name] for name in self._names])
            wanted = [manifest.files[name].sha256 for name in self._names]
            if digests == wanted:
                self._replace()
                return manifest
        for name in manifest.files.keys() - made.keys() - set(self._names):
            self.take(name, self._damaged.path / name)
        done = super().commit(**said)
        self._aside.move(self._damaged.path)
        return done

    def commit_as_before(self) -> Manifest:
        """Commit files that were made of the snapshot itself: what it says of itself stays true."""
        manifest = self._damaged.manifest
        return self.commit(
            counts=manifest.counts,
            encoder=manifest.encoder,
            schema_version=manifest.schema_version,
            settings=manifest.settings,
            sources=manifest.sources,
        )

    def _replace(self) -> None:
        """Put the files that were made in place, one after the other; each is whole, or still to be made."""
        drop_stamps(self._damaged.path, self._names)
        for name in self._names:
            source, target = self.path / name, self._damaged.path / name
            with writing(target):
                fsync_path(source)
            self._aside.move(target)
            with writing(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(source, target)  # noqa: PTH105 - tests watch this very call
                fsync_path(target.parent)
        self.in_place = True


def link_or_copy(source: Path, target: Path) -> None:
    """Give a file a second name, or, where the file system cannot, copy it."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EXDEV, errno.ENOTSUP, errno.EMLINK, errno.ENOSYS):
            raise
        shutil.copy2(source, target)
