"""Real multi-hop questions with real recorded triples: the figures that the README gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from ytrag_core.evaluation.baselines import BASELINES, make_baseline
from ytrag_core.evaluation.datasets import read_questions
from ytrag_core.evaluation.run import evaluate
from ytrag_core.knowledge_base import KnowledgeBase

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder

pytestmark = pytest.mark.slow

PUBLISHED = {
    "dense": {"recall@5": 58.6, "recall@20": 74.3},
    "bm25": {"recall@5": 52.6, "recall@20": 67.8},
    "ppr": {"recall@5": 59.3, "recall@20": 84.4},
}
LEAST = {"recall@2": 54.0, "recall@5": 74.0, "recall@20": 91.0, "chain@20": 76.0}


@pytest.fixture(scope="module")
def report(
    shared_data: Path, encoder: Encoder, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, dict[str, Any]]:
    folder = shared_data / "musique_train"
    root = tmp_path_factory.mktemp("musique") / "kb"
    KnowledgeBase.build(root, [folder], format="openie", encoder=encoder)
    kb = KnowledgeBase.open(root, encoder=encoder)

    def ytrag(question: str, k: int) -> list[str]:
        return [chunk.id for chunk in kb.retrieve(question, top_k=k).chunks]

    systems = {"ytrag": ytrag, **{name: make_baseline(kb, name) for name in BASELINES}}
    systems_report: dict[str, dict[str, Any]] = evaluate(systems, read_questions(folder / "questions.jsonl"))[
        "systems"
    ]
    return systems_report


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_baselines_come_out_as_they_are_known(report: dict[str, dict[str, Any]], name: str) -> None:
    for metric, value in PUBLISHED[name].items():
        assert report[name][metric] == pytest.approx(value, abs=2.0), metric


def test_ytrag_finds_more_than_each_baseline(report: dict[str, dict[str, Any]]) -> None:
    for metric, least in LEAST.items():
        assert report["ytrag"][metric] >= least, metric
        assert report["ytrag"][metric] > max(report[name][metric] for name in PUBLISHED), metric
        assert report["ytrag"][metric] >= report["ranks"][metric], "the weights take nothing away"
