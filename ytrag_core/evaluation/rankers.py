"""Knowledge bases as rankers of passages, with the time of each of their stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.knowledge_base import KnowledgeBase

__all__ = ["KnowledgeBaseRanker", "Ranker", "StagedRanker"]

Ranker = Callable[[str, int], list[str]]
"""(question, k) -> up to k chunk ids, best first."""


@runtime_checkable
class StagedRanker(Protocol):
    """A ranker that tells how long the stages of its last call took."""

    timings_ms: Mapping[str, float]

    def __call__(self, question: str, k: int, /) -> list[str]:
        """Return up to k chunk ids, best first."""
        ...


class KnowledgeBaseRanker:
    """Ranks passages as `KnowledgeBase.retrieve` does.

    Attributes
    ----------
    timings_ms
        Of the last call, by stage.

    Parameters
    ----------
    kb
        The knowledge base.
    routes
        The routes to use; all by default.
    """

    def __init__(self, kb: KnowledgeBase, routes: Sequence[str] | None = None) -> None:
        self._kb = kb
        self._routes = routes
        self.timings_ms: Mapping[str, float] = {}

    def __call__(self, question: str, k: int, /) -> list[str]:
        """Return up to k chunk ids, best first; copies of a passage are not listed."""
        evidence = self._kb.retrieve(question, top_k=k, routes=self._routes)
        self.timings_ms = evidence.timings_ms
        return [chunk.id for chunk in evidence.chunks]
