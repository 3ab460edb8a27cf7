"""A damaged knowledge base made whole: what is sound stays, what is not is put aside and made again."""

from __future__ import annotations

import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from ytrag_core.errors import SnapshotError
from ytrag_core.pipeline.adopted import adopted_manifest
from ytrag_core.pipeline.checked import check_all
from ytrag_core.pipeline.rederive import LostError, is_of_tables, make_again
from ytrag_core.pipeline.repair_report import Repaired, RepairReport
from ytrag_core.pipeline.restore import restore_rows
from ytrag_core.pipeline.stored_graph import MENTIONS_FILE, TABLE_FILES
from ytrag_core.retrieval.view import SnapshotView
from ytrag_core.storage import layout
from ytrag_core.storage.checking import check_snapshot, manifest_of
from ytrag_core.storage.files import fsync_path, sha256_files, write_synced, writing
from ytrag_core.storage.manifest import MANIFEST_NAME, manifest_bytes, parse_manifest
from ytrag_core.storage.manifest_copies import kept_manifest, kept_names
from ytrag_core.storage.mending import Aside, MendingWriter, link_or_copy, locked
from ytrag_core.storage.salvage import salvage_meta
from ytrag_core.storage.snapshot import Snapshot
from ytrag_core.storage.verified import drop_stamps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from filelock import BaseFileLock

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.report import StageRecorder
    from ytrag_core.storage.checking import BaseState, FileState
    from ytrag_core.storage.manifest import Manifest

__all__ = ["repair"]

_STAGE = "verify"


def repair(
    root: Path,
    load_encoder: Callable[[], Encoder],
    recorder: StageRecorder,
    source: Path | None = None,
) -> RepairReport:
    """Make a damaged knowledge base whole.

    Parameters
    ----------
    root
        The knowledge base's directory.
    load_encoder
        Returns the encoder of the knowledge base; called where something may have to be encoded.
    recorder
        Times the stages of a build, and is told how far the check is.
    source
        The folder that an imported graph came from, where it lies elsewhere by now.

    Returns
    -------
    RepairReport

    Raises
    ------
    LockedError
        Another process is writing.
    SnapshotError
        There is no knowledge base, it cannot be written, or nothing of it is left.
    ModelError
        The encoder is needed and cannot be had.

    Notes
    -----
    It may be killed at any moment: what it has not finished is found and done by the next one.
    """
    layout.check_known(root)
    with locked(root) as lock:
        return _Repair(root, lock, load_encoder, recorder, source).run()


class _Repair:
    """One repair, by the holder of the lock."""

    def __init__(
        self,
        root: Path,
        lock: BaseFileLock,
        load_encoder: Callable[[], Encoder],
        recorder: StageRecorder,
        source: Path | None,
    ) -> None:
        self._root = root
        self._lock = lock
        self._load_encoder = load_encoder
        self._recorder = recorder
        self._source = source
        self._aside = Aside(root)
        self._report = RepairReport(root)
        self._has_new_store = False

    def run(self) -> RepairReport:
        state = self._check()
        if state.wrong:
            self._mend(state)
        self._renew()
        report = self._report
        report.snapshot = layout.read_current(self._root) or ""
        if self._aside.moved:
            report.aside = self._aside.folder.relative_to(self._root).as_posix()
            report.aside_paths, report.aside_bytes = self._aside.moved, self._aside.bytes()
        return report

    def _check(self) -> BaseState:
        def told(done: int, total: int) -> None:
            self._recorder.progress(_STAGE, done, total)

        return check_all(self._root, told)

    def _mend(self, state: BaseState) -> None:
        for file in state.wrong:
            if (self._root / file.path).is_symlink() and file.path.count("/") == 1:
                self._copy_in(self._root / file.path)
        self._current(state)
        name = layout.read_current(self._root)
        self._meta(state, name)
        if name is not None:
            self._live(name, [file for file in state.files if _is_in(file, name)])
        for file in state.wrong:
            if file.part == "vectors":
                self._aside.move(self._root / file.path)
                self._done(file.path, "put aside: what it held is encoded again when it is needed")
        self._older(layout.read_current(self._root) or "")

    def _copy_in(self, folder: Path) -> None:
        """Put a snapshot where a link to one stands; what the link leads to stays as it is."""
        number = int(folder.name)
        draft = folder.with_name(layout.partial_name(number))
        with writing(draft):
            if draft.exists():
                shutil.rmtree(draft)
            shutil.copytree(folder.resolve(), draft)
            for path in draft.rglob("*"):
                fsync_path(path)
        self._aside.move(folder)
        with writing(folder):
            draft.rename(folder)
            fsync_path(folder.parent)
        self._done(folder.relative_to(self._root).as_posix(), "copied from where a link led")

    def _renew(self) -> None:
        """Make again what another version of ytrag laid out in another way, though it is sound."""
        kept = (*TABLE_FILES, MENTIONS_FILE)
        for only_indices in (True, False):
            name = layout.read_current(self._root)
            snapshot = None if name is None else self._snapshot(name)
            if snapshot is None:
                return
            try:
                SnapshotView(snapshot).check()
            except SnapshotError as error:
                self._report.notes.append(f"not as this version of ytrag writes it: {error}")
                files = snapshot.manifest.files
                self._make(
                    snapshot, {n for n in files if (is_of_tables(n) if only_indices else n not in kept)}
                )
            else:
                return

    def _done(self, path: str, how: str) -> None:
        self._report.files.append(Repaired(path, how))

    def _current(self, state: BaseState) -> None:
        """Let `CURRENT` name a snapshot: the newest of which it is known what it should be."""
        if not any(file.path == layout.CURRENT_NAME for file in state.wrong):
            return
        numbers = layout.snapshot_numbers(self._root)
        names = [layout.snapshot_name(number) for number in reversed(numbers)]
        known = [name for name in names if manifest_of(self._root, name)[0] is not None]
        kept = kept_names(self._root / layout.META_NAME)
        choice = next(iter(known or names or kept), None)
        if choice is None:
            raise SnapshotError(
                f"no snapshot of {self._root} is left, nor what one should be: build it in a new directory"
            )
        if not names:
            with writing(self._root):
                (self._root / layout.SNAPSHOTS_NAME / choice).mkdir(parents=True)
        self._aside.move(self._root / layout.CURRENT_NAME)
        layout.write_current(self._root, choice)
        self._done(layout.CURRENT_NAME, f"names snapshot {choice} again")

    def _meta(self, state: BaseState, name: str | None) -> None:
        """Save the rows of a damaged store, and fill it up from the live snapshot."""
        broken = [file for file in state.wrong if file.path == layout.META_NAME]
        if not broken:
            return
        path, ready = self._root / layout.META_NAME, self._root / layout.NEW_META_NAME
        if ready.exists():
            self._done(layout.META_NAME, "put in place, as the repair that was interrupted had made it")
        else:
            fresh = path.with_name(f"{layout.META_NAME}.tmp")
            saved = salvage_meta(path, fresh)
            restored = restore_rows(fresh, self._known(name, fresh), {file.path for file in state.wrong})
            with writing(ready):
                fresh.rename(ready)
                fsync_path(self._root)
            self._done(layout.META_NAME, "; ".join([*saved.told(), *restored.told]))
            self._report.lost += restored.lost
            self._report.notes += restored.notes
        # While the new file is there, an interrupted repair goes on from here: no old log meets it.
        for suffix in ("", "-wal", "-shm", "-journal"):
            self._aside.move(path.with_name(f"{path.name}{suffix}"))
        with writing(path):
            ready.rename(path)
            fsync_path(self._root)
        self._has_new_store = True

    def _known(self, name: str | None, meta: Path) -> Snapshot | None:
        """Return the live snapshot, if only by the copy of its manifest in a store."""
        if name is None:
            return None
        snapshot = self._snapshot(name)
        copy = None if snapshot is not None else kept_manifest(meta, name)
        folder = self._root / layout.SNAPSHOTS_NAME / name
        if copy is None:
            return snapshot
        return Snapshot(self._root, folder, parse_manifest(copy, folder / MANIFEST_NAME))

    def _snapshot(self, name: str) -> Snapshot | None:
        manifest = manifest_of(self._root, name)[0]
        folder = self._root / layout.SNAPSHOTS_NAME / name
        return None if manifest is None else Snapshot(self._root, folder, manifest)

    def _live(self, name: str, files: list[FileState]) -> None:
        folder = self._root / layout.SNAPSHOTS_NAME / name
        snapshot = self._snapshot(name)
        if snapshot is not None and (self._has_new_store or not files):
            files = list(check_snapshot(self._root, name, "live"))  # the store has the copy of its manifest
        wrong = [file for file in files if file.is_wrong]
        if not wrong:
            return
        place = f"{layout.SNAPSHOTS_NAME}/{name}/"
        if any(file.path == place + MANIFEST_NAME for file in wrong):
            self._manifest(folder, None if snapshot is None else snapshot.manifest)
        if snapshot is None:
            adopted = adopted_manifest(self._root, name, self._load_encoder)
            snapshot = Snapshot(self._root, folder, adopted)
            self._report.notes.append(
                f"nothing says what the files of snapshot {name} should be: all but its tables are made again"
            )
            names = {MANIFEST_NAME}
        else:
            names = {file.path.removeprefix(place) for file in wrong} - {MANIFEST_NAME}
        if not names:
            return
        drop_stamps(folder, names)
        self._unlink_links(folder, names)
        try:
            self._make(snapshot, names)
        except LostError as error:
            self._fall_back(snapshot, error)

    def _manifest(self, folder: Path, copy: Manifest | None) -> None:
        path = folder / MANIFEST_NAME
        self._aside.move(path)
        if copy is None:
            return
        fresh = path.with_name(f"{MANIFEST_NAME}.tmp")
        write_synced(fresh, manifest_bytes(copy))
        with writing(path):
            fresh.rename(path)
        self._done(path.relative_to(self._root).as_posix(), "written again from its copy in meta.sqlite")

    def _unlink_links(self, folder: Path, names: set[str]) -> None:
        """Put links aside that stand where files or folders of the snapshot should be, not what they name."""
        for name in sorted(names):
            path = folder
            for step in name.split("/"):
                path /= step
                if path.is_symlink():
                    self._aside.move(path)
                    break

    def _make(self, snapshot: Snapshot, names: set[str]) -> None:
        twins = self._twins(snapshot, names)
        with MendingWriter(snapshot, names, self._aside, self._lock) as writer:
            for name, path in twins.items():
                writer.take(name, path)
            rest = names - twins.keys()
            if rest:
                build = make_again(writer, snapshot, rest, self._load_encoder, self._recorder, self._source)
                self._report.build = build
            else:
                writer.commit_as_before()
        place = snapshot.path.relative_to(self._root).as_posix()
        self._report.in_place = writer.in_place
        for name in sorted(names - {MANIFEST_NAME}):
            how = f"copied from {twins[name].relative_to(self._root)}" if name in twins else "made again"
            self._done(f"{place}/{name}", how)
        if not writer.in_place:
            now = layout.read_current(self._root)
            self._report.notes.append(
                f"what was made again is not the same to the byte: snapshot {now} takes the place of "
                f"{snapshot.path.name}"
            )

    def _twins(self, snapshot: Snapshot, names: set[str]) -> dict[str, Path]:
        """Return sound files of other snapshots that are what damaged ones should be."""
        wanted = {
            name: snapshot.manifest.files[name].sha256 for name in names if name in snapshot.manifest.files
        }
        found: dict[str, Path] = {}
        for number in layout.snapshot_numbers(self._root):
            other = self._snapshot(layout.snapshot_name(number))
            if other is None or number == snapshot.number:
                continue
            for name, sha256 in wanted.items():
                path = other.path / name
                entry = other.manifest.files.get(name)
                if name in found or entry is None or entry.sha256 != sha256:
                    continue
                with suppress(SnapshotError):
                    if path.is_file() and not path.is_symlink() and sha256_files([path]) == [sha256]:
                        found[name] = path
        return found

    def _fall_back(self, snapshot: Snapshot, error: LostError) -> None:
        """Make the newest whole snapshot before the damaged one live, if there is one."""
        for number in reversed(layout.snapshot_numbers(self._root)):
            name = layout.snapshot_name(number)
            if number >= snapshot.number or self._is_wrong(name):
                continue
            before = Snapshot.open_number(self._root, number)
            layout.write_current(self._root, name)
            self._aside.move(snapshot.path)
            changed = [
                f"{count - before.manifest.counts.get(kind, 0):+,} {kind}"
                for kind, count in snapshot.manifest.counts.items()
                if count != before.manifest.counts.get(kind, 0)
            ]
            self._report.in_place = False
            self._report.lost.append(
                f"snapshot {snapshot.path.name}: {error}; snapshot {name} before it is live again "
                f"(the lost one had {', '.join(changed) or 'as many of everything'})"
            )
            return
        raise SnapshotError(
            f"{error}, and no whole snapshot before it is left: restore the knowledge base from a copy, or "
            "build it anew in another directory"
        ) from error

    def _is_wrong(self, name: str) -> bool:
        return any(file.is_wrong for file in check_snapshot(self._root, name, "older"))

    def _older(self, live: str) -> None:
        """Mend the snapshots that are not live by what they share with it, or put them aside."""
        for number in layout.snapshot_numbers(self._root):
            name = layout.snapshot_name(number)
            if name == live or not self._is_wrong(name):
                continue
            files = [file for file in check_snapshot(self._root, name, "older") if file.is_wrong]
            place = f"{layout.SNAPSHOTS_NAME}/{name}"
            snapshot = self._snapshot(name)
            names = {file.path.removeprefix(f"{place}/") for file in files}
            twins = {} if snapshot is None else self._twins(snapshot, names)
            if names - {MANIFEST_NAME} != twins.keys() or snapshot is None:
                self._aside.move(self._root / place)
                self._done(place, "put aside: it is not live, and not all of it can be had back")
                continue
            if MANIFEST_NAME in names:
                self._manifest(snapshot.path, snapshot.manifest)
            for file, twin in twins.items():
                self._aside.move(snapshot.path / file)
                with writing(snapshot.path / file):
                    link_or_copy(twin, snapshot.path / file)
                self._done(f"{place}/{file}", f"copied from {twin.relative_to(self._root)}")


def _is_in(file: FileState, name: str) -> bool:
    return file.path.startswith(f"{layout.SNAPSHOTS_NAME}/{name}/")
