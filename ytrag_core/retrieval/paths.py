"""Path search: chains of triples from the question's names, scored against the question as a whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.path_steps import path_steps
from ytrag_core.kernels.path_words import step_words
from ytrag_core.kernels.paths import longer_paths
from ytrag_core.retrieval.masks import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from ytrag_core.config import RetrievalSettings
    from ytrag_core.graph.tables import Csr
    from ytrag_core.retrieval.relation_words import AskedWords
    from ytrag_core.retrieval.triples import QueryVectors
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["Path", "find_paths", "prefer_paths"]

_EXPANDED = 512
_N_PATHS = 20
_MAX_SEEDS = 24
_HUB_PENALTY = np.float32(0.02)
_VALUE_PENALTY = np.float32(0.1)
_STEP_BONUS = np.float32(0.1)
_CHOICE_COST = np.float32(0.07)
_WORD_GAIN = np.float32(0.5)
_SCANNED = 32_768
_PREFERRED_BONUS = 0.2


@dataclass(frozen=True, slots=True)
class Path:
    """A chain of triples.

    Attributes
    ----------
    triples
        Ids, in walking order.
    nodes
        The nodes passed, one more than triples.
    score
        See `find_paths`; comparable within one question.
    """

    triples: tuple[int, ...]
    nodes: tuple[int, ...]
    score: float


def find_paths(
    view: SnapshotView,
    query: QueryVectors,
    asked: AskedWords,
    seeds: Mapping[int, float],
    settings: RetrievalSettings,
    allowed: Selection | None = None,
) -> list[Path]:
    """Search chains of up to `max_hops` triples that start at a seed, best first.

    A path is scored as a whole: the cosine of the question and the sum of its triples' vectors, so that a
    bridge is found whose own triple does not resemble the question; plus the cosine of the question without
    its names and the sum of its relations' vectors ("the designer of ... was born in" is built + born in);
    plus half the F1 of its relations' words and the question's, a word that is asked for once counting once;
    plus 0.1 a triple after the first, for a longer path must not lose to its own first step. A step that is
    one of f alike, entries of a node of one relation and direction, costs 0.07 ln f: from a town to its
    country there is one way, from a country to that town one among thousands. Passing through a node of
    degree g costs 0.02 ln(1 + g): a hub links everything and says little; through an attribute value it
    costs 0.1 more, for a year that two things share links them by chance as a rule.

    Parameters
    ----------
    view
        The snapshot.
    query
        The vectors of the question.
    asked
        What the question says in words of relations.
    seeds
        Node -> weight in [0, 1]; the heaviest few are started from.
    settings
        Beam width, longest path and the edges looked at per node.
    allowed
        The triples to go along; all without it. A long row is then cut to its allowed entries first.

    Notes
    -----
    Time is bounded whatever the degrees: at each of `max_hops` steps the rows of at most `beam` nodes are
    read, at most 32,768 entries of each direction; of a row `row_limit` are taken, of all 512 scored in full.
    """
    starts = sorted(seeds, key=lambda node: (-seeds[node], node))[:_MAX_SEEDS]
    if not starts or view.n_triples == 0:
        return []
    search = _BeamSearch(view, query, asked, settings, np.array(starts, np.int32), allowed or Selection(view))
    while search.step():
        pass
    return _distinct(search.best_first())


class _BeamSearch:
    """The paths of one length that are kept, and the sums that score them."""

    def __init__(
        self,
        view: SnapshotView,
        query: QueryVectors,
        asked: AskedWords,
        settings: RetrievalSettings,
        starts: NDArray[np.int32],
        allowed: Selection,
    ) -> None:
        n, width, n_relations = starts.shape[0], query.question.shape[0], view.n_relations
        self._view, self._query, self._asked, self._settings = view, query, asked, settings
        self._allowed = allowed
        self._likeness = np.zeros(n_relations, np.float32)
        self._tally = np.zeros(n_relations, np.int32)
        self._nodes = np.full((n, settings.max_hops + 1), -1, np.int32)
        self._nodes[:, 0] = starts
        self._triples = np.full((n, settings.max_hops), -1, np.int32)
        self._cost = np.zeros(n, np.float32)
        self._scores = np.zeros(n, np.float32)
        self._found: list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]] = []
        self._facts = self._relations = np.zeros((n, width), np.float32)
        self._covered = np.zeros(n, np.uint64)
        self._matched = self._said = np.zeros(n, np.float32)

    def step(self) -> bool:
        """Prolong all paths by one triple and keep the best; False where none can or may be prolonged."""
        view, hop = self._view, len(self._found)
        if hop == self._settings.max_hops:
            return False
        ends = np.ascontiguousarray(self._nodes[:, hop])
        if hop > 0:
            self._cost += self._passing(ends)
        sides = [self._steps(side, hop) for side in (view.out, view.into)]
        steps, owner, fan_out = (np.concatenate(parts) for parts in zip(*sides, strict=True))
        if not owner.shape[0]:
            return False
        cost = self._cost[owner] + _CHOICE_COST * np.log(fan_out)
        agreement, covered, matched, said = self._words(steps, owner)
        index, strings = view.triple_index, view.strings
        bits = strings["vectors"].view(np.uint16)
        chosen, self._scores, self._facts, self._relations = longer_paths(
            bits,
            bits[:0] if index is None else index.vectors.view(np.uint16),
            strings["node_string"],
            strings["relation_string"],
            self._query.question,
            self._query.residual,
            steps,
            ends,
            owner,
            (_WORD_GAIN * agreement - (cost - _STEP_BONUS * hop)).astype(np.float32),
            self._facts,
            self._relations,
            _EXPANDED,
            self._settings.beam,
        )
        before = owner[chosen]
        self._nodes, self._triples = self._nodes[before], self._triples[before]
        self._nodes[:, hop + 1], self._triples[:, hop] = steps[chosen, 2], steps[chosen, 0]
        self._cost = cost[chosen]
        self._covered, self._matched, self._said = covered[chosen], matched[chosen], said[chosen]
        self._found.append((self._triples, self._nodes, self._scores))
        return True

    def _words(
        self, steps: NDArray[np.int32], owner: NDArray[np.int32]
    ) -> tuple[NDArray[np.float32], NDArray[np.uint64], NDArray[np.float32], NDArray[np.float32]]:
        """Return how far the words of each path with a step are those asked for, and these words."""
        asked = self._asked
        return step_words(
            asked.relation_words,
            self._view.relation_words.said,
            asked.places,
            asked.weight,
            np.float32(asked.asked),
            steps,
            owner,
            self._covered,
            self._matched,
            self._said,
        )

    def _passing(self, nodes: NDArray[np.int32]) -> NDArray[np.float32]:
        """Return what it costs to pass through each node."""
        view = self._view
        degree = sum(side.indptr[nodes + 1] - side.indptr[nodes] for side in (view.out, view.into))
        cost = _HUB_PENALTY * np.log1p(degree) + _VALUE_PENALTY * (nodes >= view.n_entities)
        return cost.astype(np.float32)

    def _steps(self, side: Csr, hop: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
        """Return triple, relation and next node of each step on one side, its owner and its fan-out."""
        strings = self._view.strings
        positions, owner, fan_out = path_steps(
            side.indptr,
            side.indices,
            side.relation,
            self._nodes,
            hop + 1,
            self._settings.row_limit,
            _SCANNED,
            strings["vectors"].view(np.uint16),
            strings["relation_string"],
            self._query.residual,
            self._asked.agreement,
            self._allowed.out_triples if side is self._view.out else self._allowed.into_triples,
            self._likeness,
            self._tally,
        )
        steps = np.empty((positions.shape[0], 3), np.int32)
        steps[:, 0] = positions if side is self._view.out else side.triple[positions]
        steps[:, 1] = side.relation[positions]
        steps[:, 2] = side.indices[positions]
        return steps, owner, fan_out

    def best_first(self) -> Iterator[Path]:
        """Yield the paths that were kept after any step, best first; of equal ones by their triples."""
        if not self._found:
            return
        triples, nodes, scores = (np.concatenate(column) for column in zip(*self._found, strict=True))
        lengths = np.count_nonzero(triples >= 0, axis=1)
        order = np.lexsort((*triples.T[::-1], -scores))
        for place in order.tolist():
            length = int(lengths[place])
            passed = tuple(nodes[place, : length + 1].tolist())
            yield Path(tuple(triples[place, :length].tolist()), passed, float(scores[place]))


def prefer_paths(paths: Iterable[Path], preferred: NDArray[np.bool_]) -> list[Path]:
    """Return paths best first; one of preferred triples alone scores a fifth more, others in proportion.

    Parameters
    ----------
    paths
        Some of them may occur twice.
    preferred
        (n_triples,) bool.
    """
    scored = [
        replace(path, score=path.score + _PREFERRED_BONUS * float(preferred[list(path.triples)].mean()))
        for path in paths
    ]
    return _distinct(sorted(scored, key=lambda path: (-path.score, path.triples)))


def _distinct(found: Iterable[Path]) -> list[Path]:
    """Return the first path of each set of triples, of the first few sets."""
    kept: dict[frozenset[int], Path] = {}
    for path in found:
        kept.setdefault(frozenset(path.triples), path)
        if len(kept) == _N_PATHS:
            break
    return list(kept.values())
