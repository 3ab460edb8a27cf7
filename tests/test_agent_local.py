"""The whole loop against a real small language model behind a real server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ytrag_core.agent.budget import Budget
from ytrag_core.agent.events import Done
from ytrag_core.agent.trace import TraceWriter, read_trace
from ytrag_core.evaluation.datasets import read_questions
from ytrag_core.llm.openai_model import OpenAIModel
from ytrag_core.llm.stages import StageModels
from ytrag_core.sample import sample_folder

if TYPE_CHECKING:
    from pathlib import Path

    from tests.local_model import LocalModel
    from ytrag_core.knowledge_base import KnowledgeBase

pytestmark = pytest.mark.slow

QUESTIONS = [question.question for question in read_questions(sample_folder() / "questions.jsonl")]
FEW = QUESTIONS[1::7]
"""One in English, one in Chinese; with `--thorough` all ten are asked, which takes minutes."""
BUDGET = Budget(max_steps=2, max_calls=5, reply_tokens=160, context_tokens=1000, max_seconds=120.0)


@pytest.mark.parametrize("mode", ["open", "reject"])
def test_the_samples_questions(
    local_llm: LocalModel, sample_kb: KnowledgeBase, tmp_path: Path, mode: Any, pytestconfig: pytest.Config
) -> None:
    asked = QUESTIONS if pytestconfig.getoption("--thorough") else FEW
    models = StageModels(OpenAIModel(local_llm.settings()))
    path = tmp_path / "trace.jsonl"
    answers = []
    with TraceWriter(path) as write:
        for question in asked:
            answer = sample_kb.ask(
                question, mode=mode, llm=models, budget=BUDGET, on_event=write, stream=True
            )
            answers.append(answer)
    questions, problems = read_trace(path)
    assert problems == []
    assert len(questions) == len(asked)
    known = {chunk for events in questions for event in events for chunk in getattr(event, "chunk_ids", ())}
    for answer, events in zip(answers, questions, strict=True):
        last = events[-1]
        assert isinstance(last, Done)
        assert last.answer == json.loads(json.dumps(answer.to_json()))
        assert answer.answer
        assert set(answer.citations) <= known
        assert 1 <= answer.usage.llm_calls <= BUDGET.max_calls
        if mode == "reject":
            assert answer.own_knowledge == ()
