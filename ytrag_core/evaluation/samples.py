"""Questions as the fusion sees them: the features of every candidate, and which are the wanted ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.evaluation.datasets import naming
from ytrag_core.evaluation.metrics import passages_of
from ytrag_core.retrieval.bridge import bridge_scores
from ytrag_core.retrieval.fusion import likelihood, weigh
from ytrag_core.retrieval.weights import FEATURES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from ytrag_core.evaluation.datasets import Question
    from ytrag_core.knowledge_base import KnowledgeBase
    from ytrag_core.retrieval.features import PassageFeatures
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["Sample", "collect_samples", "grouped"]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One question with its candidates.

    Attributes
    ----------
    id
        The question's.
    view
        The snapshot that the candidates belong to.
    features
        As retrieval computed them.
    passages
        For each candidate the passage that it counts as.
    gold
        The passages wanted.
    importance
        What it counts in fitting.
    """

    id: str
    view: SnapshotView
    features: PassageFeatures
    passages: tuple[str, ...]
    gold: tuple[str, ...]
    importance: float = 1.0

    def values(self, weights: Mapping[str, float]) -> NDArray[np.float64]:
        """Return (n, f) float64 features in the order of `FEATURES`; the second hop starts by `weights`."""
        rows, values = self.features.rows, dict(self.features.values)
        values.pop("bridge", None)
        before = likelihood(weigh(values, weights), rows.shape[0])
        values["bridge"] = bridge_scores(self.view, rows, before, self.features.named)
        nothing = np.zeros(rows.shape[0], np.float32)
        return np.stack([values.get(name, nothing) for name in FEATURES], axis=1).astype(np.float64)

    def ranking(self, weights: Mapping[str, float]) -> list[str]:
        """Return all candidates' passages, each once, best first."""
        scores = self.values(weights) @ np.array([weights.get(name, 0.0) for name in FEATURES])
        order = np.lexsort((self.features.rows, -scores))
        return list(dict.fromkeys(self.passages[place] for place in order.tolist()))

    def marks(self, scores: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which candidates are wanted, and which are held against them.

        Of a gold passage in several chunks the best-scored one is wanted, and no other is held against it.
        """
        positive = np.zeros(scores.shape[0], bool)
        negative = np.ones(scores.shape[0], bool)
        for gold in self.gold:
            places = np.flatnonzero([passage == gold for passage in self.passages])
            negative[places] = False
            if places.size:
                positive[places[np.argmax(scores[places])]] = True
        return positive, negative


def collect_samples(
    kb: KnowledgeBase,
    questions: Sequence[Question],
    *,
    documents: Mapping[str, str] | None = None,
    importance: float = 1.0,
    progress: Callable[[int, int], None] | None = None,
) -> list[Sample]:
    """Return the samples of those questions that have a gold passage among their candidates."""
    samples = []
    for done, question in enumerate(questions):
        if progress is not None:
            progress(done, len(questions))
        with naming(question):
            features = kb.passage_features(question.question) if question.supporting_ids else None
        if features is None:
            continue
        ids = [kb.view.chunks.ids[row] for row in features.rows.tolist()]
        passages = tuple(passages_of([chunk], question.supporting_ids, documents)[0] for chunk in ids)
        if set(passages) & set(question.supporting_ids):
            samples.append(
                Sample(question.id, kb.view, features, passages, question.supporting_ids, importance)
            )
    return samples


def grouped(samples: Sequence[Sample]) -> list[int]:
    """Return a group number for each sample: those that share a gold passage, or do so by others, are one."""
    owner: dict[str, int] = {}
    parent = list(range(len(samples)))

    def root(place: int) -> int:
        while parent[place] != place:
            place = parent[place]
        return place

    for place, sample in enumerate(samples):
        for gold in sample.gold:
            parent[root(place)] = root(owner.setdefault(gold, place))
    return [root(place) for place in range(len(samples))]
