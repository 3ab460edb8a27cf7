"""One question through all routes to evidence."""

from __future__ import annotations

import threading
import time
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING

from ytrag_core.config import ROUTES, RetrievalSettings, available_cores
from ytrag_core.errors import QueryError
from ytrag_core.retrieval.evidence import assemble_evidence
from ytrag_core.retrieval.mentions import Mention, find_mentions, residual_question, telling
from ytrag_core.retrieval.routes import ON_GRAPH, Clock, Run, milliseconds_since
from ytrag_core.retrieval.triples import QueryVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.retrieval.model import Evidence
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["Retriever"]

_TURNS_PER_CORE = 2
"""Questions answered at a time; more only take the caches and the interpreter from each other."""

_MAX_CHARACTERS = 20_000
_HALF_WIDTH = {ord("\u3000"): " ", ord("＇"): "'"} | {
    code: code - 0xFEE0
    for first, last in ("０９", "ＡＺ", "ａｚ")
    for code in range(ord(first), ord(last) + 1)
}


class Retriever:
    """Answers questions from one snapshot; safe to call from many threads.

    Parameters
    ----------
    view
        The snapshot.
    encoder
        The encoder that made its vectors.
    settings
        The few numbers of retrieval.
    """

    def __init__(
        self, view: SnapshotView, encoder: Encoder, settings: RetrievalSettings | None = None
    ) -> None:
        self._view = view
        self._encoder = encoder
        self._settings = settings or RetrievalSettings()
        self._turns = threading.BoundedSemaphore(_TURNS_PER_CORE * available_cores())

    def retrieve(self, question: str, *, top_k: int = 20, routes: Sequence[str] | None = None) -> Evidence:
        """Return the evidence for a question.

        Parameters
        ----------
        question
            In any language the encoder and the names understand.
        top_k
            Most passages and most triples.
        routes
            Subset of `ytrag_core.config.ROUTES`; all by default.

        Raises
        ------
        QueryError
            The question is empty or far too long, `top_k` is below 1 or a route is unknown.
        """
        wanted = _checked(question, top_k, routes)
        start = time.perf_counter()
        with self._turns:
            return self._retrieve(question, top_k, wanted, start)

    def _retrieve(self, question: str, top_k: int, wanted: frozenset[str], start: float) -> Evidence:
        clock = Clock()
        asked = _plain_letters(question)
        with clock.stage("entity"):
            mentions = find_mentions(asked, self._view.lexicon, self._settings, self._view.name)
        with clock.stage("encode"):
            query = self._encode(asked, mentions if wanted & ON_GRAPH else [])
        run = Run(self._view, self._settings, asked, mentions, query, wanted, clock)
        ranked = run.rank(top_k)
        with clock.stage("evidence"):
            evidence = assemble_evidence(
                self._view, question, ranked, run.facts, run.paths, run.communities, top_k
            )
        return replace(evidence, timings_ms={**clock.timings_ms, "total": milliseconds_since(start)})

    def _encode(self, question: str, mentions: Sequence[Mention]) -> QueryVectors:
        """Encode a question, and what is left of it without its names."""
        names = telling(mentions)
        residual = residual_question(question, names)
        vector = self._encoder.encode_query(question)
        return QueryVectors(vector, self._encoder.encode_query(residual) if names and residual else vector)


def _plain_letters(question: str) -> str:
    """Return a question with composed accents, and with plain letters and digits in place of wide ones."""
    return unicodedata.normalize("NFC", question).translate(_HALF_WIDTH)


def _checked(question: str, top_k: int, routes: Sequence[str] | None) -> frozenset[str]:
    if not isinstance(question, str):
        raise QueryError(f"the question is of type {type(question).__name__}; ask in a string")
    if not question.strip():
        raise QueryError("the question is empty; ask something")
    if len(question) > _MAX_CHARACTERS:
        raise QueryError(
            f"the question has {len(question):,} characters, at most {_MAX_CHARACTERS:,} are read; shorten it"
        )
    if not isinstance(top_k, int):
        raise QueryError(f"top_k is {top_k!r}; a whole number is needed")
    if top_k < 1:
        raise QueryError(f"top_k is {top_k}; at least 1 is needed")
    wanted = frozenset(ROUTES if routes is None else [routes] if isinstance(routes, str) else routes)
    unknown = sorted(wanted - set(ROUTES))
    if unknown or not wanted:
        raise QueryError(f"routes {unknown or 'none'} arrived; choose from {', '.join(ROUTES)}")
    return wanted
