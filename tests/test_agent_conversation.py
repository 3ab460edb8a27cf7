"""Follow-up questions, rewritten under a budget."""

from __future__ import annotations

import pytest

from tests.agent_shelf import Script, Shelf, ask, thought
from ytrag_core.agent.budget import Budget
from ytrag_core.agent.conversation import Turn, history_text, needs_history, with_last_question
from ytrag_core.agent.dialogue import prompt_tokens
from ytrag_core.agent.events import Rewritten
from ytrag_core.errors import LLMError
from ytrag_core.llm.tokens import estimate_tokens

HISTORY = [
    Turn("Who designed the Thirteen Lamps Bridge?", "Rufina Stell [1]."),
    Turn("Who invented the fog clock?", "Maren Tessaly invented it in 1788 [1]."),
]
FOLLOW_UP = "Who taught her?"
WHOLE = "Who taught Maren Tessaly?"
ANSWER = thought("answer", answer="Ivo Lanth taught Maren Tessaly.", passages=["maren"])


@pytest.mark.parametrize(
    ("question", "needs"),
    [
        (FOLLOW_UP, True),
        ("And the bridge?", True),
        ("When?", True),
        ("Where was she born?", True),
        ("What did the same firm print?", True),
        ("Who taught Maren Tessaly?", False),
        ("Which river runs past the city of Quellmouth?", False),
        ("她的老师是谁？", True),
        ("那本书呢？", True),
        ("为什么？", True),
        ("东港的灯塔是由哪一位石匠建造的？", False),
    ],
)
def test_which_questions_point_back(question: str, needs: bool) -> None:
    assert needs_history(question) is needs


def test_a_follow_up_is_rewritten_in_one_call() -> None:
    model = Script([f"<think>her = Maren</think>Question: {WHOLE}", ANSWER])
    shelf = Shelf()
    answer, events = ask(FOLLOW_UP, shelf, model, history=HISTORY)
    assert [lookup.query for lookup in shelf.looked_up] == [WHOLE]
    assert answer.read_as == answer.to_json()["read_as"] == WHOLE
    assert answer.answer == "Ivo Lanth taught Maren Tessaly [1]."
    assert answer.usage.llm_calls == 2
    assert [event.question for event in events if isinstance(event, Rewritten)] == [WHOLE]
    told = model.prompts[0][-1].content
    assert told.index("Thirteen Lamps") < told.index("fog clock") < told.index(FOLLOW_UP)


def test_a_question_that_stands_for_itself_costs_no_call_more() -> None:
    model = Script([ANSWER])
    answer, _ = ask(WHOLE, Shelf(), model, history=HISTORY)
    assert answer.usage.llm_calls == 1
    assert answer.read_as == ""


@pytest.mark.parametrize("reply", ["", "word " * 400, LLMError("gone")])
def test_without_a_usable_rewriting_the_question_before_helps(reply: object) -> None:
    shelf = Shelf()
    ask(FOLLOW_UP, shelf, Script([reply, ANSWER]), history=HISTORY)
    assert shelf.looked_up[0].query == f"{HISTORY[-1].question} {FOLLOW_UP}"


def test_without_a_model_the_question_before_helps() -> None:
    shelf = Shelf()
    answer, _ = ask(FOLLOW_UP, shelf, None, history=HISTORY)
    assert answer.read_as == with_last_question(FOLLOW_UP, HISTORY) == shelf.looked_up[0].query
    assert "maren" in answer.citations


def test_the_history_keeps_to_its_budget_newest_first() -> None:
    history = [Turn(f"Question number {n}?", "An answer of some length. " * 50) for n in range(40)]
    for budget in (0, 30, 100, 600):
        text = history_text(history, budget)
        assert estimate_tokens(text) <= budget
    assert "Question number 39?" in text
    assert "Question number 2?" not in text
    model = Script([WHOLE, ANSWER])
    ask(FOLLOW_UP, Shelf(), model, history=history, budget=Budget(history_tokens=200))
    assert prompt_tokens(model.prompts[0]) < 500
