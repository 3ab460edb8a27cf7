"""Real Chinese questions with an encoder that reads English only: names and BM25 carry them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ytrag_core.evaluation.baselines import make_baseline
from ytrag_core.evaluation.datasets import read_questions
from ytrag_core.evaluation.run import evaluate
from ytrag_core.knowledge_base import KnowledgeBase

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder

pytestmark = pytest.mark.slow


def test_a_route_that_knows_nothing_does_not_spoil_the_others(
    shared_data: Path, encoder: Encoder, tmp_path: Path
) -> None:
    folder = shared_data / "cmrc2018_trial_zh"
    KnowledgeBase.build(tmp_path / "kb", [folder / "corpus.jsonl"], encoder=encoder)
    kb = KnowledgeBase.open(tmp_path / "kb", encoder=encoder)

    def ytrag(question: str, k: int) -> list[str]:
        return [chunk.id for chunk in kb.retrieve(question, top_k=k).chunks]

    systems = {"ytrag": ytrag, **{name: make_baseline(kb, name) for name in ("dense", "bm25")}}
    report = evaluate(systems, read_questions(folder / "questions.jsonl")[::4], top_k=(1, 5))["systems"]
    assert report["dense"]["recall@1"] < 30.0
    assert report["ytrag"]["recall@1"] >= max(97.0, report["bm25"]["recall@1"] - 1.0)
    assert report["ytrag"]["recall@5"] >= 99.0
