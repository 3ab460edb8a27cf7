"""One question through all routes to evidence."""

from __future__ import annotations

import threading
import time
import unicodedata
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.config import ROUTES, RetrievalSettings, available_cores
from ytrag_core.errors import QueryError
from ytrag_core.kernels.gather import gather_rows
from ytrag_core.retrieval.evidence import assemble_evidence
from ytrag_core.retrieval.fusion import RankedChunks, RouteChunks, best_chunks, fuse
from ytrag_core.retrieval.mentions import Mention, find_mentions, residual_question, telling
from ytrag_core.retrieval.pagerank import seed_mass, walk_from
from ytrag_core.retrieval.paths import Path, find_paths
from ytrag_core.retrieval.triples import QueryVectors, ScoredTriples, match_triples

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.graph.tables import Provenance
    from ytrag_core.retrieval.model import Evidence
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["Retriever"]

_ON_GRAPH = frozenset({"triple", "path", "ppr"})
_N_COMMUNITIES = 5
_N_ALIKE = 8
_MEMBERS = 512
_TURNS_PER_CORE = 2
"""Questions answered at a time; more only take the caches and the interpreter from each other."""

_MAX_CHARACTERS = 20_000
_HALF_WIDTH = {ord("\u3000"): " ", ord("＇"): "'"} | {
    code: code - 0xFEE0
    for first, last in ("０９", "ＡＺ", "ａｚ")
    for code in range(ord(first), ord(last) + 1)
}


@dataclass(slots=True)
class _Clock:
    """Milliseconds by stage."""

    timings_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.timings_ms[name] = _milliseconds(start)


def _milliseconds(start: float) -> float:
    """Return the milliseconds since a reading of the clock."""
    return round((time.perf_counter() - start) * 1e3, 3)


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
        clock = _Clock()
        asked = _plain_letters(question)
        with clock.stage("entity"):
            mentions = find_mentions(asked, self._view.lexicon, self._settings, self._view.name)
        with clock.stage("encode"):
            query = self._encode(asked, mentions if wanted & _ON_GRAPH else [])
        run = _Run(self._view, self._settings, asked, mentions, query, wanted, clock)
        ranked = run.rank(top_k)
        with clock.stage("evidence"):
            evidence = assemble_evidence(
                self._view, question, ranked, run.facts, run.paths, run.communities, top_k
            )
        return replace(evidence, timings_ms={**clock.timings_ms, "total": _milliseconds(start)})

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


class _Run:
    """The routes of one question; later ones use what earlier ones found."""

    def __init__(
        self,
        view: SnapshotView,
        settings: RetrievalSettings,
        question: str,
        mentions: list[Mention],
        query: QueryVectors,
        wanted: frozenset[str],
        clock: _Clock,
    ) -> None:
        self._view = view
        self._settings = settings
        self._question = question
        self._query = query
        self._wanted = wanted
        self._clock = clock
        self._found: dict[str, RouteChunks] = {}
        self.mentions = mentions
        self.facts = ScoredTriples(np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.float32))
        self.paths: list[Path] = []
        self.communities: list[tuple[int, float]] = []

    def rank(self, k: int) -> RankedChunks:
        """Run the wanted routes and fuse them."""
        wanted, clock = self._wanted, self._clock
        if wanted & _ON_GRAPH:
            with clock.stage("triple"):
                self.facts = match_triples(self._view, self._query, self.mentions)
        if "path" in wanted:
            with clock.stage("path"):
                self.paths = self._find_paths()
        if "community" in wanted:
            with clock.stage("community"):
                self.communities = self._nearest_communities()
        if self._view.n_chunks == 0:
            return RankedChunks(np.empty(0, np.int32), np.empty(0, np.float32), [])
        return self._rank_chunks(k)

    def _find_paths(self) -> list[Path]:
        """Search from the question's names, or from the heads of its best facts where it has none."""
        names = telling(self.mentions)
        seeds: dict[int, float] = {}
        for mention in names:
            for node in mention.nodes[:_N_ALIKE]:
                seeds[node] = max(seeds.get(node, 0.0), mention.weight)
        if not seeds:
            best = self.facts.ids[: self._settings.n_facts]
            seeds = dict.fromkeys(self._view.heads(best).tolist(), 1.0)
        return find_paths(self._view, self._query, seeds, self._settings)

    def _nearest_communities(self) -> list[tuple[int, float]]:
        ids, scores = self._view.community_index.search(self._query.question, _N_COMMUNITIES)
        return list(zip(ids[0].tolist(), scores[0].tolist(), strict=True))

    def _rank_chunks(self, k: int) -> RankedChunks:
        view, found = self._view, self._found
        n_candidates = max(self._settings.n_candidates, k)
        texts, bm25 = self._text_routes(n_candidates)
        rescored: dict[str, NDArray[np.float32]] = {}
        walked = self._walk(texts, n_candidates) if "ppr" in self._wanted else None
        with self._clock.stage("fuse"):
            found |= {route: chunks for route, chunks in texts.items() if route in self._wanted}
            self._graph_chunks(n_candidates)
            candidates = np.unique(np.concatenate([chunks.rows for chunks in found.values()]))
            if "dense" in found:
                rescored["dense"] = view.chunk_index.scores(self._query.question, candidates)
            if "bm25" in found:
                rescored["bm25"] = bm25[candidates]
            if walked is not None:
                rescored["ppr"] = walked[candidates]
            return fuse(found, rescored, candidates, k, self._settings)

    def _text_routes(self, n_candidates: int) -> tuple[dict[str, RouteChunks], NDArray[np.float32]]:
        """Return what the text routes put forward, and BM25 of all passages; walks start there too."""
        view, texts = self._view, {}
        bm25 = np.empty(0, np.float32)
        if self._wanted & {"ppr", "dense"}:
            with self._clock.stage("dense"):
                texts["dense"] = RouteChunks(*view.chunk_index.search(self._query.question, n_candidates))
        if self._wanted & {"ppr", "bm25"}:
            with self._clock.stage("bm25"):
                bm25 = view.lexical.scores(self._question)
                texts["bm25"] = best_chunks(np.arange(view.n_chunks, dtype=np.int32), bm25, n_candidates)
        return texts, bm25

    def _walk(self, texts: Mapping[str, RouteChunks], n_candidates: int) -> NDArray[np.float32]:
        """Run the walk and return (n_chunks,) how often it visits each passage."""
        view = self._view
        with self._clock.stage("ppr"):
            passages = [(text.rows, text.scores) for text in texts.values()]
            mass = seed_mass(view, self.mentions, self.facts, passages, self._settings)
            vertices, visits = walk_from(view, mass, self._settings)
            is_chunk = vertices >= view.n_nodes
            rows = (vertices[is_chunk] - view.n_nodes).astype(np.int32)
            walked = np.zeros(view.n_chunks, np.float32)
            walked[rows] = visits[is_chunk]
            self._found["ppr"] = best_chunks(rows, visits[is_chunk], 2 * n_candidates)
        return walked

    def _graph_chunks(self, n_candidates: int) -> None:
        """Add the passages behind names, triples, paths and communities."""
        view, found = self._view, self._found
        if "entity" in self._wanted:
            weights = {node: m.weight / len(m.nodes) for m in self.mentions for node in m.nodes}
            found["entity"] = _behind(view.node_chunks, weights, n_candidates)
        if "triple" in self._wanted:
            scores = dict(zip(self.facts.ids.tolist(), self.facts.scores.tolist(), strict=True))
            found["triple"] = _behind(view.triple_chunks, scores, n_candidates)
        if "path" in self._wanted:
            scores = {triple: path.score for path in reversed(self.paths) for triple in path.triples}
            found["path"] = _behind(view.triple_chunks, scores, n_candidates)
        if "community" in self._wanted:
            scores = {}
            for community, score in reversed(self.communities):
                start, end = view.members.indptr[community : community + 2].tolist()
                members = view.members.chunks[start : min(end, start + _MEMBERS)].tolist()
                scores.update(dict.fromkeys(members, score / max(end - start, 1)))
            found["community"] = _behind(view.node_chunks, scores, n_candidates, add=True)


def _behind(provenance: Provenance, scores: Mapping[int, float], k: int, *, add: bool = False) -> RouteChunks:
    """Return the chunks behind scored subjects: each with its best subject's score, or with their sum."""
    subjects = np.fromiter(scores, np.int32, len(scores))
    values = np.fromiter(scores.values(), np.float32, len(scores))
    positions, owner = gather_rows(provenance.indptr, subjects, 0)
    rows, inverse = np.unique(provenance.chunks[positions], return_inverse=True)
    total = np.zeros(rows.shape[0], np.float32)
    (np.add if add else np.maximum).at(total, inverse, values[owner])
    return best_chunks(rows, total, k)
