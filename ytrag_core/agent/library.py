"""The knowledge base as the agent sees it: look-ups side by side, and queries that mean the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.agent.machine import Lookup
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.retrieval.model import Evidence

__all__ = ["KnowledgeLibrary", "Retrieving"]


class Retrieving(Protocol):
    """What answers questions with evidence; see `ytrag_core.retrieval.retriever.Retriever`."""

    def retrieve(self, question: str, *, top_k: int = 20) -> Evidence:
        """Return the evidence for a question."""
        ...

    def retrieve_many(self, questions: Sequence[str], *, top_k: int = 20) -> list[Evidence]:
        """Return the evidence for each of many questions, answered side by side."""
        ...


class KnowledgeLibrary:
    """Looks up in one knowledge base.

    Parameters
    ----------
    retriever
        Answers queries with evidence.
    encoder
        Compares queries.
    """

    def __init__(self, retriever: Retrieving, encoder: Encoder) -> None:
        self._retriever = retriever
        self._encoder = encoder
        similarity = encoder.description.alias_similarity
        self._same = similarity + (1.0 - similarity) / 2.0

    def look_up(self, lookups: Sequence[Lookup], *, top_k: int) -> list[Evidence]:
        """Return what each look-up finds, side by side.

        Raises
        ------
        QueryError
            As `ytrag_core.retrieval.retriever.Retriever.retrieve`.
        """
        if len(lookups) == 1:
            return [self._retriever.retrieve(lookups[0].query, top_k=top_k)]
        return self._retriever.retrieve_many([lookup.query for lookup in lookups], top_k=top_k)

    def same_meaning(self, query: str, other: str) -> bool:
        """Return whether the vectors of two queries are far nearer than two spellings of one name need be."""
        mine, others = self._encoder.encode_queries([query, other])
        return float(mine @ others) >= self._same
