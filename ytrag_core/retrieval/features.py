"""What is known of a candidate passage: one number a feature, in a unit of its own for every question.

A feature is scaled by nothing but the question itself, so that a route which does not tell passages apart for
this question gives nearly the same to all of them and does not turn their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.retrieval.weights import SIDE_FEATURES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ytrag_core.retrieval.fusion import RouteChunks
    from ytrag_core.retrieval.triples import QueryVectors
    from ytrag_core.retrieval.trust import Spread
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["PassageFeatures", "log_visits", "passage_features", "relative", "resemblance"]

_LOG_FLOOR = -9.0


@dataclass(frozen=True, slots=True, eq=False)
class PassageFeatures:
    """Candidates of a question with their features.

    Attributes
    ----------
    rows
        (n,) int32 chunk rows, ascending.
    values
        Feature -> (n,) float32.
    named
        (m,) int32 nodes that the question names, ascending: what `bridge_scores` leaves out.
    """

    rows: NDArray[np.int32]
    values: Mapping[str, NDArray[np.float32]]
    named: NDArray[np.int32]


def log_visits(visits: NDArray[np.float32], most: float) -> NDArray[np.float32]:
    """Return the natural logarithm of visits relative to the most visited passage, from 0 to that one's 9."""
    if most <= 0.0:
        return np.zeros(visits.shape[0], np.float32)
    floor = np.float32(np.exp(_LOG_FLOOR))
    logarithm: NDArray[np.float32] = np.log(np.maximum(visits / np.float32(most), floor))
    return logarithm - np.float32(_LOG_FLOOR)


def relative(chunks: RouteChunks, rows: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return the score of each row relative to the route's best, 0 where the route did not find it."""
    values = np.zeros(rows.shape[0], np.float32)
    if chunks.rows.size and rows.size and chunks.scores[0] > 0:
        at = np.minimum(np.searchsorted(rows, chunks.rows), rows.shape[0] - 1)
        kept = rows[at] == chunks.rows
        values[at[kept]] = chunks.scores[kept] / chunks.scores[0]
    return values


def resemblance(
    view: SnapshotView, query: QueryVectors, spread: Spread, rows: NDArray[np.int32]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the standard scores of passages' similarity to the question and to it without its names.

    The second is 0 where the question has no names to leave out.
    """
    index = view.chunk_index
    question = spread.standardised(index.scores(query.question, rows))
    if query.residual is query.question:
        return question, np.zeros(rows.shape[0], np.float32)
    other = view.passage_background.spread(query.residual)
    return question, other.standardised(index.scores(query.residual, rows))


def passage_features(
    found: Mapping[str, RouteChunks],
    rows: NDArray[np.int32],
    trust: Mapping[str, float],
    *,
    coverage: NDArray[np.float32],
    titles: NDArray[np.float32] | None,
    walked: NDArray[np.float32] | None,
    from_names: NDArray[np.float32] | None,
    resembling: tuple[NDArray[np.float32], NDArray[np.float32]] | None,
) -> dict[str, NDArray[np.float32]]:
    """Return the features of candidates, but for `bridge`, which needs the others.

    - `walk`: the natural logarithm of how often PageRank visits a passage, 9 for the most visited one and 0
      from nine below it; `names`: the same of walks from the question's names alone;
    - `words`: the share of what the question says that the passage holds, times the best passage's share: the
      more a single passage holds, the likelier it answers alone;
    - `title`: the share of its title that stands in the question;
    - `question`, `residual`: by how many standard deviations it resembles the question, and the question
      without its names, more than passages do on average, times the trust in the encoder;
    - `path`: the score of its best path relative to the best, times the trust in triples;
    - `triple`, `community`: likewise relative scores, only where no other route is wanted.

    Parameters
    ----------
    found
        What each wanted route put forward; features of other routes are left out.
    rows
        (n,) int32 candidates, ascending.
    trust
        Route -> how far it is to be trusted for this question, in [0, 1]; 1 where it is not named.
    coverage
        (n_chunks,) float32; may be empty where `bm25` is not in `found`.
    titles
        (n,) float32 shares of the candidates' titles.
    walked, from_names
        (n_chunks,) float32 visits, where there were walks.
    resembling
        As `resemblance` gives it.
    """
    features: dict[str, NDArray[np.float32]] = {}
    if walked is not None and "ppr" in found:
        features["walk"] = log_visits(walked[rows], float(walked.max(initial=0.0)))
    if from_names is not None and "entity" in found:
        features["names"] = log_visits(from_names[rows], float(from_names.max(initial=0.0)))
    if "bm25" in found:
        features["words"] = coverage[rows] * coverage.max(initial=np.float32(0.0))
        if titles is not None:
            features["title"] = titles
    if resembling is not None and "dense" in found:
        trusted = np.float32(trust.get("dense", 1.0))
        features["question"], features["residual"] = trusted * resembling[0], trusted * resembling[1]
    # The walk starts from the triples already, and a community is no passage's: beside others they are off.
    relevant = {"path"} if found.keys() - SIDE_FEATURES.keys() else SIDE_FEATURES.keys()
    for route in sorted(relevant & found.keys()):
        features[route] = np.float32(trust.get(route, 1.0)) * relative(found[route], rows)
    return features
