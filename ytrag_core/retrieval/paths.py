"""Path search: chains of triples from the question's names, scored against the question as a whole."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.paths import beam_paths
from ytrag_core.retrieval.masks import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from ytrag_core.config import RetrievalSettings
    from ytrag_core.retrieval.triples import QueryVectors
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["Path", "find_paths", "prefer_paths"]

_EXPANDED = 512
_N_PATHS = 20
_MAX_SEEDS = 24
_HUB_PENALTY = np.float32(0.02)
_VALUE_PENALTY = np.float32(0.1)
_STEP_BONUS = np.float32(0.1)
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
    seeds: Mapping[int, float],
    settings: RetrievalSettings,
    allowed: Selection | None = None,
) -> list[Path]:
    """Search chains of up to `max_hops` triples that start at a seed, best first.

    A path is scored as a whole: the cosine of the question and the sum of its triples' vectors, so that a
    bridge is found whose own triple does not resemble the question; plus the cosine of the question without
    its names and the sum of its relations' vectors ("the designer of ... was born in" is built + born in);
    plus 0.1 a triple after the first, for a longer path must not lose to its own first step. Passing through
    a node of degree g costs 0.02 ln(1 + g): a hub links everything and says little; through an attribute
    value it costs 0.1 more, for a year that two things share links them by chance as a rule.

    Parameters
    ----------
    view
        The snapshot.
    query
        The vectors of the question.
    seeds
        Node -> weight in [0, 1]; the heaviest few are started from.
    settings
        Beam width, longest path and the edges looked at per node.
    allowed
        The triples to go along; all without it.
    """
    allowed = allowed or Selection(view)
    starts = sorted(seeds, key=lambda node: (-seeds[node], node))[:_MAX_SEEDS]
    if not starts or view.n_triples == 0:
        return []
    index = view.triple_index
    strings = view.strings
    bits = strings["vectors"].view(np.uint16)
    nodes, triples, scores = beam_paths(
        view.out.indptr,
        view.out.indices,
        view.out.relation,
        view.into.indptr,
        view.into.indices,
        view.into.relation,
        view.into.triple,
        bits,
        bits[:0] if index is None else index.vectors.view(np.uint16),
        strings["node_string"],
        strings["relation_string"],
        query.question,
        query.residual,
        np.array(starts, np.int32),
        view.n_entities,
        settings.beam,
        settings.max_hops,
        settings.row_limit,
        _EXPANDED,
        _HUB_PENALTY,
        _VALUE_PENALTY,
        _STEP_BONUS,
        allowed.out_triples,
        allowed.into_triples,
    )
    return _distinct(
        Path(tuple(row[:length]), tuple(passed[: length + 1]), score)
        for row, passed, score, length in zip(
            triples.tolist(),
            nodes.tolist(),
            scores.tolist(),
            (triples >= 0).sum(axis=1).tolist(),
            strict=True,
        )
    )


def prefer_paths(paths: Iterable[Path], preferred: NDArray[np.bool_]) -> list[Path]:
    """Return paths best first; one of preferred triples alone scores a fifth more, others in proportion.

    Parameters
    ----------
    paths
        Some of them may occur twice.
    preferred
        (n_triples,) bool.
    """
    return _distinct(
        replace(path, score=path.score + _PREFERRED_BONUS * float(preferred[list(path.triples)].mean()))
        for path in paths
    )


def _distinct(found: Iterable[Path]) -> list[Path]:
    """Return the best path of each set of triples, best first."""
    kept: dict[frozenset[int], Path] = {}
    for path in sorted(found, key=lambda path: (-path.score, path.triples)):
        kept.setdefault(frozenset(path.triples), path)
        if len(kept) == _N_PATHS:
            break
    return list(kept.values())
