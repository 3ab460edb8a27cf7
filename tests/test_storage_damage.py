"""Damaged, foreign, unfinished and newer knowledge bases: each is refused with its own message."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from tests.test_storage_snapshot import build, refused, value_of
from ytrag_core.storage import reader
from ytrag_core.storage.files import sha256_files
from ytrag_core.storage.snapshot import FORMAT_VERSION, Snapshot, SnapshotWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    build(tmp_path / "kb")
    return tmp_path / "kb"


def drop_current(root: Path) -> None:
    (root / "CURRENT").unlink()


def current_says(text: str) -> Callable[[Path], None]:
    def apply(root: Path) -> None:
        (root / "CURRENT").write_text(text)

    return apply


def edit_manifest(**changes: Any) -> Callable[[Path], None]:
    def apply(root: Path) -> None:
        path = root / "snapshots" / "000001" / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return apply


def write_manifest(text: str) -> Callable[[Path], None]:
    def apply(root: Path) -> None:
        (root / "snapshots" / "000001" / "manifest.json").write_text(text)

    return apply


def truncate(root: Path) -> None:
    path = root / "snapshots" / "000001" / "entities.parquet"
    path.write_bytes(path.read_bytes()[:-1])


def remove_file(root: Path) -> None:
    (root / "snapshots" / "000001" / "hnsw" / "strings.bin").unlink()


def link_file(root: Path) -> None:
    path = root / "snapshots" / "000001" / "hnsw" / "strings.bin"
    path.rename(root / "elsewhere")
    path.symlink_to(root / "elsewhere")


def link_folder(root: Path) -> None:
    (root / "snapshots" / "000001" / "hnsw").rename(root / "elsewhere")
    (root / "snapshots" / "000001" / "hnsw").symlink_to(root / "elsewhere")


def link_snapshot(root: Path) -> None:
    (root / "snapshots" / "000001").rename(root / "elsewhere")
    (root / "snapshots" / "000001").symlink_to(root / "elsewhere")


def entry(name: str) -> dict[str, Any]:
    return {name: {"bytes": 1, "sha256": "0" * 64}}


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "CURRENT missing": (drop_current, "no finished snapshot"),
    "CURRENT empty": (current_says(""), "wanted the name of a snapshot"),
    "CURRENT dangling": (current_says("000009\n"), "names snapshot '000009', but"),
    "CURRENT traversal": (current_says("../../etc\n"), "wanted the name of a snapshot"),
    "CURRENT absolute": (current_says("/etc\n"), "wanted the name of a snapshot"),
    "CURRENT two lines": (current_says("000001\n000001\n"), "wanted the name of a snapshot"),
    "CURRENT too long": (current_says("0" * 5000), "wanted the name of a snapshot"),
    "CURRENT of a key-value store": (current_says("MANIFEST-000004\n"), "is not a knowledge base"),
    "manifest missing": (
        lambda root: (root / "snapshots/000001/manifest.json").unlink(),
        "manifest.json is missing",
    ),
    "manifest cut": (write_manifest('{"format_ver'), "is not JSON"),
    "manifest empty": (write_manifest(""), "is not JSON"),
    "manifest nested too deeply": (write_manifest("[" * 100_000), "is not JSON"),
    "manifest a list": (write_manifest("[]"), "format_version is None"),
    "manifest without format": (write_manifest("{}"), "format_version is None"),
    "newer format": (edit_manifest(format_version=FORMAT_VERSION + 1, files="other"), "upgrade ytrag"),
    "format of a wrong type": (edit_manifest(format_version="1"), "format_version is '1'"),
    "manifest of another snapshot": (edit_manifest(snapshot="000002"), "describes snapshot '000002'"),
    "counts of a wrong type": (edit_manifest(counts={"entities": "2"}), "damaged at 'counts.entities'"),
    "checksum malformed": (
        edit_manifest(files={"a": {"bytes": 1, "sha256": "x"}}),
        "damaged at 'files.a.sha256'",
    ),
    "file name traversal": (edit_manifest(files=entry("../../CURRENT")), "leads out of the snapshot"),
    "file name absolute": (edit_manifest(files=entry("/etc/passwd")), "leads out of the snapshot"),
    "file listed but missing": (edit_manifest(files=entry("other.bin")), "other.bin is missing"),
    "file is a folder": (edit_manifest(files=entry("hnsw")), "hnsw is missing"),
    "file missing": (
        remove_file,
        "strings.bin is missing: run `ytrag repair --kb .*`, or restore it from a copy",
    ),
    "file truncated": (
        truncate,
        "truncated or changed; run `ytrag repair --kb .*`, or restore it from a copy",
    ),
    "file a link": (link_file, "is a link"),
    "folder a link": (link_folder, "is a link"),
    "snapshot a link": (link_snapshot, "is not a directory"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_knowledge_bases_are_refused(kb: Path, damage: str) -> None:
    apply, message = DAMAGES[damage]
    apply(kb)
    with refused(message, kb):
        Snapshot.open(kb)


@pytest.mark.parametrize("damage", [name for name in DAMAGES if name != "CURRENT missing"])
def test_no_writer_touches_a_damaged_knowledge_base(kb: Path, damage: str) -> None:
    DAMAGES[damage][0](kb)
    before = sorted(kb.rglob("*"))
    with refused("kb", kb), SnapshotWriter(kb):
        pass
    assert sorted(kb.rglob("*")) == before


def test_a_file_that_was_touched_is_checksummed_when_opened(kb: Path) -> None:
    path = kb / "snapshots" / "000001" / "hnsw" / "strings.bin"
    content, before = path.read_bytes(), path.stat()
    path.write_bytes(content[:-1] + b"x")
    # The file system's clock may not have moved since the snapshot was written.
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000_000))
    with refused("the checksum of hnsw/strings.bin is wrong", kb):
        Snapshot.open(kb)
    path.write_bytes(content)
    Snapshot.open(kb)


def test_decay_that_leaves_no_trace_is_found_by_a_full_check(kb: Path) -> None:
    path = kb / "snapshots" / "000001" / "hnsw" / "strings.bin"
    before = path.stat()
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    Snapshot.open(kb)
    with refused("the checksum of hnsw/strings.bin is wrong", kb):
        Snapshot.open(kb, verify="full")


def test_a_copy_is_checksummed_once(kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(kb, copy)
    read: list[Path] = []

    def watched(paths: Sequence[Path]) -> list[str]:
        read.extend(paths)
        return sha256_files(paths)

    monkeypatch.setattr(reader, "sha256_files", watched)
    Snapshot.open(copy)
    assert read
    read.clear()
    Snapshot.open(copy)
    assert not read


def test_places_without_a_knowledge_base(tmp_path: Path) -> None:
    with refused("does not exist", tmp_path / "none"):
        Snapshot.open(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with refused("is an empty directory", tmp_path / "empty"):
        Snapshot.open(tmp_path / "empty")
    (tmp_path / "file").write_text("x")
    with refused("is a file", tmp_path / "file"):
        Snapshot.open(tmp_path / "file")


@pytest.mark.parametrize("name", ["notes.txt", "snapshots/000001/precious", ".git/config"])
def test_a_foreign_directory_is_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / "home" / name).parent.mkdir(parents=True)
    (tmp_path / "home" / name).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    with refused("is not a knowledge base: it holds", tmp_path / "home"):
        Snapshot.open(tmp_path / "home")
    with refused("is not a knowledge base: it holds", tmp_path / "home"), SnapshotWriter(tmp_path / "home"):
        pass
    assert sorted(tmp_path.rglob("*")) == before


def test_a_foreign_sqlite_file_is_left_alone(tmp_path: Path) -> None:
    root = tmp_path / "home"
    root.mkdir()
    with sqlite3.connect(root / "meta.sqlite") as connection:
        connection.execute("CREATE TABLE precious(x)")
    connection.close()
    with refused("another program", root), SnapshotWriter(root):
        pass
    assert not (root / "snapshots").exists()


def test_snapshots_without_current_are_not_swept_away(kb: Path) -> None:
    build(kb, 2)
    drop_current(kb)
    with refused("CURRENT is missing, but there are snapshots up to 000002", kb):
        Snapshot.open(kb)
    with refused("CURRENT is missing", kb), SnapshotWriter(kb):
        pass
    (kb / "CURRENT").write_text("000002")
    assert value_of(kb) == 2


def test_a_lost_meta_file_stops_the_writer_only(kb: Path) -> None:
    (kb / "meta.sqlite").unlink()
    Snapshot.open(kb, verify="full")
    with refused(r"meta\.sqlite is missing", kb), SnapshotWriter(kb):
        pass


def test_a_first_snapshot_that_nothing_names_is_gone_on_from(kb: Path) -> None:
    drop_current(kb)
    with refused("CURRENT is missing; run `ytrag repair --kb .*`", kb):
        Snapshot.open(kb)
    build(kb, 2)
    assert Snapshot.open(kb).number == 2
    shutil.rmtree(kb / "snapshots" / "000002")
    drop_current(kb)
    truncate(kb)
    before = sorted(kb.rglob("*"))
    with refused("run `ytrag repair --kb .*`", kb), SnapshotWriter(kb):
        pass
    assert sorted(kb.rglob("*")) == before
