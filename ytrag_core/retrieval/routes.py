"""The routes of one question, and what they find together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.retrieval.behind import behind_communities, behind_names, behind_paths, behind_triples
from ytrag_core.retrieval.beside import ALONE
from ytrag_core.retrieval.bridge import bridge_scores
from ytrag_core.retrieval.copies import LOOKED_BEHIND, copies_behind
from ytrag_core.retrieval.distinct import distinct
from ytrag_core.retrieval.evidence import Cards
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
from ytrag_core.retrieval.mentions import telling
from ytrag_core.retrieval.pagerank import Seeds, seed_mass, visited_passages, walk_from
from ytrag_core.retrieval.paths import Path, find_paths, prefer_paths
from ytrag_core.retrieval.triples import QueryVectors, ScoredTriples, match_triples, nearest_triples
from ytrag_core.retrieval.weights import FusionWeights
from ytrag_core.retrieval.worded import Worded, find_by_words

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from ytrag_core.config import RetrievalSettings
    from ytrag_core.retrieval.beside import Beside
    from ytrag_core.retrieval.pagerank import Visits
    from ytrag_core.retrieval.question import Asked
    from ytrag_core.retrieval.trust import Spread
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["ON_GRAPH", "Run"]

ON_GRAPH = frozenset({"triple", "path", "ppr"})
_N_COMMUNITIES = 5
_N_ALIKE = 8
_COMMUNITY_BONUS = 0.05


@dataclass(frozen=True, slots=True, eq=False)
class _Near:
    """What a question finds among triples by its vector alone.

    Attributes
    ----------
    triples
        See `nearest_triples`.
    spread
        Where its similarities to all triples lie.
    """

    triples: list[NDArray[np.int32]]
    spread: Spread


class Run:
    """The routes of one question; later ones use what earlier ones found.

    Those that need no vectors may run ahead, while the question is encoded: `prepare`.
    """

    def __init__(
        self,
        view: SnapshotView,
        settings: RetrievalSettings,
        asked: Asked,
        wanted: frozenset[str],
        k: int,
        n_facts: int,
        masks: Masks | None = None,
        beside: Beside = ALONE,
    ) -> None:
        self._view = view
        self._settings = settings
        self.asked = asked
        self._question, self.mentions, self._clock = asked.text, asked.mentions, asked.clock
        self._wanted = wanted
        self.k, self._n_candidates = k, max(settings.n_candidates, k)
        self._n_facts = n_facts
        self._beside = beside
        self.query: QueryVectors
        self._near: Callable[[], _Near] | None = None
        self._dense: RouteChunks | None = None
        self._found: dict[str, RouteChunks] = {}
        masks = masks or Masks(Selection(view))
        self._masks, self._allowed = masks, masks.allowed
        self.seeds = Seeds.none()
        self.trust: dict[str, float] = {}
        self.facts = ScoredTriples.none()
        self.paths: list[Path] = []
        self.communities: list[tuple[int, float]] = []
        self.features: PassageFeatures | None = None

    def again(self, masks: Masks) -> Run:
        """Return the same, not yet run, with other masks."""
        run = Run(
            self._view, self._settings, self.asked, self._wanted, self.k, self._n_facts, masks, self._beside
        )
        run.query = self.query
        return run

    def prepare(self) -> None:
        """Run the routes that need no vectors."""
        _ = self._worded

    @cached_property
    def cards(self) -> Cards:
        """The triples to show, looked up: of the facts the first `n_facts`, and those of all paths."""
        facts, paths = self.facts.ids[: self._n_facts].tolist(), self.paths
        return Cards(self._view, facts, paths, self._allowed.chunks)

    def search_triples(self, encoded: Callable[[], NDArray[np.float32]]) -> None:
        """Start the search for triples near to the question: beside, behind where the question is encoded.

        Parameters
        ----------
        encoded
            Waits for the vector of the question.
        """
        if self._wanted & ON_GRAPH:
            self._near = self._beside.start(self._near_triples, encoded)

    def _near_triples(self, encoded: Callable[[], NDArray[np.float32]]) -> _Near:
        question, view = encoded(), self._view
        with self._clock.stage("triple"):
            near = nearest_triples(view, question, self._masks)
            return _Near(near, view.triple_background.spread(question))

    def search(self) -> None:
        """Search for the triples and passages near to the question, whose vectors are known."""
        self.search_triples(lambda: self.query.question)
        self._search_passages()

    def _search_passages(self) -> None:
        view = self._view
        if view.n_chunks and self._wanted & {"ppr", "dense", "bridge"}:
            with self._clock.stage("dense"):
                found = view.chunk_index.search(self.query.question, self._n_candidates, self._allowed.chunks)
                self._dense = RouteChunks(*found)

    def rank(self) -> RankedChunks:
        """Run the wanted routes with the vectors of the question, `query`, and fuse them."""
        query, view = self.query, self._view
        wanted, clock = self._wanted, self._clock
        if self._near is None:
            self.search_triples(lambda: query.question)
        if self._dense is None:
            self._search_passages()
        dense, trust = self._dense, self.trust
        if dense is not None and dense.rows.size:
            trust["dense"] = self._passage_spread.trust(float(dense.scores[0]))
        if self._near is not None:
            near = self._near()
            with clock.stage("triple"):
                self.facts = match_triples(view, query, self.mentions, near.triples, self._masks)
            if self.facts.ids.size:
                best = float(self.facts.similarity.max())
                trust["triple"] = trust["path"] = near.spread.trust(best)
        by_text = {"dense": dense, "bm25": self._worded.bm25}
        texts = {route: chunks for route, chunks in by_text.items() if chunks is not None}
        walking = self._start_walk(texts) if "ppr" in wanted and view.n_chunks else None
        if "path" in wanted:
            with clock.stage("path"):
                self.paths = self._find_paths()
        if "community" in wanted:
            with clock.stage("community"):
                self.communities = self._nearest_communities()
        if view.n_chunks == 0:
            return RankedChunks(np.empty(0, np.int32), np.empty(0, np.float32), [])
        return self._rank_chunks(texts, walking)

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
        asked = self._worded.relations
        if asked is None:
            return []
        paths = find_paths(self._view, self.query, asked, seeds, self._settings, self._allowed)
        preferred = self._masks.preferred
        if preferred is not None and preferred.triples is not None:
            wanted = find_paths(self._view, self.query, asked, seeds, self._settings, preferred)
            paths = prefer_paths([*paths, *wanted], preferred.triples)
        return paths

    def _nearest_communities(self) -> list[tuple[int, float]]:
        found: dict[int, float] = {}
        for chosen, bonus in ((self._allowed, 0.0), (self._masks.preferred, _COMMUNITY_BONUS)):
            if chosen is not None:
                near = search_allowed(
                    self._view.community_index, self.query.question, _N_COMMUNITIES, chosen.communities
                )
                ids, scores = (column.tolist() for column in near)
                found |= {id_: score + bonus for id_, score in zip(ids, scores, strict=True)}
        best = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))
        return best[:_N_COMMUNITIES]

    def _rank_chunks(
        self, texts: Mapping[str, RouteChunks], walking: Callable[[], Visits] | None
    ) -> RankedChunks:
        found, wanted, n_candidates = self._found, self._wanted, self._n_candidates
        worded, trust = self._worded, self.trust
        with self._clock.stage("evidence"):
            _ = self.cards  # now, as the walk may still be on its way on the second core
        with self._clock.stage("fuse"):
            behind = self._behind()
        walked = None
        if walking is not None:
            walked, found["ppr"] = self._walked(walking())
        with self._clock.stage("fuse"):
            found |= {route: chunks for route, chunks in texts.items() if route in wanted} | behind
            first = found or texts  # a second hop alone starts from what the texts say
            rows = distinct(np.concatenate([chunks.rows for chunks in first.values()]))
            values = passage_features(
                first,
                rows,
                trust,
                coverage=worded.coverage,
                titles=self._view.titles.shares(self._question, rows) if "bm25" in first else None,
                walked=walked,
                from_names=worded.from_names,
                resembling=resemblance(self._view, self.query, self._passage_spread, rows)
                if "dense" in first
                else None,
            )
        named = np.array(sorted({node for mention in self.mentions for node in mention.nodes}), np.int32)
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

    @cached_property
    def _passage_spread(self) -> Spread:
        """Where the similarities of the question to all passages lie."""
        return self._view.passage_background.spread(self.query.question)

    @cached_property
    def _worded(self) -> Worded:
        """What the question finds by its words alone."""
        return find_by_words(
            self._view, self._settings, self.asked, self._wanted, self._n_candidates, self._allowed.chunks
        )

    def _behind(self) -> dict[str, RouteChunks]:
        """Return the passages behind what the routes found in the graph."""
        view, wanted, masks, k = self._view, self._wanted, self._masks, self._n_candidates
        found: dict[str, RouteChunks] = {}
        if "entity" in wanted:
            found["entity"] = behind_names(view, self.mentions, masks, k)
        if "triple" in wanted:
            found["triple"] = behind_triples(view, self.facts, masks, k)
        if "path" in wanted:
            found["path"] = behind_paths(view, self.paths, masks, k)
        if "community" in wanted:
            found["community"] = behind_communities(view, self.communities, masks, k)
        return found

    def _start_walk(self, texts: Mapping[str, RouteChunks]) -> Callable[[], Visits]:
        """Start the walk; the seeds are the same however many passages are asked for, as `explain` does."""
        view, settings, trust = self._view, self._settings, self.trust
        with self._clock.stage("ppr"):
            n_seeds = settings.n_candidates
            passages = [
                (text.rows[:n_seeds], text.scores[:n_seeds], trust.get(route, 1.0))
                for route, text in texts.items()
            ]
            facts_trust = trust.get("triple", 1.0)
            self.seeds = seed_mass(view, self.mentions, self.facts, facts_trust, passages, settings)
        return self._beside.start(self._timed_walk)

    def _timed_walk(self) -> Visits:
        with self._clock.stage("ppr"):
            return walk_from(self._view, self.seeds, self._settings)

    def _walked(self, visited: Visits) -> tuple[NDArray[np.float32], RouteChunks]:
        """Return (n_chunks,) how often a walk visits each passage, and those that it visits most."""
        view = self._view
        with self._clock.stage("ppr"):
            rows, visits = visited_passages(view, visited, self._allowed.chunks)
            walked = np.zeros(view.n_chunks, np.float32)
            walked[rows] = visits
            order = np.argsort(rows)
            return walked, best_chunks(visits[order], 2 * self._n_candidates, rows[order])
