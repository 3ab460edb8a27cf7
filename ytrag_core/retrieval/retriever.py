"""One question through all routes to evidence."""

from __future__ import annotations

import threading
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ytrag_core.config import ROUTES, RetrievalSettings, available_cores
from ytrag_core.errors import QueryError
from ytrag_core.retrieval.evidence import assemble_evidence
from ytrag_core.retrieval.mentions import Mention, find_mentions, residual_question, telling
from ytrag_core.retrieval.routes import ON_GRAPH, Clock, Run, milliseconds_since
from ytrag_core.retrieval.spelling import respell
from ytrag_core.retrieval.triples import QueryVectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.retrieval.model import Evidence
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["Retriever"]

_TURNS_PER_CORE = 1
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
        self._helper = ThreadPoolExecutor(1, thread_name_prefix="ytrag-helper")
        self._counting = threading.Lock()
        self._n_asked = 0

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
        with self._turns, self._counted():
            asked = self._read(question, wanted)
            with asked.clock.stage("encode"):
                query = self._encode(asked)
            return self._answer(asked, query, top_k, wanted, start)

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count a question that is being answered."""
        with self._counting:
            self._n_asked += 1
        try:
            yield
        finally:
            with self._counting:
                self._n_asked -= 1

    def retrieve_many(
        self, questions: Sequence[str], *, top_k: int = 20, routes: Sequence[str] | None = None
    ) -> list[Evidence]:
        """Return the evidence for each of many questions, in their order, sooner than one by one.

        They are encoded together and answered side by side, one a core.

        Parameters
        ----------
        questions
            The questions.
        top_k, routes
            As for `retrieve`.

        Returns
        -------
        list of Evidence
            As `retrieve` gives it; of the time of encoding each has an equal share.

        Raises
        ------
        QueryError
            As for `retrieve`; the message says which question it is.
        """
        if isinstance(questions, str):
            raise QueryError(
                "one string arrived where a sequence of questions was wanted; put it into a list"
            )
        wanted = frozenset[str]()
        for position, question in enumerate(questions):
            try:
                wanted = _checked(question, top_k, routes)
            except QueryError as error:
                raise QueryError(f"question {position}: {error}") from error
        if not questions:
            return []
        with ThreadPoolExecutor(available_cores(), thread_name_prefix="ytrag-retrieve") as pool:
            asked = list(pool.map(lambda question: self._read(question, wanted), questions))
            start = time.perf_counter()
            texts = list(dict.fromkeys(text for one in asked for text in (one.text, one.residual) if text))
            vectors = dict(zip(texts, self._encoder.encode_queries(texts), strict=True))
            share = milliseconds_since(start) / len(asked)

            def answer(one: _Asked) -> Evidence:
                one.clock.timings_ms["encode"] = round(share, 3)
                started = time.perf_counter() - share / 1e3
                query = _query_vectors(vectors[one.text], vectors[one.residual] if one.residual else None)
                with self._turns:
                    return self._answer(one, query, top_k, wanted, started)

            return list(pool.map(answer, asked))

    def _read(self, question: str, wanted: frozenset[str]) -> _Asked:
        """Find the names in a question, and what it asks about them."""
        clock = Clock()
        text = _plain_letters(question)
        with clock.stage("entity"):
            text = respell(text, self._view.lexicon)
            mentions = find_mentions(text, self._view.lexicon, self._settings, self._view.name)
            names = self._names(mentions) if wanted & ON_GRAPH else []
        return _Asked(question, text, mentions, residual_question(text, names) if names else "", clock)

    def _names(self, mentions: list[Mention]) -> list[Mention]:
        """Return the names that a question asks about; one that is called like a relation is asked for."""
        names = telling(mentions)
        relations = self._view.relation_words
        return [mention for mention in names if not relations.names_a_relation(mention)] or names

    def _answer(
        self, asked: _Asked, query: QueryVectors, top_k: int, wanted: frozenset[str], start: float
    ) -> Evidence:
        clock = asked.clock
        run = Run(
            self._view,
            self._settings,
            asked.text,
            asked.residual or asked.text,
            asked.mentions,
            query,
            wanted,
            clock,
        )
        ranked = run.rank(top_k)
        with clock.stage("evidence"):
            evidence = assemble_evidence(
                self._view, asked.question, ranked, run.facts, run.paths, run.communities, top_k
            )
        read_as = asked.text if asked.text != _plain_letters(asked.question) else ""
        return replace(
            evidence, read_as=read_as, timings_ms={**clock.timings_ms, "total": milliseconds_since(start)}
        )

    def _encode(self, asked: _Asked) -> QueryVectors:
        """Encode a question and, on another core where no other question needs it, what is left of it."""
        encode = self._encoder.encode_query
        if not asked.residual:
            return _query_vectors(encode(asked.text), None)
        if self._n_asked > 1 or available_cores() == 1:
            return _query_vectors(encode(asked.text), encode(asked.residual))
        with self._encoder.sharing():
            residual = self._helper.submit(encode, asked.residual)
            return _query_vectors(encode(asked.text), residual.result())


@dataclass(frozen=True, slots=True, eq=False)
class _Asked:
    """A question as it is read: `text` in plain letters and known words; `residual` without its names."""

    question: str
    text: str
    mentions: list[Mention]
    residual: str
    clock: Clock


def _query_vectors(question: NDArray[np.float32], residual: NDArray[np.float32] | None) -> QueryVectors:
    return QueryVectors(question, question if residual is None else residual)


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
