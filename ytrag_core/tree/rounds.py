"""Merging rounds: centres by phi, communities paired most similar first, until nothing merges."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.aggregate import unit_rows
from ytrag_core.kernels.matching import greedy_matching, select_centres
from ytrag_core.kernels.phi import phi_members
from ytrag_core.workers import blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.config import TreeSettings
    from ytrag_core.tree.features import EntityFeatures
    from ytrag_core.tree.profiles import Profiles
    from ytrag_core.workers import Workers

__all__ = ["Partition", "describe", "group", "merge_rounds", "similarities", "size_limit"]

_ROWS_PER_BLOCK = 8192
_FLAT = 10
_MOST_COMMUNITIES = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """A set of entities in communities, with all that phi needs.

    Attributes
    ----------
    members : (m,) int32, ascending
    labels : (m,) int32
        Community of each member; every community has one.
    sums : (n_communities, 3 d) float64
        Sum of the members' vectors.
    sizes : (n_communities,) int64
    profiles : Profiles
        Relation profiles of the communities.
    phi : (m,) float32
        Score of each member in its own community.
    centres : (n_communities,) int32
        Member with the highest score.
    """

    members: NDArray[np.int32]
    labels: NDArray[np.int32]
    sums: NDArray[np.float64]
    sizes: NDArray[np.int64]
    profiles: Profiles
    phi: NDArray[np.float32]
    centres: NDArray[np.int32]


def size_limit(n: int, max_size: int) -> int:
    """Return the most members a merged community may have when `n` entities are divided.

    It is the geometric mean of the whole and a leaf, and a leaf's size where the whole is below ten leaves.
    Without a limit a low threshold would merge a division back into one community, which would be divided and
    merged again for ever; with this one the levels fan out evenly and the depth grows with log log n.
    """
    return max_size if n < _FLAT * max_size else int(np.sqrt(n * max_size))


def merge_rounds(
    features: EntityFeatures, partition: Partition, settings: TreeSettings, workers: Workers
) -> Partition:
    """Merge communities pairwise, most similar first, each at most once a round, until nothing merges.

    Parameters
    ----------
    features : EntityFeatures
    partition : Partition
    settings : TreeSettings
    workers : Workers

    Returns
    -------
    Partition

    Notes
    -----
    Youtu-GraphRAG (arXiv 2508.19855), section 3.2. Ours differs in `size_limit`, and leaves more than
    4096 communities as they are: all pairs are scored.
    """
    limit = size_limit(len(partition.members), settings.max_size)
    while 1 < len(partition.sizes) <= _MOST_COMMUNITIES:
        partner = greedy_matching(
            similarities(features, partition, settings.weight),
            partition.sizes,
            settings.merge_threshold,
            limit,
        )
        if np.all(partner < 0):
            break
        partition = _merge(features, partition, partner, settings.weight, workers)
    return partition


def similarities(features: EntityFeatures, partition: Partition, weight: float) -> NDArray[np.float32]:
    """Return the mean of phi(centre of A, B) and phi(centre of B, A) of all pairs of communities.

    Parameters
    ----------
    features : EntityFeatures
    partition : Partition
    weight : float
        Lambda.

    Returns
    -------
    (n_communities, n_communities) float32, symmetric
    """
    centre_rows = np.empty((len(partition.centres), features.bits.shape[1]), np.float32)
    unit_rows(features.bits, partition.centres, centre_rows, np.empty(len(centre_rows), np.float32))
    cosine = centre_rows @ _directions(partition.sums).T
    phi = features.own.phi(cosine, partition.centres, partition.profiles, weight)
    return np.asarray((phi + phi.T) / 2, np.float32)


def describe(
    features: EntityFeatures,
    members: NDArray[np.int32],
    labels: NDArray[np.int32],
    sums: NDArray[np.float64],
    weight: float,
    workers: Workers,
) -> Partition:
    """Compute profiles, scores and centres of given communities.

    Parameters
    ----------
    features : EntityFeatures
    members : (m,) int32, ascending
    labels : (m,) int32
    sums : (n_communities, 3 d) float64
    weight : float
        Lambda.
    workers : Workers

    Returns
    -------
    Partition
    """
    indptr, order = group(labels, len(sums))
    blank = Partition(
        members,
        labels,
        sums,
        np.diff(indptr),
        features.own.of(indptr, members[order]),
        np.zeros(len(members), np.float32),
        np.empty(0, np.int32),
    )
    return _score(features, blank, np.arange(len(members)), weight, workers)


def group(labels: NDArray[np.int32], n_communities: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row pointers of the communities and the positions in them, ascending in each."""
    indptr = np.zeros(n_communities + 1, np.int64)
    np.cumsum(np.bincount(labels, minlength=n_communities), out=indptr[1:])
    return indptr, np.argsort(labels, kind="stable")


def _score(
    features: EntityFeatures,
    partition: Partition,
    positions: NDArray[np.int64],
    weight: float,
    workers: Workers,
) -> Partition:
    """Score the members at `positions` anew and select the centres."""
    directions = _directions(partition.sums)
    own, theirs = features.profiles, partition.profiles

    def score(block: slice) -> NDArray[np.float32]:
        rows = positions[block]
        return phi_members(
            features.bits,
            own.indptr,
            own.codes,
            own.frequencies,
            partition.members[rows],
            partition.labels[rows],
            directions,
            theirs.indptr,
            theirs.codes,
            theirs.frequencies,
            weight,
        )

    phi = partition.phi.copy()
    parts = blocks(len(positions), _ROWS_PER_BLOCK)
    for block, scores in zip(parts, workers.map(score, parts), strict=True):
        phi[positions[block]] = scores
    centres = select_centres(phi, partition.members, partition.labels, len(partition.sums))
    return replace(partition, phi=phi, centres=centres)


def _merge(
    features: EntityFeatures,
    partition: Partition,
    partner: NDArray[np.int32],
    weight: float,
    workers: Workers,
) -> Partition:
    """Join each matched pair under its lower id and score the members of the new communities."""
    own_id = np.arange(len(partner))
    target = np.where(partner >= 0, np.minimum(own_id, partner), own_id)
    kept, new_id = np.unique(target, return_inverse=True)
    sums = partition.sums[kept]
    has_partner = partner[kept] >= 0
    sums[has_partner] += partition.sums[partner[kept][has_partner]]
    labels = new_id[partition.labels].astype(np.int32)
    indptr, order = group(labels, len(kept))
    merged = replace(
        partition,
        labels=labels,
        sums=sums,
        sizes=np.diff(indptr),
        profiles=features.own.of(indptr, partition.members[order]),
    )
    return _score(features, merged, np.flatnonzero(has_partner[labels]), weight, workers)


def _directions(sums: NDArray[np.float64]) -> NDArray[np.float32]:
    """Scale rows to length one; zero rows stay."""
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    return (sums / np.where(norms > 0, norms, 1.0)).astype(np.float32)
