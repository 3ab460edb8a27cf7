"""One question through all routes to evidence."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from ytrag_core.config import ROUTES, RetrievalSettings, available_cores
from ytrag_core.errors import QueryError
from ytrag_core.retrieval.ahead import in_two_steps
from ytrag_core.retrieval.beside import ALONE, SecondCore
from ytrag_core.retrieval.clock import Clock, milliseconds_since
from ytrag_core.retrieval.conditions import metadata_filter
from ytrag_core.retrieval.evidence import assemble_evidence
from ytrag_core.retrieval.explain import Explanation, explain_evidence
from ytrag_core.retrieval.fusion import RankedChunks
from ytrag_core.retrieval.masks import FilterMasks, Masks
from ytrag_core.retrieval.model import Evidence
from ytrag_core.retrieval.options import check_filters, check_question
from ytrag_core.retrieval.question import Asked, in_known_words, names_in
from ytrag_core.retrieval.read_ahead import ReadAhead
from ytrag_core.retrieval.rerank import reranked
from ytrag_core.retrieval.routes import ON_GRAPH, Run
from ytrag_core.retrieval.triples import QueryVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.retrieval.beside import Beside
    from ytrag_core.retrieval.features import PassageFeatures
    from ytrag_core.retrieval.options import Filters
    from ytrag_core.retrieval.rerank import Reranker
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["Retriever"]

_TURNS_PER_CORE = 1
"""Questions answered at a time; more only take the caches and the interpreter from each other."""

_EVERY_FACT = 1 << 30
"""More facts than a question finds."""

_THREADS = 2
"""Of many questions one is answered, which holds the interpreter most of the time, beside what does not."""

_AHEAD = 8
"""Of many questions so many are begun and not yet answered."""


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
        self._second_core = SecondCore()

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
        reranker = filters.get("reranker")
        k = self._n_ranked(top_k, reranker)
        with self._turns, self._second_core.lent() as beside:
            run = self._ask(question, wanted, masks, k, top_k, beside, filter_ms)
            return self._answer(run, top_k, start, masks, reranker)

    def features(self, question: str) -> PassageFeatures | None:
        """Return the candidates of a question with what the fusion knows of them; None without passages.

        Raises
        ------
        QueryError
            As for `retrieve`.
        """
        wanted = _checked(question, 1, None)
        run = self._ask(question, wanted, self._masks({})[0], 1, 1)
        run.rank()
        return run.features

    def retrieve_many(
        self,
        questions: Sequence[str],
        *,
        top_k: int = 20,
        routes: Sequence[str] | None = None,
        **filters: Unpack[Filters],
    ) -> list[Evidence]:
        """Return the evidence for each of many questions, in their order, sooner than one by one.

        While one is answered, those after it are encoded, some of one length together, and searched for on a
        second core.

        Parameters
        ----------
        questions
            The questions.
        top_k, routes, **filters
            As for `retrieve`.

        Returns
        -------
        list of Evidence
            As `retrieve` gives it; the time of one is what was done for it, wherever and whenever.

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
        k = self._n_ranked(top_k, reranker)

        def read(question: str) -> Run:
            asked = self._read(question, wanted, filter_ms)
            return Run(self._view, self._settings, asked, wanted, k, top_k, masks)

        def answer(run: Run) -> Evidence:
            start = time.perf_counter() - sum(run.asked.clock.timings_ms.values()) / 1e3
            return self._answer(run, top_k, start, masks, reranker)

        prepare = ReadAhead(questions, read, self._encoder).prepare
        # A reranker has use for all cores itself, and need not be one that several threads may call.
        n_threads = min(_THREADS, available_cores()) if reranker is None else 1
        with self._turns, self._second_core.lent(), self._encoder.sharing():
            return in_two_steps(len(questions), prepare, answer, n_ahead=_AHEAD, n_threads=n_threads)

    def _masks(self, filters: Filters) -> tuple[Masks, float]:
        """Return what may be returned, and how many milliseconds it took to know; 0 without a filter."""
        check_filters(filters)
        types, where = filters.get("types"), filters.get("where")
        start = time.perf_counter()
        masks = self._filters.of(types, metadata_filter(where))
        return masks, 0.0 if types is None and where is None else milliseconds_since(start)

    def _read(self, question: str, wanted: frozenset[str], filter_ms: float = 0.0) -> Asked:
        clock = _clock(filter_ms)
        with clock.stage("entity"):
            text = in_known_words(question, self._view)
            return self._names(question, text, wanted, clock)

    def _names(self, question: str, text: str, wanted: frozenset[str], clock: Clock) -> Asked:
        return names_in(question, text, self._view, self._settings, clock, on_graph=bool(wanted & ON_GRAPH))

    def _ask(
        self,
        question: str,
        wanted: frozenset[str],
        masks: Masks,
        k: int,
        n_facts: int,
        beside: Beside = ALONE,
        filter_ms: float = 0.0,
    ) -> Run:
        """Read and encode a question, and start those of its routes that need no more than that.

        The second core encodes it and then looks for triples near to it. Meanwhile, on this one, its names
        are looked up, the routes are run that need no vector, and what is left of it without its names is
        encoded.
        """
        clock, encode = _clock(filter_ms), self._encoder.encode_query
        with clock.stage("entity"):
            text = in_known_words(question, self._view)
        # What is left without the names needs a core of its own, and only routes on the graph need it.
        with self._encoder.sharing() if wanted & ON_GRAPH else nullcontext():
            with clock.stage("encode"):
                encoded = beside.start(encode, text)
            with clock.stage("entity"):
                asked = self._names(question, text, wanted, clock)
            run = Run(self._view, self._settings, asked, wanted, k, n_facts, masks, beside)
            run.search_triples(encoded)
            run.prepare()
            with clock.stage("encode"):
                residual = encode(asked.residual) if asked.residual else None
                run.query = QueryVectors.of(encoded(), residual)
        return run

    def _n_ranked(self, top_k: int, reranker: Reranker | None) -> int:
        return top_k if reranker is None else max(top_k, self._settings.n_reranked)

    def _answer(
        self,
        run: Run,
        top_k: int,
        start: float,
        masks: Masks,
        reranker: Reranker | None,
    ) -> Evidence:
        asked, clock = run.asked, run.asked.clock
        if masks.leave_nothing:
            evidence = Evidence(asked.question, (), (), (), (), {})
        else:
            run, ranked, masks = self._rank(run, masks)
            if reranker is not None:
                with clock.stage("rerank"):
                    ranked = self._reranked(asked, ranked, reranker)
            with clock.stage("evidence"):
                evidence = assemble_evidence(self._view, asked.question, ranked.first(top_k), run)
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
        n_chunks = max(self._view.n_chunks, 1)
        with self._turns, self._second_core.lent() as beside:
            run = self._ask(question, wanted, masks, n_chunks, _EVERY_FACT, beside)
            if masks.leave_nothing:
                ranked = RankedChunks(np.empty(0, np.int32), np.empty(0, np.float32), [])
            else:
                run, ranked, masks = self._rank(run, masks)
            if (reranker := filters.get("reranker")) is not None:
                ranked = self._reranked(run.asked, ranked, reranker)
            rows = ranked.rows[:top_k].tolist() if row is None else [row]
            evidence = assemble_evidence(self._view, run.asked.question, ranked.of(rows), run)
            evidence = replace(evidence, read_as=run.asked.read_as, notes=masks.notes)
            return explain_evidence(self._view, run, ranked, evidence, rows)

    def _rank(self, run: Run, masks: Masks) -> tuple[Run, RankedChunks, Masks]:
        """Run the routes; once more with softer masks where hard ones leave nothing."""
        ranked = run.rank()
        if masks.is_hard and not (ranked.rows.size or run.facts.ids.size or run.paths):
            masks = self._filters.softened(masks)
            return self._rank(run.again(masks), masks)
        return run, ranked, masks


def _clock(filter_ms: float) -> Clock:
    return Clock({"filter": filter_ms} if filter_ms else {})


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
