"""Plain systems to measure against, over the same vectors and the same triples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.errors import ConfigError
from ytrag_core.evaluation.rankers import KnowledgeBaseRanker
from ytrag_core.kernels.csr import walk_csr
from ytrag_core.kernels.ppr import ppr_power
from ytrag_core.kernels.topk import top_k
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.retrieval.triples import triple_scores

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.evaluation.rankers import Ranker
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["BASELINES", "make_baseline"]

_N_FACTS = 5
_PASSAGE_WEIGHT = 0.05
_DAMPING = 0.5
_TOLERANCE = 1e-6
_MAX_STEPS = 100


def _ids(view: SnapshotView, scores: NDArray[np.float32], k: int) -> list[str]:
    best = top_k(np.ascontiguousarray(scores, np.float32), min(k, scores.shape[0]))
    return [view.chunks.ids[row] for row in best.tolist()]


def _dense(view: SnapshotView, encoder: Encoder) -> Ranker:
    """Rank by the cosine of question and passage."""
    return lambda question, k: _ids(view, view.chunk_index.scores(encoder.encode_query(question)), k)


def _bm25(view: SnapshotView, encoder: Encoder) -> Ranker:
    """Rank by BM25."""
    return lambda question, k: _ids(view, view.lexical.scores(question), k)


def _unit_range(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    low, high = scores.min(), scores.max()
    scaled: NDArray[np.float32] = (scores - low) / max(high - low, np.float32(1e-12))
    return scaled


class _Pagerank:
    """Personalised PageRank in the manner of HippoRAG 2 (arXiv 2502.14802), without its language model.

    The graph links the ends of every triple, each end with the chunks of the triple, and similar names.
    Walks start at the ends of the five most similar triples, each divided by the number of its chunks, and
    at every passage with 0.05 of its similarity; damping 0.5.
    """

    def __init__(self, view: SnapshotView, encoder: Encoder) -> None:
        self._view, self._encoder = view, encoder
        self._triples = np.arange(view.n_triples, dtype=np.int32)
        self._heads, self._tails = view.heads(self._triples), np.ascontiguousarray(view.out.indices)
        counts = np.diff(view.triple_chunks.indptr)
        stated = np.repeat(self._triples, counts)
        chunks = view.triple_chunks.chunks.astype(np.int64)
        ends = np.concatenate([self._heads[stated], self._tails[stated]]).astype(np.int64)
        pairs = np.unique(ends * view.n_chunks + np.concatenate([chunks, chunks]))
        nodes, rows = np.divmod(pairs, view.n_chunks)
        self._n_chunks = np.bincount(nodes, minlength=view.n_nodes)
        source, target, similarity = view.aliases
        self._walk = walk_csr(
            np.concatenate([self._heads, nodes.astype(np.int32), source]),
            np.concatenate([self._tails, (rows + view.n_nodes).astype(np.int32), target]),
            np.concatenate([counts.astype(np.float32), np.ones(rows.shape[0], np.float32), similarity]),
            view.n_nodes + view.n_chunks,
        )

    def __call__(self, question: str, k: int) -> list[str]:
        view = self._view
        query = self._encoder.encode_query(question)
        passages = _unit_range(view.chunk_index.scores(query))
        seeds = np.zeros(view.n_nodes + view.n_chunks, np.float32)
        seeds[view.n_nodes :] = _PASSAGE_WEIGHT * passages
        if view.n_triples:
            scores = _unit_range(triple_scores(view, self._triples, query))
            for node, values in self._fact_ends(scores).items():
                seeds[node] = np.float32(np.mean(values))
        if not seeds.any():
            seeds[view.n_nodes :] = 1.0
        visits = ppr_power(*self._walk, seeds / seeds.sum(), _DAMPING, _MAX_STEPS, _TOLERANCE, False)
        return _ids(view, visits[view.n_nodes :], k)

    def _fact_ends(self, scores: NDArray[np.float32]) -> dict[int, list[float]]:
        weights: dict[int, list[float]] = {}
        for triple in top_k(scores, min(_N_FACTS, scores.shape[0])).tolist():
            for node in (int(self._heads[triple]), int(self._tails[triple])):
                weights.setdefault(node, []).append(float(scores[triple]) / max(int(self._n_chunks[node]), 1))
        return weights


_MAKERS: dict[str, Callable[[SnapshotView, Encoder], Ranker]] = {
    "dense": _dense,
    "bm25": _bm25,
    "ppr": _Pagerank,
}
BASELINES = (*_MAKERS, "ranks")


def make_baseline(kb: KnowledgeBase, name: str) -> Ranker:
    """Return a baseline over an opened knowledge base.

    Parameters
    ----------
    kb
        The knowledge base.
    name
        `dense`, `bm25` or `ppr`; `ranks` is ytrag itself with its routes fused by their ranks alone.

    Raises
    ------
    ConfigError
        The name is unknown, or the knowledge base has no passages to rank.
    """
    if name not in BASELINES:
        raise ConfigError(f"baseline {name!r} arrived; choose from {', '.join(BASELINES)}")
    if kb.view.n_chunks == 0:
        raise ConfigError("this knowledge base has no passages, so passages cannot be ranked")
    if name == "ranks":
        settings = kb.settings.model_copy(update={"fusion": "ranks"})
        return KnowledgeBaseRanker(KnowledgeBase(kb.path, kb.view, kb.encoder, settings))
    return _MAKERS[name](kb.view, kb.encoder)
