"""The one writer of a knowledge base: it makes the next snapshot beside the live one, then switches to it."""

from __future__ import annotations

import errno
import json
import logging
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self, SupportsInt

from filelock import FileLock, Timeout

from ytrag_core import __version__
from ytrag_core.errors import (
    ConfigError,
    DocumentError,
    GraphFormatError,
    LockedError,
    SchemaError,
    SnapshotError,
)
from ytrag_core.storage import layout
from ytrag_core.storage.advice import repair_advice
from ytrag_core.storage.files import (
    fsync_path,
    list_files,
    sha256_files,
    write_failure,
    write_synced,
    writing,
)
from ytrag_core.storage.manifest import FORMAT_VERSION, MANIFEST_NAME, FileEntry, Manifest, manifest_bytes
from ytrag_core.storage.manifest_copies import keep_manifest
from ytrag_core.storage.meta import MetaStore
from ytrag_core.storage.reader import Snapshot
from ytrag_core.storage.verified import write_stamps

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from filelock import BaseFileLock

__all__ = ["SnapshotWriter"]

_LOG = logging.getLogger(__name__)

_BAD_INPUT = (ConfigError, DocumentError, GraphFormatError, SchemaError)


class SnapshotWriter:
    """Writes one new snapshot of a knowledge base, alone.

    Use as a context manager. Leaving it without `commit` leaves the knowledge base as it was.

    Parameters
    ----------
    root
        The knowledge base's directory; made if it does not exist.
    lock_timeout
        Seconds to wait for another writer to end, at least 0.
    lock
        The knowledge base's lock where the caller has it already; it keeps it.

    Attributes
    ----------
    root
        The knowledge base's directory.
    path
        Where the new snapshot's files are to be written, in any sub-folders; there from `__enter__` on.
    previous
        The live snapshot, or None on a first build; there from `__enter__` on.
    meta
        Documents, chunks and records; there from `__enter__` to `__exit__`.

    Raises
    ------
    LockedError
        On entering, if another writer has the lock.
    SnapshotError
        If `root` belongs to something else, is damaged or of a newer format, or cannot be written.
    """

    path: Path
    previous: Snapshot | None
    meta: MetaStore

    def __init__(self, root: Path, *, lock_timeout: float = 0, lock: BaseFileLock | None = None) -> None:
        self.root = root
        self._lock = lock or FileLock(root / layout.LOCK_NAME)
        self._lock_timeout = max(0.0, lock_timeout)
        self._number = 0
        self._committed = False
        self._made: list[Path] | None = None

    def __enter__(self) -> Self:
        layout.check_buildable(self.root)
        self._made = layout.folders_to_make(self.root)
        with writing(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            (self.root / layout.LOCK_NAME).touch()
            self._acquire()
        try:
            self._prepare()
        except BaseException:
            self._release()
            raise
        return self

    def _acquire(self) -> None:
        try:
            self._lock.acquire(timeout=self._lock_timeout)
        except Timeout as error:
            raise LockedError(
                f"{self.root} is being written by another process{layout.holder(self.root)}: "
                "wait for it to end, then run again"
            ) from error

    def _prepare(self) -> None:
        layout.check_buildable(self.root)
        with writing(self.root):
            layout.write_holder(self.root)
        self.previous = self._live()
        before = 0 if self.previous is None else self.previous.number
        meta_path = self.root / layout.META_NAME
        if self.previous is not None and not meta_path.is_file():
            raise SnapshotError(f"{meta_path} is missing: {repair_advice(meta_path)}")
        if (self.root / layout.NEW_META_NAME).exists():
            raise SnapshotError(f"a repair of {self.root} was interrupted: {repair_advice(meta_path)}")
        self.meta = MetaStore(meta_path, snapshot=before)
        self.meta.drop_unfinished()
        self._number = before + 1
        self.path = self.root / layout.SNAPSHOTS_NAME / layout.partial_name(self._number)
        with writing(self.path):
            self.path.parent.mkdir(exist_ok=True)
            layout.remove_partials(self.root)
            self._remove_snapshots(above=before)
            self.path.mkdir()

    def _live(self) -> Snapshot | None:
        """Return the live snapshot, after a look at the sizes of its files.

        A first one that nothing names is the live one: the build that wrote it died before it could say so,
        or `CURRENT` was lost since.
        """
        if layout.read_current(self.root) is None:
            if not layout.snapshot_numbers(self.root):
                return None
            Snapshot.open_number(self.root, 1)
            layout.write_current(self.root, layout.snapshot_name(1))
        return Snapshot.open(self.root, verify="size")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._committed:
            self._discard()
        self._release(in_vain=isinstance(error, _BAD_INPUT) and self._holds_nothing())
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise SnapshotError(write_failure(self.root, error)) from error

    def older(self) -> list[Snapshot]:
        """Return the whole snapshots before the live one that are still there, the newest first."""
        live = 0 if self.previous is None else self.previous.number
        found = []
        for number in reversed(layout.snapshot_numbers(self.root)):
            if number < live:
                with suppress(SnapshotError):
                    found.append(Snapshot.open_number(self.root, number))
        return found

    def commit(
        self,
        *,
        counts: Mapping[str, SupportsInt],
        encoder: Mapping[str, Any],
        schema_version: str,
        settings: Mapping[str, Any],
        sources: Sequence[Any],
    ) -> Manifest:
        """Complete the snapshot and make it the live one; call it once, as the last thing.

        All files are flushed and checksummed before the manifest is written, and the manifest is on the disk
        before `CURRENT` is switched: whenever the machine stops, the live snapshot is a complete one.

        Parameters
        ----------
        counts
            Number of documents, chunks, entities and so on.
        encoder
            Fingerprint, name and dimension of the encoder; JSON values.
        schema_version
            Version of the graph schema.
        settings
            Settings of the build; JSON values.
        sources
            Where the content came from; JSON values.

        Returns
        -------
        Manifest
            The new snapshot's.

        Raises
        ------
        SnapshotError
            If something could not be written; the previous snapshot stays live.
        """
        if self._committed:
            raise SnapshotError(f"{self.root}: this writer has committed already; start another one")
        manifest = Manifest(
            format_version=FORMAT_VERSION,
            ytrag_version=__version__,
            snapshot=layout.snapshot_name(self._number),
            counts={name: int(count) for name, count in counts.items()},
            files=_seal(self.path),
            encoder=_plain(dict(encoder)),
            schema_version=schema_version,
            settings=_plain(dict(settings)),
            sources=_plain(list(sources)),
        )
        content = manifest_bytes(manifest)
        write_stamps(self.path, manifest.files)
        write_synced(self.path / MANIFEST_NAME, content)
        keep_manifest(self.meta, self._number, content, self._oldest())
        final = self.path.with_name(manifest.snapshot)
        with writing(final):
            for folder in (*sorted(path for path in self.path.rglob("*") if path.is_dir()), self.path):
                fsync_path(folder)
            self.path.rename(final)
            fsync_path(final.parent)
        layout.write_current(self.root, manifest.snapshot)
        self._committed = True
        self.meta.freeze()
        self._prune()
        return manifest

    def _oldest(self) -> int:
        """Return the number of the oldest snapshot that stays."""
        return self._number if self.previous is None else self.previous.number

    def _prune(self) -> None:
        oldest = self._oldest()
        try:
            self._remove_snapshots(below=oldest)
            self.meta.prune(oldest)
        except OSError as error:
            _LOG.warning("old snapshots of %s could not be removed: %s", self.root, error)

    def _remove_snapshots(self, *, above: int | None = None, below: int | None = None) -> None:
        for number in layout.snapshot_numbers(self.root):
            if (above is not None and number > above) or (below is not None and number < below):
                shutil.rmtree(self.root / layout.SNAPSHOTS_NAME / layout.snapshot_name(number))

    def _holds_nothing(self) -> bool:
        """Return whether this is a first build that has read nothing which a later one could go on from."""
        return not self._committed and self.previous is None and self.meta.n_documents() == 0

    def _discard(self) -> None:
        final = self.path.with_name(layout.snapshot_name(self._number))
        try:
            if self.path.exists():
                shutil.rmtree(self.path)
            if final.exists() and layout.read_current(self.root) != final.name:
                shutil.rmtree(final)
        except OSError as error:
            _LOG.warning("the unfinished snapshot in %s could not be removed: %s", self.root, error)

    def _release(self, *, in_vain: bool = False) -> None:
        """Let go of the lock; a first build in vain leaves nothing that looks like an interrupted one."""
        meta = getattr(self, "meta", None)
        if meta is not None:
            meta.close()
        with suppress(OSError):
            (self.root / layout.HOLDER_NAME).unlink()
        if in_vain and self._made is not None:
            layout.remove_made(self.root, self._made)
        self._lock.release()


def _seal(folder: Path) -> dict[str, FileEntry]:
    files = list_files(folder)
    with writing(folder):
        for path in files.values():
            fsync_path(path)
        sizes = [path.stat().st_size for path in files.values()]
    digests = sha256_files(list(files.values()))
    return {
        name: FileEntry(bytes=size, sha256=digest)
        for name, size, digest in zip(files, sizes, digests, strict=True)
    }


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))
