"""Text files to a snapshot: builds add up, only what changed is worked on, a bad file harms no other."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.bases import table_bytes, table_rows, write_lines, write_openie
from ytrag_core.config import BuildSettings
from ytrag_core.errors import DocumentError, SnapshotError
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.report import BuildReport

MILL = "# The Mill\n\nThe Orrin Mill stands on the River Quell. Bastian Orrel built the Orrin Mill in 1766.\n"
TOWER = "The Salt Tower was designed by Rufina Stell. Rufina Stell was born in Ismarra in 1742."
RECORDS: list[object] = [
    {"id": "r1", "title": "Gull", "text": "The Gull sailed from Nimbrel.", "year": 1801},
    {"text": "Perrin Dask founded the Heron Press in Quellmouth."},
    {"id": "zh", "title": "盐管风琴", "text": "盐管风琴由托宾·阿克韦尔于1690年建造，立在宁布雷尔。"},
]


def index(root: Path, *paths: Path, encoder: Encoder, settings: BuildSettings | None = None) -> BuildReport:
    return KnowledgeBase.build(root, paths, format="documents", encoder=encoder, settings=settings)


def items(report: BuildReport, stage: str) -> int:
    return next(row.items for row in report.stages if row.name == stage)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "mill.md").write_text(MILL, encoding="utf-8")
    (folder / "tower.txt").write_text(TOWER, encoding="utf-8")
    write_lines(folder / "records.jsonl", RECORDS)
    return folder


def test_text_markdown_and_records_are_indexed(tmp_path: Path, library: Path, encoder: Encoder) -> None:
    report = index(tmp_path / "kb", library, encoder=encoder)
    assert (report.counts["documents"], report.counts["chunks"]) == (5, 5)
    assert items(report, "read") == items(report, "extract") == 5
    assert report.problems == ()
    documents = {row["title"]: row for row in table_rows(tmp_path / "kb", "documents")}
    assert {"The Mill", "tower", "Gull", "盐管风琴"} < set(documents)
    assert documents["Gull"]["metadata"] == '{"year": 1801}'
    chunks = {row["title"]: row for row in table_rows(tmp_path / "kb", "chunks")}
    assert (chunks["Gull"]["id"], chunks["盐管风琴"]["id"]) == ("r1", "zh")
    texts = {"The Mill": MILL, "tower": TOWER, "Gull": "The Gull sailed from Nimbrel."}
    for title, text in texts.items():
        assert chunks[title]["text"] == text[chunks[title]["start"] : chunks[title]["end"]]
    entities = {row["name"] for row in table_rows(tmp_path / "kb", "entities")}
    assert {"Rufina Stell", "Ismarra", "River Quell", "Bastian Orrel", "Heron Press"} <= entities
    kb = KnowledgeBase.open(tmp_path / "kb", encoder=encoder)
    assert kb.retrieve("Where was the designer of the Salt Tower born?").chunks[0].title == "tower"
    assert kb.retrieve("盐管风琴是谁建造的？").chunks[0].id == "zh"


def test_a_second_run_works_on_nothing(tmp_path: Path, library: Path, encoder: Encoder) -> None:
    first = index(tmp_path / "kb", library, encoder=encoder)
    tables = table_bytes(tmp_path / "kb")
    second = index(tmp_path / "kb", library, encoder=encoder)
    assert items(first, "extract") == 5
    assert (items(second, "extract"), second.encoded_strings) == (0, 0)
    assert second.counts == first.counts
    assert table_bytes(tmp_path / "kb") == tables


def test_runs_add_up_to_one_run(tmp_path: Path, library: Path, encoder: Encoder) -> None:
    index(tmp_path / "parts", library / "mill.md", encoder=encoder)
    report = index(tmp_path / "parts", library / "records.jsonl", library / "tower.txt", encoder=encoder)
    assert items(report, "extract") == 4
    assert report.counts["documents"] == 5
    index(tmp_path / "whole", library, encoder=encoder)
    assert table_bytes(tmp_path / "parts") == table_bytes(tmp_path / "whole")


def test_a_changed_document_is_replaced(tmp_path: Path, library: Path, encoder: Encoder) -> None:
    index(tmp_path / "kb", library, encoder=encoder)
    (library / "tower.txt").write_text("The Wind Tower was designed by Hesper Dray.", encoding="utf-8")
    report = index(tmp_path / "kb", library, encoder=encoder)
    assert (report.counts["documents"], items(report, "extract")) == (5, 1)
    entities = {row["name"] for row in table_rows(tmp_path / "kb", "entities")}
    assert {"Wind Tower", "Hesper Dray", "Bastian Orrel"} <= entities
    assert not {"Salt Tower", "Rufina Stell", "Ismarra"} & entities
    texts = [row["text"] for row in table_rows(tmp_path / "kb", "chunks")]
    assert TOWER not in texts
    index(tmp_path / "fresh", library, encoder=encoder)
    assert table_bytes(tmp_path / "kb") == table_bytes(tmp_path / "fresh")


def test_a_moved_text_is_not_extracted_again(tmp_path: Path, library: Path, encoder: Encoder) -> None:
    index(tmp_path / "kb", library / "tower.txt", encoder=encoder)
    (library / "copy").mkdir()
    copied = library / "copy" / "tower.txt"
    copied.write_text(TOWER, encoding="utf-8")
    report = index(tmp_path / "kb", copied, encoder=encoder)
    assert (report.counts["documents"], report.counts["chunks"]) == (2, 2)
    assert (items(report, "extract"), report.encoded_strings) == (0, 0)
    ids = [row["id"] for row in table_rows(tmp_path / "kb", "chunks")]
    assert len(set(ids)) == 2


def test_another_chunk_size_cuts_again(tmp_path: Path, encoder: Encoder) -> None:
    text = tmp_path / "long.txt"
    text.write_text(
        " ".join(f"Ada Stell visited Port {name}." for name in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), "utf-8"
    )
    one = index(tmp_path / "kb", text, encoder=encoder)
    many = index(tmp_path / "kb", text, encoder=encoder, settings=BuildSettings(max_tokens=32))
    assert (one.counts["chunks"], many.counts["documents"]) == (1, 1)
    assert many.counts["chunks"] == items(many, "extract") > 3
    rows = table_rows(tmp_path / "kb", "chunks")
    assert all(row["start"] < row["end"] <= after["start"] for row, after in pairwise(rows))
    assert table_rows(tmp_path / "kb", "documents")[0]["n_chunks"] == len(rows)


def test_broken_files_are_problems_and_the_rest_is_indexed(
    tmp_path: Path, library: Path, encoder: Encoder
) -> None:
    (library / "empty.txt").write_bytes(b" \n")
    (library / "binary.txt").write_bytes(b"\x00\x01\x02" * 50)
    (library / "picture.png").write_bytes(b"\x89PNG")
    (library / "broken.md").symlink_to(library / "nowhere")
    write_lines(
        library / "more.jsonl", ['{"text": ', {"id": "r1", "text": "again"}, {"id": "r9", "text": "Fine."}]
    )
    report = index(tmp_path / "kb", library, encoder=encoder)
    assert report.counts["documents"] == 6
    where = [problem.source.rsplit("/", 1)[-1] for problem in report.problems]
    assert sorted(where) == [
        "binary.txt",
        "broken.md",
        "empty.txt",
        "more.jsonl:1",
        "picture.png",
        "records.jsonl:1",
    ]
    assert all(problem.reason for problem in report.problems)


def test_a_build_without_text_removes_what_it_made_and_nothing_else(tmp_path: Path, encoder: Encoder) -> None:
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    empty = tmp_path / "there"
    empty.mkdir()
    for root in (empty, tmp_path / "deep" / "kb"):
        with pytest.raises(DocumentError, match="no text was found"):
            index(root, tmp_path / "picture.png", encoder=encoder)
    assert list(empty.iterdir()) == []
    assert not (tmp_path / "deep").exists()


def test_nothing_readable_leaves_no_snapshot(tmp_path: Path, library: Path, encoder: Encoder) -> None:
    root = tmp_path / "kb"
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    with pytest.raises(
        DocumentError, match=r"no text was found in .*picture\.png.*\n.*unknown file type '\.png'"
    ):
        index(root, tmp_path / "picture.png", encoder=encoder)
    assert not root.exists()
    with pytest.raises(DocumentError, match=r"nowhere.*does not exist"):
        index(root, library, tmp_path / "nowhere", encoder=encoder)
    with pytest.raises(SnapshotError):
        Snapshot.open(root)
    assert index(root, library, encoder=encoder).snapshot == "000001"


def test_nothing_readable_leaves_the_snapshot_before(tmp_path: Path, library: Path, encoder: Encoder) -> None:
    index(tmp_path / "kb", library, encoder=encoder)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    tables = table_bytes(tmp_path / "kb")
    report = index(tmp_path / "kb", tmp_path / "picture.png", encoder=encoder)
    assert [problem.source for problem in report.problems] == [str(tmp_path / "picture.png")]
    assert table_bytes(tmp_path / "kb") == tables


def test_recorded_passages_and_documents_live_together(
    tmp_path: Path, library: Path, encoder: Encoder
) -> None:
    corpus: list[object] = [
        {"id": "a", "title": "Note", "text": "Rufina Stell met Anselm Quade at the Lantern Library."},
        {"id": "b", "title": "Note", "text": "Lucan Ferrow met Agnes Dask at the Frost Palace."},
    ]
    record = {"passage_id": "a", "entities": [], "triples": [["Rufina Stell", "met", "Anselm Quade"]]}
    KnowledgeBase.build(
        tmp_path / "kb", [write_openie(tmp_path / "in", corpus, [record])], format="openie", encoder=encoder
    )
    report = index(tmp_path / "kb", library / "tower.txt", encoder=encoder)
    assert report.counts["documents"] == 3
    assert items(report, "extract") == 1
    entities = {row["name"] for row in table_rows(tmp_path / "kb", "entities")}
    assert {"Anselm Quade", "Rufina Stell", "Salt Tower"} <= entities
    assert not {"Lantern Library", "Lucan Ferrow"} & entities
    kb = KnowledgeBase.open(tmp_path / "kb", encoder=encoder)
    assert [source["format"] for source in kb.info()["sources"]] == ["openie", "documents"]
