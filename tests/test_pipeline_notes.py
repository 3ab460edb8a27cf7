"""The note that proposes an encoder for many languages: which corpora get it, and what it cannot see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.bases import write_edges, write_facts
from tests.tiny_encoder import tiny_weights, write_published
from ytrag_core.embedding.encoder import Encoder
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.pipeline.notes import language_note, other_script_share
from ytrag_core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from pathlib import Path

CHINESE = [("故宫", "位于", "北京"), ("北京", "首都", "中国"), ("Ada Stell", "born in", "Quellmouth")]
ENGLISH = [("Ada Stell", "born in", "Quellmouth"), ("Quellmouth", "capital of", "Orvane"), CHINESE[0]]


@pytest.fixture
def encoder(tmp_path: Path) -> Encoder:
    description = write_published(tmp_path / "published", tiny_weights())
    return Encoder.load(
        tmp_path / "published", description=description, precision="fp32", cache=tmp_path / "cache"
    )


@pytest.mark.parametrize(
    "text",
    [
        "北京是中国的首都。",
        "東京は日本の首都です",
        "서울은 한국의 수도",
        "Москва — столица",
        "القاهرة",
        "Αθήνα",
        "GPT-4 是 OpenAI 的语言模型",
    ],
)
def test_other_scripts_are_seen(text: str) -> None:
    assert other_script_share([text]) == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "Paris is the capital of France.",
        "São Paulo, Łódź, Ærø, Đà Nẵng",
        "Una lengua en letras latinas no se nota.",
        "The Chinese name of Beijing is 北京.",
        "ＦＵＬＬ ｗｉｄｔｈ",
    ],
)
def test_latin_letters_are_not(text: str) -> None:
    assert other_script_share([text]) == 0.0


def test_what_has_no_letters_counts_for_neither() -> None:
    assert other_script_share([]) == other_script_share(["", "1963", "—"]) == 0.0
    assert other_script_share(["1963", "北京", "Rome"]) == 0.5


def test_a_corpus_in_another_script_is_told_once_and_not_where_an_encoder_was_named(
    tmp_path: Path, encoder: Encoder
) -> None:
    for name, facts, is_told in (("zh", CHINESE, True), ("en", ENGLISH, False)):
        root = tmp_path / name
        folder = write_facts(tmp_path / f"{name} in", facts)
        report = KnowledgeBase.build(root, [folder], format="openie", encoder=encoder)
        assert report.to_json()["notes"] == []
        told = language_note(Snapshot.open(root), encoder.description)
        assert (told is not None) is is_told
        if told is not None:
            assert "67% of the texts" in told
            assert f"ytrag reembed --kb {root} --encoder multilingual-e5-small" in told
            assert "\n" not in told
        for language in ("zh", "multilingual", "und"):
            assert language_note(Snapshot.open(root), replace(encoder.description, language=language)) is None


def test_a_graph_without_passages_is_judged_by_its_names(tmp_path: Path, encoder: Encoder) -> None:
    nodes = pa.table({"id": [1, 2, 3], "name": ["故宫", "北京", "Rome"]})
    edges = pa.table({"src": [1, 2], "relation": ["located in", "not"], "dst": [2, 3]})
    folder = write_edges(tmp_path / "in", nodes, edges)
    KnowledgeBase.build(tmp_path / "kb", [folder], format="edges", encoder=encoder)
    assert language_note(Snapshot.open(tmp_path / "kb"), encoder.description) is not None


def test_it_is_told_as_soon_as_the_texts_are_read(tmp_path: Path, encoder: Encoder) -> None:
    told: list[tuple[str, str]] = []

    class Watcher:
        def __call__(self, stage: str, done: int, total: int | None) -> None:
            if stage == "encode names" and not done:
                told.append((stage, ""))

        def tell(self, stage: str, text: str) -> None:
            told.append((stage, text))

    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("北京是中国的首都，故宫在北京。" * 20, encoding="utf-8")
    (folder / "b.txt").write_text("Quellmouth is the capital of Orvane.", encoding="utf-8")
    KnowledgeBase.build(tmp_path / "kb", [folder], progress=Watcher())
    assert told[0] == (
        "read",
        "mostly not in Latin letters: --encoder multilingual-e5-small understands them",
    )
    assert ("encode names", "") in told
    told.clear()
    KnowledgeBase.build(tmp_path / "kb", [folder], progress=Watcher())
    KnowledgeBase.build(tmp_path / "named", [folder], encoder=encoder, progress=Watcher())
    (folder / "a.txt").unlink()
    KnowledgeBase.build(tmp_path / "kb2", [folder], progress=Watcher())
    assert not any(text for _, text in told)
