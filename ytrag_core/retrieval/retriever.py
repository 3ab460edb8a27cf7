"""One question through all routes to evidence."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from ytrag_core.config import ROUTES, RetrievalSettings, available_cores
from ytrag_core.errors import QueryError
from ytrag_core.retrieval.ahead import prepared_ahead
from ytrag_core.retrieval.conditions import metadata_filter
from ytrag_core.retrieval.evidence import assemble_evidence
from ytrag_core.retrieval.explain import Explanation, explain_evidence
from ytrag_core.retrieval.fusion import RankedChunks
from ytrag_core.retrieval.masks import FilterMasks, Masks
from ytrag_core.retrieval.model import Evidence
from ytrag_core.retrieval.options import check_filters, check_question
from ytrag_core.retrieval.question import Asked, read_question
from ytrag_core.retrieval.rerank import reranked
from ytrag_core.retrieval.routes import ON_GRAPH, Clock, Run, milliseconds_since
from ytrag_core.retrieval.triples import QueryVectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.retrieval.features import PassageFeatures
    from ytrag_core.retrieval.options import Filters
    from ytrag_core.retrieval.rerank import Reranker
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["Retriever"]

_TURNS_PER_CORE = 1
"""Questions answered at a time; more only take the caches and the interpreter from each other."""

_BLOCK = 30
"""Questions encoded together; while that is done for the next ones, these are answered."""


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
        self._filters = FilterMasks(view)
        self._turns = threading.BoundedSemaphore(_TURNS_PER_CORE * available_cores())
        self._helper = ThreadPoolExecutor(1, thread_name_prefix="ytrag-helper")
        self._counting = threading.Lock()
        self._n_asked = 0

    def retrieve(
        self,
        question: str,
        *,
        top_k: int = 20,
        routes: Sequence[str] | None = None,
        **filters: Unpack[Filters],
    ) -> Evidence:
        """Return the evidence for a question.

        Parameters
        ----------
        question
            In any language the encoder and the names understand.
        top_k
            Most passages and most triples.
        routes
            Subset of `ytrag_core.config.ROUTES`; all by default.
        **filters
            See `Filters`.

        Raises
        ------
        QueryError
            The question is empty or far too long, `top_k` is below 1, a route is unknown, or a condition
            cannot be read or is on a field that there is not.
        """
        wanted = _checked(question, top_k, routes)
        start = time.perf_counter()
        masks, filter_ms = self._masks(filters)
        with self._turns, self._counted():
            asked = self._read(question, wanted, filter_ms)
            reranker = filters.get("reranker")
            run = self._routes(asked, self._n_ranked(top_k, reranker), wanted, masks)
            with asked.clock.stage("encode"):
                query = self._encode(asked, run)
            return self._answer(run, asked, query, top_k, wanted, start, masks, reranker)

    def features(self, question: str) -> PassageFeatures | None:
        """Return the candidates of a question with what the fusion knows of them; None without passages.

        Raises
        ------
        QueryError
            As for `retrieve`.
        """
        wanted = _checked(question, 1, None)
        asked = self._read(question, wanted)
        run = self._routes(asked, 1, wanted, self._masks({})[0])
        run.rank(self._encode(asked, run))
        return run.features

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
        self,
        questions: Sequence[str],
        *,
        top_k: int = 20,
        routes: Sequence[str] | None = None,
        **filters: Unpack[Filters],
    ) -> list[Evidence]:
        """Return the evidence for each of many questions, in their order, sooner than one by one.

        They are encoded in blocks, each while the one before is answered.

        Parameters
        ----------
        questions
            The questions.
        top_k, routes, **filters
            As for `retrieve`.

        Returns
        -------
        list of Evidence
            As `retrieve` gives it; of the time of encoding a block each has an equal share.

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
        masks, filter_ms = self._masks(filters)
        reranker = filters.get("reranker")

        def answer(one: Asked, query: QueryVectors) -> Evidence:
            started = time.perf_counter() - one.clock.timings_ms["encode"] / 1e3
            with self._turns:
                run = self._routes(one, self._n_ranked(top_k, reranker), wanted, masks)
                return self._answer(run, one, query, top_k, wanted, started, masks, reranker)

        asked = [self._read(question, wanted, filter_ms) for question in questions]
        found: list[Evidence] = []
        with ThreadPoolExecutor(max(1, available_cores() // 2), thread_name_prefix="ytrag-retrieve") as pool:
            for block, queries in prepared_ahead(asked, _BLOCK, self._encode_block):
                found += pool.map(answer, block, queries)
        return found

    def _encode_block(self, asked: Sequence[Asked], n_threads: int) -> list[QueryVectors]:
        start = time.perf_counter()
        texts = list(dict.fromkeys(text for one in asked for text in (one.text, one.residual) if text))
        vectors = dict(zip(texts, self._encoder.encode_queries(texts, n_threads=n_threads), strict=True))
        share = round(milliseconds_since(start) / len(asked), 3)
        for one in asked:
            one.clock.timings_ms["encode"] = share
        return [_query_vectors(vectors[one.text], vectors.get(one.residual)) for one in asked]

    def _masks(self, filters: Filters) -> tuple[Masks, float]:
        """Return what may be returned, and how many milliseconds it took to know; 0 without a filter."""
        check_filters(filters)
        types, where = filters.get("types"), filters.get("where")
        start = time.perf_counter()
        masks = self._filters.of(types, metadata_filter(where))
        return masks, 0.0 if types is None and where is None else milliseconds_since(start)

    def _read(self, question: str, wanted: frozenset[str], filter_ms: float = 0.0) -> Asked:
        clock = Clock()
        if filter_ms:
            clock.timings_ms["filter"] = filter_ms
        with clock.stage("entity"):
            return read_question(
                question, self._view, self._settings, clock, on_graph=bool(wanted & ON_GRAPH)
            )

    def _n_ranked(self, top_k: int, reranker: Reranker | None) -> int:
        return top_k if reranker is None else max(top_k, self._settings.n_reranked)

    def _answer(
        self,
        run: Run,
        asked: Asked,
        query: QueryVectors,
        top_k: int,
        wanted: frozenset[str],
        start: float,
        masks: Masks,
        reranker: Reranker | None,
    ) -> Evidence:
        clock = asked.clock
        if masks.leave_nothing:
            evidence = Evidence(asked.question, (), (), (), (), {})
        else:
            run, ranked, masks = self._rank(run, asked, query, wanted, masks)
            if reranker is not None:
                with clock.stage("rerank"):
                    ranked = self._reranked(asked, ranked, reranker)
            ranked = ranked.first(top_k)
            with clock.stage("evidence"):
                evidence = assemble_evidence(
                    self._view,
                    asked.question,
                    ranked,
                    run.facts,
                    run.paths,
                    run.communities,
                    top_k,
                    masks.allowed.chunks,
                )
        return replace(
            evidence,
            read_as=asked.read_as,
            notes=masks.notes,
            timings_ms={**clock.timings_ms, "total": milliseconds_since(start)},
        )

    def _reranked(self, asked: Asked, ranked: RankedChunks, reranker: Reranker) -> RankedChunks:
        settings = self._settings
        return reranked(
            self._view, asked.question, ranked, reranker, settings.n_reranked, settings.rerank_weight
        )

    def explain(
        self,
        question: str,
        chunk_id: str | None = None,
        *,
        top_k: int = 20,
        routes: Sequence[str] | None = None,
        **filters: Unpack[Filters],
    ) -> Explanation:
        """Return why each passage of the evidence is there, or why one passage is, or is not.

        Parameters
        ----------
        question, top_k, routes, **filters
            As for `retrieve`.
        chunk_id
            The passage to explain; the `top_k` best by default.

        Raises
        ------
        QueryError
            As for `retrieve`, or there is no such passage.
        """
        wanted = _checked(question, top_k, routes)
        row = None if chunk_id is None else self._view.chunks.row(chunk_id)
        masks, _ = self._masks(filters)
        with self._turns, self._counted():
            asked = self._read(question, wanted)
            run = self._routes(asked, max(self._view.n_chunks, 1), wanted, masks)
            query = self._encode(asked, run)
            if masks.leave_nothing:
                ranked = RankedChunks(np.empty(0, np.int32), np.empty(0, np.float32), [])
            else:
                run, ranked, masks = self._rank(run, asked, query, wanted, masks)
            if (reranker := filters.get("reranker")) is not None:
                ranked = self._reranked(asked, ranked, reranker)
            rows = ranked.rows[:top_k].tolist() if row is None else [row]
            evidence = assemble_evidence(
                self._view,
                asked.question,
                ranked.of(rows),
                run.facts,
                run.paths,
                run.communities,
                max(run.facts.ids.size, 1),
                masks.allowed.chunks,
            )
            evidence = replace(evidence, read_as=asked.read_as, notes=masks.notes)
            return explain_evidence(self._view, run, ranked, evidence, rows)

    def _routes(self, asked: Asked, k: int, wanted: frozenset[str], masks: Masks) -> Run:
        about = asked.residual or asked.text
        return Run(
            self._view, self._settings, asked.text, about, asked.mentions, wanted, k, asked.clock, masks
        )

    def _rank(
        self, run: Run, asked: Asked, query: QueryVectors, wanted: frozenset[str], masks: Masks
    ) -> tuple[Run, RankedChunks, Masks]:
        """Run the routes; once more with softer masks where hard ones leave nothing."""
        ranked = run.rank(query)
        if masks.is_hard and not (ranked.rows.size or run.facts.ids.size or run.paths):
            masks = self._filters.softened(masks)
            return self._rank(self._routes(asked, run.k, wanted, masks), asked, query, wanted, masks)
        return run, ranked, masks

    def _encode(self, asked: Asked, run: Run) -> QueryVectors:
        """Encode a question.

        Where no other question needs the second core, what is left of the question without its names is
        encoded there, and then, that being shorter, the routes are run that need no vectors.
        """
        encode = self._encoder.encode_query
        if not asked.residual:
            return _query_vectors(encode(asked.text), None)
        if self._n_asked > 1 or available_cores() == 1:
            return _query_vectors(encode(asked.text), encode(asked.residual))

        def beside() -> NDArray[np.float32]:
            vector = encode(asked.residual)
            run.prepare()
            return vector

        with self._encoder.sharing():
            residual = self._helper.submit(beside)
            return _query_vectors(encode(asked.text), residual.result())


def _query_vectors(question: NDArray[np.float32], residual: NDArray[np.float32] | None) -> QueryVectors:
    return QueryVectors(question, question if residual is None else residual)


def _checked(question: str, top_k: int, routes: Sequence[str] | None) -> frozenset[str]:
    check_question(question)
    if not isinstance(top_k, int):
        raise QueryError(f"top_k is {top_k!r}; a whole number is needed")
    if top_k < 1:
        raise QueryError(f"top_k is {top_k}; at least 1 is needed")
    wanted = frozenset(ROUTES if routes is None else [routes] if isinstance(routes, str) else routes)
    unknown = sorted(wanted - set(ROUTES))
    if unknown or not wanted:
        raise QueryError(f"routes {unknown or 'none'} arrived; choose from {', '.join(ROUTES)}")
    return wanted
