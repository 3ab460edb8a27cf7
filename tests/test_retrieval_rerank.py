"""A reranker reads the best passages again: a real cross-encoder, its batches, what its scores count."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from onnx import TensorProto

from tests.tiny_cross_encoder import write_cross_encoder
from ytrag_core.config import RetrievalSettings
from ytrag_core.embedding.cross_encoder import CrossEncoder
from ytrag_core.errors import ModelError
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.retrieval.fusion import RankedChunks
from ytrag_core.retrieval.rerank import reranked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

QUESTION = "In which city was the designer of the Thirteen Lamps Bridge born?"
WORDS = ["a", "b", "c", "river", "town", "灯", "塔", "sea"]
TEXTS = ["a river in a town", "", "sea sea sea", "灯塔 river", "b " * 40, "b c", "river"]


def shared(question: str, passage: str) -> int:
    """Tokens of the passage that the question has too, of those in the vocabulary."""
    spaced = passage.replace("灯塔", "灯 塔")
    return sum(word in question.split() and word in WORDS for word in spaced.split())


@pytest.mark.parametrize("batch_tokens", [1, 24, 4096])
@pytest.mark.parametrize("dtype", [TensorProto.INT64, TensorProto.INT32])
def test_pairs_are_scored_whatever_the_batches(tmp_path: Path, batch_tokens: int, dtype: int) -> None:
    folder = write_cross_encoder(tmp_path / "model", WORDS, dtype=dtype)
    model = CrossEncoder.load(folder, batch_tokens=batch_tokens)
    question = "river b 灯"
    assert model.score(question, TEXTS).tolist() == [shared(question, text) for text in TEXTS]
    assert model.score(question, []).shape == (0,)


def test_two_classes_are_odds_and_types_may_be_missing(tmp_path: Path) -> None:
    two = CrossEncoder.load(write_cross_encoder(tmp_path / "two", WORDS, n_classes=2))
    assert two.score("river b", TEXTS).tolist() == [shared("river b", text) - 1 for text in TEXTS]
    plain = CrossEncoder.load(write_cross_encoder(tmp_path / "plain", WORDS, with_types=False))
    assert plain.score("river", ["a b", "c"]).tolist() == [3.0, 2.0]


def test_a_long_passage_is_cut_and_a_question_never(tmp_path: Path) -> None:
    folder = write_cross_encoder(tmp_path / "model", WORDS)
    (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": 16}))
    assert CrossEncoder.load(folder).score("b", ["b " * 100]).tolist() == [12.0]
    assert CrossEncoder.load(folder, max_tokens=9).score("b", ["b " * 100]).tolist() == [5.0]
    with pytest.raises(ModelError, match="cannot read a question"):
        CrossEncoder.load(folder).score("b " * 50, ["b"])


def test_a_folder_without_its_files_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has no model\.onnx; a reranker is a folder"):
        CrossEncoder.load(tmp_path)
    write_cross_encoder(tmp_path, WORDS)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
        CrossEncoder.load(tmp_path)


class ByLength:
    """Likes long passages."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def score(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        self.read += passages
        return np.array([len(passage) for passage in passages], np.float32)


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_both_scores_count(sample_kb: KnowledgeBase, weight: float) -> None:
    plain = sample_kb.retrieve(QUESTION, top_k=57).chunks
    settings = RetrievalSettings(rerank_weight=weight, n_reranked=10)
    base = KnowledgeBase(sample_kb.path, sample_kb.view, sample_kb.encoder, settings)
    reader = ByLength()
    found = base.retrieve(QUESTION, top_k=57, reranker=reader)
    assert len(reader.read) == 10
    assert reader.read == [f"{chunk.title}\n{chunk.text}" for chunk in plain[:10]]
    assert [chunk.id for chunk in found.chunks[10:]] == [chunk.id for chunk in plain[10:]]
    scores = [chunk.score for chunk in found.chunks]
    assert scores == sorted(scores, reverse=True)
    lengths = [len(chunk.title) + len(chunk.text) for chunk in found.chunks[:10]]
    if weight == 1.0:
        assert lengths == sorted(lengths, reverse=True)
    if weight == 0.0:
        assert [chunk.id for chunk in found.chunks] == [chunk.id for chunk in plain]
    fused = np.array([chunk.score for chunk in plain[:10]])
    read = np.array([len(f"{chunk.title}\n{chunk.text}") for chunk in plain[:10]], float)
    blended = (1 - weight) * fused + weight * ((read - read.mean()) / read.std() * fused.std() + fused.mean())
    assert scores[:10] == pytest.approx(sorted(blended, reverse=True), abs=1e-3)
    assert sorted(chunk.routes["rerank"] for chunk in found.chunks[:10]) == list(range(1, 11))
    assert "rerank" in found.timings_ms
    assert "rerank" not in sample_kb.retrieve(QUESTION).timings_ms


def test_the_first_few_come_from_the_best_fifty(sample_kb: KnowledgeBase) -> None:
    reader = ByLength()
    found = sample_kb.retrieve(QUESTION, top_k=3, reranker=reader)
    assert len(found.chunks) == 3
    assert len(reader.read) == 50
    many = sample_kb.retrieve_many([QUESTION], top_k=3, reranker=reader)
    assert [chunk.id for chunk in many[0].chunks] == [chunk.id for chunk in found.chunks]


def test_of_many_questions_one_thread_is_given_to_read(sample_kb: KnowledgeBase) -> None:
    threads = set[threading.Thread]()

    class Noting(ByLength):
        def score(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
            threads.add(threading.current_thread())
            return super().score(question, passages)

    sample_kb.retrieve_many([f"{QUESTION} {number}" for number in range(20)], reranker=Noting())
    assert threads == {threading.current_thread()}


def test_a_cross_encoder_reads_passages(sample_kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = write_cross_encoder(tmp_path / "model", ["ismarra", "glass", "blown"])
    settings = RetrievalSettings(rerank_weight=1.0)
    base = KnowledgeBase(sample_kb.path, sample_kb.view, sample_kb.encoder, settings)
    found = base.retrieve("glass blown in Ismarra", top_k=50, reranker=CrossEncoder.load(folder)).chunks
    assert "Ismarra" in found[0].title + found[0].text


@pytest.mark.parametrize("returned", [np.zeros(3), np.array([np.nan] * 50), np.zeros((50, 2))])
def test_scores_that_are_none_are_refused(sample_kb: KnowledgeBase, returned: NDArray[Any]) -> None:
    class Broken:
        def score(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
            return np.asarray(returned, np.float32)

    with pytest.raises(ModelError, match="one finite number for each is wanted"):
        sample_kb.retrieve(QUESTION, reranker=Broken())


def test_nothing_found_is_not_read(sample_kb: KnowledgeBase) -> None:
    empty = RankedChunks(np.empty(0, np.int32), np.empty(0, np.float32), [])
    assert reranked(sample_kb.view, QUESTION, empty, ByLength(), 50, 0.5) is empty
