"""Drives a question through the states of `ytrag_core.agent.machine`: retrieves, asks, checks, tells."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Protocol

from ytrag_core.agent.budget import BudgetReached
from ytrag_core.agent.checking import checked_by_words, judged, likely_passages, verified
from ytrag_core.agent.context import Fact
from ytrag_core.agent.decomposition import decomposition_schema, read_plan
from ytrag_core.agent.dialogue import Dialogue
from ytrag_core.agent.events import AnswerPiece, Checked, Decomposed, Problem, Retrieved, Thought
from ytrag_core.agent.interests import Interest, interests_of
from ytrag_core.agent.loops import repeats
from ytrag_core.agent.machine import begin, checked, planned, replied, retrieved, stopped
from ytrag_core.agent.model import Step
from ytrag_core.agent.plan import Plan
from ytrag_core.agent.pool import EvidencePool
from ytrag_core.agent.reply import read_reply, reply_schema
from ytrag_core.agent.state import Phase, Verdict
from ytrag_core.agent.writing import AnswerStream
from ytrag_core.errors import LLMError, ReplyError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ytrag_core.agent.calls import Caller
    from ytrag_core.agent.events import Event
    from ytrag_core.agent.grounding import Grounded
    from ytrag_core.agent.state import Lookup, Mode, Reply, State
    from ytrag_core.llm.chat import Completion, Message
    from ytrag_core.llm.language import Language
    from ytrag_core.retrieval.model import ChunkHit, Evidence
    from ytrag_core.schema.model import GraphSchema

__all__ = ["Library", "Run"]

_N_COMMUNITIES = 3
_DECOMPOSE_TOKENS = 700
_DECOMPOSE_SHARE = 0.25
"""Of the time that is left: a slow decomposition must not cost the retrieval and the answer."""


class Library(Protocol):
    """Where evidence comes from."""

    def look_up(self, lookups: Sequence[Lookup], *, top_k: int) -> list[Evidence]:
        """Return what each look-up finds, side by side."""
        ...

    def same_meaning(self, query: str, other: str) -> bool:
        """Return whether two queries mean the same to the encoder."""
        ...


class Run:
    """One question on its way to an answer.

    Parameters
    ----------
    question
        As it is looked up.
    mode
        What to do where the evidence does not suffice.
    library
        Where evidence comes from.
    caller
        Asks models within the budget.
    language
        Of the question.
    top_k
        Most passages in one prompt.
    simple
        Whether the question needs no decomposition.
    schema
        The types that there are.
    emit
        Told of every event.
    stream
        Whether the answer is told in pieces while it is written.
    cancelled
        Set when nobody waits for the answer any more.
    """

    def __init__(
        self,
        question: str,
        mode: Mode,
        library: Library,
        caller: Caller,
        *,
        language: Language,
        top_k: int,
        simple: bool,
        schema: GraphSchema | None,
        emit: Callable[[Event], None],
        stream: bool = False,
        cancelled: threading.Event | None = None,
    ) -> None:
        self.pool = EvidencePool()
        self.steps: list[Step] = []
        self.notes: list[str] = []
        self.order: list[ChunkHit] = []
        self.grounded: Grounded | None = None
        budget = caller.meter.budget
        self.state = begin(question, mode, max_steps=budget.max_steps, simple=simple)
        self._library = library
        self._caller = caller
        self._dialogue = Dialogue(language, budget.context_tokens, caller.models.text)
        self._top_k = top_k
        self._schema = schema
        self._emit = emit
        self._stream = stream
        self._cancelled = cancelled or threading.Event()
        self._shown: tuple[str, ...] = ()
        self._raw = ""
        self._messages: list[Message] = []

    def to_end(self) -> State:
        """Go from state to state until there is an answer or none.

        Raises
        ------
        LLMError
            The endpoint failed before anything was known.
        """
        while not self.state.is_final:
            try:
                self.state = self._next(self.state)
            except BudgetReached as reached:
                self.state = stopped(self.state, reached.limit)
            except LLMError as error:
                if self.state.draft is None and not self.state.findings:
                    raise
                self._problem(str(error))
                self.state = stopped(self.state, "endpoint")
        return self.state

    def evidence(self) -> Evidence:
        """Return all that was found, the best for what was asked last first."""
        order = self.order or self.pool.ranked([Interest(self.state.question, 1.0)])
        return self.pool.merged(self.state.question, order)

    def _next(self, state: State) -> State:
        if self._cancelled.is_set() and state.phase is not Phase.CHECK:
            return stopped(state, "cancelled")
        match state.phase:
            case Phase.DECOMPOSE:
                return self._decompose(state)
            case Phase.RETRIEVE:
                return self._retrieve(state)
            case Phase.REASON:
                return self._reason(state)
            case Phase.REPAIR:
                return self._repair(state)
            case _:
                return self._check(state)

    def _decompose(self, state: State) -> State:
        plan = self._plan(state) or Plan()
        self.notes += plan.notes
        self._emit(Decomposed(self._at, [sub.to_json() for sub in plan.subs], list(plan.notes)))
        return planned(state, plan)

    def _plan(self, state: State) -> Plan | None:
        """Return what the question is taken apart into, None where it is asked as it stands."""
        messages = self._dialogue.decompose(state.question, self._schema)
        plan = None
        try:
            reply = self._caller.ask(
                "decompose",
                "decompose",
                messages,
                max_tokens=_DECOMPOSE_TOKENS,
                schema=decomposition_schema(self._schema),
                share=_DECOMPOSE_SHARE,
            )
            plan = read_plan(reply.text, self._schema, state.question)
            if plan is None:
                self._problem("the decomposition was not usable; the question is asked as it stands")
        except LLMError as error:
            self._problem(f"the question could not be taken apart, it is asked as it stands: {error}")
        except BudgetReached as reached:
            self._problem(
                f"the budget ({reached.limit}) leaves no room to take the question apart; "
                "it is asked as it stands"
            )
        return plan

    def _retrieve(self, state: State) -> State:
        # The first retrieval is made in any case: without it there is nothing to fall back on.
        if state.asked and self._caller.meter.seconds_left <= 0.0:
            raise BudgetReached("seconds")
        started = time.perf_counter()
        found = self._library.look_up(state.lookups, top_k=2 * self._top_k)
        n_facts = self.pool.n_facts
        for lookup, evidence in zip(state.lookups, found, strict=True):
            self.pool.add(lookup.query, evidence)
        ms = round((time.perf_counter() - started) * 1e3, 3)
        chunk_ids = dict.fromkeys(chunk.id for evidence in found for chunk in evidence.chunks[: self._top_k])
        n_new = self.pool.n_unread(chunk_ids) + self.pool.n_facts - n_facts
        queries = [lookup.query for lookup in state.lookups]
        self._emit(Retrieved(self._at, state.step + 1, queries, list(chunk_ids), n_new, ms))
        return retrieved(state, n_new=n_new, n_known=self.pool.n_known)

    def _reason(self, state: State) -> State:
        interests = interests_of(state)
        self.order = self.pool.ranked(interests, state.pinned)
        facts = self.pool.skeleton([interest.query for interest in interests])
        messages, context = self._dialogue.think(
            state, self.order[: self._top_k], [*facts, *self._groups(state)]
        )
        self._shown = context.chunk_ids
        schema = reply_schema(state.plan)
        said = AnswerStream(lambda text: self._emit(AnswerPiece(self._at, text))) if self._stream else None
        try:
            done = self._caller.ask(
                "reason",
                "think",
                messages,
                max_tokens=self._caller.meter.budget.reply_tokens,
                schema=schema,
                on_piece=said.feed if said is not None else None,
            )
        except LLMError as error:
            # An empty reply, or one that broke off, is asked for once more; a dead endpoint is not.
            if not (isinstance(error, ReplyError) or (said is not None and said.has_begun)):
                raise
            self._problem(str(error))
            done = None
        self._messages = messages
        self.pool.mark_read(context.chunk_ids)
        return self._heard(state, done)

    def _repair(self, state: State) -> State:
        messages = self._messages
        if self._raw.strip():
            messages = self._dialogue.reform(state.question, self._raw, reply_schema(state.plan))
        done = self._caller.ask(
            "reason",
            "repair",
            messages,
            max_tokens=self._caller.meter.budget.reply_tokens,
            schema=reply_schema(state.plan),
        )
        return self._heard(state, done)

    def _heard(self, state: State, done: Completion | None) -> State:
        """Return the state after a reply; none at all counts as one that is not usable."""
        self._raw = done.text if done is not None else ""
        is_cut = done is not None and done.finish_reason == "length"
        reply = verified(read_reply(self._raw, self._shown, is_cut=is_cut), state, self.pool, self._shown)
        after = replied(state, reply, self._is_repeat)
        self._tell(state, reply)
        return after

    def _tell(self, state: State, reply: Reply) -> None:
        if reply.decision == "unusable":
            self._problem("the reply held no decision")
        self.steps.append(Step(" | ".join(state.current), reply.thought, self._shown))
        self._emit(
            Thought(
                self._at,
                state.step + 1,
                reply.thought,
                reply.decision,
                reply.query,
                [finding.to_json() for finding in reply.findings],
                list(self._shown),
            )
        )

    def _check(self, state: State) -> State:
        draft = state.draft
        if draft is None:
            return stopped(state, state.stop)
        passages = likely_passages(draft, state, self.pool, self.order)
        grounded = checked_by_words(draft, state, self.pool, passages)
        n_before = self._caller.meter.usage.llm_calls
        if grounded.unsupported and self._may_judge(state):
            grounded = self._judged(state, grounded, passages)
        calls = self._caller.meter.usage.llm_calls - n_before
        self.grounded = grounded
        missing = [grounded.claims[place].claim.text for place in grounded.unsupported]
        verdict = Verdict(not missing, 0 not in grounded.unsupported, " ".join(missing[:1]))
        after = checked(state, verdict, self._is_repeat, calls=calls)
        query = verdict.query if after.phase is Phase.RETRIEVE else ""
        claims = [one.to_json() for one in grounded.claims]
        self._emit(Checked(self._at, claims, [one.to_json() for one in grounded.removed], query))
        return after

    def _may_judge(self, state: State) -> bool:
        return (
            self._caller.models.has_judge
            and state.may_spend
            and state.stop not in ("calls", "tokens", "seconds")
        )

    def _judged(self, state: State, grounded: Grounded, passages: Sequence[ChunkHit]) -> Grounded:
        try:
            return judged(grounded, state.question, passages, self._caller, self._dialogue)
        except (LLMError, BudgetReached) as error:
            self._problem(f"the claims could not be judged: {error}")
            return grounded

    def _groups(self, state: State) -> list[Fact]:
        """Return the communities where one is asked about: what its members have in common."""
        if not any(sub.kind == "community" for sub in state.plan.subs):
            return []
        return [Fact(f"({name})") for name in self.pool.communities(state.asked)[:_N_COMMUNITIES]]

    def _is_repeat(self, query: str, asked: tuple[str, ...]) -> bool:
        return repeats(query, asked, self._library.same_meaning)

    @property
    def _at(self) -> float:
        return self._caller.meter.elapsed_ms

    def _problem(self, text: str) -> None:
        self.notes.append(text)
        self._emit(Problem(self._at, text))
