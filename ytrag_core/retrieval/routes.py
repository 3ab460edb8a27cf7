"""The routes of one question, and what they find together."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.gather import scores_behind
from ytrag_core.retrieval.bridge import bridge_scores
from ytrag_core.retrieval.copies import LOOKED_BEHIND, copies_behind
from ytrag_core.retrieval.features import PassageFeatures, passage_features, resemblance
from ytrag_core.retrieval.fusion import (
    RankedChunks,
    RouteChunks,
    best_chunks,
    fuse,
    likelihood,
    rank_parts,
    weigh,
)
from ytrag_core.retrieval.masked import search_allowed
from ytrag_core.retrieval.masks import Masks, Selection
from ytrag_core.retrieval.mentions import Mention, telling
from ytrag_core.retrieval.pagerank import seed_mass, walk_from
from ytrag_core.retrieval.paths import Path, find_paths, prefer_paths
from ytrag_core.retrieval.triples import QueryVectors, ScoredTriples, match_triples
from ytrag_core.retrieval.weights import FusionWeights

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from ytrag_core.config import RetrievalSettings
    from ytrag_core.graph.tables import Provenance
    from ytrag_core.retrieval.trust import Spread
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["ON_GRAPH", "Clock", "Run", "milliseconds_since"]

ON_GRAPH = frozenset({"triple", "path", "ppr"})
_N_COMMUNITIES = 5
_N_ALIKE = 8
_MEMBERS = 512
_COARSE = 10.0
"""A walk that only weighs passages is followed less far than one that also puts them forward."""
_COMMUNITY_BONUS = 0.05
_NODE_BONUS = 0.5
_EVERY = np.empty(0, bool)


@dataclass(slots=True)
class Clock:
    """Milliseconds by stage; what a stage does in several turns is summed."""

    timings_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Note how long what is done inside takes."""
        start = time.perf_counter()
        yield
        spent = self.timings_ms.get(name, 0.0) + milliseconds_since(start)
        self.timings_ms[name] = round(spent, 3)


def milliseconds_since(start: float) -> float:
    """Return the milliseconds since a reading of the clock."""
    return round((time.perf_counter() - start) * 1e3, 3)


@dataclass(frozen=True, slots=True, eq=False)
class _Worded:
    """What a question finds by its words alone.

    Attributes
    ----------
    bm25
        The passages by words; None where no route asks for them.
    coverage
        (n_chunks,) float32; empty where no route asks for it.
    from_names
        (n_chunks,) float32, how often walks from the question's names visit each passage; None likewise.
    """

    bm25: RouteChunks | None
    coverage: NDArray[np.float32]
    from_names: NDArray[np.float32] | None


class Run:
    """The routes of one question; later ones use what earlier ones found.

    Those that need no vectors may run ahead, while the question is encoded: `prepare`.
    """

    def __init__(
        self,
        view: SnapshotView,
        settings: RetrievalSettings,
        question: str,
        asked_about: str,
        mentions: list[Mention],
        wanted: frozenset[str],
        k: int,
        clock: Clock,
        masks: Masks | None = None,
    ) -> None:
        self._view = view
        self._settings = settings
        self._question = question
        self._asked_about = asked_about
        self._wanted = wanted
        self.k, self._n_candidates = k, max(settings.n_candidates, k)
        self._clock = clock
        self._query: QueryVectors
        self._worded: _Worded | None = None
        self._found: dict[str, RouteChunks] = {}
        masks = masks or Masks(Selection(view))
        self._masks, self._allowed = masks, masks.allowed
        self.seeds: dict[int, float] = {}
        self.trust: dict[str, float] = {}
        self.mentions = mentions
        self.facts = _no_triples()
        self.paths: list[Path] = []
        self.communities: list[tuple[int, float]] = []
        self.features: PassageFeatures | None = None

    def prepare(self) -> None:
        """Run the routes that need no vectors."""
        self._by_words()

    def rank(self, query: QueryVectors) -> RankedChunks:
        """Run the wanted routes with the vectors of the question, and fuse them."""
        self._query = query
        wanted, clock = self._wanted, self._clock
        if wanted & ON_GRAPH:
            with clock.stage("triple"):
                self.facts = match_triples(self._view, self._query, self.mentions, masks=self._masks)
        if "path" in wanted:
            with clock.stage("path"):
                self.paths = self._find_paths()
        if "community" in wanted:
            with clock.stage("community"):
                self.communities = self._nearest_communities()
        if self._view.n_chunks == 0:
            return RankedChunks(np.empty(0, np.int32), np.empty(0, np.float32), [])
        return self._rank_chunks()

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
        asked = self._view.relation_words.asked(self._asked_about)
        paths = find_paths(self._view, self._query, asked, seeds, self._settings, self._allowed)
        preferred = self._masks.preferred
        if preferred is not None and preferred.triples is not None:
            wanted = find_paths(self._view, self._query, asked, seeds, self._settings, preferred)
            paths = prefer_paths([*paths, *wanted], preferred.triples)
        return paths

    def _nearest_communities(self) -> list[tuple[int, float]]:
        found: dict[int, float] = {}
        for chosen, bonus in ((self._allowed, 0.0), (self._masks.preferred, _COMMUNITY_BONUS)):
            if chosen is not None:
                near = search_allowed(
                    self._view.community_index, self._query.question, _N_COMMUNITIES, chosen.communities
                )
                ids, scores = (column.tolist() for column in near)
                found |= {id_: score + bonus for id_, score in zip(ids, scores, strict=True)}
        best = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
        return best[:_N_COMMUNITIES]

    def _rank_chunks(self) -> RankedChunks:
        found, wanted, n_candidates = self._found, self._wanted, self._n_candidates
        worded = self._by_words()
        texts = self._text_routes(worded)
        trust = self.trust = self._trust(texts)
        walked = self._walk(texts, trust, n_candidates) if "ppr" in wanted else None
        with self._clock.stage("fuse"):
            found |= {route: chunks for route, chunks in texts.items() if route in wanted}
            self._graph_chunks(n_candidates)
            first = found or texts  # a second hop alone starts from what the texts say
            rows = np.unique(np.concatenate([chunks.rows for chunks in first.values()]))
            values = passage_features(
                first,
                rows,
                trust,
                coverage=worded.coverage,
                titles=self._view.titles.shares(self._question, rows) if "bm25" in first else None,
                walked=walked,
                from_names=worded.from_names,
                resembling=self._resembling(rows) if "dense" in first else None,
            )
        named = np.unique(np.array([n for m in self.mentions for n in m.nodes], np.int32))
        if "bridge" in wanted:
            with self._clock.stage("bridge"):
                before = likelihood(self._parts(first, values, rows, trust), rows.shape[0])
                linked = bridge_scores(self._view, rows, before, named)
                values = {**(values if len(wanted) > 1 else {}), "bridge": linked}
                found["bridge"] = best_chunks(linked, n_candidates, rows)
        with self._clock.stage("fuse"):
            self.features = PassageFeatures(rows, values, named)
            parts = self._parts(found, values, rows, trust)
            bonus = self._preference(rows)
            ranked = fuse(found, parts, rows, self.k + LOOKED_BEHIND, values, bonus)
            return copies_behind(self._view, ranked, self.k)

    def _preference(self, rows: NDArray[np.int32]) -> NDArray[np.float32] | None:
        """Return what passages count for the types that are preferred; None where none are."""
        preferred = self._masks.preferred
        if preferred is None or preferred.chunks is None:
            return None
        weight = np.float32(self._settings.type_weight)
        counted: NDArray[np.float32] = weight * preferred.chunks[rows].astype(np.float32)
        return counted

    def _parts(
        self,
        found: Mapping[str, RouteChunks],
        features: Mapping[str, NDArray[np.float32]],
        rows: NDArray[np.int32],
        trust: Mapping[str, float],
    ) -> dict[str, NDArray[np.float64]]:
        """Return what each route adds to each candidate, by weights or by ranks."""
        settings = self._settings
        if settings.fusion == "ranks":
            return rank_parts(found, rows, trust)
        weights = FusionWeights.shipped().weights if settings.weights is None else settings.weights
        return weigh(features, weights)

    def _resembling(self, rows: NDArray[np.int32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return resemblance(self._view, self._query, self._passage_spread, rows)

    @cached_property
    def _passage_spread(self) -> Spread:
        """Where the similarities of the question to all passages lie."""
        return self._view.passage_background.spread(self._query.question)

    def _trust(self, texts: Mapping[str, RouteChunks]) -> dict[str, float]:
        """Return how far the question is to be trusted to tell passages and triples apart by meaning."""
        view, query = self._view, self._query.question
        trust = {}
        if "dense" in texts and texts["dense"].rows.size:
            trust["dense"] = self._passage_spread.trust(float(texts["dense"].scores[0]))
        if self.facts.ids.size:
            best = float(self.facts.similarity.max())
            trust["triple"] = trust["path"] = view.triple_background.spread(query).trust(best)
        return trust

    def _text_routes(self, worded: _Worded) -> dict[str, RouteChunks]:
        """Return what the text routes put forward, for walks too."""
        texts = {}
        if self._wanted & {"ppr", "dense", "bridge"}:
            with self._clock.stage("dense"):
                index, allowed = self._view.chunk_index, self._allowed.chunks
                texts["dense"] = RouteChunks(*index.search(self._query.question, self._n_candidates, allowed))
        if worded.bm25 is not None:
            texts["bm25"] = worded.bm25
        return texts

    def _by_words(self) -> _Worded:
        if self._worded is None:
            n_chunks, wanted = self._view.n_chunks, self._wanted
            bm25, coverage = None, np.empty(0, np.float32)
            if n_chunks and wanted & {"ppr", "bm25", "bridge"}:
                with self._clock.stage("bm25"):
                    coverage = self._view.lexical.coverage(self._question)
                    if self._allowed.chunks is not None:
                        coverage = np.where(self._allowed.chunks, coverage, np.float32(0.0))
                    bm25 = best_chunks(coverage, self._n_candidates)
            from_names = self._walk_from_names() if n_chunks and "entity" in wanted else None
            self._worded = _Worded(bm25, coverage, from_names)
        return self._worded

    def _walk(
        self, texts: Mapping[str, RouteChunks], trust: Mapping[str, float], n_candidates: int
    ) -> NDArray[np.float32]:
        """Run the walk and return (n_chunks,) how often it visits each passage."""
        view = self._view
        with self._clock.stage("ppr"):
            # The same seeds however many passages are asked for: `explain` asks for all.
            n_seeds = self._settings.n_candidates
            passages = [
                (text.rows[:n_seeds], text.scores[:n_seeds], trust.get(route, 1.0))
                for route, text in texts.items()
            ]
            facts_trust = trust.get("triple", 1.0)
            mass = seed_mass(view, self.mentions, self.facts, facts_trust, passages, self._settings)
            self.seeds = mass
            vertices, visits = walk_from(view, mass, self._settings)
            is_chunk = self._arrivals(vertices)
            rows, visits = vertices[is_chunk] - np.int32(view.n_nodes), visits[is_chunk]
            walked = np.zeros(view.n_chunks, np.float32)
            walked[rows] = visits
            order = np.argsort(rows)
            self._found["ppr"] = best_chunks(visits[order], 2 * n_candidates, rows[order])
        return walked

    def _arrivals(self, vertices: NDArray[np.int32]) -> NDArray[np.bool_]:
        """Return which vertices are passages that may be put forward; a walk passes through everything."""
        n_nodes, allowed = self._view.n_nodes, self._allowed.chunks
        is_chunk: NDArray[np.bool_] = vertices >= n_nodes
        if allowed is not None:
            is_chunk[is_chunk] = allowed[vertices[is_chunk] - n_nodes]
        return is_chunk

    def _walk_from_names(self) -> NDArray[np.float32]:
        """Return (n_chunks,) how often walks from the question's names alone visit each passage."""
        view = self._view
        with self._clock.stage("entity"):
            mass = seed_mass(view, self.mentions, _no_triples(), 0.0, (), self._settings)
            vertices, visits = walk_from(view, mass, self._settings, coarse=_COARSE)
            is_chunk = self._arrivals(vertices)
            walked = np.zeros(view.n_chunks, np.float32)
            walked[vertices[is_chunk] - view.n_nodes] = visits[is_chunk]
        return walked

    def _graph_chunks(self, n_candidates: int) -> None:
        """Add the passages behind names, triples, paths and communities."""
        view, found = self._view, self._found
        allowed = self._allowed.chunks
        if "entity" in self._wanted:
            weights = {node: m.weight / len(m.nodes) for m in self.mentions for node in m.nodes}
            weights = self._of_wanted_types(weights)
            found["entity"] = _behind(view.node_chunks, weights, n_candidates, allowed)
        if "triple" in self._wanted:
            scores = dict(zip(self.facts.ids.tolist(), self.facts.scores.tolist(), strict=True))
            found["triple"] = _behind(view.triple_chunks, scores, n_candidates, allowed)
        if "path" in self._wanted:
            scores = {triple: path.score for path in reversed(self.paths) for triple in path.triples}
            found["path"] = _behind(view.triple_chunks, scores, n_candidates, allowed)
        if "community" in self._wanted:
            scores = {}
            for community, score in reversed(self.communities):
                start, end = view.members.indptr[community : community + 2].tolist()
                members = view.members.chunks[start:end]
                if self._allowed.nodes is not None:
                    members = members[self._allowed.nodes[members]]
                n_members = max(members.shape[0], 1)
                scores.update(dict.fromkeys(members[:_MEMBERS].tolist(), score / n_members))
            found["community"] = _behind(view.node_chunks, scores, n_candidates, allowed, add=True)

    def _of_wanted_types(self, weights: dict[int, float]) -> dict[int, float]:
        """Return the named nodes that are allowed; those that are preferred weigh more."""
        allowed, preferred = self._allowed.nodes, self._masks.preferred
        if allowed is not None:
            weights = {node: weight for node, weight in weights.items() if allowed[node]}
        if preferred is not None and preferred.nodes is not None:
            factor = 1.0 + _NODE_BONUS
            weights = {
                node: factor * weight if preferred.nodes[node] else weight for node, weight in weights.items()
            }
        return weights


def _no_triples() -> ScoredTriples:
    return ScoredTriples(np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.float32))


def _behind(
    provenance: Provenance,
    scores: Mapping[int, float],
    k: int,
    allowed: NDArray[np.bool_] | None,
    *,
    add: bool = False,
) -> RouteChunks:
    """Return the chunks behind scored subjects: each with its best subject's score, or with their sum."""
    rows, totals = scores_behind(
        provenance.indptr,
        provenance.chunks,
        np.fromiter(scores, np.int32, len(scores)),
        np.fromiter(scores.values(), np.float32, len(scores)),
        _EVERY if allowed is None else allowed,
        add,
    )
    return best_chunks(totals, k, rows)
