"""Sizes of passages: settings that last, and a change of them cuts everything anew from what is stored."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.bases import table_bytes, table_rows, write_lines, write_openie
from tests.tiny_bases import CountingEncoder, tiny_encoder
from ytrag_core.config import BuildSettings
from ytrag_core.errors import ConfigError
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.pipeline import cutting
from ytrag_core.pipeline.settings import settings_for
from ytrag_core.storage.outlines import read_outline
from ytrag_core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from pathlib import Path

ENGLISH = "\n\n".join(
    f"## Part {part}\n\n" + " ".join(f"The mill number {part}{n} stands on a river." for n in range(6))
    for part in range(3)
)
CHINESE = "".join(f"第{n}座老桥立在城北的河上，桥下的水很急。" for n in range(12))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> CountingEncoder:
    return tiny_encoder(tmp_path_factory.mktemp("cutting"))


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "mill.md").write_text(f"# Mills\n\n{ENGLISH}\n", encoding="utf-8")
    write_lines(folder / "bridges.jsonl", [{"id": "zh", "title": "桥", "text": CHINESE}])
    return folder


def passages(root: Path) -> list[tuple[str, int, int, str]]:
    return [(row["id"], row["start"], row["end"], row["heading"]) for row in table_rows(root, "chunks")]


def index(
    root: Path,
    folder: Path,
    encoder: CountingEncoder,
    max_tokens: int | None = None,
    overlap: int | None = None,
) -> tuple[str, ...]:
    settings = settings_for(root, max_tokens=max_tokens, chunk_overlap=overlap)
    return KnowledgeBase.build(root, [folder], encoder=encoder, settings=settings).notes


def test_sizes_last_until_they_are_changed(tmp_path: Path, library: Path, encoder: CountingEncoder) -> None:
    index(tmp_path / "kb", library, encoder, 40, 16)
    cut = passages(tmp_path / "kb")
    assert len(cut) > 8
    KnowledgeBase.build(tmp_path / "kb", [library / "mill.md"], encoder=encoder)
    assert passages(tmp_path / "kb") == cut
    settings = Snapshot.open(tmp_path / "kb").manifest.settings
    assert (settings["max_tokens"], settings["chunk_overlap"]) == (40, 16)
    assert settings_for(tmp_path / "kb", max_tokens=60).chunk_overlap == 16
    assert settings_for(tmp_path / "new") == BuildSettings()


def test_passages_overlap_by_whole_sentences(tmp_path: Path, library: Path, encoder: CountingEncoder) -> None:
    index(tmp_path / "kb", library, encoder, 60, 24)
    documents = {row["id"]: row for row in table_rows(tmp_path / "kb", "documents")}
    assert documents["zh"]["n_chunks"] > 2
    rows = [row for row in table_rows(tmp_path / "kb", "chunks") if row["title"] == "桥"]
    for before, after in pairwise(rows):
        assert before["start"] < after["start"] < before["end"] < after["end"]
        assert CHINESE[after["start"] - 1] == "。"
        assert CHINESE[after["start"] : after["end"]] == after["text"]
    assert [row["id"] for row in rows] == [f"zh#{n}" for n in range(len(rows))]


def test_a_change_cuts_everything_anew_from_what_is_stored(
    tmp_path: Path, library: Path, encoder: CountingEncoder
) -> None:
    index(tmp_path / "kb", library, encoder)
    (tmp_path / "more.txt").write_text("A word more.", encoding="utf-8")
    for path in library.iterdir():
        path.unlink()
    index(tmp_path / "kb", tmp_path / "more.txt", encoder, 40, 16)
    (library / "mill.md").write_text(f"# Mills\n\n{ENGLISH}\n", encoding="utf-8")
    write_lines(library / "bridges.jsonl", [{"id": "zh", "title": "桥", "text": CHINESE}])
    fresh = tmp_path / "fresh"
    settings = BuildSettings(max_tokens=40, chunk_overlap=16)
    KnowledgeBase.build(fresh, [library, tmp_path / "more.txt"], encoder=encoder, settings=settings)
    assert table_bytes(tmp_path / "kb") == table_bytes(fresh)
    assert any(heading == "Part 1" for *_, heading in passages(tmp_path / "kb"))


def test_the_same_passages_keep_their_ids_and_extractions(
    tmp_path: Path, library: Path, encoder: CountingEncoder
) -> None:
    index(tmp_path / "kb", library, encoder)
    before = passages(tmp_path / "kb")
    index(tmp_path / "kb", library, encoder, 40)
    encoder.encoded.clear()
    index(tmp_path / "kb", library, encoder, 240)
    assert passages(tmp_path / "kb") == before
    assert encoder.encoded == []


def test_passages_of_someone_else_stay_whole(tmp_path: Path, library: Path, encoder: CountingEncoder) -> None:
    corpus = [{"id": "p", "title": "Long", "text": ENGLISH}]
    folder = write_openie(tmp_path / "openie", corpus, [{"passage_id": "p", "entities": [], "triples": []}])
    KnowledgeBase.build(tmp_path / "kb", [folder], format="openie", encoder=encoder)
    index(tmp_path / "kb", library, encoder, 40)
    assert [row["text"] for row in table_rows(tmp_path / "kb", "chunks") if row["id"] == "p"] == [ENGLISH]


def test_a_document_without_its_outline_is_left_and_told(
    tmp_path: Path, library: Path, encoder: CountingEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "kb"
    index(root, library, encoder)
    before = [row for row in passages(root) if row[3]]
    (tmp_path / "more.txt").write_text("A word more.", encoding="utf-8")
    monkeypatch.setattr(cutting, "read_outline", lambda meta, sha256: None)
    (told,) = index(root, tmp_path / "more.txt", encoder, 40)
    assert "1 documents keep their passages" in told
    assert [row for row in passages(root) if row[3]] == before
    monkeypatch.undo()
    with Snapshot.open(root).open_meta() as meta:
        hashes = meta.document_hashes()
        assert [key for key, sha256 in hashes.items() if read_outline(meta, sha256)] == [
            key for key in hashes if key.endswith("mill.md")
        ]


@pytest.mark.parametrize(
    ("given", "told"),
    [({"max_tokens": 8}, "max_tokens: .*8 arrived"), ({"chunk_overlap": 200}, "overlap of 200 tokens")],
)
def test_sizes_out_of_range_are_refused(tmp_path: Path, given: dict[str, int], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        settings_for(tmp_path / "kb", **given)
