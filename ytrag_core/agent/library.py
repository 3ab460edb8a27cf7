"""The knowledge base as the agent sees it: look-ups side by side, and queries that mean the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ytrag_core.retrieval.type_filter import TypeFilter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.agent.state import Lookup
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.retrieval.model import Evidence
    from ytrag_core.retrieval.options import Filters
    from ytrag_core.retrieval.retriever import Retriever

__all__ = ["KnowledgeLibrary"]


class KnowledgeLibrary:
    """Looks up in one knowledge base.

    Parameters
    ----------
    retriever
        Answers queries with evidence.
    encoder
        Compares queries.
    """

    def __init__(self, retriever: Retriever, encoder: Encoder) -> None:
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
        found: dict[int, Evidence] = {}
        for types in dict.fromkeys(lookup.types for lookup in lookups):
            places = [place for place, lookup in enumerate(lookups) if lookup.types == types]
            queries = [lookups[place].query for place in places]
            # The types are a model's guess: what is of them ranks higher, nothing else is left out.
            filters: Filters = {"types": TypeFilter(entity_types=types)} if types else {}
            if len(queries) == 1:
                evidence = [self._retriever.retrieve(queries[0], top_k=top_k, **filters)]
            else:
                evidence = self._retriever.retrieve_many(queries, top_k=top_k, **filters)
            found.update(zip(places, evidence, strict=True))
        return [found[place] for place in range(len(lookups))]

    def same_meaning(self, query: str, other: str) -> bool:
        """Return whether the vectors of two queries are far nearer than two spellings of one name need be."""
        mine, others = self._encoder.encode_queries([query, other])
        return float(mine @ others) >= self._same
