"""Documents that are stored in pieces are what they are when stored as a whole; a failure costs only them."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import pytest

from tests.bases import table_rows
from tests.test_documents_chunking import WORDS
from tests.test_documents_streaming import CHAPTERS, CHINESE, ENGLISH, TALES
from tests.tiny_bases import CountingEncoder, tiny_encoder
from ytrag_core.config import BuildSettings
from ytrag_core.documents import chunking, source
from ytrag_core.documents.chunking import cut_passages
from ytrag_core.documents.model import Document, LongDocument, Problem
from ytrag_core.documents.read import read_documents
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.pipeline.draft_sample import read_sample
from ytrag_core.pipeline.records import store_documents
from ytrag_core.pipeline.report import no_progress
from ytrag_core.storage import long_texts
from ytrag_core.storage.layout import META_NAME
from ytrag_core.storage.long_texts import StoredText, long_text, long_text_size, put_long_text
from ytrag_core.storage.meta import MetaStore
from ytrag_core.storage.salvage import salvage_meta

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ytrag_core.documents.model import Chunk


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "_BLOCK", 700)
    monkeypatch.setattr(long_texts, "_PIECE", 100)
    monkeypatch.setattr(long_texts, "_TOGETHER", 3)


@contextmanager
def streaming() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "LONG_BYTES", 0)
        patch.setattr(source, "_PIECE", 500)
        yield


def cut(document: Document | LongDocument) -> Iterator[Chunk]:
    return cut_passages(document, WORDS, max_tokens=24, overlap=8)


def store(meta: MetaStore, *paths: Path) -> list[Problem]:
    found = [item for item in read_documents(paths) if not isinstance(item, Problem)]
    problems: list[Problem] = []
    store_documents(meta, found, "way", cut, problems)
    return problems


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, text in (("chapters.txt", CHAPTERS), ("tales.md", TALES), ("doors.txt", ENGLISH * 2)):
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "rows.csv").write_text(f"a,b\n1,{ENGLISH}\n2,{CHINESE}\n", encoding="utf-8")
    return folder


def test_rows_are_the_same(tmp_path: Path, folder: Path) -> None:
    with MetaStore(tmp_path / "whole.sqlite") as whole, MetaStore(tmp_path / "long.sqlite") as long:
        assert store(whole, folder) == []
        with streaming():
            assert store(long, folder) == []
        assert list(long.chunks()) == list(whole.chunks())
        assert len(list(long.chunks())) > 50
        assert long.document_hashes() == whole.document_hashes()
        texts = {row.id: row.text for row in whole.documents()}
        for row in long.documents():
            assert row.text == ""
            assert "".join(long_text(long.database, row.sha256)) == texts[row.id]
            size = long_text_size(long.database, row.sha256)
            assert size == (len(texts[row.id]), len(texts[row.id].encode()))
            assert list(long.chunks(row.id)) == list(whole.chunks(row.id))
        assert [row.text for row in whole.documents(with_text=False)] == [""] * 4
        assert whole.database.rows("SELECT 1 FROM sqlite_master WHERE name = 'text_pieces'") == []
        before = long.database.rows("SELECT total(added), count(*) FROM chunks")
        store(long, folder)  # as wholes: unchanged
        assert long.database.rows("SELECT total(added), count(*) FROM chunks") == before


def test_slices_of_stored_texts(tmp_path: Path) -> None:
    text = CHINESE + ENGLISH[:333] + "🚪"
    with MetaStore(tmp_path / "meta.sqlite") as meta:
        put_long_text(meta.database, "sha", ["lost"])
        put_long_text(meta.database, "sha", [text[:1], "", text[1:950], text[950:]])
        stored = StoredText(meta.database, "sha", "")
        for start in range(0, len(text) + 3, 13):
            for length in (0, 1, 99, 100, 101, 350):
                assert stored.slice(start, start + length) == text[start : start + length]
        assert StoredText(meta.database, "none", "").slice(0, 9) == ""
        assert StoredText(meta.database, "none", "short").slice(1, 3) == "ho"


def test_texts_of_no_document_are_dropped(tmp_path: Path, folder: Path) -> None:
    with MetaStore(tmp_path / "meta.sqlite") as meta, streaming():
        store(meta, folder)
        kept = {row.sha256 for row in meta.documents() if not row.id.endswith("doors.txt")}
    with MetaStore(tmp_path / "meta.sqlite", snapshot=1) as meta, streaming():
        (folder / "doors.txt").write_text(ENGLISH * 3, encoding="utf-8")
        store(meta, folder)
    with MetaStore(tmp_path / "meta.sqlite", snapshot=2) as meta:
        meta.prune(1)
        assert len(_stored(meta)) == 5
        meta.prune(2)
        assert len(_stored(meta)) == 4
        assert kept < _stored(meta)


def _stored(meta: MetaStore) -> set[str]:
    return {sha256 for (sha256,) in meta.database.rows("SELECT DISTINCT sha256 FROM text_pieces")}


@pytest.mark.parametrize("moment", ["before it is hashed", "before it is stored", "while it is cut"])
def test_a_text_that_changes_meanwhile_leaves_its_former_version(
    moment: str, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "doors.txt"
    with MetaStore(tmp_path / "meta.sqlite") as meta, streaming():
        store(meta, folder)
        former = list(meta.chunks())
    path.write_text(ENGLISH * 3, encoding="utf-8")
    passes = 0
    original = source.Source.pieces

    def pieces(self: source.Source) -> Iterator[bytes]:
        nonlocal passes
        if self.name.endswith("doors.txt"):
            passes += 1
            if passes == {"before it is hashed": 4, "before it is stored": 5}.get(moment):
                path.write_text(CHINESE, encoding="utf-8")
        return original(self)

    monkeypatch.setattr(source.Source, "pieces", pieces)
    with MetaStore(tmp_path / "meta.sqlite", snapshot=1) as meta, streaming():
        problems = store(meta, folder)
        rows = list(meta.chunks())
    if moment == "while it is cut":  # what was stored is cut, whatever becomes of the file
        assert problems == []
        assert passes == 5
        assert len(rows) > len(former)
    else:
        ((where, reason),) = [(problem.source, problem.reason) for problem in problems]
        assert where.endswith("doors.txt")
        assert reason == "it changed while it was read; index it again"
        assert rows == former


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> CountingEncoder:
    return tiny_encoder(tmp_path_factory.mktemp("long"))


def test_a_knowledge_base_of_long_texts(tmp_path: Path, folder: Path, encoder: CountingEncoder) -> None:
    whole, long = tmp_path / "whole", tmp_path / "long"
    KnowledgeBase.build(whole, [folder], encoder=encoder)
    with streaming():
        KnowledgeBase.build(long, [folder], encoder=encoder)
    for table in ("documents", "chunks", "triples"):
        assert table_rows(long, table) == table_rows(whole, table)
    # Other sizes: cut anew from the pieces that are stored, whether or not the files are still there.
    for path in folder.iterdir():
        path.unlink()
    (folder / "more.txt").write_text("A word more.", encoding="utf-8")
    settings = BuildSettings(max_tokens=40, chunk_overlap=16)
    for root in (whole, long):
        report = KnowledgeBase.build(root, [folder], encoder=encoder, settings=settings)
        assert report.problems == ()
    assert table_rows(long, "chunks") == table_rows(whole, "chunks")
    with sqlite3.connect(long / META_NAME) as connection:
        (n_texts,) = connection.execute("SELECT count(DISTINCT sha256) FROM text_pieces").fetchone()
    connection.close()
    assert n_texts == 8  # of this snapshot and of the one before


def test_a_sample_of_long_texts(folder: Path) -> None:
    whole = read_sample([folder], WORDS, 12, 24, no_progress)
    with streaming():
        assert read_sample([folder], WORDS, 12, 24, no_progress) == whole


def test_windows_of_a_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ytrag_core.pipeline.draft_sample._WINDOW", 90)
    path = tmp_path / "a.txt"
    path.write_text(ENGLISH, encoding="utf-8")
    whole = read_sample([path], WORDS, 40, 12, no_progress)
    with streaming():
        assert read_sample([path], WORDS, 40, 12, no_progress) == whole
    assert len(whole.chunks) > 8


def test_long_texts_are_saved_from_a_damaged_store(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / META_NAME
    with streaming(), MetaStore(path) as meta:
        store(meta, folder)
    salvage_meta(path, tmp_path / "saved.sqlite")
    before, after = pieces_of(path), pieces_of(tmp_path / "saved.sqlite")
    assert after == before
    assert len(before) > 10


def pieces_of(path: Path) -> list[tuple[str, int, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT * FROM text_pieces ORDER BY sha256, number").fetchall()
