"""Opening and writing snapshots: what is refused, and what is left behind."""

from __future__ import annotations

import logging
import os
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
from ytrag_core.storage.manifest import read_manifest
from ytrag_core.storage.meta import DocumentRow
from ytrag_core.storage.snapshot import FORMAT_VERSION, Manifest, Snapshot, SnapshotWriter
from ytrag_core.storage.tables import write_table
from ytrag_core.storage.verified import STAMPS_NAME

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
        counts={"entities": np.int64(2)},
        encoder={"name": "none", "dimension": 8},
        schema_version="seed",
        settings={"value": value, "pair": (1, 2)},
        sources=["made"],
    )


def build(root: Path, value: int = 1) -> Manifest:
    with SnapshotWriter(root) as writer:
        fill(writer, value)
        return commit(writer, value)


def build_with(root: Path, last: Callable[[SnapshotWriter], object]) -> None:
    with SnapshotWriter(root) as writer:
        fill(writer, 2)
        last(writer)


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
    assert manifest.counts == {"entities": 2}
    assert manifest.settings == {"value": 3, "pair": [1, 2]}
    assert list(manifest.files) == ["entities.parquet", "hnsw/strings.bin", "vectors/strings.arrow"]
    snapshot = Snapshot.open(root)
    assert snapshot.manifest == manifest
    assert snapshot.number == 1
    assert value_of(root) == 3
    assert snapshot.file("hnsw/strings.bin").read_bytes() == b"\3" * 5000
    files = [path for path in snapshot.path.rglob("*") if path.is_file() and path.name != STAMPS_NAME]
    on_disk = sum(path.stat().st_size for path in files)
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
    with pytest.raises(ZeroDivisionError):
        build_with(kb, lambda _: 1 // 0)
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
    assert sorted(set(opened)) == [".verified", "CURRENT", "manifest.json"]
    Snapshot.open(kb, verify="full")
    assert "strings.bin" in opened


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
    real = read_manifest

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
            [sys.executable, "-c", program, str(kb)], capture_output=True, text=True, check=True, timeout=600
        )
        assert f"{kb} is being written by another process (pid {os.getpid()})" in other.stdout
        with pytest.raises(LockedError), SnapshotWriter(kb, lock_timeout=0.05):
            pass
        commit(writer, 2)
    assert value_of(kb) == 2
    assert build(kb, 3).snapshot == "000003"


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
