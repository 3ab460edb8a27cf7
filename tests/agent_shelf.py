"""A small library for tests of the agent, and models that say what they are told to."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ytrag_core.agent.asking import Asking, answer_question
from ytrag_core.agent.dialogue import prompt_tokens
from ytrag_core.llm.chat import Completion, Message
from ytrag_core.llm.tokens import estimate_tokens
from ytrag_core.retrieval.lexical import lexical_tokens
from ytrag_core.retrieval.model import ChunkHit, Evidence, PathHit, TripleHit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ytrag_core.agent.events import Event
    from ytrag_core.agent.model import Answer
    from ytrag_core.agent.state import Lookup

QUESTION = "In which town was the teacher of the fog clock's inventor born?"
SUBS = [
    {"id": 1, "question": "Who invented the fog clock?", "needs": []},
    {"id": 2, "question": "Who taught #1?", "needs": [1]},
    {"id": 3, "question": "In which town was #2 born?", "needs": [2]},
]
TEXTS = {
    "fog": ("Fog clock", "The fog clock strikes when the air is wet. Maren Tessaly invented it in 1788."),
    "maren": ("Maren Tessaly", "Maren Tessaly was a pupil of Ivo Lanth, who taught her to file brass."),
    "ivo": ("Ivo Lanth", "Ivo Lanth was born in Nimbrel and died at sea."),
    "kelp": ("Kelp paper", "Kelp paper is made in Quellmouth from weed and chalk."),
    "bell": ("Bells", "The bells of Ismarra were cast by Rufina Stell in 1735."),
    "salt": ("Salt", "Salt was carried to Orvane on mules."),
}
FACTS = [("Maren Tessaly", "invented", "fog clock", "fog"), ("Ivo Lanth", "born in", "Nimbrel", "ivo")]


@dataclass
class Shelf:
    """Finds passages by shared words.

    Attributes
    ----------
    texts
        Chunk id -> title and text.
    looked_up
        What was looked up, in order.
    """

    texts: Mapping[str, tuple[str, str]] = field(default_factory=lambda: TEXTS)
    facts: Sequence[tuple[str, str, str, str]] = field(default_factory=lambda: FACTS)
    looked_up: list[Lookup] = field(default_factory=list)
    least: int = 1
    words: dict[str, set[str]] = field(default_factory=dict)

    def look_up(self, lookups: Sequence[Lookup], *, top_k: int) -> list[Evidence]:
        """Return what each look-up finds."""
        self.looked_up += lookups
        return [self._evidence(lookup.query, top_k) for lookup in lookups]

    def same_meaning(self, query: str, other: str) -> bool:
        """Return whether the queries are the same."""
        return query == other

    def _evidence(self, query: str, top_k: int) -> Evidence:
        words = set(lexical_tokens(query))
        if not self.words:
            self.words = {
                chunk_id: set(lexical_tokens(f"{title} {text}"))
                for chunk_id, (title, text) in self.texts.items()
            }
        shared = {chunk_id: len(words & held) for chunk_id, held in self.words.items()}
        order = sorted(shared, key=lambda chunk_id: -shared[chunk_id])
        chunks = [
            ChunkHit(chunk_id, *self.texts[chunk_id], float(shared[chunk_id]), {"bm25": place})
            for place, chunk_id in enumerate(order, 1)
            if shared[chunk_id] >= self.least
        ]
        triples = [
            TripleHit(head, relation, tail, 1.0, (source,))
            for head, relation, tail, source in self.facts
            if words & set(lexical_tokens(f"{head} {relation} {tail}"))
        ]
        paths = [PathHit((triple,), 1.0) for triple in triples[:1]]
        return Evidence(query, tuple(triples), tuple(chunks[:top_k]), (), tuple(paths), {"total": 1.0})


@dataclass
class Script:
    """A model that gives its replies in turn, the last one for ever; a mapping is given as JSON.

    Attributes
    ----------
    replies
        Texts, mappings, or errors that are raised.
    prompts
        What it was asked.
    allowed
        How long its replies might be.
    """

    replies: Sequence[Any]
    prompts: list[list[Message]] = field(default_factory=list)
    allowed: list[int] = field(default_factory=list)

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """Return the next reply, cut to its length."""
        self.prompts.append(list(messages))
        self.allowed.append(max_tokens)
        reply = self.replies[min(len(self.prompts), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        while estimate_tokens(text) > max_tokens:
            text = text[: len(text) * 9 // 10]
        return Completion(text, prompt_tokens(messages), estimate_tokens(text))

    @property
    def n_calls(self) -> int:
        """How often it was asked."""
        return len(self.prompts)


def thought(decision: str, **fields: Any) -> dict[str, Any]:
    """Return the fields of a structured thought."""
    return {"thought": "so it is", "decision": decision, **fields}


def plan(*subs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a decomposition."""
    return {"sub_questions": [{"types": [], "kind": "node", **sub} for sub in subs]}


def ask(question: str, shelf: Shelf, model: Any, **options: Any) -> tuple[Answer, list[Event]]:
    """Return an answer, and everything that happened on the way."""
    events: list[Event] = []
    asking = Asking(llm=model, on_event=events.append, **options)
    return answer_question(question, shelf, asking), events
