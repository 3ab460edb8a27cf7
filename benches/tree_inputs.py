"""What the benches of the tree's kernels work on: random triples, vectors, histograms, communities."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ytrag_core.kernels.aggregate import incident_triples
from ytrag_core.kernels.relation_profile import entity_profiles
from ytrag_core.tree.features import TripleArrays, aggregate_vectors
from ytrag_core.workers import open_workers

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIMENSION = 384
N_RELATIONS = 250
N_MEMBERS = 100
"""Members of a community."""
PAIR_LIMIT = 100_000


@lru_cache(maxsize=1)
def random_triples(n_entities: int) -> TripleArrays:
    """Three triples an entity; every node and relation has a string of its own."""
    rng = np.random.default_rng(11)
    n_triples = 3 * n_entities
    strings = np.empty((N_RELATIONS + n_entities, DIMENSION), np.float16)
    for start in range(0, len(strings), 65_536):
        block = rng.standard_normal((min(65_536, len(strings) - start), DIMENSION), dtype=np.float32)
        strings[start : start + len(block)] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return TripleArrays(
        n_entities,
        N_RELATIONS,
        rng.integers(0, n_entities, n_triples).astype(np.int32),
        rng.integers(0, N_RELATIONS, n_triples).astype(np.int32),
        rng.integers(0, n_entities, n_triples).astype(np.int32),
        np.arange(N_RELATIONS, N_RELATIONS + n_entities, dtype=np.int32),
        np.arange(N_RELATIONS, dtype=np.int32),
        strings,
    )


@lru_cache(maxsize=1)
def incidence_of(n_entities: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    triples = random_triples(n_entities)
    return incident_triples(triples.head, triples.tail, n_entities)


def aggregated(n_entities: int, n_threads: int) -> NDArray[np.float16]:
    with open_workers(n_threads) as workers:
        return aggregate_vectors(
            random_triples(n_entities), incidence_of(n_entities), workers, lambda done: None
        )


@lru_cache(maxsize=1)
def entity_vectors(n_entities: int) -> NDArray[np.float16]:
    return aggregated(n_entities, 2)


class Profiles(NamedTuple):
    indptr: NDArray[np.int64]
    codes: NDArray[np.int32]
    frequencies: NDArray[np.float32]


def histograms(n_entities: int) -> Profiles:
    triples = random_triples(n_entities)
    indptr, codes, _, frequencies = entity_profiles(
        *incidence_of(n_entities), triples.head, triples.relation, triples.tail, N_RELATIONS
    )
    return Profiles(indptr, codes, frequencies)


def histograms_by_scipy(n_entities: int) -> Any:
    """Count (entity, code) as the sum of a list of ones, then divide by row sums."""
    triples = random_triples(n_entities)
    rows = np.concatenate([triples.head, triples.tail])
    codes = np.concatenate([2 * triples.relation, 2 * triples.relation + 1])
    ones = np.ones(len(rows), np.float32)
    counts = sp.coo_array((ones, (rows, codes)), shape=(n_entities, 2 * N_RELATIONS)).tocsr()
    counts.sort_indices()
    degree = np.asarray(counts.sum(axis=1)).ravel()
    counts.data /= np.repeat(degree, np.diff(counts.indptr))
    return counts


def random_labels(n_nodes: int) -> NDArray[np.int32]:
    labels = np.random.default_rng(5).integers(0, max(1, n_nodes // N_MEMBERS), n_nodes)
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)
