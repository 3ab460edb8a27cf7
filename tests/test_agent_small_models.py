"""Whole questions answered by replies such as models of half a billion to two billion parameters write.

Each was written after one that was seen: the answer stands in the reply, but not where it belongs.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.agent_shelf import QUESTION, SUBS, Script, Shelf, ask, plan, thought

PLANNED = plan(*SUBS)
NUMBERS = {"fog": 1, "maren": 2, "ivo": 3}


def answered(*replies: Any, mode: str = "reject", question: str = QUESTION) -> tuple[Any, Script]:
    """Return the answer that comes of some replies, and who gave them."""
    model = Script(replies)
    answer, _ = ask(question, Shelf(), model, mode=mode)
    return answer, model


@pytest.mark.parametrize("mode", ["open", "reject"])
def test_a_model_that_searches_for_the_question_and_answers_it_beside_that(mode: str) -> None:
    said = thought(
        "search",
        query=QUESTION,
        found=[],
        answer="The teacher, Ivo Lanth, was born in Nimbrel.",
        passages=[1],
    )
    answer, model = answered(PLANNED, said, mode=mode)
    assert not answer.refused
    assert "born in Nimbrel" in answer.answer
    assert "ivo" in answer.citations
    assert model.n_calls <= 3


def test_a_model_that_answers_the_last_sub_question_and_goes_on_searching() -> None:
    found = [
        {"id": 1, "answer": "Maren Tessaly", "passages": [1]},
        {"id": 2, "answer": "Ivo Lanth", "passages": [4]},
        {"id": 3, "answer": "Nimbrel", "passages": [5]},
    ]
    answer, _ = answered(PLANNED, thought("search", query=QUESTION, found=found))
    assert (answer.refused, answer.answer, answer.citations) == (False, "Nimbrel [1]", ("ivo",))
    refused, _ = answered(PLANNED, thought("refuse", found=found))
    assert refused.refused, "it may have found the town and not that he was born there"


def test_what_the_model_makes_up_on_the_way_is_no_answer() -> None:
    found = [{"id": number, "answer": "Tollan", "passages": [1]} for number in (1, 2, 3)]
    answer, _ = answered(PLANNED, thought("search", query=QUESTION, found=found))
    assert answer.refused
    assert answer.citations == ()


def test_a_model_that_speaks_of_its_passages() -> None:
    text = "Based on the given passages, the teacher of the inventor was born in Nimbrel."
    answer, _ = answered(PLANNED, thought("answer", answer=text, passages=[2]))
    assert not answer.refused
    assert "ivo" in answer.citations
    wrong, _ = answered(PLANNED, thought("answer", answer=text.replace("Nimbrel", "Tollan"), passages=[2]))
    assert wrong.refused


@pytest.mark.parametrize(
    "text",
    ["The passages do not mention where the teacher was born.", "Unknown.", "I cannot answer this question."],
)
def test_an_answer_that_says_that_there_is_none_is_a_refusal(text: str) -> None:
    answer, _ = answered(PLANNED, thought("answer", answer=text, passages=[1]))
    assert answer.refused
    assert answer.citations == ()


def test_a_model_that_copies_the_form() -> None:
    copied = thought("search", query="...", answer="...", found=[{"id": 1, "answer": "...", "passages": [1]}])
    answer, model = answered(PLANNED, copied, thought("answer", answer="Nimbrel", passages=[3]))
    assert not answer.refused
    assert "Nimbrel" in answer.answer
    assert model.n_calls == 3, "it was asked once more"


def test_a_model_that_goes_on_with_the_examples_of_its_prompt() -> None:
    strange = plan(
        {"id": 1, "question": QUESTION, "needs": []},
        {"id": 2, "question": "In what year did #1 die?", "needs": [1]},
    )
    answer, model = answered(strange, thought("answer", answer="Nimbrel", passages=[3]))
    assert not answer.refused
    assert "die" not in model.prompts[1][-1].content.partition("Question:")[2]
