"""Every file of a knowledge base and the state it is in; nothing is changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ytrag_core.errors import NewerFormatError, SnapshotError
from ytrag_core.storage import layout
from ytrag_core.storage.files import sha256_files
from ytrag_core.storage.manifest import MANIFEST_NAME, Manifest, manifest_bytes, parse_manifest, read_manifest
from ytrag_core.storage.manifest_copies import kept_manifest
from ytrag_core.storage.meta_check import check_meta
from ytrag_core.storage.vector_store import check_block
from ytrag_core.storage.verified import STAMPS_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

__all__ = ["BaseState", "FileState", "Part", "State", "check_base", "check_snapshot", "manifest_of"]

State = Literal["sound", "damaged", "missing", "unchecked", "leftover", "unknown", "aside"]
Part = Literal["base", "live", "older", "vectors"]

_WRONG = ("damaged", "missing")


@dataclass(frozen=True, slots=True)
class FileState:
    """One file.

    Attributes
    ----------
    path
        Relative to the knowledge base's directory, with `/`.
    part
        `base` (`CURRENT` and `meta.sqlite`), `live` and `older` (snapshots), or `vectors` (beside them).
    state
        `sound`; `damaged` and `missing`; `unchecked` where what it should be is not known; `leftover` of a
        writer that died, or work under way; `unknown` to ytrag; `aside`, put there by a repair.
    why
        What is wrong, or what it is; may be empty.
    bytes
        Its size, -1 where it is missing.
    """

    path: str
    part: Part
    state: State
    why: str = ""
    bytes: int = -1

    @property
    def is_wrong(self) -> bool:
        """Whether it is to be repaired."""
        return self.state in _WRONG

    def to_json(self) -> dict[str, Any]:
        """Return its JSON form."""
        return {
            "path": self.path,
            "part": self.part,
            "state": self.state,
            "bytes": self.bytes,
            **({"why": self.why} if self.why else {}),
        }


@dataclass(frozen=True, slots=True)
class BaseState:
    """A knowledge base and its files.

    Attributes
    ----------
    root
        Its directory.
    live
        Name of the live snapshot, empty where none is known.
    is_written
        Whether a process was writing it.
    files
        All files, in the order of their names within each part.
    """

    root: Path
    live: str
    is_written: bool
    files: tuple[FileState, ...]

    @property
    def wrong(self) -> list[FileState]:
        """The files that are to be repaired."""
        return [file for file in self.files if file.is_wrong]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the command `verify`."""
        counts: dict[str, int] = {}
        for file in self.files:
            counts[file.state] = counts.get(file.state, 0) + 1
        return {
            "path": str(self.root),
            "ok": not self.wrong,
            "snapshot": self.live,
            "is_written": self.is_written,
            "counts": counts,
            "files": [file.to_json() for file in self.files],
        }


def check_base(root: Path, progress: Callable[[int, int], None] | None = None) -> BaseState:
    """Look at every file of a knowledge base, comparing checksums.

    Parameters
    ----------
    root
        Its directory.
    progress
        Called with (bytes read, bytes of all snapshots).

    Raises
    ------
    SnapshotError
        There is no knowledge base, or nothing of one that was ever finished.

    Notes
    -----
    A writer may be at work meanwhile: a snapshot or a block that it removes is left out.
    """
    layout.check_known(root)
    numbers = layout.snapshot_numbers(root)
    try:
        live = layout.read_current(root) or ""
        current_why = "" if live or not numbers else "nothing says which of the snapshots is live"
    except SnapshotError as error:
        live, current_why = "", str(error)
    if live and int(live) not in numbers:
        current_why, live = f"it names snapshot {live}, which is not there", ""
    report = _Bytes(root, numbers, progress)
    files = [_current(root, current_why), *_meta(root, live)]
    for number in numbers:
        name = layout.snapshot_name(number)
        part: Part = "live" if name == live or (not live and number == numbers[-1]) else "older"
        files += check_snapshot(root, name, part, report.add)
    files += _beside(root)
    written = layout.is_written(root)
    if written:
        files = [file for file in files if file.part == "live" or not _is_gone(root, file)]
    return BaseState(root, live, written, tuple(files))


def manifest_of(root: Path, name: str) -> tuple[Manifest | None, str]:
    """Return the manifest of a snapshot, or its copy where it is damaged, and what is wrong with it."""
    path = root / layout.SNAPSHOTS_NAME / name / MANIFEST_NAME
    copy = kept_manifest(root / layout.META_NAME, name)
    known = None if copy is None else parse_manifest(copy, path)
    try:
        manifest = read_manifest(path.parent)
    except NewerFormatError:
        raise
    except SnapshotError as error:
        return known, str(error)
    if known is not None and manifest_bytes(manifest) != copy:
        return known, "it is not what its copy in meta.sqlite says"
    return manifest, ""


def check_snapshot(
    root: Path, name: str, part: Part, read: Callable[[int], None] = lambda _: None
) -> Iterator[FileState]:
    """Yield the state of each file of a snapshot.

    Parameters
    ----------
    root
        The knowledge base's directory.
    name
        The snapshot's name.
    part
        What it is.
    read
        Called with the number of bytes that were read.
    """
    folder = root / layout.SNAPSHOTS_NAME / name
    place = f"{layout.SNAPSHOTS_NAME}/{name}"
    if folder.is_symlink():
        yield FileState(place, part, "damaged", f"it is a link to {folder.resolve()}", _size(folder))
    manifest, why = manifest_of(root, name)
    path = folder / MANIFEST_NAME
    state: State = "sound" if not why else "damaged" if path.exists() else "missing"
    yield FileState(f"{place}/{MANIFEST_NAME}", part, state, why, _size(path))
    found = _entries(folder)
    listed = {} if manifest is None else manifest.files
    for file, entry in sorted(listed.items()):
        state, why = _compared(folder, file, entry.bytes, entry.sha256)
        size = _size(folder / file)
        read(max(size, 0))
        yield FileState(f"{place}/{file}", part, state, why, size)
    known = {MANIFEST_NAME, STAMPS_NAME, f"{STAMPS_NAME}.tmp", *listed}
    for file in sorted(set(found) - known):
        unlisted: State = "unknown" if manifest is not None else "unchecked"
        why = "no manifest lists it" if manifest is not None else "its checksum was in the manifest"
        yield FileState(f"{place}/{file}", part, unlisted, why, _size(folder / file))


def _compared(folder: Path, name: str, size: int, sha256: str) -> tuple[State, str]:
    path = folder / name
    if path.resolve() != folder.resolve() / name:
        return "damaged", "it is a link, a snapshot holds plain files only"
    if not path.is_file():
        return "missing", ""
    found = path.stat().st_size
    if found != size:
        return "damaged", f"it has {found:,} bytes, {size:,} were written"
    try:
        digest = sha256_files([path])[0]
    except SnapshotError as error:
        return "damaged", str(error)
    return ("sound", "") if digest == sha256 else ("damaged", "its checksum is wrong")


def _entries(folder: Path) -> list[str]:
    try:
        return [
            path.relative_to(folder).as_posix()
            for path in folder.rglob("*")
            if path.is_symlink() or not path.is_dir()
        ]
    except FileNotFoundError:  # a writer removed it meanwhile
        return []


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1


def _is_gone(root: Path, file: FileState) -> bool:
    return file.part in ("older", "vectors") and not (root / file.path).exists()


def _current(root: Path, why: str) -> FileState:
    path = root / layout.CURRENT_NAME
    state: State = "sound" if not why else "damaged" if path.exists() else "missing"
    if not why and not path.exists():
        state, why = "unchecked", "no snapshot was finished: run the build again"
    return FileState(layout.CURRENT_NAME, "base", state, why, _size(path))


def _meta(root: Path, live: str) -> Iterator[FileState]:
    path = root / layout.META_NAME
    fresh = root / layout.NEW_META_NAME
    if fresh.exists():
        why = f"a repair was interrupted: {fresh.name} is to take its place"
    else:
        why = check_meta(root, int(live) if live else 0, _n_documents(root, live))
    state: State = "sound" if not why else "damaged" if path.exists() else "missing"
    yield FileState(layout.META_NAME, "base", state, why, _size(path))


def _n_documents(root: Path, live: str) -> int | None:
    manifest = manifest_of(root, live)[0] if live else None
    return None if manifest is None else manifest.counts.get("documents", 0)


def _beside(root: Path) -> Iterator[FileState]:
    """Yield what lies beside the snapshots: vectors, what writers left, what repairs put aside."""
    snapshots, vectors = root / layout.SNAPSHOTS_NAME, root / layout.VECTORS_NAME
    for path in _children(vectors):
        for file in _children(path) if path.is_dir() else [path]:
            yield _block(root, file)
    for path in _children(snapshots):
        if path.name.startswith("."):
            yield _leftover(root, path, "older")
    for path in _children(root):
        if path.name.endswith(".tmp"):
            yield _leftover(root, path, "base")
    for path in _children(root / layout.ASIDE_NAME):
        size = sum(_size(file) for file in path.rglob("*") if file.is_file())
        yield FileState(path.relative_to(root).as_posix(), "base", "aside", "put aside by a repair", size)


def _block(root: Path, path: Path) -> FileState:
    place = path.relative_to(root).as_posix()
    if path.name.startswith("."):
        return _leftover(root, path, "vectors")
    if path.suffix != ".arrow":
        return FileState(place, "vectors", "unknown", "no block of vectors", _size(path))
    try:
        check_block(path)
    except SnapshotError as error:
        return FileState(place, "vectors", "damaged", str(error), _size(path))
    return FileState(place, "vectors", "sound", "", _size(path))


def _leftover(root: Path, path: Path, part: Part) -> FileState:
    size = _size(path)
    if path.is_dir():
        size = sum(_size(file) for file in path.rglob("*") if file.is_file())
    why = "left by a writer that died, or being written; the next build removes it"
    return FileState(path.relative_to(root).as_posix(), part, "leftover", why, size)


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


class _Bytes:
    """Adds up the bytes that were read."""

    def __init__(
        self, root: Path, numbers: Iterable[int], progress: Callable[[int, int], None] | None
    ) -> None:
        folders = [root / layout.SNAPSHOTS_NAME / layout.snapshot_name(number) for number in numbers]
        self._progress = progress or (lambda done, total: None)
        self._total = sum(max(_size(folder / file), 0) for folder in folders for file in _entries(folder))
        self._done = 0

    def add(self, n_bytes: int) -> None:
        self._done += n_bytes
        self._progress(min(self._done, self._total), self._total)
