"""Every transition of the agent against a real HTTP endpoint that says what it is told to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.agent_shelf import QUESTION, SUBS, Shelf, ask, plan, thought
from tests.chat_endpoint import answering, chat, endpoint, failure, streamed
from ytrag_core.agent.budget import Budget
from ytrag_core.agent.events import AnswerPiece, Called, Checked, Done, Problem, Retrieved
from ytrag_core.config import LLMSettings
from ytrag_core.errors import LLMError
from ytrag_core.llm.openai_model import OpenAIModel
from ytrag_core.llm.stages import StageModels
from ytrag_core.llm.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.chat_endpoint import Endpoint, Reply
    from ytrag_core.agent.events import Event
    from ytrag_core.agent.model import Answer

SIMPLE = "Who invented the fog clock?"
TAUGHT = {"id": 2, "answer": "Ivo Lanth", "passages": ["maren"]}
INVENTED = {"id": 1, "answer": "Maren Tessaly", "passages": ["fog"]}


def said(*replies: Any) -> list[Reply]:
    """Return proper completions; a mapping is given as JSON."""
    return [
        reply if hasattr(reply, "status") else chat(reply if isinstance(reply, str) else json.dumps(reply))
        for reply in replies
    ]


def asked(
    question: str,
    *replies: Any,
    answer_to: Callable[[int, dict[str, Any]], Reply] | None = None,
    shelf: Shelf | None = None,
    timeout: float = 60.0,
    **options: Any,
) -> tuple[Answer, list[Event], Endpoint]:
    """Ask over HTTP; return the answer, the events, and what the endpoint was asked.

    The endpoint gives its replies in turn, or what `answer_to` returns for a request.
    """
    with answering(answer_to) if answer_to else endpoint(*said(*replies)) as served:
        settings = LLMSettings(base_url=served.base_url, model="m", timeout=timeout, max_retries=1)
        models = StageModels(OpenAIModel(settings))
        answer, events = ask(question, shelf or Shelf(), models, **options)
    limit = options.get("budget", Budget()).context_tokens
    for request in served.requests:
        assert sum(estimate_tokens(message["content"]) for message in request["messages"]) <= limit
    assert isinstance(events[-1], Done)
    assert answer.usage.llm_calls <= options.get("budget", Budget()).max_calls
    return answer, events, served


def test_a_simple_question_costs_one_call() -> None:
    answer, events, served = asked(SIMPLE, thought("answer", answer="Maren Tessaly [1].", passages=[1]))
    assert answer.answer == "Maren Tessaly [1]."
    assert answer.citations == ("fog",)
    assert (answer.usage.llm_calls, len(served.requests)) == (1, 1)
    assert answer.stopped == answer.budget_reached == ""
    assert served.requests[0]["response_format"]["type"] == "json_schema"
    assert [event.name for event in events] == ["asked", "retrieved", "called", "thought", "checked", "done"]


def test_three_hops_each_looked_up_with_the_answer_before() -> None:
    shelf = Shelf()
    answer, events, served = asked(
        QUESTION,
        plan(*SUBS),
        thought("search", found=[INVENTED]),
        thought("search", found=[TAUGHT]),
        thought("answer", answer="Nimbrel. Ivo Lanth, who taught Maren Tessaly, was born there.",
                passages=["ivo", "maren"], found=[{"id": 3, "answer": "Nimbrel", "passages": ["ivo"]}]),
        shelf=shelf,
        mode="reject",
    )  # fmt: skip
    assert [lookup.query for lookup in shelf.looked_up] == [
        QUESTION, "Who invented the fog clock?", "Who taught Maren Tessaly?",
        "In which town was Ivo Lanth born?",
    ]  # fmt: skip
    assert answer.answer == "Nimbrel [1, 2]. Ivo Lanth, who taught Maren Tessaly, was born there [1, 2]."
    assert answer.citations == ("ivo", "maren")
    assert [(sub.answer, sub.chunk_ids) for sub in answer.sub_answers] == [
        ("Maren Tessaly", ("fog",)), ("Ivo Lanth", ("maren",)), ("Nimbrel", ("ivo",)),
    ]  # fmt: skip
    assert answer.usage.llm_calls == 4
    assert {name: usage.llm_calls for name, usage in answer.usage_by_stage.items()} == {
        "decompose": 1, "reason": 3,
    }  # fmt: skip
    last = served.requests[-1]["messages"][-1]["content"]
    assert "2. Who taught Maren Tessaly? - Ivo Lanth [" in last
    assert "3. In which town was Ivo Lanth born? - open" in last
    assert last.index("Facts:") < last.index("Passages:") < last.index("Question:")
    document = json.loads(json.dumps(answer.to_json(), allow_nan=False))
    assert [sub["id"] for sub in document["sub_questions"]] == [1, 2, 3]
    assert sum(isinstance(event, Retrieved) for event in events) == 3


@pytest.mark.parametrize(
    "mended",
    [thought("answer", answer="Maren Tessaly", passages=[1]), "Answer: Maren Tessaly [1]"],
)
def test_malformed_structure_is_asked_for_again(mended: Any) -> None:
    answer, events, served = asked(SIMPLE, '{"thought": "hm", "decision": "mayb', mended)
    assert answer.answer == "Maren Tessaly [1]"
    assert answer.usage.llm_calls == 2
    repair = served.requests[1]["messages"][-1]["content"]
    assert '"decision": "mayb' in repair
    assert any(isinstance(event, Problem) for event in events)


def test_structure_that_stays_malformed_ends_in_a_refusal() -> None:
    answer, _, _ = asked(SIMPLE, '{"decision": "mayb')
    assert answer.refused
    assert answer.stopped == "unusable reply"
    assert answer.usage.llm_calls == 2


def test_a_citation_of_a_passage_that_was_not_retrieved_is_removed_and_said() -> None:
    answer, events, _ = asked(
        SIMPLE, thought("answer", answer="Maren Tessaly [1][42].", passages=[1, 42, "nope"])
    )
    assert answer.answer == "Maren Tessaly [1]."
    assert answer.citations == ("fog",)
    assert {one.citation for one in answer.removed_citations} == {"42", "nope"}
    assert answer.to_json()["removed_citations"][0].keys() == {"citation", "reason"}
    assert any(isinstance(event, Checked) and event.removed for event in events)


def test_a_citation_that_does_not_carry_the_claim_is_removed() -> None:
    shelf = Shelf()
    answer, _, _ = asked(
        "Who invented the fog clock of salt and bells?",
        thought("answer", answer="Maren Tessaly invented it in 1788 [1, 2, 3, 4].", passages=[]),
        shelf=shelf,
    )
    assert "fog" in answer.citations
    assert set(answer.citations) <= {"fog", "maren"}
    assert {one.citation for one in answer.removed_citations} >= {"salt", "bell"} - set(answer.citations)


def test_endless_new_queries_end_with_the_steps() -> None:
    queries = [thought("search", query=f"What about bell number {n} of the clock?") for n in range(30, 60)]
    answer, _, served = asked(SIMPLE, *queries, mode="reject", budget=Budget(max_steps=4))
    assert answer.refused
    assert answer.usage.llm_calls <= 4
    assert answer.stopped in ("steps", "no progress", "loop")
    assert "last step" in served.requests[-1]["messages"][-1]["content"]


def test_the_same_query_again_and_again_is_a_loop() -> None:
    answer, _, served = asked(SIMPLE, thought("search", query="Who invented the fog clock?"), mode="reject")
    assert answer.refused
    assert answer.stopped == "loop"
    assert len(served.requests) == 2


def test_a_query_that_finds_nothing_new_ends_the_search() -> None:
    answer, _, _ = asked(
        SIMPLE,
        thought("search", query="Xyzzy plugh?"),
        thought("answer", answer="Maren Tessaly", passages=[1]),
        mode="reject",
    )
    assert answer.answer == "Maren Tessaly [1]"
    assert answer.stopped == ""


def test_an_empty_reply_is_asked_for_again() -> None:
    answer, events, _ = asked(SIMPLE, "", thought("answer", answer="Maren Tessaly", passages=[1]))
    assert answer.answer == "Maren Tessaly [1]"
    assert any(isinstance(event, Problem) for event in events)


def test_replies_that_stay_empty_are_an_error() -> None:
    with pytest.raises(LLMError, match="empty"):
        asked(SIMPLE, "")


def test_a_storm_of_429_at_once_is_an_error() -> None:
    with pytest.raises(LLMError, match="rate limit"):
        asked(SIMPLE, failure(429, "slow down"))


def test_a_storm_of_429_on_the_way_brings_what_is_known() -> None:
    answer, events, _ = asked(
        QUESTION,
        plan(*SUBS),
        thought("search", found=[INVENTED]),
        failure(429, "slow down"),
        mode="reject",
    )
    assert answer.refused
    assert answer.stopped == "endpoint"
    assert "Maren Tessaly [1]" in answer.answer
    assert answer.citations == ("fog",)
    assert any(isinstance(event, Problem) and "429" in event.text for event in events)
    assert sum(isinstance(event, Called) and bool(event.error) for event in events) == 1


def test_a_decomposition_that_fails_leaves_the_question_as_it_is() -> None:
    answer, _, _ = asked(
        QUESTION, "I will not.", thought("answer", answer="Ivo Lanth was born in Nimbrel.", passages=["ivo"])
    )
    assert answer.citations == ("ivo",)
    assert answer.usage.llm_calls == 2
    assert "not usable" in answer.notes[0]


def test_a_time_out_in_the_middle_of_a_stream_is_asked_for_again() -> None:
    whole = json.dumps(thought("answer", answer="Maren Tessaly [1].", passages=[1]))

    def answer_to(n_asked: int, request: dict[str, Any]) -> Reply:
        # Not in turn: on a busy machine the first piece may come too late, and is asked for again.
        return streamed(whole[:50], whole[50:70], stalled=True) if "stream" in request else chat(whole)

    answer, events, served = asked(SIMPLE, answer_to=answer_to, timeout=1.0, stream=True)
    assert answer.answer == "Maren Tessaly [1]."
    assert answer.usage.llm_calls == 2
    assert any(isinstance(event, Problem) for event in events)
    streams = [request.get("stream", False) for request in served.requests]
    assert (streams[0], streams[-1]) == (True, False)


def test_a_silent_endpoint_does_not_outlast_the_seconds() -> None:
    answer, _, served = asked(
        SIMPLE,
        streamed("{", stalled=True),
        timeout=300.0,
        stream=True,
        budget=Budget(max_seconds=0.4),
    )
    assert not served.waited_for
    assert answer.budget_reached == "seconds"
    assert_shows_evidence(answer)


def assert_shows_evidence(answer: Answer) -> None:
    assert (answer.refused, answer.evidence_only) == (False, True)
    assert "Passages:\n  [1] " in answer.answer
    assert "no answer within the budget" in answer.answer
    assert "fog" in answer.citations
    assert answer.to_json()["budget_reached"] == answer.stopped == answer.budget_reached != ""


STALLED = streamed('{"thought":"x","decision":"answer","answer":"Isma', stalled=True)


@pytest.mark.parametrize("mode", ["open", "no-agent", "reject"])
def test_a_stalled_endpoint_leaves_the_evidence(mode: Any) -> None:
    answer, events, _ = asked(
        QUESTION, STALLED, timeout=300.0, stream=True, mode=mode, budget=Budget(max_seconds=0.8)
    )
    assert answer.budget_reached == "seconds"
    if mode == "reject":
        assert any(isinstance(event, Retrieved) for event in events)
        assert (answer.refused, answer.evidence_only, answer.citations) == (True, False, ())
    else:
        assert_shows_evidence(answer)


def test_a_slow_decomposition_is_given_up_and_the_question_answered_without() -> None:
    answer, events, served = asked(
        QUESTION,
        STALLED,
        thought("answer", answer="Ivo Lanth was born in Nimbrel.", passages=["ivo"]),
        timeout=300.0,
        budget=Budget(max_seconds=8.0),
    )
    assert answer.citations == ("ivo",)
    assert answer.budget_reached == ""
    assert len(served.requests) == answer.usage.llm_calls == 2
    assert "share of the time" in answer.notes[0]
    assert [event.error for event in events if isinstance(event, Called)][1] == ""


@pytest.mark.parametrize(
    ("budget", "limit"),
    [
        (Budget(max_calls=1), "calls"),
        (Budget(max_tokens=40), "tokens"),
        (Budget(max_seconds=1e-6), "seconds"),
        (Budget(max_steps=1), "steps"),
    ],
)
def test_whatever_is_reached_the_evidence_comes_back(budget: Budget, limit: str) -> None:
    answer, _, _ = asked(QUESTION, plan(*SUBS), thought("search", query="What else?"), budget=budget)
    assert answer.budget_reached == limit
    assert_shows_evidence(answer)


@pytest.mark.parametrize(
    "reply", ['{"thought": "hm", "decision": "answer", "ans', "null", '{"thought": "x"}']
)
def test_no_agent_shows_no_json(reply: str) -> None:
    answer, _, _ = asked(SIMPLE, reply, mode="no-agent")
    assert answer.answer == "The language model gave no usable reply."
    assert (answer.refused, answer.stopped, answer.budget_reached) == (True, "unusable reply", "")


def test_no_agent_takes_the_answer_out_of_json() -> None:
    reply = thought("answer", answer="Maren Tessaly [1].", passages=[1])
    for text in (json.dumps(reply), f"```json\n{json.dumps(reply)}\n```"):
        answer, _, _ = asked(SIMPLE, text, mode="no-agent")
        assert answer.answer == "Maren Tessaly [1]."
        assert answer.citations == ("fog",)


def test_the_answer_is_streamed_while_it_is_written() -> None:
    whole = json.dumps(thought("answer", answer="Maren Tessaly [1].", passages=[1]))
    pieces = [whole[start : start + 9] for start in range(0, len(whole), 9)]
    answer, events, served = asked(SIMPLE, streamed(*pieces), stream=True)
    told = [event.text for event in events if isinstance(event, AnswerPiece)]
    assert "".join(told) == answer.answer == "Maren Tessaly [1]."
    assert len(told) > 1
    assert served.requests[0]["stream"] is True


def test_an_unsupported_claim_triggers_one_more_retrieval() -> None:
    shelf = Shelf()
    claim = "Rufina Stell cast the bells of Ismarra in 1735."
    answer, events, _ = asked(
        SIMPLE,
        thought("answer", answer=f"Maren Tessaly [1]. {claim}", passages=[1]),
        shelf=shelf,
        mode="reject",
    )
    assert [lookup.query for lookup in shelf.looked_up][1:] == [claim]
    assert answer.answer.endswith("Rufina Stell cast the bells of Ismarra in 1735 [2].")
    assert answer.citations == ("fog", "bell")
    assert answer.usage.llm_calls == 1
    assert [bool(event.query) for event in events if isinstance(event, Checked)] == [True, False]


@pytest.mark.parametrize("mode", ["reject", "open"])
def test_a_question_without_support_in_the_corpus(mode: Any) -> None:
    answer, _, served = asked(
        "Who painted the Mona Lisa?",
        thought("answer", answer="Leonardo da Vinci [own].", passages=[]),
        shelf=Shelf(least=3),
        mode=mode,
    )
    assert answer.refused == (mode == "reject")
    assert len(served.requests) == (0 if mode == "reject" else 1)
    assert answer.citations == ()
    if mode == "open":
        assert answer.answer == "Leonardo da Vinci (the model's own knowledge)."
        assert answer.own_knowledge == ("Leonardo da Vinci.",)


@pytest.mark.parametrize("mode", ["reject", "open"])
def test_an_answer_that_nothing_in_the_evidence_supports(mode: Any) -> None:
    painted = thought("answer", answer="Leonardo da Vinci [1].", passages=[1])
    answer, _, _ = asked("Who painted the clock of Quellmouth?", painted, mode=mode)
    assert answer.refused == (mode == "reject")
    assert answer.usage.llm_calls <= 2
    assert bool(answer.own_knowledge) == (mode == "open")
    assert answer.stopped == ("unsupported" if mode == "reject" else "")


def test_a_judge_of_its_own_is_asked_about_what_words_do_not_show() -> None:
    replies = said(
        thought("answer", answer="A woman of brass and patience [1].", passages=[1]),
        {"verdicts": [{"claim": 1, "stated": True, "passages": [1]}]},
    )
    with endpoint(*replies) as served:
        settings = LLMSettings(base_url=served.base_url, model="m")
        models = StageModels.of_endpoint(settings, {"judge": "j"})
        answer, _ = ask(SIMPLE, Shelf(), models, mode="reject")
    assert [request["model"] for request in served.requests] == ["m", "j"]
    assert not answer.refused
    assert answer.citations == ("fog",)


@pytest.mark.parametrize(
    ("budget", "limit"),
    [(Budget(max_calls=2), "calls"), (Budget(max_tokens=900), "tokens"), (Budget(max_steps=1), "steps")],
)
def test_each_budget_ends_the_search_and_says_so(budget: Budget, limit: str) -> None:
    answer, _, _ = asked(
        QUESTION,
        plan(*SUBS),
        thought("search", found=[INVENTED]),
        thought("search", found=[TAUGHT]),
        thought("search", query="What else?"),
        budget=budget,
        mode="reject",
    )
    assert answer.budget_reached == limit
    assert answer.to_json()["budget_reached"] == limit
    assert answer.usage.llm_calls <= budget.max_calls


def test_no_agent_is_one_retrieval_and_one_call() -> None:
    shelf = Shelf()
    answer, _, served = asked(QUESTION, "Nimbrel [9].", shelf=shelf, mode="no-agent")
    assert len(served.requests) == len(shelf.looked_up) == 1
    assert answer.answer.startswith("Nimbrel")
    assert [one.citation for one in answer.removed_citations] == ["9"]


def test_evidence_asks_nobody() -> None:
    answer, events, served = asked(QUESTION, "never", mode="evidence")
    assert served.requests == []
    assert answer.usage.llm_calls == 0
    assert [event.name for event in events] == ["asked", "retrieved", "done"]


def test_chinese_throughout() -> None:
    texts = {
        "light": ("东港", "东港的灯塔由周岚于1921年建造。"),
        "zhou": ("周岚", "周岚生于石桥村，父亲是石匠。"),
        "sea": ("海", "东港的海很冷。"),
    }
    question = "建造东港灯塔的人生于哪个村子？"
    answer, _, served = asked(
        question,
        plan(
            {"id": 1, "question": "东港的灯塔是谁建造的？"},
            {"id": 2, "question": "#1生于哪个村子？", "needs": [1]},
        ),
        thought("search", found=[{"id": 1, "answer": "周岚", "passages": ["light"]}]),
        "思考：够了\n决定：回答\n答案：石桥村[1]。周岚于1921年建造了灯塔[own]。",
        shelf=Shelf(texts, ()),
        mode="open",
    )
    assert answer.answer == "石桥村[1][2]。周岚于1921年建造了灯塔（模型自身的知识）。"
    assert answer.citations == ("light", "zhou")
    assert answer.sub_answers[1].question == "周岚生于哪个村子？"
    last = served.requests[-1]["messages"][-1]["content"]
    assert "问题：建造东港灯塔的人" in last
    assert "子问题" in last
    assert "1. 东港的灯塔是谁建造的？ - 周岚 [" in last
