"""A snapshot as readers see it: an immutable directory whose files are checked, then mapped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ytrag_core.errors import SnapshotError
from ytrag_core.storage import layout
from ytrag_core.storage.advice import repair_advice
from ytrag_core.storage.arrays import ArraySpec, map_arrays
from ytrag_core.storage.files import reading, sha256_files
from ytrag_core.storage.manifest import MANIFEST_NAME, Manifest, read_manifest
from ytrag_core.storage.meta import MetaStore
from ytrag_core.storage.tables import read_table
from ytrag_core.storage.verified import read_stamps, stamp, write_stamps

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["Snapshot"]

Verify = Literal["size", "changed", "full"]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A complete state of a knowledge base, which never changes.

    Attributes
    ----------
    root
        The knowledge base.
    path
        The snapshot's own directory.
    manifest
        What it holds.
    """

    root: Path
    path: Path
    manifest: Manifest

    @classmethod
    def open(cls, root: Path, *, verify: Verify = "changed") -> Snapshot:
        """Open the live snapshot of the knowledge base at `root`.

        Parameters
        ----------
        root
            The knowledge base's directory.
        verify
            "size" checks that every file is there and as long as it should be, and reads none of them;
            "changed" compares the checksums of files that were written or copied since they were last found
            right, which is none as a rule; "full" compares all.

        Raises
        ------
        SnapshotError
            If there is no knowledge base, or it is foreign, unfinished, damaged or of a newer format.

        Notes
        -----
        A writer may replace the snapshot and remove it while it is opened; then the newer one is opened.
        """
        name = layout.live_name(root)
        while True:
            try:
                return cls._open_named(root, name, verify)
            except SnapshotError:
                newer = layout.live_name(root)
                if newer == name:
                    raise
                name = newer

    @classmethod
    def open_number(cls, root: Path, number: int) -> Snapshot:
        """Open a snapshot that is not the live one; its files' sizes are checked.

        Raises
        ------
        SnapshotError
            If it is not there, or damaged.
        """
        return cls._open_named(root, layout.snapshot_name(number), "size")

    @classmethod
    def _open_named(cls, root: Path, name: str, verify: Verify) -> Snapshot:
        folder = root / layout.SNAPSHOTS_NAME / name
        if not folder.is_dir() or folder.is_symlink():
            raise SnapshotError(
                f"{root / layout.CURRENT_NAME} names snapshot {name!r}, but {folder} is not a directory: "
                f"{repair_advice(folder)}"
            )
        snapshot = cls(root, folder, read_manifest(folder))
        snapshot._check_sizes()
        if verify != "size":
            snapshot.check_sums(only_changed=verify == "changed")
        return snapshot

    def _check_sizes(self) -> None:
        with reading(self.path):
            home = self.path.resolve()
        for name, entry in self.manifest.files.items():
            path = self.path / name
            if not path.is_file():
                raise SnapshotError(f"{path} is missing: {repair_advice(path)}")
            if path.resolve() != home / name:
                raise SnapshotError(f"{path} is a link: a snapshot holds plain files only")
            size = path.stat().st_size
            if size != entry.bytes:
                raise SnapshotError(
                    f"{path} has {size} bytes, but {entry.bytes} were written: it was truncated or changed; "
                    f"{repair_advice(path)}"
                )

    def check_sums(self, names: Iterable[str] | None = None, *, only_changed: bool = True) -> None:
        """Compare the checksums of files.

        Parameters
        ----------
        names
            Files of the manifest; all by default.
        only_changed
            Leave out those that were found right and have not been written or copied since.

        Raises
        ------
        SnapshotError
            If one is wrong.
        """
        right = read_stamps(self.path)
        untouched = {name for name in self.manifest.files if name in right and self._is_as(name, right[name])}
        files = {
            name: self.manifest.files[name]
            for name in (self.manifest.files if names is None else names)
            if not (only_changed and name in untouched)
        }
        if not files:
            return
        found = sha256_files([self.path / name for name in files])
        broken = [
            name for (name, entry), digest in zip(files.items(), found, strict=True) if digest != entry.sha256
        ]
        if broken:
            raise SnapshotError(
                f"{self.path}: the checksum of {', '.join(broken)} is wrong: it was changed or damaged; "
                f"{repair_advice(self.path)}"
            )
        write_stamps(self.path, [name for name in self.manifest.files if name in untouched or name in files])

    def _is_as(self, name: str, wanted: list[int]) -> bool:
        try:
            return stamp(self.path / name) == wanted
        except OSError:
            return False

    @property
    def number(self) -> int:
        """The snapshot's number, from 1."""
        return int(self.manifest.snapshot)

    def file(self, relative: str) -> Path:
        """Return the path of one of the snapshot's files, named relative to it with `/`."""
        if relative not in self.manifest.files:
            raise SnapshotError(
                f"{self.path} has no file {relative!r}, only {', '.join(self.manifest.files) or 'none'}"
            )
        return self.path / relative

    def table(
        self,
        name: str,
        columns: Sequence[str] | None = None,
        schema: pa.Schema | None = None,
        optional: Collection[str] = (),
    ) -> pa.Table:
        """Read a table, for example "entities"; see `read_table`."""
        return read_table(self.file(f"{name}.parquet"), columns, schema, optional)

    def arrays(self, relative: str, spec: Mapping[str, ArraySpec] | None = None) -> dict[str, NDArray[Any]]:
        """Memory-map the arrays of a file, for example "graph.arrow"; see `map_arrays`."""
        return map_arrays(self.file(relative), spec)

    def open_meta(self) -> MetaStore:
        """Open documents, chunks and records as of this snapshot, read-only; the caller closes it."""
        return MetaStore(self.root / layout.META_NAME, snapshot=self.number, writable=False)

    def bytes_on_disk(self) -> int:
        """Return the size of all its files."""
        with reading(self.path):
            own = (self.path / MANIFEST_NAME).stat().st_size
        return own + sum(entry.bytes for entry in self.manifest.files.values())
