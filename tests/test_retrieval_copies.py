"""Near-duplicates stand behind, and nothing else does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.bases import read_lines
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.retrieval.copies import copies_behind, is_copy
from ytrag_core.retrieval.fusion import RankedChunks
from ytrag_core.sample import sample_folder

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ytrag_core.embedding.encoder import Encoder

TEXT = (
    "The Fog Clock of Quellmouth was made by Ilsabet Corvane in 1871 and strikes once for every ship that is "
    "late. It stands at the end of the long mole, where the lamps are lit at noon when the fog is thick."
)
CHINESE = "雾钟立在长堤尽头，由伊莎贝于1871年造成，每有一艘船误期便敲一下。雾浓的时候，正午也要点灯。"


@pytest.mark.parametrize("text", [TEXT, CHINESE])
def test_what_counts_as_a_copy(text: str) -> None:
    assert is_copy(text, text)
    assert is_copy(text, text.upper())
    assert is_copy(text, f"{text} {text[:20]}")
    assert is_copy(text[: int(0.6 * len(text))], text)
    assert not is_copy(text, text.replace("1871", "1872"))
    assert not is_copy(text, text[::-1])
    assert not is_copy(text, "")
    assert not is_copy("", "")


def test_other_names_make_another_text() -> None:
    first = "Ekroda is a village in the administrative district of Gmina Barlinek, Poland."
    assert not is_copy(first, first.replace("Ekroda", "Ostrow").replace("Barlinek", "Lipiany"))


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> KnowledgeBase:
    """Return the sample, one passage of it three times, with little changes."""
    root = tmp_path_factory.mktemp("copies")
    corpus = read_lines(sample_folder() / "corpus.jsonl")[:20]
    twice = {**corpus[4], "id": "again"}
    nearly = {**corpus[4], "id": "nearly", "text": corpus[4]["text"].replace(" the ", " The ", 1)}
    return _built(root, [*corpus, twice, nearly], encoder)


def _built(root: Path, records: list[dict[str, str]], encoder: Encoder) -> KnowledgeBase:
    import json

    file = root / "corpus.jsonl"
    file.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), "utf-8")
    KnowledgeBase.build(root / "kb", [file], encoder=encoder)
    return KnowledgeBase.open(root / "kb", encoder=encoder)


def test_the_second_copy_stands_behind(kb: KnowledgeBase) -> None:
    original = read_lines(sample_folder() / "corpus.jsonl")[4]
    evidence = kb.retrieve(f"What is told of {original['title']}?", top_k=5)
    ids = [chunk.id for chunk in evidence.chunks]
    family = {original["id"], "again", "nearly"}
    assert len(family & set(ids)) == 1
    first = next(chunk for chunk in evidence.chunks if chunk.id in family)
    assert {first.id, *first.duplicates} == family
    assert first.to_json()["duplicates"] == list(first.duplicates)
    others = [chunk for chunk in evidence.chunks if chunk.id not in family]
    assert all(not chunk.duplicates and "duplicates" not in chunk.to_json() for chunk in others)


def test_copies_are_shown_where_there_is_nothing_else(kb: KnowledgeBase) -> None:
    evidence = kb.retrieve("Who is told of?", top_k=22)
    assert len({chunk.id for chunk in evidence.chunks}) == len(evidence.chunks)
    scores = [chunk.score for chunk in evidence.chunks]
    assert scores == sorted(scores, reverse=True)


def rows_of(kb: KnowledgeBase, *ids: str) -> NDArray[np.int32]:
    return np.array([kb.view.chunks.row(id_) for id_ in ids], np.int32)


def test_a_ranking_without_copies_is_left_as_it_is(kb: KnowledgeBase) -> None:
    rows = rows_of(kb, "sample-en-01", "sample-en-03", "sample-en-02", "sample-en-04")
    ranked = RankedChunks(rows, np.array([4, 3, 2, 1], np.float32), [{}] * 4)
    assert copies_behind(kb.view, ranked, 3).rows.tolist() == rows[:3].tolist()
    empty = RankedChunks(rows[:0], np.empty(0, np.float32), [])
    assert copies_behind(kb.view, empty, 3).rows.tolist() == []


def test_behind_means_behind_all_others(kb: KnowledgeBase) -> None:
    rows = rows_of(kb, "sample-en-05", "again", "nearly", "sample-en-08", "sample-en-09")
    ranked = RankedChunks(rows, np.array([5, 4, 3, 2, 1], np.float32), [{"ppr": n} for n in range(5)])
    moved = copies_behind(kb.view, ranked, 5)
    assert moved.rows.tolist() == rows[[0, 3, 4, 1, 2]].tolist()
    assert moved.scores.tolist() == [5, 2, 1, 1, 1]
    assert [routes["ppr"] for routes in moved.routes] == [0, 3, 4, 1, 2]
    assert moved.copies == {int(rows[0]): (int(rows[1]), int(rows[2]))}
    assert copies_behind(kb.view, ranked, 3).rows.tolist() == rows[[0, 3, 4]].tolist()
