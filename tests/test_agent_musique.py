"""The agent before a perfect reader: on recorded questions it brings the passages of all hops."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from ytrag_core.agent.budget import Budget
from ytrag_core.evaluation.datasets import read_questions
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.sample import sample_folder

BENCHES = Path(__file__).resolve().parent.parent / "benches"


@pytest.fixture(autouse=True)
def _benches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHES))


def test_all_hops_of_the_sample_are_reached(sample_kb: KnowledgeBase) -> None:
    measure = import_module("agent_hops").measure
    report = measure(sample_kb, sample_folder(), Budget(context_tokens=1500))
    assert report["n"] == len(read_questions(sample_folder() / "questions.jsonl"))
    agent, alone = report["agent, recorded decomposition"], report["one retrieval"]
    assert agent["all_hops"] >= 90.0
    assert agent["all_hops"] >= alone["all_hops"]
    assert max(agent["longest_prompt"], alone["longest_prompt"]) <= 1500


@pytest.fixture(scope="module")
def musique_kb(tmp_path_factory: pytest.TempPathFactory, shared_data: Path) -> KnowledgeBase:
    """Return the recorded passages and triples, imported once."""
    root = tmp_path_factory.mktemp("musique") / "kb"
    KnowledgeBase.build(root, [shared_data / "musique_train"], format="openie")
    return KnowledgeBase.open(root)


@pytest.mark.slow
def test_all_hops_of_recorded_questions_are_reached(musique_kb: KnowledgeBase, shared_data: Path) -> None:
    measure = import_module("agent_hops").measure
    report = measure(musique_kb, shared_data / "musique_train", Budget(max_steps=5, context_tokens=4000))
    agent, alone = report["agent, recorded decomposition"], report["one retrieval"]
    assert report["n"] == 60
    assert agent["all_hops"] >= 92.0
    assert agent["all_hops"] >= alone["all_hops"] + 10.0
    assert agent["longest_prompt"] <= 4000
