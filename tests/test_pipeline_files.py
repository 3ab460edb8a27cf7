"""Files of all kinds to a snapshot: chunk fields, broken files, and knowledge bases of before."""

from __future__ import annotations

import codecs
import hashlib
import json
import sqlite3
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from tests.bases import live_folder, table_rows, write_lines
from tests.made_files import Put, column, docx, nested, paragraph, pdf, zipped
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder

QUAY = [
    "The quay of Nimbrel was built by Rufina",
    "Stell in 1742, of stone from Orrin, and",
    "it stands to this day.",
]
TOWER = [
    "The Salt Tower was drawn by Hesper Dray,",
    "who taught in Ismarra for many years and",
    "died there in 1790.",
]
NOTES = "# Notes\n\nOn towers.\n\n## Bells\n\nThe bell of the Orrin Mill was cast by Bastian Orrel.\n"


def quays() -> bytes:
    return pdf(
        [column(QUAY, 50, 700), [Put(50, 740, "Towers", 18), *column(TOWER, 50, 700)]], title="On Quays"
    )


def test_chunks_know_title_page_heading_and_metadata(tmp_path: Path, encoder: Encoder) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra docs")
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "quays.pdf").write_bytes(quays())
    (folder / "notes.md").write_text(
        NOTES + "\n" + "The mill stands on the River Quell. " * 40, encoding="utf-8"
    )
    (folder / "t.docx").write_bytes(
        docx(paragraph("Kilns", "H1") + paragraph("Perrin Dask ran the lime kiln."))
    )
    write_lines(folder / "r.jsonl", [{"id": "r", "text": "The Gull sailed from Nimbrel.", "year": 1801}])
    root = tmp_path / "kb"
    report = KnowledgeBase.build(root, [folder], encoder=encoder)
    assert report.problems == ()
    documents = table_rows(root, "documents")
    chunks = table_rows(root, "chunks")
    by_title = {row["title"]: row for row in reversed(chunks)}
    assert {"On Quays", "Notes", "Kilns", ""} == set(by_title)
    quay = by_title["On Quays"]
    assert (quay["page"], quay["heading"], json.loads(quay["metadata"])["pages"]) == (1, "", 2)
    assert [row["heading"] for row in chunks if row["title"] == "Notes"] == ["", "Bells"]
    assert [row["page"] for row in chunks if row["title"] != "On Quays"] == [None] * (len(chunks) - 1)
    for row in chunks:
        assert row["metadata"] == documents[row["document"]]["metadata"]
    assert by_title[""]["metadata"] == '{"year": 1801}'
    with Snapshot.open(root).open_meta() as meta:
        texts = {document.id: document.text for document in meta.documents()}
        for kept in meta.chunks():
            assert texts[kept.document_id][kept.start : kept.end] == kept.text
    evidence = KnowledgeBase.open(root, encoder=encoder).retrieve("Who cast the bell of the Orrin Mill?")
    hits = evidence.to_json()["chunks"]
    assert [hit["page"] for hit in hits if hit["title"] == "On Quays"] == [1]
    assert not any("page" in hit for hit in hits if hit["title"] != "On Quays")
    assert [hit["heading"] for hit in hits if "heading" in hit] == ["Bells"]


def test_each_broken_file_is_told_and_the_rest_is_indexed(tmp_path: Path, encoder: Encoder) -> None:
    pytest.importorskip("pypdfium2", reason="needs the extra docs")
    pytest.importorskip("selectolax", reason="needs the extra docs")
    folder = tmp_path / "in"
    folder.mkdir()
    broken: dict[str, tuple[bytes, str]] = {
        "empty.txt": (b"", "the file is empty"),
        "empty.pdf": (b"", "the file is empty"),
        "empty.html": (b"", "the file is empty"),
        "empty.csv": (b"", "the file is empty"),
        "binary.txt": (b"\x00\x01\x02" * 50, "binary"),
        "binary.docx": (b"\x00\x01\x02" * 50, "not a Word document"),
        "encrypted.pdf": (pdf([column(QUAY, 50, 700)], encrypted=True), "encrypted"),
        "scanned.pdf": (pdf([[], []]), "no text layer on any of its 2 pages"),
        "cut.pdf": (quays()[:300], "not a PDF"),
        "cyrillic.txt": ("Он был построен в 1742 году.".encode("cp1251"), "save the file as UTF-8"),
        "marked.md": (codecs.BOM_UTF16_LE + b"\0", "marked as utf-16"),
        "broken.json": (b'{"a": ', "not valid JSON"),
        "picture.png": (b"\x89PNG", "unknown file type '.png'"),
        "cut.zip": (zipped({"a.txt": "x"})[:-10], "not a zip archive"),
        "deep.zip": (nested(10), "more than 3 deep"),
        "bomb.zip": (zipped({"zeros.txt": bytes(40 << 20)}), "unpack to more than"),
    }
    for name, (data, _) in broken.items():
        (folder / name).write_bytes(data)
    (folder / "good.txt").write_text("Rufina Stell was born in Ismarra.", encoding="utf-8")
    (folder / "good.html").write_text("<p>Hesper Dray lived in Nimbrel.</p>", encoding="utf-8")
    (folder / "good.zip").write_bytes(zipped({"塔.txt": "盐塔由鲁菲娜·斯特尔设计。"}))
    report = KnowledgeBase.build(tmp_path / "kb", [folder], encoder=encoder)
    assert report.counts["documents"] == 3
    told = {
        problem.source.removeprefix(f"{folder.as_posix()}/"): problem.reason for problem in report.problems
    }
    assert {where.partition("/")[0] for where in told} == set(broken)
    assert len(told) == len(report.problems) == len(broken)
    for where, reason in told.items():
        assert broken[where.partition("/")[0]][1] in reason


def as_of_before(root: Path) -> None:
    """Take from a knowledge base what earlier versions did not write."""
    folder = live_folder(root)
    path = folder / "chunks.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["page", "heading", "metadata"]), path)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    data = path.read_bytes()
    manifest["files"]["chunks.parquet"] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    connection = sqlite3.connect(root / "meta.sqlite")
    for column_name in ("page", "heading"):
        connection.execute(f"ALTER TABLE chunks DROP COLUMN {column_name}")
    connection.execute("UPDATE documents SET sha256 = ''")
    connection.execute("PRAGMA user_version=1")
    connection.commit()
    connection.close()


def test_a_knowledge_base_of_before_opens_and_grows(tmp_path: Path, encoder: Encoder) -> None:
    notes, more = tmp_path / "notes.txt", tmp_path / "more.txt"
    notes.write_text("CHAPTER I\n\nThe bell was cast by Bastian Orrel.\n", encoding="utf-8")
    more.write_text("Rufina Stell was born in Ismarra.", encoding="utf-8")
    root = tmp_path / "kb"
    KnowledgeBase.build(root, [notes], encoder=encoder)
    as_of_before(root)
    (hit,) = KnowledgeBase.open(root, encoder=encoder).retrieve("Who cast the bell?").chunks
    assert (hit.page, hit.heading) == (None, "")
    with Snapshot.open(root).open_meta() as meta:
        assert [(row.page, row.heading) for row in meta.chunks()] == [(None, "")]
    KnowledgeBase.reembed(root, encoder=encoder)
    assert [row["heading"] for row in table_rows(root, "chunks")] == [None]
    as_of_before(root)
    report = KnowledgeBase.build(root, [more], encoder=encoder)
    assert report.counts["documents"] == 2
    assert {row["heading"] for row in table_rows(root, "chunks")} == {""}
    again = KnowledgeBase.build(root, [notes], encoder=encoder)
    assert again.encoded_strings == 0
    assert {row["heading"] for row in table_rows(root, "chunks")} == {"", "CHAPTER I"}


def test_a_long_text_shows_how_far_it_is(
    tmp_path: Path, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ytrag_core.pipeline.cutting._LONG_TEXT", 100)
    (tmp_path / "long.txt").write_text("Rufina Stell was born in Ismarra. " * 20, encoding="utf-8")
    seen: list[tuple[str, int, int | None]] = []
    KnowledgeBase.build(
        tmp_path / "kb", [tmp_path / "long.txt"], encoder=encoder,
        progress=lambda stage, done, total: seen.append((stage, done, total)),
    )  # fmt: skip
    assert ("cut long.txt", 680, 680) in seen
