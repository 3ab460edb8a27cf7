"""Decomposition: what is made of a model's reply, and plans that can be carried out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ytrag_core.agent.decomposition import (
    MAX_SUB_QUESTIONS,
    decomposition_schema,
    nearest_type,
    read_plan,
)
from ytrag_core.agent.plan import Plan, SubQuestion, filled, make_plan, ready
from ytrag_core.schema.load import load_schema

GENERAL = load_schema("general")
CHINESE = load_schema("general_zh")
SUBS = [
    {"id": 1, "question": "Who designed the bridge?", "needs": [], "types": ["person"], "kind": "node"},
    {"id": 2, "question": "In which city was #1 born?", "needs": [1], "types": ["city"], "kind": "triple"},
]


def questions(plan: Plan | None) -> list[tuple[int, str, tuple[int, ...]]]:
    assert plan is not None
    return [(sub.number, sub.question, sub.needs) for sub in plan.subs]


WANTED = [(1, "Who designed the bridge?", ()), (2, "In which city was #1 born?", (1,))]


def levels(plan: Plan) -> list[list[SubQuestion]]:
    """Return the sub-questions in the order in which their answers set them free, side by side."""
    answers: dict[int, str] = {}
    found = []
    while free := ready(plan, answers):
        found.append(free)
        answers |= {sub.number: "x" for sub in free}
    return found


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps({"sub_questions": SUBS}),
        f"<think>two hops</think>Here it is:\n```json\n{json.dumps({'sub_questions': SUBS})}\n```\nDone.",
        json.dumps(SUBS),
        json.dumps({"steps": SUBS}),
        json.dumps({"sub_questions": SUBS})[:-2],
        json.dumps(["Who designed the bridge?", "In which city was #1 born?"]),
        "1. Who designed the bridge?\n2. In which city was #1 born?",
        "Sub-question 1: Who designed the bridge?\nSub-question 2: In which city was #1 born?\n",
        '{"sub_questions": [{"id": "#1", "question": "Who designed the bridge?", "needs": null},'
        '{"id": "2", "question": "In which city was #1 born?", "needs": "#1", "types": "city"}]}',
    ],
)
def test_a_plan_in_any_form(reply: str) -> None:
    assert questions(read_plan(reply, GENERAL)) == WANTED


@pytest.mark.parametrize("reply", ["", "I cannot.", "{}", "[]", '{"sub_questions": []}', "null", "[1, 2]"])
def test_nothing_usable_is_no_plan(reply: str) -> None:
    assert read_plan(reply, GENERAL) is None


def said(*pairs: tuple[str, list[int]]) -> str:
    return json.dumps(
        {
            "sub_questions": [
                {"id": n, "question": text, "needs": needs} for n, (text, needs) in enumerate(pairs, 1)
            ]
        }
    )


def test_what_is_no_part_of_the_question_is_dropped_and_said() -> None:
    question = "In which city was the designer of the bridge born?"
    plan = read_plan(said((question, []), ("In what year did #1 die?", [1])), GENERAL, question)
    assert plan is None, "the question as a whole is looked up anyway"
    again = said(("Who designed the bridge?", []), (question, [1]))
    assert read_plan(again, GENERAL, question) is None, "half a plan would ask for the wrong thing"
    strange = said(
        ("Which clockmaker repaired the chimes?", []),
        ("Where was the workshop of #1?", [1]),
        ("Who designed the bridge?", []),
        ("In which city was #3 born?", [3]),
    )
    plan = read_plan(strange, GENERAL, question)
    assert plan is not None
    assert [sub.number for sub in plan.subs] == [3, 4]
    assert plan.notes == (
        "sub-question 1 has nothing of the question; it is dropped",
        "sub-question 2 needs one that was dropped; it is dropped",
    )
    chinese = "造盐管风琴的人写过哪一部书？"
    plan = read_plan(said((chinese, []), ("#1是哪一年去世的？", [1])), CHINESE, chinese)
    assert plan is None
    good = said(("盐管风琴是谁造的？", []), ("#1写过哪一部书？", [1]))
    assert len(questions(read_plan(good, CHINESE, chinese))) == 2


def test_types_are_bounded_by_the_schema_and_that_is_said() -> None:
    subs = [SUBS[0], {**SUBS[1], "types": ["City", "place", "quark flavour", "ORGANIZATION", "persons"]}]
    plan = read_plan(json.dumps({"sub_questions": subs}), GENERAL)
    assert plan is not None
    assert plan.subs[1].types == ("place", "organisation", "person")
    notes = " ".join(plan.notes)
    assert "'City' is read as 'place'" in notes
    assert "no type like 'quark flavour'" in notes
    without = read_plan(json.dumps({"sub_questions": subs}), None)
    assert without is not None
    assert without.subs[1].types == ()


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("person", "person"),
        ("People", ""),
        ("company", "organisation"),
        ("ship", "vehicle"),
        ("zzz", ""),
        ("", ""),
    ],
)
def test_the_nearest_type(name: str, nearest: str) -> None:
    found = nearest_type(name, GENERAL)
    assert found == nearest if nearest or name in ("zzz", "") else True


def test_the_nearest_type_in_chinese() -> None:
    names = {kind.name for kind in CHINESE.entity_types}
    assert nearest_type("公司", CHINESE) in names
    assert nearest_type("人物", CHINESE) in names


def test_the_schema_of_a_decomposition_lists_the_types() -> None:
    text = json.dumps(decomposition_schema(GENERAL))
    assert "natural feature" in text
    assert "natural feature" not in json.dumps(decomposition_schema(None))


def test_one_bad_entry_costs_only_itself() -> None:
    plan = read_plan(json.dumps({"sub_questions": [SUBS[0], 7, {"question": " "}, SUBS[1]]}), GENERAL)
    assert questions(plan) == WANTED
    assert plan is not None
    assert "entry 2" in plan.notes[0]


def test_too_many_are_cut_and_equal_numbers_told_apart() -> None:
    subs = [{"id": 1, "question": f"q{n}?"} for n in range(MAX_SUB_QUESTIONS + 3)]
    plan = read_plan(json.dumps(subs), GENERAL)
    assert plan is not None
    assert [sub.number for sub in plan.subs] == list(range(1, MAX_SUB_QUESTIONS + 1))
    assert any("the rest is dropped" in note for note in plan.notes)


def test_a_cycle_is_broken_and_said() -> None:
    plan = make_plan([SubQuestion(1, "a #2"), SubQuestion(2, "b #1"), SubQuestion(3, "c #2 #3 #9")])
    assert [(sub.number, sub.needs) for sub in plan.subs] == [(1, ()), (2, (1,)), (3, (2,))]
    assert len(plan.notes) == 3
    assert len(levels(plan)) == 3


def test_levels_hold_what_can_be_done_side_by_side() -> None:
    plan = make_plan(
        [SubQuestion(3, "#1 and #2"), SubQuestion(1, "a"), SubQuestion(2, "b"), SubQuestion(4, "#3")]
    )
    assert [[sub.number for sub in level] for level in levels(plan)] == [[1, 2], [3], [4]]
    assert [sub.number for sub in ready(plan, {1: "x"})] == [2]
    assert [sub.number for sub in ready(plan, {1: "x", 2: "y"})] == [3]


def test_placeholders_are_filled() -> None:
    assert filled("Where was #1 born, near #12 or #2?", {1: "Ada"}) == "Where was Ada born, near #12 or #2?"
    assert filled("  a\n b ", {}) == "a b"


@given(
    st.lists(
        st.tuples(st.integers(1, 6), st.lists(st.integers(0, 7), max_size=4)),
        min_size=1,
        max_size=6,
        unique_by=lambda pair: pair[0],
    )
)
def test_every_plan_is_topological_and_complete(pairs: list[tuple[int, list[int]]]) -> None:
    subs = [SubQuestion(number, f"q{number}?", tuple(needs)) for number, needs in pairs]
    plan = make_plan(subs)
    assert {sub.number for sub in plan.subs} == {number for number, _ in pairs}
    done: set[int] = set()
    for sub in plan.subs:
        assert set(sub.needs) <= done
        done.add(sub.number)
    assert sum(map(len, levels(plan))) == len(plan.subs)
    assert make_plan(plan.subs).notes == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 200) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["sub_questions", "id", "question", "needs", "types", "kind", "x"]), inner, max_size=5
    ),
    max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_no_reply_breaks_the_reading(value: Any) -> None:
    plan = read_plan(json.dumps(value), GENERAL)
    if plan is not None:
        known = {kind.name for kind in GENERAL.entity_types}
        assert all(set(sub.types) <= known and sub.question for sub in plan.subs)


@given(st.text(max_size=80))
def test_no_text_breaks_the_reading(text: str) -> None:
    read_plan(text, GENERAL)
