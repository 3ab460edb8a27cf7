"""The state machine: every transition, and that every way through ends."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ytrag_core.agent.loops import repeats
from ytrag_core.agent.machine import begin, checked, planned, replied, retrieved, stopped
from ytrag_core.agent.plan import Plan, SubQuestion, make_plan
from ytrag_core.agent.state import Draft, Finding, Phase, Reply, Verdict

if TYPE_CHECKING:
    from ytrag_core.agent.state import Mode, State

QUESTION = "Where was the teacher of Maren Tessaly born?"
PLAN = make_plan(
    [SubQuestion(1, "Who taught Maren Tessaly?"), SubQuestion(2, "Where was #1 born?", types=("place",))]
)
ANSWER = Reply("answer", draft=Draft("Nimbrel [1].", ("ivo",)))


def never(query: str, asked: tuple[str, ...]) -> bool:
    return False


def exact(query: str, asked: tuple[str, ...]) -> bool:
    return query in asked


def thinking(mode: Mode = "reject", *, plan: Plan = PLAN, max_steps: int = 5) -> State:
    """Return the state before the first thought."""
    state = planned(begin(QUESTION, mode, max_steps=max_steps, simple=False), plan)
    return retrieved(state, n_new=3, n_known=3)


def test_a_simple_question_is_looked_up_at_once() -> None:
    state = begin(QUESTION, "open", max_steps=5, simple=True)
    assert state.phase is Phase.RETRIEVE
    assert [lookup.query for lookup in state.lookups] == [QUESTION]


def test_the_question_and_its_free_sub_questions_are_looked_up_together() -> None:
    state = planned(begin(QUESTION, "open", max_steps=5, simple=False), PLAN)
    assert state.phase is Phase.RETRIEVE
    assert [lookup.query for lookup in state.lookups] == [QUESTION, "Who taught Maren Tessaly?"]
    assert state.calls == 1


def test_a_decomposition_into_one_costs_no_second_lookup() -> None:
    lone = make_plan([SubQuestion(1, "Who taught Maren Tessaly?", types=("person",))])
    state = planned(begin(QUESTION, "open", max_steps=5, simple=False), lone)
    assert [(lookup.query, lookup.types) for lookup in state.lookups] == [(QUESTION, ("person",))]


def test_an_answered_sub_question_frees_the_next_with_the_answer_filled_in() -> None:
    found = Reply("search", findings=(Finding(1, "Ivo Lanth", ("maren",)),))
    state = replied(thinking(), found, never)
    assert state.phase is Phase.RETRIEVE
    assert [(one.query, one.sub, one.types) for one in state.lookups] == [
        ("Where was Ivo Lanth born?", 2, ("place",))
    ]
    assert state.answers == {1: "Ivo Lanth"}


def test_the_first_answer_to_a_sub_question_stands() -> None:
    state = replied(thinking(), Reply("search", findings=(Finding(1, "Ivo Lanth"),)), never)
    state = replied(state, Reply("search", "", "Who?", findings=(Finding(1, "Perrin Dask"),)), never)
    assert state.answers == {1: "Ivo Lanth"}


def test_an_answer_that_a_passage_states_takes_the_place_of_one_that_none_states() -> None:
    state = replied(thinking(), Reply("search", findings=(Finding(1, "Perrin Dask"),)), never)
    stated = Finding(1, "Ivo Lanth", ("maren",))
    state = replied(state, Reply("search", "", "Who?", findings=(stated,)), never)
    assert state.findings == {1: stated}
    state = replied(
        state, Reply("search", "", "Who else?", findings=(Finding(1, "Rufina", ("bell",)),)), never
    )
    assert state.findings == {1: stated}


FOUND = (Finding(1, "Ivo Lanth", ("maren",)), Finding(2, "Nimbrel", ("ivo",)))


@pytest.mark.parametrize("stop", ["calls", "unusable reply", "steps"])
def test_the_last_sub_questions_answer_is_that_of_the_question(stop: str) -> None:
    search = Reply("search", query="Who?", findings=FOUND)
    if stop == "steps":
        state = replied(thinking(max_steps=1), search, never)
    elif stop == "calls":
        state = stopped(replied(thinking(), search, never), "calls")
    else:
        state = replied(
            replied(thinking(), Reply("unusable", findings=FOUND), never), Reply("unusable"), never
        )
    assert (state.phase, state.stop) == (Phase.CHECK, stop)
    assert state.draft == Draft("Nimbrel", cited=("ivo",))
    assert checked(state, Verdict(False, False), never).phase is Phase.REFUSED
    assert checked(state, Verdict(True), never).phase is Phase.ANSWERED


@pytest.mark.parametrize(("mode", "phase"), [("open", Phase.CHECK), ("reject", Phase.REFUSED)])
def test_what_is_refused_stays_refused_in_reject_mode(mode: Mode, phase: Phase) -> None:
    state = replied(thinking(mode), Reply("refuse", findings=FOUND), exact)
    assert state.phase is phase


@pytest.mark.parametrize(
    ("plan", "found"),
    [
        (PLAN, (Finding(2, "Nimbrel"),)),
        (PLAN, (Finding(1, "Ivo Lanth", ("maren",)),)),
        (make_plan([SubQuestion(1, "Who taught her?"), SubQuestion(2, "Who was Ivo?")]), FOUND),
        (make_plan([SubQuestion(1, "Who taught her?")]), FOUND),
    ],
)
def test_what_no_passage_states_or_nothing_leads_to_is_no_answer(
    plan: Plan, found: tuple[Finding, ...]
) -> None:
    state = replied(thinking("open", plan=plan, max_steps=1), Reply("refuse", findings=found), exact)
    assert (state.phase, state.draft) == (Phase.REFUSED, None)


def test_an_answer_is_checked_and_stands() -> None:
    state = replied(thinking(), ANSWER, never)
    assert state.phase is Phase.CHECK
    state = checked(state, Verdict(holds=True), never)
    assert (state.phase, state.stop) == (Phase.ANSWERED, "")


def test_an_unsupported_claim_is_looked_up_once_then_thought_about_once() -> None:
    state = checked(replied(thinking(), ANSWER, never), Verdict(False, False, "Ivo Lanth Nimbrel"), never)
    assert state.phase is Phase.RETRIEVE
    assert [lookup.query for lookup in state.lookups] == ["Ivo Lanth Nimbrel"]
    state = retrieved(state, n_new=1, n_known=4)
    assert state.phase is Phase.CHECK
    state = checked(state, Verdict(False, False, "Ivo Lanth Nimbrel"), never)
    assert (state.phase, state.is_last) == (Phase.REASON, True)
    state = checked(replied(state, ANSWER, never), Verdict(False, False, "other"), never)
    assert (state.phase, state.stop) == (Phase.REFUSED, "unsupported")


def test_in_open_mode_an_unsupported_answer_stays() -> None:
    state = thinking("open", max_steps=1)
    state = checked(replied(state, ANSWER, never), Verdict(False, False, "x"), never)
    assert state.phase is Phase.ANSWERED


def test_in_reject_mode_an_unsupported_side_claim_does_not_refuse() -> None:
    state = thinking(max_steps=1)
    state = checked(replied(state, ANSWER, never), Verdict(False, True, "x"), never)
    assert state.phase is Phase.ANSWERED


def test_a_new_query_is_looked_up() -> None:
    state = replied(thinking(), Reply("search", query="Who was Ivo Lanth?"), exact)
    assert state.phase is Phase.RETRIEVE
    assert [lookup.query for lookup in state.lookups] == ["Who was Ivo Lanth?"]
    assert state.searched


def test_a_repeated_query_leads_to_a_last_thought_then_to_the_end() -> None:
    state = replied(thinking(), Reply("search", query=QUESTION), exact)
    assert (state.phase, state.is_last, state.stop) == (Phase.REASON, True, "loop")
    state = replied(state, Reply("search", query=QUESTION), exact)
    assert (state.phase, state.stop) == (Phase.REFUSED, "loop")


def test_an_answer_beside_a_repeated_query_is_checked_at_once() -> None:
    state = replied(thinking(), Reply("search", query=QUESTION, draft=ANSWER.draft), exact)
    assert (state.phase, state.draft, state.stop, state.is_last) == (Phase.CHECK, ANSWER.draft, "", False)
    assert checked(state, Verdict(False, False), exact).phase is Phase.REFUSED


def test_an_answer_beside_a_new_query_is_kept_in_case_nothing_better_comes() -> None:
    state = replied(thinking(), Reply("search", query="Who was Ivo?", draft=ANSWER.draft), exact)
    assert (state.phase, state.draft) == (Phase.RETRIEVE, ANSWER.draft)
    state = replied(retrieved(state, n_new=1, n_known=4), Reply("refuse"), exact)
    assert (state.phase, state.draft) == (Phase.CHECK, ANSWER.draft)


def test_an_answer_after_a_loop_is_a_proper_answer() -> None:
    state = replied(thinking(), Reply("search", query=QUESTION), exact)
    state = checked(replied(state, ANSWER, exact), Verdict(True), exact)
    assert (state.phase, state.stop) == (Phase.ANSWERED, "")


def test_a_step_without_progress_leads_to_a_last_thought() -> None:
    state = replied(thinking(), Reply("search", query="x"), never)
    state = retrieved(state, n_new=0, n_known=3)
    assert (state.phase, state.is_last, state.stop) == (Phase.REASON, True, "no progress")


@pytest.mark.parametrize(("mode", "phase"), [("reject", Phase.REFUSED), ("open", Phase.REASON)])
def test_nothing_found_at_all(mode: Mode, phase: Phase) -> None:
    state = planned(begin(QUESTION, mode, max_steps=5, simple=False), PLAN)
    state = retrieved(state, n_new=0, n_known=0)
    assert state.phase is phase
    assert state.is_last == (mode == "open")


def test_a_refusal_is_overruled_while_a_sub_question_is_free() -> None:
    early = Reply("refuse", findings=(Finding(1, "Ivo Lanth"),))
    state = replied(thinking(), early, exact)
    assert state.phase is Phase.RETRIEVE
    state = replied(retrieved(state, n_new=1, n_known=4), Reply("refuse"), exact)
    assert (state.phase, state.stop) == (Phase.REFUSED, "")


def test_the_last_step_is_announced_and_endless_queries_end() -> None:
    state = thinking(max_steps=2)
    assert not state.is_last
    state = retrieved(replied(state, Reply("search", query="a"), never), n_new=1, n_known=4)
    assert state.is_last
    state = replied(state, Reply("search", query="b"), never)
    assert (state.phase, state.stop, state.step) == (Phase.REFUSED, "steps", 2)


def test_an_unusable_reply_is_asked_for_again_once() -> None:
    state = replied(thinking(), Reply("unusable"), never)
    assert (state.phase, state.step) == (Phase.REPAIR, 0)
    state = replied(state, Reply("unusable"), never)
    assert (state.phase, state.stop) == (Phase.REFUSED, "unusable reply")


def test_a_simple_question_gets_a_repair_but_no_third_call() -> None:
    state = retrieved(begin(QUESTION, "open", max_steps=5, simple=True), n_new=1, n_known=1)
    state = replied(replied(state, Reply("unusable"), never), ANSWER, never)
    assert state.calls == 2
    state = checked(state, Verdict(False, False, "look here"), never)
    assert (state.phase, state.calls) == (Phase.ANSWERED, 2)


def test_a_budget_ends_with_the_best_answer_so_far() -> None:
    state = stopped(replied(thinking(), ANSWER, never), "tokens")
    assert (state.phase, state.stop) == (Phase.CHECK, "tokens")
    state = checked(state, Verdict(False, False, "look here"), never)
    assert (state.phase, state.stop) == (Phase.REFUSED, "tokens")
    assert stopped(thinking(), "calls").phase is Phase.REFUSED


REPLIES = st.builds(
    Reply,
    st.sampled_from(["answer", "search", "refuse", "unusable"]),
    query=st.sampled_from(["", "a", "b", "Where was Ivo Lanth born?", QUESTION]),
    draft=st.one_of(st.none(), st.builds(Draft, st.sampled_from(["Nimbrel [1].", "Ismarra."]))),
    findings=st.lists(
        st.builds(Finding, st.integers(0, 4), st.sampled_from(["Ivo Lanth", "Nimbrel"])), max_size=3
    ).map(tuple),
)
VERDICTS = st.builds(Verdict, st.booleans(), st.booleans(), st.sampled_from(["", "q", "r"]))


@given(st.data(), st.sampled_from(["open", "reject"]), st.integers(1, 5), st.booleans(), st.booleans())
def test_every_way_through_ends_within_its_steps(
    data: st.DataObject, mode: Mode, max_steps: int, simple: bool, repeat: bool
) -> None:
    state = begin(QUESTION, mode, max_steps=max_steps, simple=simple)
    is_repeat = (lambda query, asked: repeats(query, asked)) if repeat else never
    n_calls = 0
    for _ in range(12 * max_steps + 12):
        if state.is_final:
            break
        assert 0 <= state.step <= max_steps
        match state.phase:
            case Phase.DECOMPOSE:
                state = planned(state, data.draw(st.sampled_from([PLAN, Plan()])))
                n_calls += 1
            case Phase.RETRIEVE:
                assert state.lookups
                n_new = data.draw(st.integers(0, 2))
                state = retrieved(state, n_new=n_new, n_known=data.draw(st.integers(n_new, 3)))
            case Phase.CHECK:
                state = checked(state, data.draw(VERDICTS), is_repeat)
            case _:
                assert state.phase is Phase.REPAIR or state.step < max_steps
                reply = data.draw(REPLIES)
                n_calls += 1
                if reply.decision == "answer" and reply.draft is None:
                    reply = replace(reply, draft=Draft("Ismarra."))
                state = replied(state, reply, is_repeat)
        assert state.calls == n_calls
    assert state.is_final
    assert n_calls <= 2 * max_steps + 1
    if state.plan.is_simple and not state.searched:
        assert n_calls <= 3
