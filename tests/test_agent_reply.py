"""Decisions read out of whatever a model writes, at once or piece by piece."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ytrag_core.agent.nothing_said import says_nothing
from ytrag_core.agent.plan import Plan, SubQuestion, make_plan
from ytrag_core.agent.reply import direct_answer, read_reply, reply_schema
from ytrag_core.agent.state import Draft
from ytrag_core.agent.writing import AnswerStream

IDS = ("fog", "maren", "ivo")
ANSWER = {
    "thought": "t",
    "found": [{"id": 2, "answer": "Ivo Lanth", "passages": [2]}],
    "decision": "answer",
    "query": "",
    "answer": "Nimbrel [3].",
    "passages": [3, 9, "maren", "other"],
}


@pytest.mark.parametrize("wrapped", ["{}", "<think>hm</think>```json\n{}\n```", "Sure! {} That is all."])
def test_a_structured_answer(wrapped: str) -> None:
    reply = read_reply(wrapped.replace("{}", json.dumps(ANSWER)), IDS)
    assert reply.decision == "answer"
    assert reply.draft is not None
    assert reply.draft.text == "Nimbrel [3]."
    assert reply.draft.cited == ("ivo", "maren")
    assert reply.draft.unknown == ("9", "other")
    assert [(found.sub, found.answer, found.chunk_ids) for found in reply.findings] == [
        (2, "Ivo Lanth", ("maren",))
    ]


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ('{"decision": "Final Answer", "answer": "x"}', "answer"),
        ('{"decision": "new query", "query": "who?"}', "search"),
        ('{"query": "who?"}', "search"),
        ('{"answer": "x"}', "answer"),
        ('{"answer": 1921}', "answer"),
        ('{"decision": "refuse", "answer": ""}', "refuse"),
        ('{"decision": "answer", "answer": "INSUFFICIENT_EVIDENCE"}', "refuse"),
        ('{"decision": "answer", "answer": ""}', "unusable"),
        ('{"decision": "search", "query": ""}', "unusable"),
        ('{"decision": "search", "query": "", "found": [{"id": 1, "answer": "x"}]}', "search"),
        ('{"decision": "search", "found": {"1": "x"}}', "search"),
        ('{"decision": "perhaps"}', "unusable"),
        ('{"thought": "only that"}', "unusable"),
        ('{"decision": "answer", "answer": {"a": 1}}', "unusable"),
        ('{"decision": "answer", "answer": "cut off at th', "answer"),
        ("Decision: search\nQuery: Who taught her?", "search"),
        ("**Thought:** enough\n**Decision:** answer\n**Answer:** Nimbrel [3].", "answer"),
        ("思考：足够了\n决定：回答\n答案：宁布雷尔[3]。", "answer"),
        ("决定：检索\n查询：谁教了她？", "search"),
        ("Nimbrel [3].", "answer"),
        ("Answer: Nimbrel [3].", "answer"),
        ("The passages do not say. INSUFFICIENT_EVIDENCE", "refuse"),
        ('{"decision": "answer", "answer": "..."}', "unusable"),
        ('{"thought": "...", "decision": "search", "query": "...", "answer": "..."}', "unusable"),
        ('{"decision": "search", "query": "", "found": [{"id": 1, "answer": "..."}]}', "unusable"),
        ('{"decision": "search", "query": "", "found": [{"id": 1, "answer": "unknown"}]}', "unusable"),
        ('{"decision": "answer", "answer": "The passages do not mention where she was born."}', "refuse"),
        ('{"decision": "answer", "answer": "Not stated in the passages [1]."}', "refuse"),
        ('{"decision": "answer", "answer": "段落中没有提到她的出生地。"}', "refuse"),
        ('{"decision": "answer", "answer": "The passages do not say it. It is Nimbrel [own]."}', "answer"),
        ("There is no information about her in the given passages.", "refuse"),
        ("无法根据所给段落回答。", "refuse"),
        ("...", "unusable"),
        ("", "unusable"),
        ("   \n", "unusable"),
        ("<think>all of it", "unusable"),
        ("{", "unusable"),
        ("null", "unusable"),
        ('{"deci', "unusable"),
    ],
)
def test_decisions(text: str, decision: str) -> None:
    assert read_reply(text, IDS).decision == decision


def test_an_answer_beside_a_search_is_kept() -> None:
    said = {"thought": "t", "found": [], "decision": "search", "query": "Where was he born?"}
    reply = read_reply(json.dumps(said | {"answer": "He was born in Nimbrel.", "passages": [3]}), IDS)
    assert (reply.decision, reply.query) == ("search", "Where was he born?")
    assert reply.draft == Draft("He was born in Nimbrel.", IDS, ("ivo",))
    assert read_reply(json.dumps(said | {"answer": "unknown"}), IDS).draft is None


@pytest.mark.parametrize(
    ("text", "empty"),
    [
        ("N/A", True),
        ("Unknown.", True),
        ("I cannot answer this question from the given passages.", True),
        ("The birthplace of the teacher is not mentioned in the passages.", True),
        ("None of the passages and facts mention it.", True),
        ("所给的段落和事实中没有说明。", True),
        ("未提及", True),
        ("Nimbrel", False),
        ("Unknown Pleasures", False),
        ("无名氏", False),
        ("The passages do not name her, but the bells were cast by Rufina Stell.", False),
        ("The information office does not provide maps.", False),
        ("He is not known to have married; he died at sea.", False),
        ("It is not the fog clock.", False),
    ],
)
def test_what_says_that_there_is_no_answer(text: str, empty: bool) -> None:
    assert says_nothing(text) is empty


def test_a_plain_answer_that_was_cut_is_not_usable() -> None:
    assert read_reply("Nimbrel, because", IDS, is_cut=True).decision == "unusable"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Nimbrel [3].", "Nimbrel [3]."),
        ("[1] says Nimbrel", "[1] says Nimbrel"),
        ('Sure: {"answer": "x"}', "x"),
        ('{"Answer": 1921}', "1921"),
        ('[{"answer": "x"}]', "x"),
        ('"{\\"answer\\": \\"x\\"}"', "x"),
        ('```json\n{"answer": "cut off at th', "cut off at th"),
        ('{"answer": ""}', None),
        ('{"answer": {"a": 1}}', None),
        ('{"answer": null}', None),
        ('```json\n{"thought": "hm", "ans', None),
        ("null", None),
        ("<think>all of it", ""),
    ],
)
def test_an_answer_that_was_to_be_plain(text: str, answer: str | None) -> None:
    assert direct_answer(text) == answer


def test_the_schema_of_a_reply_bounds_the_sub_questions() -> None:
    plan = make_plan([SubQuestion(1, "a"), SubQuestion(3, "b")])
    found = reply_schema(plan)["properties"]["found"]
    assert found["items"]["properties"]["id"]["enum"] == [1, 3]
    assert "found" not in reply_schema(Plan())["properties"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 99999) | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*ANSWER, "id", "x"]), inner, max_size=6)
    ),
    max_leaves=12,
)


@given(JSON)
def test_no_reply_breaks_the_reading(value: Any) -> None:
    reply = read_reply(json.dumps(value), IDS)
    assert reply.draft is not None or reply.decision != "answer"
    assert reply.draft is None or reply.decision in ("answer", "search")
    for finding in reply.findings:
        assert set(finding.chunk_ids) <= set(IDS)


@given(st.text(max_size=60))
def test_no_text_breaks_the_reading(text: str) -> None:
    reply = read_reply(text, IDS)
    if reply.draft is not None:
        assert reply.draft.text.strip()


def told(text: str, size: int) -> str:
    """Return what is told of a reply that arrives in pieces."""
    pieces: list[str] = []
    stream = AnswerStream(pieces.append)
    for start in range(0, len(text), size):
        stream.feed(text[start : start + size])
    return "".join(pieces)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_the_answer_is_told_while_it_is_written(size: int) -> None:
    answer = 'He said "no" \\ left\nfor 宁布雷尔 [3].'
    fields = {
        "found": [{"id": 1, "answer": "not this", "passages": [1]}],
        "decision": "answer",
        "answer": answer,
    }
    for ascii_only in (True, False):
        assert told(json.dumps(fields | {"passages": [3]}, ensure_ascii=ascii_only), size) == answer
    assert told(f"<think>{{not this}}</think>```json\n{json.dumps(fields)}\n```", size) == answer


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_a_plain_answer_is_told_too(size: int) -> None:
    text = "Nimbrel, where Ivo Lanth was born [3]. He taught Maren Tessaly [2]."
    assert told(text, size) == text
    assert told(f"Decision: answer\nAnswer: {text}", size) == text


def test_a_search_or_a_refusal_tells_nothing() -> None:
    fields = {"thought": "a long thought about it", "decision": "search", "answer": "nothing yet"}
    assert told(json.dumps(fields), 3) == ""
    assert told(json.dumps(fields | {"decision": "refuse"}), 3) == ""


@given(st.text(max_size=40), st.integers(1, 9))
def test_whatever_the_answer_it_is_told_whole(answer: str, size: int) -> None:
    text = json.dumps({"thought": "x", "answer": answer, "passages": []})
    assert told(text, size) == answer
