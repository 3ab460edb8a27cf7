"""Documents, chunks, extractions, replies and records in SQLite."""

from __future__ import annotations

import sqlite3
import threading
from typing import TYPE_CHECKING

import pytest

from ytrag_core.errors import DocumentError, SnapshotError
from ytrag_core.storage.database import Database
from ytrag_core.storage.meta import META_VERSION, ChunkRow, DocumentRow, MetaStore

if TYPE_CHECKING:
    from pathlib import Path


def document(name: str, text: str = "one two three") -> DocumentRow:
    return DocumentRow(
        name, f"{name}.txt", name.title(), text, f"sha-{text}", {"year": 1999, "tags": ["ä", None]}, True
    )


def chunk(owner: DocumentRow, position: int, start: int, end: int) -> ChunkRow:
    text = owner.text[start:end]
    return ChunkRow(
        f"{owner.id}#{position}", owner.id, position, owner.title, text, start, end, f"sha-{text}"
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "meta.sqlite"


def test_documents_come_back_in_the_order_of_their_ids(path: Path) -> None:
    documents = [
        document("b"),
        document("a", "北京 𠀀 e\u0301"),
        document("ä"),
        document("Z", ""),
        document("𠀀"),
    ]
    with MetaStore(path) as meta:
        meta.put_documents(iter(documents))
        assert list(meta.documents()) == sorted(documents, key=lambda row: row.id)
        assert meta.document("a") == documents[1]
        assert meta.document("none") is None
        assert next(iter(meta.document_hashes().items())) == ("Z", "sha-")


def test_chunks_are_slices_ordered_by_document_and_position(path: Path) -> None:
    first, second = document("a", "eins 二 𠀀 drei"), document("b")
    rows = [chunk(second, 1, 4, 13), chunk(first, 0, 0, 6), chunk(second, 0, 0, 3), chunk(first, 10, 7, 13)]
    with MetaStore(path) as meta:
        meta.put_documents([first, second])
        meta.put_chunks(rows)
        assert list(meta.chunks()) == [rows[1], rows[3], rows[2], rows[0]]
        assert list(meta.chunks("b")) == [rows[2], rows[0]]
        assert list(meta.chunks("none")) == []


def test_replacing_a_document_drops_its_chunks(path: Path) -> None:
    with MetaStore(path) as meta:
        meta.put_documents([document("a"), document("b")])
        meta.put_chunks([chunk(document("a"), 0, 0, 3), chunk(document("b"), 0, 0, 3)])
        meta.put_documents([document("a", "other"), document("a", "last")])
        assert meta.document("a") == document("a", "last")
        assert [row.id for row in meta.chunks()] == ["b#0"]
        meta.delete_documents(["b", "unknown"])
        assert list(meta.chunks()) == []
        assert [row.id for row in meta.documents()] == ["a"]


def test_chunks_that_do_not_fit_are_refused(path: Path) -> None:
    owner = document("a")
    with MetaStore(path) as meta:
        meta.put_documents([owner])
        with pytest.raises(DocumentError, match="'b', which is not stored"):
            meta.put_chunks([chunk(document("b"), 0, 0, 3)])
        with pytest.raises(DocumentError, match="is not what is at 0:3"):
            meta.put_chunks([ChunkRow("a#0", "a", 0, "", "two", 0, 3, "")])
        meta.put_chunks([chunk(owner, 0, 0, 3)])
        for start in (0, 1):
            with pytest.raises(DocumentError, match="'a#0' of document 'a' is taken"):
                meta.put_chunks([chunk(owner, n, 0, 3) for n in range(start, 3)] + [chunk(owner, 0, 0, 3)])
        assert len(list(meta.chunks())) == 1


def test_readers_see_their_snapshot_only(path: Path) -> None:
    with MetaStore(path) as meta:
        meta.put_documents([document("a", "old"), document("gone")])
        meta.put_chunks([chunk(document("a", "old"), 0, 0, 3)])
    with MetaStore(path, snapshot=1, writable=False) as reader, MetaStore(path, snapshot=1) as writer:
        writer.put_documents([document("a", "new"), document("more")])
        writer.put_chunks([chunk(document("a", "new"), 0, 0, 3)])
        writer.delete_documents(["gone"])
        assert reader.document_hashes() == {"a": "sha-old", "gone": "sha-old".replace("old", "one two three")}
        assert [row.text for row in reader.chunks()] == ["old"]
        assert writer.document_hashes().keys() == {"a", "more"}
        assert [row.text for row in writer.chunks()] == ["new"]
    with MetaStore(path, snapshot=2) as writer:
        writer.prune(2)
        assert writer.document_hashes().keys() == {"a", "more"}
    with MetaStore(path, snapshot=1, writable=False) as reader:
        assert reader.document_hashes() == {}, (
            "pruned: nothing is left of snapshot 1 but what has not changed since"
        )


def test_an_unfinished_build_is_undone(path: Path) -> None:
    with MetaStore(path) as meta:
        meta.put_documents([document("a", "old"), document("gone")])
    with MetaStore(path, snapshot=1) as meta:
        meta.put_documents([document("a", "new"), document("more")])
        meta.delete_documents(["gone"])
        meta.put_reply("key", "model", "reply")
    with MetaStore(path, snapshot=1) as meta:
        meta.drop_unfinished()
        assert meta.document_hashes().keys() == {"a", "gone"}
        assert meta.document("a") == document("a", "old")
        assert meta.reply("key", "model") == "reply"


def test_extractions_replies_and_records(path: Path) -> None:
    payload = {"entities": ["Ü", "\ud800"], "triples": [["a", "b", "c"]]}
    with MetaStore(path) as meta:
        meta.put_extractions("offline-1", ((f"sha{n}", payload | {"n": n}) for n in range(1200)))
        meta.put_extractions("llm", [("sha1", {})])
        found = meta.extractions("offline-1", [f"sha{n}" for n in range(600, 1300)])
        assert len(found) == 600
        assert found["sha700"] == payload | {"n": 700}
        assert meta.extractions("llm", ["sha1", "sha2"]) == {"sha1": {}}
        assert meta.reply("k", "m") is None
        meta.put_reply("k", "m", "first")
        meta.put_reply("k", "m", "then \ud800")
        assert meta.reply("k", "m") == "then \ud800"
        for name, value in (("b", 1), ("a", {"x": [1.5]}), ("b", None)):
            meta.put_record("settings", name, value)
        assert list(meta.records("settings").items()) == [("b", None), ("a", {"x": [1.5]})]
        assert meta.records("jobs") == {}


def test_values_that_cannot_be_stored(path: Path) -> None:
    with MetaStore(path) as meta:
        with pytest.raises(DocumentError, match="'a': its text has lone surrogates"):
            meta.put_documents([document("a", "x\ud800")])
        with pytest.raises(DocumentError, match="'a' carries cannot be stored as JSON"):
            meta.put_documents([DocumentRow("a", "", "", "", "", {"x": float("nan")})])
        with pytest.raises(DocumentError, match="cannot be stored as JSON"):
            meta.put_record("jobs", "a", {1, 2})
        assert list(meta.documents()) == []


def test_iterating_while_writing(path: Path) -> None:
    with MetaStore(path) as meta:
        meta.put_documents(document(f"{n:04d}") for n in range(50))
        seen = []
        for row in meta.documents():
            seen.append(row.id)
            meta.put_documents([document(f"{row.id}-more")])
            meta.put_chunks([chunk(row, 0, 0, 3)])
        assert seen == [f"{n:04d}" for n in range(50)]
        assert len(meta.document_hashes()) == 100


def test_threads_share_a_store(path: Path) -> None:
    with MetaStore(path) as meta:

        def put(worker: int) -> None:
            for n in range(10):
                meta.put_reply(f"{worker}-{n}", "m", "x")

        threads = [threading.Thread(target=put, args=(worker,)) for worker in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(meta.reply(f"{worker}-{n}", "m") for worker in range(4) for n in range(10))


def test_files_that_are_not_ours(path: Path) -> None:
    with pytest.raises(SnapshotError, match="is missing"):
        MetaStore(path, writable=False)
    path.write_bytes(b"no database at all, but long enough to be taken for one" * 40)
    for writable in (True, False):
        with pytest.raises(SnapshotError, match="not a SQLite file"):
            MetaStore(path, writable=writable)
    path.write_bytes(b"")
    with pytest.raises(SnapshotError, match="another program"):
        MetaStore(path, writable=False)
    MetaStore(path).close()


def test_a_newer_format_is_refused(path: Path) -> None:
    MetaStore(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version={META_VERSION + 1}")
    connection.close()
    for writable in (True, False):
        with pytest.raises(SnapshotError, match="upgrade ytrag"):
            MetaStore(path, writable=writable)


def test_a_file_that_others_open_or_close_is_opened_a_little_later(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, n_refused = Database._connect, 0

    def connect(database: Database) -> sqlite3.Connection:
        nonlocal n_refused
        if n_refused < 3:
            n_refused += 1
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorname = "SQLITE_BUSY_RECOVERY"
            raise error
        return real(database)

    monkeypatch.setattr(Database, "_connect", connect)
    with MetaStore(path) as meta:
        meta.put_documents([document("a")])
    assert n_refused == 3


def test_a_damaged_file_is_an_error(path: Path) -> None:
    with MetaStore(path) as meta:
        meta.put_documents(document(str(n), "x" * 3000) for n in range(200))
    content = bytearray(path.read_bytes())
    for page in range(4096, len(content), 4096):
        content[page : page + 100] = b"\xff" * 100
    path.write_bytes(content)
    with MetaStore(path, snapshot=1, writable=False) as meta, pytest.raises(SnapshotError, match="damaged"):
        list(meta.documents())


def test_a_read_only_store_is_not_written(path: Path) -> None:
    MetaStore(path).close()
    with MetaStore(path, snapshot=1, writable=False) as meta:
        with pytest.raises(SnapshotError, match="start another writer"):
            meta.put_documents([document("a")])
        with pytest.raises(SnapshotError, match="opened read-only"):
            meta.put_reply("k", "m", "x")
