"""Recursion: a community above the size limit stays as an inner node and is divided again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.tree.dual import part_graph
from ytrag_core.tree.kmeans import cluster_entities, sum_clusters
from ytrag_core.tree.naming import typical_codes
from ytrag_core.tree.rounds import describe, group, merge_rounds
from ytrag_core.workers import SERIAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ytrag_core.config import TreeSettings
    from ytrag_core.tree.features import EntityFeatures
    from ytrag_core.tree.leiden import WeightedGraph
    from ytrag_core.tree.rounds import Partition
    from ytrag_core.workers import Workers

__all__ = ["MAX_DEPTH", "Community", "divide", "grow", "split_evenly"]

MAX_DEPTH = 16
"""Levels after which communities are split by id, however their vectors lie."""

_LARGE = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Community:
    """One community while the tree grows.

    Attributes
    ----------
    level : int
    parent : int
        Place of the parent in the list of communities, -1 at the top.
    members : (m,) int32, ascending
    keywords : (up to n_keywords,) int32
        Best phi first; the first one is the centre.
    vector : (3 d,) float32
        Mean of the members' vectors.
    code : int
        The most typical ``2 * relation + direction``, -1 without triples.
    is_leaf : bool
    """

    level: int
    parent: int
    members: NDArray[np.int32]
    keywords: NDArray[np.int32]
    vector: NDArray[np.float32]
    code: int
    is_leaf: bool


def grow(
    features: EntityFeatures,
    graph: WeightedGraph | None,
    settings: TreeSettings,
    workers: Workers,
    report: Callable[[int], None],
) -> list[Community]:
    """Divide all entities into nested communities.

    Parameters
    ----------
    features : EntityFeatures
    graph : WeightedGraph, optional
        The dual-perceived graph, where communities start from it.
    settings : TreeSettings
    workers : Workers
    report : Callable
        Called with the number of entities that reached their leaf.

    Returns
    -------
    list of Community
        Level by level; every entity is in exactly one leaf.
    """
    background = code_frequencies(features)
    communities: list[Community] = []
    frontier = [(-1, np.arange(features.n_entities, dtype=np.int32))] if features.n_entities else []
    level = 0
    n_settled = 0

    def part(item: tuple[int, NDArray[np.int32]], helpers: Workers) -> list[Community]:
        parent, members = item
        by_id = level >= MAX_DEPTH
        partition = (
            split_evenly(features, members, settings, helpers)
            if by_id
            else divide(features, graph, members, settings, helpers)
        )
        codes = typical_codes(partition.profiles, background)
        # The last one of an index stands for -1, no code.
        relations = np.append(features.own.relation_of, np.int32(-1))[codes]
        return _communities(partition, level, parent, settings, relations)

    while frontier:
        large = [part(item, workers) for item in frontier if len(item[1]) > _LARGE]
        small = workers.map(
            lambda item: part(item, SERIAL), [item for item in frontier if len(item[1]) <= _LARGE]
        )
        frontier = []
        for found in (*large, *small):
            for community in found:
                if community.is_leaf:
                    n_settled += len(community.members)
                else:
                    frontier.append((len(communities), community.members))
                communities.append(community)
            report(n_settled)
        level += 1
    return communities


def code_frequencies(features: EntityFeatures) -> NDArray[np.float64]:
    """Return the share of each code of the profiles in the whole graph, (n_codes,) float64."""
    own = features.own
    totals = np.bincount(own.rows.codes, weights=own.counts, minlength=len(own.relation_of))
    return np.asarray(totals / max(1.0, totals.sum()), np.float64)


def divide(
    features: EntityFeatures,
    graph: WeightedGraph | None,
    members: NDArray[np.int32],
    settings: TreeSettings,
    workers: Workers,
) -> Partition:
    """Divide entities by Leiden or k-means and merging rounds, or evenly by id where that does not part them.

    Parameters
    ----------
    features : EntityFeatures
    graph : WeightedGraph, optional
        Leiden divides it first; k-means divides what it leaves whole.
    members : (m,) int32, ascending
    settings : TreeSettings
    workers : Workers

    Returns
    -------
    Partition
        More than one community where `m` is above `settings.max_size`.
    """
    labels = None if graph is None else part_graph(graph, members, settings)
    if labels is None:
        labels, sums = cluster_entities(features.bits, members, settings, workers)
    else:
        sums = sum_clusters(features.bits, members, labels, int(labels.max()) + 1, workers)
    if len(sums) == 1 and len(members) > settings.max_size:
        return split_evenly(features, members, settings, workers)
    start = describe(features, members, labels, sums, settings.weight, workers)
    return merge_rounds(features, start, settings, workers)


def split_evenly(
    features: EntityFeatures, members: NDArray[np.int32], settings: TreeSettings, workers: Workers
) -> Partition:
    """Cut entities that nothing tells apart into runs of ids, about equally long, of at most `max_size`."""
    n_parts = -(-len(members) // settings.max_size)
    labels = (np.arange(len(members)) * n_parts // len(members)).astype(np.int32)
    sums = sum_clusters(features.bits, members, labels, n_parts, workers)
    return describe(features, members, labels, sums, settings.weight, workers)


def _communities(
    partition: Partition, level: int, parent: int, settings: TreeSettings, codes: NDArray[np.int32]
) -> list[Community]:
    """Turn the parts of a division into communities."""
    indptr, by_id = group(partition.labels, len(partition.sizes))
    by_phi = np.lexsort((partition.members, -partition.phi, partition.labels))
    communities = []
    for part in range(len(partition.sizes)):
        start, stop = int(indptr[part]), int(indptr[part + 1])
        best = by_phi[start : min(stop, start + settings.n_keywords)]
        communities.append(
            Community(
                level,
                parent,
                partition.members[by_id[start:stop]],
                partition.members[best],
                (partition.sums[part] / (stop - start)).astype(np.float32),
                int(codes[part]),
                is_leaf=stop - start <= settings.max_size,
            )
        )
    return communities
