"""No prompt is longer than its limit, no question dearer than its budget, whatever is found and replied."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agent_shelf import QUESTION, SUBS, TEXTS, Script, Shelf, ask, plan, thought
from ytrag_core.agent.budget import Budget, BudgetReached, Meter
from ytrag_core.agent.context import Fact, build_context, cut_to
from ytrag_core.agent.conversation import Turn
from ytrag_core.agent.dialogue import Dialogue, prompt_tokens
from ytrag_core.agent.events import Done
from ytrag_core.agent.interests import Interest
from ytrag_core.agent.pool import EvidencePool
from ytrag_core.errors import LLMError
from ytrag_core.llm.prompts import prompt
from ytrag_core.llm.tokens import estimate_tokens
from ytrag_core.llm.usage import Usage
from ytrag_core.retrieval.model import ChunkHit, Evidence
from ytrag_core.schema.load import load_schema

if TYPE_CHECKING:
    from ytrag_core.agent.asking import AskMode
    from ytrag_core.agent.events import Event

WORDS = [
    "fog",
    "clock",
    "Maren",
    "Tessaly",
    "Ivo",
    "Lanth",
    "Nimbrel",
    "的",
    "灯塔",
    "周岚",
    "1788",
    "{x}",
    "[3]",
]
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(
    lambda words: " ".join(words) + ". "
)
LONG = st.tuples(SENTENCES, st.sampled_from([1, 1, 3, 40, 300])).map(lambda pair: pair[0] * pair[1])
CORPORA = st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(SENTENCES, LONG), min_size=1, max_size=8)
REPLIES = st.one_of(
    st.text(max_size=30),
    LONG,
    st.just(plan(*SUBS)),
    st.builds(
        lambda decision, query, answer, passages, found: thought(
            decision, query=query, answer=answer, passages=passages, found=found
        ),
        st.sampled_from(["answer", "search", "refuse", "?"]),
        st.one_of(st.just(""), SENTENCES, LONG),
        st.one_of(st.just(""), SENTENCES, LONG),
        st.lists(st.integers(0, 12), max_size=4),
        st.lists(
            st.fixed_dictionaries(
                {"id": st.integers(0, 4), "answer": SENTENCES, "passages": st.just([1, 2])}
            ),
            max_size=3,
        ),
    ),
    st.just(LLMError("the endpoint is gone")),
)
BUDGETS = st.builds(
    Budget,
    max_steps=st.integers(1, 5),
    max_calls=st.integers(1, 8),
    max_tokens=st.sampled_from([300, 1500, 5000, 60_000]),
    context_tokens=st.sampled_from([1000, 1500, 3000]),
    reply_tokens=st.sampled_from([32, 200, 1000]),
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(
    CORPORA,
    st.lists(REPLIES, min_size=1, max_size=8),
    BUDGETS,
    st.sampled_from(["open", "reject", "no-agent"]),
    st.sampled_from([QUESTION, "Who invented the fog clock?", "建造东港灯塔的人生于哪里？", "fog " * 1500]),
    st.booleans(),
)
def test_prompts_and_budgets_hold(
    texts: dict[str, tuple[str, str]],
    replies: list[Any],
    budget: Budget,
    mode: AskMode,
    question: str,
    with_history: bool,
) -> None:
    model = Script(replies)
    history = [Turn("Who is she? " * 400, "Maren Tessaly. " * 1000)] * 3 if with_history else []
    events: list[Event] = []
    try:
        answer, events = ask(question, Shelf(texts), model, budget=budget, mode=mode, history=history)
    except LLMError:
        answer = None
    assert model.n_calls <= budget.max_calls
    spent = 0
    for messages, allowed in zip(model.prompts, model.allowed, strict=True):
        assert prompt_tokens(messages) <= budget.context_tokens
        assert messages[-1].role == "user"
        assert 32 <= allowed <= budget.reply_tokens
        spent += prompt_tokens(messages)
    assert spent <= budget.max_tokens
    if answer is not None:
        usage = answer.usage
        assert usage.llm_calls == model.n_calls
        assert usage.prompt_tokens + usage.completion_tokens <= budget.max_tokens
        assert isinstance(events[-1], Done)
        assert set(answer.citations) <= set(texts)
        assert answer.answer
        assert answer.to_json()["answer"] == answer.answer


def test_a_context_of_100_000_tokens_is_cut_to_3_000() -> None:
    filler = "Kelp paper is made in Quellmouth from weed and chalk by nine patient families. "
    texts = {
        f"long{n}": (
            "Records",
            f"Record {n} of the mill. {filler * 450}The fog clock has a reed number {n}. {filler}",
        )
        for n in range(14)
    }
    assert sum(estimate_tokens(text) for _, text in texts.values()) >= 100_000
    model = Script(
        [plan(*SUBS), thought("search", query="reed"), thought("answer", answer="Nimbrel", passages=[1])]
    )
    answer, _ = ask(QUESTION, Shelf(texts | TEXTS), model, budget=Budget(context_tokens=3000), mode="reject")
    assert all(prompt_tokens(messages) <= 3000 for messages in model.prompts)
    assert prompt_tokens(model.prompts[1]) > 2000
    thinking = model.prompts[1][-1].content
    assert "The fog clock has a reed number" in thinking
    assert "Maren Tessaly invented it in 1788." in thinking
    assert answer.citations == ("ivo",)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_prompt_keeps_to_the_least_limit(language: Any) -> None:
    dialogue = Dialogue(language, 1000, prompt)
    long = "灯塔 lighthouse " * 5000
    schema = load_schema("general")
    chunks = [ChunkHit("a", long, long, 1.0, {}), ChunkHit("b", "", "short text", 1.0, {})]
    prompts = [
        dialogue.decompose(long, schema),
        dialogue.reform(long, long, {"type": "object", "properties": {"answer": {"type": "string"}}}),
        dialogue.judge(long, [long, long], chunks)[0],
        dialogue.rewrite(long, long),
        dialogue.answer("open", long, "X", chunks, [Fact(long)])[0],
    ]
    assert all(prompt_tokens(messages) <= 1000 for messages in prompts)


def test_a_users_own_prompt_that_is_too_long_is_cut_and_never_breaks_the_limit() -> None:
    dialogue = Dialogue("en", 1000, lambda name, language: prompt(name, language) + " and more" * 3000)
    for messages in (dialogue.decompose("q?", None), dialogue.rewrite("q?", "h")):
        assert prompt_tokens(messages) <= 1000


@given(st.text(max_size=200), st.integers(0, 60))
def test_a_cut_text_fits(text: str, most: int) -> None:
    cut = cut_to(text, most)
    assert estimate_tokens(cut) <= most
    assert cut == text or cut == "" or cut.endswith("...")


@given(CORPORA, st.integers(0, 2000))
def test_a_context_keeps_to_its_budget(texts: dict[str, tuple[str, str]], budget: int) -> None:
    chunks = [ChunkHit(chunk_id, title, text, 1.0, {}) for chunk_id, (title, text) in texts.items()]
    facts = [Fact(f"{title} —is→ x", (chunk_id,)) for chunk_id, (title, _) in texts.items()]
    context = build_context(chunks, facts, max_tokens=budget, query="fog clock")
    assert estimate_tokens(context.passages) + estimate_tokens(context.facts) <= budget
    assert len(set(context.chunk_ids)) == len(context.chunk_ids)


def test_the_meter_counts_calls_tokens_and_seconds() -> None:
    now = [0.0]
    meter = Meter(Budget(max_calls=2, max_tokens=1000, max_seconds=9.0, reply_tokens=100), lambda: now[0])
    assert meter.admit(500, 400) == 100
    meter.spend(Usage(1, 500, 100))
    assert meter.admit(340, 400) == 60
    with pytest.raises(BudgetReached, match="tokens"):
        meter.admit(390, 400)
    now[0] = 10.0
    with pytest.raises(BudgetReached, match="seconds"):
        meter.admit(10, 10)
    meter.spend(Usage(1, 1, 1))
    with pytest.raises(BudgetReached, match="calls"):
        meter.admit(10, 10)


def pool_of(*queries: tuple[str, list[tuple[str, str]]]) -> EvidencePool:
    pool = EvidencePool()
    for query, found in queries:
        chunks = tuple(ChunkHit(chunk_id, "", text, 1.0, {}) for chunk_id, text in found)
        pool.add(query, Evidence(query, (), chunks, (), (), {}))
    return pool


def test_evidence_is_ranked_anew_for_what_is_asked_now() -> None:
    pool = pool_of(
        ("first", [("a", "the fog clock"), ("b", "brass files"), ("c", "kelp and chalk")]),
        ("second", [("c", "kelp and chalk"), ("d", "salt mules"), ("a", "the fog clock")]),
    )
    first = [chunk.id for chunk in pool.ranked([Interest("first", 1.0)])]
    second = [
        chunk.id for chunk in pool.ranked([Interest("second", 1.0), Interest("first", 0.2, is_new=False)])
    ]
    assert (first[0], second[0]) == ("a", "c")
    assert sorted(first) == sorted(second) == ["a", "b", "c", "d"]
    assert pool.ranked([Interest("second", 1.0)], pinned=["b"])[0].id == "b"


def test_near_duplicates_are_left_out() -> None:
    text = "The fog clock strikes when the air is wet, and nobody in the harbour town has ever slept well."
    pool = pool_of(("q", [("a", text), ("b", f"{text} Indeed."), ("c", "The fog clock is something else.")]))
    assert [chunk.id for chunk in pool.ranked([Interest("q", 1.0)])] == ["a", "c"]


def test_what_was_read_for_an_open_question_makes_room() -> None:
    found = [(f"p{n}", f"passage {n} about {WORDS[n]} and {'xyzuvwrst'[n]} only") for n in range(8)]
    pool = pool_of(("open", found))
    pool.mark_read(["p0", "p1", "p2"])
    ranked = [chunk.id for chunk in pool.ranked([Interest("open", 1.0, is_new=False)])]
    assert ranked[0] == "p3"
