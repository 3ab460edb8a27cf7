"""Dual-perceived scores and what is chosen by them, beside scipy.sparse and numpy; peers agree first."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from race import Race
from tree_inputs import (
    N_RELATIONS,
    PAIR_LIMIT,
    entity_vectors,
    histograms,
    histograms_by_scipy,
    random_labels,
)

from ytrag_core.kernels.matching import greedy_matching, select_centres
from ytrag_core.kernels.phi import phi_edges, phi_members, phi_pairs
from ytrag_core.tree.kmeans import sum_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pytest_benchmark.fixture import BenchmarkFixture

WEIGHT = 0.5


def jaccard_by_scipy(matrix: Any, first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.float32]:
    shared = np.asarray(matrix[first].minimum(matrix[second]).sum(axis=1), np.float32).ravel()
    return np.asarray(shared / (2 - shared), np.float32)


@lru_cache(maxsize=1)
def jaccard_race(n_nodes: int) -> Race:
    """Each entity with the centres of three communities: what merging asks for, without the vectors' part."""
    own, matrix = histograms(n_nodes), histograms_by_scipy(n_nodes)
    others = np.random.default_rng(4).integers(0, n_nodes, 3).astype(np.int32)
    entities = np.arange(n_nodes, dtype=np.int32)
    indptr = np.concatenate([[0], np.cumsum(np.diff(own.indptr)[others])]).astype(np.int64)
    places = np.concatenate([np.arange(int(own.indptr[o]), int(own.indptr[o + 1])) for o in others])
    none = np.zeros((n_nodes, len(others)), np.float32)
    race = Race("weighted Jaccard, 3 a node", n_nodes)
    race.enter(
        "ytrag",
        lambda: phi_pairs(
            none, *own, entities, indptr, own.codes[places], own.frequencies[places], 2 * N_RELATIONS, 1.0
        ),
    )
    race.enter(
        "scipy.sparse",
        lambda: jaccard_by_scipy(matrix, np.repeat(entities, 3), np.tile(others, n_nodes)),
    )
    assert_allclose(race.results["ytrag"].ravel(), race.results["scipy.sparse"], atol=1e-5)
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "scipy.sparse"])
def test_weighted_jaccard(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    jaccard_race(n_nodes).time(benchmark, peer)


def unit_means(vectors: NDArray[np.float16], labels: NDArray[np.int32]) -> NDArray[np.float32]:
    sums = sum_rows(vectors.astype(np.float32), np.ones(len(labels), np.float32), labels, labels.max() + 1)[0]
    return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True), np.float32)


def phi_by_numpy(
    vectors: NDArray[np.float16], directions: NDArray[np.float32], labels: NDArray[np.int32]
) -> NDArray[np.float32]:
    wide = vectors.astype(np.float32)
    dots = np.einsum("ij,ij->i", wide, directions[labels])
    return np.asarray((1 - WEIGHT) * dots / np.linalg.norm(wide, axis=1), np.float32)


@lru_cache(maxsize=1)
def members_race(n_nodes: int) -> Race:
    """Every entity with its community; numpy leaves the relations out, so ours gets empty ones to agree."""
    vectors, labels = entity_vectors(n_nodes), random_labels(n_nodes)
    directions, own = unit_means(vectors, labels), histograms(n_nodes)
    entities, bits = np.arange(n_nodes, dtype=np.int32), vectors.view(np.uint16)
    empty = np.zeros(len(directions) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
    race = Race("phi of members, d = 3 x 384", n_nodes)
    race.enter("ytrag", lambda: phi_members(bits, *own, entities, labels, directions, *empty, WEIGHT))
    race.enter("numpy, vectors only", lambda: phi_by_numpy(vectors, directions, labels))
    assert_allclose(race.results["ytrag"], race.results["numpy, vectors only"], atol=1e-4)
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "numpy, vectors only"])
def test_phi_of_members(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    if n_nodes > PAIR_LIMIT:
        pytest.skip("float32 copies of a million entity vectors take 9 GB")
    members_race(n_nodes).time(benchmark, peer)


def edges_by_numpy(
    vectors: NDArray[np.float16], first: NDArray[np.int32], second: NDArray[np.int32]
) -> NDArray[np.float32]:
    """Score in blocks: all pairs at once would not fit."""
    scores = np.empty(len(first), np.float32)
    for start in range(0, len(first), 4096):
        block = slice(start, start + 4096)
        one, other = vectors[first[block]].astype(np.float32), vectors[second[block]].astype(np.float32)
        squares = np.einsum("ij,ij->i", one, one) * np.einsum("ij,ij->i", other, other)
        scores[block] = np.einsum("ij,ij->i", one, other) / np.sqrt(squares)
    return np.maximum(scores, np.float32(0))


@lru_cache(maxsize=1)
def edges_race(n_nodes: int) -> Race:
    """Two edges a node, as the dual-perceived graph asks for, grouped by the first end."""
    vectors, own = entity_vectors(n_nodes), histograms(n_nodes)
    first = np.repeat(np.arange(n_nodes, dtype=np.int32), 2)
    second = np.random.default_rng(6).integers(0, n_nodes, len(first)).astype(np.int32)
    bits = vectors.view(np.uint16)
    race = Race("phi of edges, 2 a node, d = 3 x 384", n_nodes)
    race.enter("ytrag, vectors only", lambda: phi_edges(bits, *own, first, second, 0.0))
    race.enter("numpy, vectors only", lambda: edges_by_numpy(vectors, first, second), up_to=PAIR_LIMIT)
    if n_nodes <= PAIR_LIMIT:
        ours, theirs = race.results.values()
        assert_allclose(ours, theirs, atol=1e-4)
    race.enter("ytrag, with relations", lambda: phi_edges(bits, *own, first, second, WEIGHT))
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag, vectors only", "ytrag, with relations", "numpy, vectors only"])
def test_phi_of_edges(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    edges_race(n_nodes).time(benchmark, peer)


def centres_by_numpy(
    phi: NDArray[np.float32], members: NDArray[np.int32], labels: NDArray[np.int32]
) -> NDArray[np.int32]:
    order = np.lexsort((members, -phi, labels))
    return members[order[np.flatnonzero(np.diff(labels[order], prepend=-1))]]


@lru_cache(maxsize=1)
def centres_race(n_nodes: int) -> Race:
    phi = np.random.default_rng(7).integers(0, 1000, n_nodes).astype(np.float32)
    members, labels = np.arange(n_nodes, dtype=np.int32), random_labels(n_nodes)
    race = Race("centres of communities", n_nodes)
    race.enter("ytrag", lambda: select_centres(phi, members, labels, int(labels.max()) + 1))
    race.enter("numpy", lambda: centres_by_numpy(phi, members, labels))
    assert_array_equal(race.results["ytrag"], race.results["numpy"])
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "numpy"])
def test_centres(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    centres_race(n_nodes).time(benchmark, peer)


def matching_by_numpy(similarity: NDArray[np.float32]) -> NDArray[np.int32]:
    """Sort all pairs, then take them one by one."""
    partner = np.full(len(similarity), -1, np.int32)
    one, other = np.triu_indices(len(similarity), 1)
    good = similarity[one, other] >= WEIGHT
    one, other = one[good], other[good]
    order = np.argsort(-similarity[one, other], kind="stable")
    for a, b in zip(one[order].tolist(), other[order].tolist(), strict=True):
        if partner[a] < 0 and partner[b] < 0:
            partner[a], partner[b] = b, a
    return partner


@lru_cache(maxsize=1)
def matching_race(n_communities: int) -> Race:
    half = np.random.default_rng(8).random((n_communities, n_communities), dtype=np.float32)
    similarity = np.asarray((half + half.T) / 2, np.float32)
    sizes = np.ones(n_communities, np.int64)
    n_pairs = n_communities * (n_communities - 1) // 2
    race = Race("matching of communities, most similar first", n_pairs, "pairs")
    race.enter("ytrag", lambda: greedy_matching(similarity, sizes, WEIGHT, 2))
    race.enter("numpy", lambda: matching_by_numpy(similarity))
    assert_array_equal(race.results["ytrag"], race.results["numpy"])
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "numpy"])
@pytest.mark.parametrize("n_communities", [200, 1000])
def test_matching(benchmark: BenchmarkFixture, n_communities: int, peer: str) -> None:
    matching_race(n_communities).time(benchmark, peer)
