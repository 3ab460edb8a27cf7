from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.chat_endpoint import chat, endpoint
from ytrag_core.agent.answer import answer_from_evidence
from ytrag_core.agent.context import Fact, build_context
from ytrag_core.agent.highlight import highlights
from ytrag_core.agent.linking import is_telling, linking_path
from ytrag_core.agent.one_call import answer_with_llm
from ytrag_core.config import LLMSettings
from ytrag_core.errors import ConfigError, LLMError
from ytrag_core.llm.chat import Completion, Message
from ytrag_core.llm.language import question_language
from ytrag_core.llm.openai_model import OpenAIModel
from ytrag_core.llm.tokens import estimate_tokens
from ytrag_core.retrieval.model import ChunkHit, Evidence, PathHit, TripleHit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

QUESTION = "Who was the first president of Damerjog's country?"
COUNTRY = TripleHit("Damerjog", "located in", "Djibouti", 0.9, ("p1",))
PRESIDENT = TripleHit("Hassan Gouled Aptidon", "first president of", "Djibouti", 0.8, ("p2",))
DAMERJOG = ChunkHit(
    "p1",
    "Damerjog",
    "It has a jetty. Damerjog is a town in Djibouti. It is home to livestock yards. Nobody counts them.",
    0.9,
    {"dense": 1},
)
APTIDON = ChunkHit(
    "p2",
    "Djibouti",
    "The sea is warm {there}. Hassan Gouled Aptidon was the first president of Djibouti. He served long.",
    0.8,
    {"ppr": 2},
)
OTHER = [ChunkHit(f"x{n}", f"Other {n}", f"A president of club {n}.", 0.5, {}) for n in range(6)]


def evidence(
    *,
    question: str = QUESTION,
    chunks: Sequence[ChunkHit] = (DAMERJOG, *OTHER, APTIDON),
    triples: Sequence[TripleHit] = (COUNTRY, PRESIDENT),
    paths: Sequence[PathHit] = (PathHit((COUNTRY, PRESIDENT), 0.7),),
) -> Evidence:
    timings = {"encode": 1.0, "total": 5.0}
    return Evidence(question, tuple(triples), tuple(chunks), (), tuple(paths), timings)


NOTHING = evidence(chunks=(), triples=(), paths=())


@dataclass
class Scripted:
    """Says what it is told to, for control flow."""

    text: str
    heard: list[Message] = field(default_factory=list)

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        self.heard = list(messages)
        return Completion(self.text, 100, 10)


def test_evidence_reads_as_path_then_passages_then_note() -> None:
    answer = answer_from_evidence(evidence())
    path, passages, note = answer.answer.split("\n\n")
    assert path.splitlines()[1:] == [
        "  Damerjog —located in→ Djibouti ←first president of— Hassan Gouled Aptidon"
    ]
    assert "Damerjog is a town in Djibouti." in passages
    assert "Hassan Gouled Aptidon was the first president of Djibouti." in passages
    assert "warm" not in passages
    assert "Nobody counts them" not in passages
    assert "YTRAG_LLM_BASE_URL" in note
    assert not answer.refused
    assert answer.citations == ("p1", "x0", "x1", "x2", "p2")
    assert answer.usage.llm_calls == 0
    assert json.loads(json.dumps(answer.to_json(), allow_nan=False)) == {
        "answer": answer.answer,
        "refused": False,
        "citations": list(answer.citations),
        "steps": [{"query": QUESTION, "thought": "", "chunk_ids": list(answer.citations)}],
        "usage": {"llm_calls": 0, "prompt_tokens": 0, "completion_tokens": 0},
        "timings_ms": {"encode": 1.0, "total": 5.0},
    }


def test_a_graph_without_passages_gives_facts() -> None:
    answer = answer_from_evidence(evidence(chunks=(), paths=()))
    assert "Hassan Gouled Aptidon —first president of→ Djibouti" in answer.answer
    assert answer.citations == ()
    assert not answer.refused


def test_no_evidence_is_a_refusal() -> None:
    answer = answer_from_evidence(NOTHING)
    assert answer.refused
    assert "Nothing in the knowledge base" in answer.answer


def test_a_chinese_question_is_talked_to_in_chinese() -> None:
    chunk = ChunkHit("z", "东港", "东港有灯塔。灯塔由周岚建于1921年。海很冷。", 1.0, {})
    answer = answer_from_evidence(
        evidence(question="东港的灯塔是谁建的？", chunks=[chunk], triples=(), paths=())
    )
    assert "段落" in answer.answer
    assert "没有配置语言模型" in answer.answer
    assert "灯塔由周岚建于1921年。" in answer.answer


def test_key_sentences_are_real_spans_of_the_text() -> None:
    for highlight in highlights(evidence()):
        assert highlight.spans == tuple(sorted(highlight.spans))
        assert 1 <= len(highlight.spans) <= 2
        for (start, end), sentence in zip(highlight.spans, highlight.sentences, strict=True):
            assert highlight.chunk.text[start:end] == sentence


def test_a_passage_without_any_shared_word_shows_its_first_sentence() -> None:
    chunk = ChunkHit("q", "", "Zebras graze. Lions sleep.", 1.0, {})
    (highlight,) = highlights(evidence(chunks=[chunk], triples=(), paths=()))
    assert highlight.sentences == ("Zebras graze.",)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Who wrote 红楼梦 and when?", "en"),
        ("谁创立了 Acme Corporation？", "zh"),
        ("谁？", "zh"),
        ("Où est Zürich ?", "en"),
        ("42?", "en"),
    ],
)
def test_question_language(question: str, language: str) -> None:
    assert question_language(question) == language


def test_answers_with_citations_over_http() -> None:
    reply = "<think>2 hops</think>Hassan Gouled Aptidon [8]. Damerjog lies in Djibouti [1][8, 77]. [99]"
    with endpoint(chat(reply)) as served:
        model = OpenAIModel(LLMSettings(base_url=served.base_url, model="m"))
        answer = answer_with_llm(QUESTION, evidence(), model, mode="reject")
    assert answer.answer == "Hassan Gouled Aptidon [1]. Damerjog lies in Djibouti [2][1]."
    assert answer.citations == ("p2", "p1")
    assert not answer.refused
    assert answer.usage.to_json() == {"llm_calls": 1, "prompt_tokens": 120, "completion_tokens": 8}
    assert answer.timings_ms["llm"] > 0
    assert answer.timings_ms["total"] >= 5.0 + answer.timings_ms["llm"] - 0.01
    system, user = (message["content"] for message in served.requests[0]["messages"])
    assert "INSUFFICIENT_EVIDENCE" in system
    assert "[1] Damerjog\nIt has a jetty." in user
    assert "warm {there}" in user
    assert "Damerjog —located in→ Djibouti ←first president of— Hassan Gouled Aptidon" in user
    assert user.endswith(f"Question: {QUESTION}")


@pytest.mark.parametrize(
    "reply",
    [
        "INSUFFICIENT_EVIDENCE",
        "**Insufficient evidence.**",
        "<think>no</think>\nThe passages do not say. INSUFFICIENT_EVIDENCE",
        "```\nINSUFFICIENT_EVIDENCE\n```",
    ],
)
def test_reject_mode_refuses(reply: str) -> None:
    answer = answer_with_llm(QUESTION, evidence(), Scripted(reply), mode="reject")
    assert answer.refused
    assert answer.citations == ()
    assert "INSUFFICIENT" not in answer.answer
    assert answer.usage.llm_calls == 1
    assert answer.steps[0].chunk_ids[:2] == ("p1", "x0")


def test_reject_mode_without_evidence_asks_nobody() -> None:
    model = Scripted("Ada")
    answer = answer_with_llm(QUESTION, NOTHING, model, mode="reject")
    assert answer.refused
    assert answer.usage.llm_calls == 0
    assert model.heard == []


def test_open_mode_may_answer_without_evidence() -> None:
    model = Scripted("Answer: Ada, though no passage says so [1].")
    answer = answer_with_llm(QUESTION, NOTHING, model)
    assert answer.answer == "Ada, though no passage says so (the model's own knowledge)."
    assert answer.own_knowledge == ("Ada, though no passage says so.",)
    assert [removed.citation for removed in answer.removed_citations] == ["1"]
    assert answer.citations == ()
    assert not answer.refused
    assert "INSUFFICIENT" not in model.heard[0].content
    assert "(none)" in model.heard[1].content


def test_a_chinese_question_gets_the_chinese_prompt_and_citations() -> None:
    model = Scripted("答案：周岚【2】，她还在石桥村建过水塔［1，2］。")
    question = "东港的灯塔是谁建的？"
    tower = ChunkHit("z1", "石桥村", "石桥村的水塔建于1930年，出自周岚之手。", 0.9, {})
    light = ChunkHit("z2", "东港", "东港的灯塔由周岚建造。", 0.8, {})
    asked = evidence(question=question, chunks=[tower, light], triples=(), paths=())
    answer = answer_with_llm(question, asked, model)
    assert answer.answer == "周岚[1]，她还在石桥村建过水塔[2, 1]。"
    assert answer.citations == ("z2", "z1")
    assert "知识库" in model.heard[0].content


@pytest.mark.parametrize("reply", ["<think>all is thought", "<think>x</think>  ", "``` \n```x</think>"])
def test_a_reply_of_nothing_but_reasoning_is_an_error(reply: str) -> None:
    with pytest.raises(LLMError, match="reasoning"):
        answer_with_llm(QUESTION, evidence(), Scripted(reply))


def test_an_unknown_mode_is_an_error() -> None:
    with pytest.raises(ConfigError, match="open or reject, 'shut' arrived"):
        answer_with_llm(QUESTION, evidence(), Scripted("x"), mode="shut")  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", [40, 80, 150, 400, 3000])
def test_the_context_keeps_to_its_budget(budget: int) -> None:
    long = ChunkHit("long", "Long", "A sentence of some length. " * 200, 1.0, {})
    facts = [Fact("Damerjog —located in→ Djibouti", ("p1",)), Fact("Hassan Gouled Aptidon —led→ Djibouti")]
    context = build_context([long, DAMERJOG, *OTHER, APTIDON], facts, max_tokens=budget)
    assert estimate_tokens(context.passages) + estimate_tokens(context.facts) <= budget
    assert len(context.chunk_ids) == context.passages.count("[")
    if "p1" in context.chunk_ids and context.facts:
        assert context.facts.startswith(f"{facts[0].line} [{context.chunk_ids.index('p1') + 1}]")
    if budget == 3000:
        assert context.chunk_ids == ("long", "p1", *(chunk.id for chunk in OTHER), "p2")
    if context.chunk_ids[:1] == ("long",):
        assert "some length.\n" in f"{context.passages}\n"


def path(*triples: TripleHit, score: float = 0.5) -> PathHit:
    return PathHit(triples, score)


def test_the_linking_path_prefers_hops_that_the_question_names() -> None:
    bridge = TripleHit("Rufina Stell", "built", "Old Bridge", 1.0, ("p1",))
    born = TripleHit("Rufina Stell", "born in", "Ismarra", 1.0, ("p2",))
    fact = path(TripleHit("Old Bridge", "opened", "1781", 1.0, ("p1",)), score=0.9)
    sidestep = path(bridge, TripleHit("Rufina Stell", "built", "Lighthouse", 1.0, ("x1",)), score=0.6)
    right = path(bridge, born)
    shown = evidence(question="Where was the builder of the Old Bridge born?", paths=[fact, sidestep, right])
    assert linking_path(shown) == (bridge, born)
    assert linking_path(evidence(paths=[fact])) == fact.triples
    assert linking_path(evidence(paths=[])) == ()


@pytest.mark.parametrize(
    ("question", "facts", "is_shown"),
    [
        ("Where was the builder of the Old Bridge born?", [("Old Bridge", "built by", "Rufina Stell"),
                                                          ("Rufina Stell", "born in", "Damerjog")], True),
        ("old bridge: who paid?", [("Old Bridge", "paid by", "Town")], True),
        ("Who built the Lighthouse?", [("Old Bridge", "built by", "Rufina Stell")], False),
        ("When was the Old Bridge opened?", [("Old Bridge", "crosses", "River")], False),
        ("劳动者在试用期内怎样解除劳动合同？", [("试用期", "解除", "劳动合同")], True),
        ("劳动者在试用期内怎样解除劳动合同？", [("非全日制", "低于", "人民政府")], False),
        ("Who?", [], False),
    ],
)  # fmt: skip
def test_a_path_is_shown_where_it_tells_something(
    question: str, facts: list[tuple[str, str, str]], is_shown: bool
) -> None:
    triples = tuple(TripleHit(*fact, 1.0, ("p1",)) for fact in facts)
    assert is_telling(triples, question) is is_shown


@pytest.mark.parametrize(
    ("question", "end"),
    [("When did the ship of the treaty sink?", "1766"), ("Where did the ship of the treaty sink?", "Bay")],
)
def test_the_linking_path_ends_in_a_number_where_one_is_asked_for(question: str, end: str) -> None:
    signed = TripleHit("Treaty", "signed on", "Gannet", 1.0, ("p1",))
    paths = [path(signed, TripleHit("Gannet", "lost", name, 1.0, ("p1",))) for name in ("Bay", "1766")]
    assert linking_path(evidence(question=question, paths=paths))[-1].tail == end
