"""What leads from one state of a question to the next.

No input, no output, no clock: a driver does what a state's phase asks for (`ytrag_core.agent.run`) and hands
the outcome to the function of that phase, which returns the next state. Every way through ends: each call of
a model that is not the last one makes a step, uses up the one repair of a step or the one targeted retrieval.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ytrag_core.agent.plan import filled, last_of_chain, ready
from ytrag_core.agent.state import Draft, Lookup, Phase, State

if TYPE_CHECKING:
    from ytrag_core.agent.plan import Plan
    from ytrag_core.agent.state import Mode, Reply, Verdict

__all__ = ["begin", "checked", "planned", "replied", "retrieved", "stopped"]

IsRepeat = Callable[[str, tuple[str, ...]], bool]


def begin(question: str, mode: Mode, *, max_steps: int, simple: bool) -> State:
    """Return the first state.

    Parameters
    ----------
    question
        What is asked.
    mode
        What to do where the evidence does not suffice.
    max_steps
        Most rounds of thought.
    simple
        Whether the question needs no decomposition.
    """
    if simple:
        return State(question, mode, max_steps, Phase.RETRIEVE, lookups=(Lookup(question),))
    return State(question, mode, max_steps, Phase.DECOMPOSE)


def planned(state: State, plan: Plan, *, calls: int = 1) -> State:
    """Return the state after decomposition: the question and its free sub-questions are looked up."""
    lookups = [Lookup(state.question)]
    if plan.is_simple:
        types = plan.subs[0].types if plan.subs else ()
        lookups = [Lookup(state.question, types=types)]
    else:
        lookups += [
            Lookup(sub.question, sub.number, sub.types)
            for sub in ready(plan, {})
            if sub.question.casefold() != state.question.casefold()
        ]
    return replace(state, phase=Phase.RETRIEVE, plan=plan, lookups=tuple(lookups), calls=state.calls + calls)


def retrieved(state: State, *, n_new: int, n_known: int) -> State:
    """Return the state after the retrievals of `state.lookups`.

    Parameters
    ----------
    n_new
        Passages that no thought was about yet, and facts that were not known before.
    n_known
        Passages and facts that are known now.
    """
    queries = tuple(lookup.query for lookup in state.lookups)
    done = replace(state, lookups=(), asked=state.asked + queries, current=queries, was_repaired=False)
    if not n_known:
        if state.mode == "reject":
            return replace(done, phase=Phase.REFUSED, stop="no evidence")
        return replace(done, phase=Phase.REASON, is_last=True)
    if state.targeted and not state.rethought:
        return replace(done, phase=Phase.CHECK)
    if n_new or state.has_found or not state.step:
        return replace(done, phase=Phase.REASON, is_last=_is_last(state))
    return replace(done, phase=Phase.REASON, is_last=True, stop="no progress")


def replied(state: State, reply: Reply, is_repeat: IsRepeat) -> State:
    """Return the state after a thought, or after its repair.

    Parameters
    ----------
    reply
        What the model decided.
    is_repeat
        Tells whether a query only repeats earlier ones.
    """
    known = dict(state.findings)
    for finding in reply.findings:
        earlier = known.get(finding.sub)
        if earlier is None or (finding.chunk_ids and not earlier.chunk_ids):
            known[finding.sub] = finding
    findings = {sub.number: known[sub.number] for sub in state.plan.subs if sub.number in known}
    has_found = findings != state.findings
    heard = replace(state, calls=state.calls + 1, findings=findings, has_found=has_found)
    if reply.decision == "unusable":
        if not state.was_repaired and heard.may_spend:
            return replace(heard, phase=Phase.REPAIR, was_repaired=True)
        return _ended(heard, "unusable reply")
    heard = replace(heard, step=state.step + 1, was_repaired=False)
    if reply.decision == "answer" and reply.draft is not None:
        return replace(heard, phase=Phase.CHECK, draft=reply.draft, stop="")
    if reply.decision == "refuse":
        return _after_refusal(heard, is_repeat)
    return _after_search(replace(heard, draft=reply.draft or state.draft), reply.query, is_repeat)


def checked(state: State, verdict: Verdict, is_repeat: IsRepeat, *, calls: int = 0) -> State:
    """Return the state after the check of `state.draft`, for which `calls` calls were made."""
    state = replace(state, calls=state.calls + calls)
    if verdict.holds:
        return replace(state, phase=Phase.ANSWERED)
    may_look = not (state.targeted or state.is_last or state.stop) and state.may_spend
    if may_look and verdict.query and not is_repeat(verdict.query, state.asked):
        return replace(state, phase=Phase.RETRIEVE, targeted=True, lookups=(Lookup(verdict.query),))
    may_think = state.targeted and not state.rethought and not state.stop and state.may_spend
    if may_think and state.step < state.max_steps:
        return replace(state, phase=Phase.REASON, rethought=True, is_last=True)
    if state.mode == "reject" and not verdict.lead_holds:
        return replace(state, phase=Phase.REFUSED, stop=state.stop or "unsupported")
    return replace(state, phase=Phase.ANSWERED)


def stopped(state: State, why: str) -> State:
    """Return the state when a budget is reached or the endpoint fails: the best answer so far is checked."""
    return _ended(replace(state, lookups=(), is_last=True), why, overrule=True)


def _is_last(state: State) -> bool:
    return state.is_last or state.step + 1 >= state.max_steps


def _ended(state: State, why: str, *, overrule: bool = False) -> State:
    """Return the end with what is known."""
    stop = why if overrule else state.stop or why
    ended = _with_last_finding(replace(state, stop=stop, is_last=True))
    return replace(ended, phase=Phase.CHECK if ended.draft is not None else Phase.REFUSED)


def _after_refusal(state: State, is_repeat: IsRepeat) -> State:
    """Return the refusal, unless a sub-question that can be looked up is left."""
    lookups = [] if state.is_last else _free(state, is_repeat)
    if lookups:
        return replace(state, phase=Phase.RETRIEVE, lookups=tuple(lookups))
    if state.mode == "open":  # in reject mode what it refuses stays refused, whatever it found on the way
        state = _with_last_finding(state)
    if state.draft is not None:
        return replace(state, phase=Phase.CHECK, is_last=True)
    return replace(state, phase=Phase.REFUSED)


def _with_last_finding(state: State) -> State:
    """Return the state with the answer to the sub-question that all others lead to, where it has no draft.

    A model that finds the answer on the way, and does not say so in the end, has answered all the same; what
    no passage states is not taken.
    """
    finding = state.findings.get(last_of_chain(state.plan))
    if state.draft is not None or finding is None or not finding.chunk_ids:
        return state
    return replace(state, draft=Draft(finding.answer, cited=finding.chunk_ids))


def _after_search(state: State, query: str, is_repeat: IsRepeat) -> State:
    if state.is_last:
        return _ended(state, "steps" if state.step >= state.max_steps else "loop")
    lookups = _free(state, is_repeat)
    asked = (*state.asked, *(lookup.query for lookup in lookups))
    if query and not is_repeat(query, asked):
        lookups.append(Lookup(query))
        state = replace(state, searched=True)
    if lookups:
        return replace(state, phase=Phase.RETRIEVE, lookups=tuple(lookups))
    if state.draft is not None:
        # It wants to look up what it has been shown, and has written the answer beside that.
        return replace(state, phase=Phase.CHECK)
    return replace(state, phase=Phase.REASON, is_last=True, stop="loop")


def _free(state: State, is_repeat: IsRepeat) -> list[Lookup]:
    """Return the sub-questions that have become free and were not looked up yet."""
    lookups: list[Lookup] = []
    if state.plan.is_simple:
        return lookups
    for sub in ready(state.plan, state.answers):
        query = filled(sub.question, state.answers)
        if not is_repeat(query, (*state.asked, *(lookup.query for lookup in lookups))):
            lookups.append(Lookup(query, sub.number, sub.types))
    return lookups
