"""Opening and writing snapshots: what is refused, and what is left behind."""

from __future__ import annotations

import json
import logging
import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import ytrag_core
from ytrag_core.errors import LockedError, SnapshotError
from ytrag_core.storage import reader
from ytrag_core.storage.arrays import ArraySpec, write_arrays
from ytrag_core.storage.files import is_safe_name
from ytrag_core.storage.meta import DocumentRow
from ytrag_core.storage.snapshot import FORMAT_VERSION, Manifest, Snapshot, SnapshotWriter
from ytrag_core.storage.tables import write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def fill(writer: SnapshotWriter, value: int) -> None:
    write_table(writer.path / "entities.parquet", pa.table({"id": [value, value + 1]}))
    write_arrays(
        writer.path / "vectors" / "strings.arrow", {"rows": np.full((4, 8), value, dtype=np.float16)}
    )
    (writer.path / "hnsw").mkdir()
    (writer.path / "hnsw" / "strings.bin").write_bytes(bytes([value]) * 5000)
    writer.meta.put_documents([DocumentRow("d", "made", "title", f"text {value}", f"{value}")])


def commit(writer: SnapshotWriter, value: int = 1) -> Manifest:
    return writer.commit(
        counts={"entities": 2},
        encoder={"name": "none", "dimension": 8},
        schema_version="seed",
        settings={"value": value},
        sources=["made"],
    )


def build(root: Path, value: int = 1) -> Manifest:
    with SnapshotWriter(root) as writer:
        fill(writer, value)
        return commit(writer, value)


def value_of(root: Path) -> int:
    """Return the value that every part of the live snapshot states, after checking that they agree."""
    snapshot = Snapshot.open(root, verify="full")
    value = int(snapshot.table("entities")["id"][0].as_py())
    rows = snapshot.arrays(
        "vectors/strings.arrow", {"rows": ArraySpec(np.float16, ndim=2, length=4, width=8)}
    )["rows"]
    assert (rows == value).all()
    assert snapshot.manifest.settings["value"] == value
    with snapshot.open_meta() as meta:
        assert [row.text for row in meta.documents()] == [f"text {value}"]
    return value


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    build(tmp_path / "kb")
    return tmp_path / "kb"


@contextmanager
def refused(message: str, root: Path) -> Iterator[None]:
    with pytest.raises(SnapshotError, match=message) as caught:
        yield
    assert str(root) in str(caught.value)


def test_a_snapshot_comes_back_as_it_was_written(tmp_path: Path) -> None:
    root = tmp_path / "new" / "kb"
    manifest = build(root, 3)
    assert (root / "CURRENT").read_text() == "000001\n"
    assert manifest.snapshot == "000001"
    assert manifest.format_version == FORMAT_VERSION
    assert manifest.ytrag_version == ytrag_core.__version__
    assert list(manifest.files) == ["entities.parquet", "hnsw/strings.bin", "vectors/strings.arrow"]
    snapshot = Snapshot.open(root)
    assert snapshot.manifest == manifest
    assert snapshot.number == 1
    assert value_of(root) == 3
    assert snapshot.file("hnsw/strings.bin").read_bytes() == b"\3" * 5000
    on_disk = sum(path.stat().st_size for path in snapshot.path.rglob("*") if path.is_file())
    assert snapshot.bytes_on_disk() == on_disk
    assert sorted(path.name for path in root.iterdir()) == [".lock", "CURRENT", "meta.sqlite", "snapshots"]


def test_two_snapshots_are_kept_and_readers_keep_theirs(kb: Path) -> None:
    first = Snapshot.open(kb)
    rows = first.arrays("vectors/strings.arrow")["rows"]
    for value in (2, 3, 4):
        build(kb, value)
    assert sorted(path.name for path in (kb / "snapshots").iterdir()) == ["000003", "000004"]
    assert (rows == 1).all()
    assert value_of(kb) == 4
    with refused("missing", kb):
        first.table("entities")


def test_the_writer_sees_the_previous_snapshot(kb: Path) -> None:
    with SnapshotWriter(kb) as writer:
        assert writer.previous is not None
        assert writer.previous.table("entities")["id"].to_pylist() == [1, 2]
        assert [row.text for row in writer.meta.documents()] == ["text 1"]
    with SnapshotWriter(kb.parent / "other") as writer:
        assert writer.previous is None


def test_leaving_without_commit_changes_nothing(kb: Path) -> None:
    before = sorted(kb.rglob("*"))
    with SnapshotWriter(kb) as writer:
        fill(writer, 2)
    with pytest.raises(ZeroDivisionError), SnapshotWriter(kb) as writer:
        fill(writer, 2)
        _ = 1 // 0
    assert sorted(kb.rglob("*")) == before
    assert value_of(kb) == 1


def test_a_writer_commits_once(kb: Path) -> None:
    with SnapshotWriter(kb) as writer:
        fill(writer, 2)
        commit(writer, 2)
        with refused("committed already", kb):
            commit(writer, 2)
        with refused("is complete", kb):
            writer.meta.put_documents([])
    assert value_of(kb) == 2


def test_a_link_among_the_files_is_refused(kb: Path) -> None:
    with SnapshotWriter(kb) as writer:
        fill(writer, 2)
        (writer.path / "password").symlink_to("/etc/passwd")
        with refused("not a plain file", kb):
            commit(writer, 2)
    assert value_of(kb) == 1


def test_opening_reads_no_data_file(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    real_open = Path.open

    def watched_open(self: Path, *arguments: Any, **options: Any) -> Any:
        opened.append(self.name)
        return real_open(self, *arguments, **options)

    monkeypatch.setattr(Path, "open", watched_open)
    Snapshot.open(kb)
    assert sorted(set(opened)) == ["CURRENT", "manifest.json"]
    Snapshot.open(kb, verify="full")
    assert "strings.bin" in opened


def drop_current(root: Path) -> None:
    (root / "CURRENT").unlink()


def current_says(text: str) -> Callable[[Path], None]:
    return lambda root: (root / "CURRENT").write_text(text) and None


def edit_manifest(**changes: Any) -> Callable[[Path], None]:
    def apply(root: Path) -> None:
        path = root / "snapshots" / "000001" / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return apply


def write_manifest(text: str) -> Callable[[Path], None]:
    return lambda root: (root / "snapshots" / "000001" / "manifest.json").write_text(text) and None


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
    "file missing": (remove_file, "strings.bin is missing"),
    "file truncated": (truncate, "truncated or changed"),
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


def test_a_broken_checksum_is_found_by_a_full_check(kb: Path) -> None:
    path = kb / "snapshots" / "000001" / "hnsw" / "strings.bin"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    Snapshot.open(kb)
    with refused("the checksum of hnsw/strings.bin is wrong", kb):
        Snapshot.open(kb, verify="full")


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
    import sqlite3

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


def test_unknown_tables_and_files(kb: Path) -> None:
    snapshot = Snapshot.open(kb)
    for name in ("relations", "../000001/entities", "/etc/passwd"):
        with refused("has no file", kb):
            snapshot.table(name)


def test_names_that_stay_below() -> None:
    assert all(map(is_safe_name, ["a", "a/b.c", "..a/b", "a b/ü"]))
    assert not any(
        map(is_safe_name, ["", ".", "..", "/a", "a/../b", "../a", "a//b", "a/", "./a", "a\\b", "a\0b"])
    )


def test_going_back_to_an_older_snapshot(kb: Path) -> None:
    build(kb, 2)
    (kb / "CURRENT").write_text("000001\n")
    assert value_of(kb) == 1
    assert build(kb, 5).snapshot == "000002"
    assert value_of(kb) == 5


def test_a_reader_follows_a_writer_that_replaces_what_it_opens(
    kb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = reader.read_manifest

    def slow_read(folder: Path) -> Manifest:
        monkeypatch.setattr(reader, "read_manifest", real)
        build(kb, 2)
        build(kb, 3)
        return real(folder)

    monkeypatch.setattr(reader, "read_manifest", slow_read)
    assert Snapshot.open(kb).manifest.snapshot == "000003"


def test_a_second_writer_is_locked_out(kb: Path) -> None:
    program = (
        "import sys\nfrom pathlib import Path\nfrom ytrag_core.errors import LockedError\n"
        "from ytrag_core.storage.snapshot import SnapshotWriter\n"
        "try:\n    with SnapshotWriter(Path(sys.argv[1])):\n        print('entered')\n"
        "except LockedError as error:\n    print(error)\n"
    )
    with SnapshotWriter(kb) as writer:
        fill(writer, 2)
        other = subprocess.run(
            [sys.executable, "-c", program, str(kb)], capture_output=True, text=True, check=True, timeout=120
        )
        assert f"{kb} is being written by another process (pid {os.getpid()})" in other.stdout
        with pytest.raises(LockedError), SnapshotWriter(kb, lock_timeout=0.05):
            pass
        commit(writer, 2)
    assert value_of(kb) == 2
    assert build(kb, 3).snapshot == "000003"


def test_a_file_in_place_of_a_directory(tmp_path: Path, kb: Path) -> None:
    (tmp_path / "file").write_text("x")
    with refused("is not a directory", tmp_path / "file"), SnapshotWriter(tmp_path / "file"):
        pass
    with (
        refused("a file stands where a directory", tmp_path / "file"),
        SnapshotWriter(tmp_path / "file" / "kb"),
    ):
        pass
    with SnapshotWriter(kb) as writer:
        (writer.path / "vectors").write_text("x")
        with refused("a file stands where a directory is wanted", kb):
            write_arrays(writer.path / "vectors" / "a.arrow", {})
    assert value_of(kb) == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of 6 MB of its own, or skip."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", folder], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("may not mount a small file system here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_read_only_file_system_can_be_read(small_disk: Path) -> None:
    build(small_disk / "kb")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert value_of(small_disk / "kb") == 1
    with refused("cannot be written", small_disk / "kb"), SnapshotWriter(small_disk / "kb"):
        pass
    with refused("cannot be written", small_disk / "new"), SnapshotWriter(small_disk / "new"):
        pass


@pytest.mark.skipif(
    os.geteuid() == 0, reason="nothing is read-only for root; the read-only file system covers it"
)
def test_a_read_only_directory_can_be_read(kb: Path) -> None:
    kb.chmod(0o555)
    try:
        assert value_of(kb) == 1
        with refused("cannot be written", kb), SnapshotWriter(kb):
            pass
    finally:
        kb.chmod(0o755)


def big_arrays(writer: SnapshotWriter) -> None:
    write_arrays(writer.path / "big.arrow", {"x": np.ones(10_000_000, dtype=np.int8)})


def big_table(writer: SnapshotWriter) -> None:
    noise = np.random.default_rng(1).integers(0, 1 << 60, 1_200_000)
    write_table(writer.path / "big.parquet", pa.table({"x": noise}))


def big_file(writer: SnapshotWriter) -> None:
    (writer.path / "big.bin").write_bytes(b"x" * 10_000_000)


def big_documents(writer: SnapshotWriter) -> None:
    writer.meta.put_documents(DocumentRow(str(n), "", "", "x" * 100_000, "") for n in range(100))


def big_manifest(writer: SnapshotWriter) -> None:
    writer.commit(counts={}, encoder={}, schema_version="", settings={"x": "x" * 10_000_000}, sources=[])


BIG: list[Callable[[SnapshotWriter], None]] = [big_arrays, big_table, big_file, big_documents, big_manifest]


@pytest.mark.parametrize("too_much", BIG)
def test_a_full_disk_leaves_the_previous_snapshot(
    small_disk: Path, too_much: Callable[[SnapshotWriter], None]
) -> None:
    root = small_disk / "kb"
    build(root)
    before = sorted(root.rglob("*"))
    with pytest.raises(SnapshotError, match="free some"), SnapshotWriter(root) as writer:
        fill(writer, 2)
        too_much(writer)
    assert value_of(root) == 1
    assert [path for path in sorted(root.rglob("*")) if not path.name.startswith("meta.sqlite-")] == before
    build(root, 3)
    assert value_of(root) == 3


@pytest.mark.parametrize("too_much", [big_arrays, big_table, big_manifest])
def test_a_file_size_limit_leaves_the_previous_snapshot(
    kb: Path, too_much: Callable[[SnapshotWriter], None]
) -> None:
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, old[1]))
    try:
        with refused("ulimit", kb), SnapshotWriter(kb) as writer:
            fill(writer, 2)
            too_much(writer)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert value_of(kb) == 1
    build(kb, 2)
    assert value_of(kb) == 2


def test_failing_to_prune_does_not_fail_the_build(
    kb: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    build(kb, 2)

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr("shutil.rmtree", refuse)
        build(kb, 3)
    assert "old snapshots" in caplog.text
    assert value_of(kb) == 3
    build(kb, 4)
    assert sorted(path.name for path in (kb / "snapshots").iterdir()) == ["000003", "000004"]


def test_the_room_refuses_another_import_name() -> None:
    folder = Path(ytrag_core.__file__).parent.parent
    program = "import sys; sys.path.insert(0, sys.argv[1]); import storage"
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=False
    )
    if "No module named" in done.stderr:
        pytest.skip("installed: there is no folder of that name to import")
    assert "imported as 'ytrag_core.storage'" in done.stderr
