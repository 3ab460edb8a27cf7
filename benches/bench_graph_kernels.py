"""The graph kernels beside scipy, numpy and networkx; peers agree before anything is timed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from graphs import Edges, Walk, random_edges, random_walk
from numpy.testing import assert_allclose, assert_array_equal
from race import Race

from ytrag_core.kernels.csr import csr_from_edges, walk_csr
from ytrag_core.kernels.gather import gather_rows
from ytrag_core.kernels.topk import top_k

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pytest_benchmark.fixture import BenchmarkFixture

NETWORKX_LIMIT = 10_000


def both_directions(edges: Edges) -> Any:
    return (
        csr_from_edges(edges.src, edges.dst, edges.relation, edges.n_nodes),
        csr_from_edges(edges.dst, edges.src, edges.relation, edges.n_nodes),
    )


def both_directions_by_scipy(edges: Edges) -> Any:
    """One payload only, the edge's position; scipy has no second one."""
    position, shape = np.arange(len(edges.src), dtype=np.int32), (edges.n_nodes, edges.n_nodes)
    return (
        sp.coo_matrix((position, (edges.src, edges.dst)), shape=shape).tocsr(),
        sp.coo_matrix((position, (edges.dst, edges.src)), shape=shape).tocsr(),
    )


@lru_cache(maxsize=1)
def csr_race(n_nodes: int) -> Race:
    edges = random_edges(n_nodes)
    race = Race("CSR in both directions, with relation and edge id", n_nodes)
    race.enter("ytrag", lambda: both_directions(edges))
    race.enter("scipy.sparse, edge id only", lambda: both_directions_by_scipy(edges))
    ours, theirs = race.results.values()
    for (indptr, indices, _, edge), matrix in zip(ours, theirs, strict=True):
        # scipy adds the positions of parallel edges up, so rows are compared as a whole.
        total = np.add.reduceat(np.append(edge.astype(np.int64), 0), indptr[:-1]) * (np.diff(indptr) > 0)
        assert_array_equal(total, np.asarray(matrix.astype(np.int64).sum(axis=1)).ravel())
        assert len(indices) == len(edges.src)
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "scipy.sparse, edge id only"])
def test_csr_in_both_directions(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    csr_race(n_nodes).time(benchmark, peer)


def scipy_walk(edges: Edges) -> tuple[Any, NDArray[np.float32]]:
    kept = edges.src != edges.dst
    ends = (
        np.concatenate([edges.src[kept], edges.dst[kept]]),
        np.concatenate([edges.dst[kept], edges.src[kept]]),
    )
    weight = np.concatenate([edges.weight[kept], edges.weight[kept]])
    matrix = sp.coo_matrix((weight, ends), shape=(edges.n_nodes, edges.n_nodes)).tocsr()
    return matrix, np.asarray(matrix.sum(axis=1), np.float32).ravel()


@lru_cache(maxsize=1)
def walk_race(n_nodes: int) -> Race:
    edges = random_edges(n_nodes)
    race = Race("undirected weighted graph, merged", n_nodes)
    race.enter("ytrag", lambda: walk_csr(edges.src, edges.dst, edges.weight, edges.n_nodes))
    race.enter("scipy.sparse", lambda: scipy_walk(edges))
    ours, (matrix, strength) = Walk(*race.results["ytrag"]), race.results["scipy.sparse"]
    assert_array_equal(ours.indices, matrix.indices)
    assert_allclose(ours.weights, matrix.data, rtol=1e-5)
    assert_allclose(ours.strength, strength, rtol=5e-3)
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "scipy.sparse"])
def test_walk_csr(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    walk_race(n_nodes).time(benchmark, peer)


def numpy_gather(indptr: NDArray[np.int64], nodes: NDArray[np.int32]) -> NDArray[np.int64]:
    lengths = indptr[nodes + 1] - indptr[nodes]
    shift: NDArray[np.int64] = np.repeat(indptr[nodes] - (np.cumsum(lengths) - lengths), lengths)
    positions: NDArray[np.int64] = np.arange(lengths.sum(), dtype=np.int64) + shift
    return positions


@lru_cache(maxsize=1)
def gather_race(n_nodes: int) -> Race:
    walk = random_walk(n_nodes)
    nodes = np.random.default_rng(9).integers(0, n_nodes, 1000).astype(np.int32)
    race = Race("1,000 rows of a CSR", n_nodes)
    race.enter("ytrag", lambda: gather_rows(walk.indptr, nodes, 0))
    race.enter("numpy", lambda: numpy_gather(walk.indptr, nodes))
    assert_array_equal(race.results["ytrag"][0], race.results["numpy"])
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "numpy"])
def test_gather_rows(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    gather_race(n_nodes).time(benchmark, peer)


def within_two_hops(walk: Walk, node: int) -> NDArray[np.int32]:
    is_reached = np.zeros(len(walk.strength), np.bool_)
    is_reached[node] = True
    for _ in range(2):
        positions, _owner = gather_rows(walk.indptr, np.flatnonzero(is_reached).astype(np.int32), 0)
        is_reached[walk.indices[positions]] = True
    return np.flatnonzero(is_reached).astype(np.int32)


@lru_cache(maxsize=1)
def hops_race(n_nodes: int) -> Race:
    walk, node = random_walk(n_nodes), n_nodes // 2
    race = Race("nodes within 2 hops of a hub", n_nodes)
    race.enter("ytrag", lambda: within_two_hops(walk, node))
    if n_nodes <= NETWORKX_LIMIT:
        owner = np.repeat(np.arange(n_nodes), np.diff(walk.indptr))
        graph = nx.Graph(np.stack([owner, walk.indices], axis=1).tolist())
        race.enter("networkx", lambda: nx.single_source_shortest_path_length(graph, node, cutoff=2))
        assert sorted(race.results["networkx"]) == race.results["ytrag"].tolist()
    else:
        race.leave_out("networkx", NETWORKX_LIMIT)
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "networkx"])
def test_nodes_within_two_hops(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    hops_race(n_nodes).time(benchmark, peer)


def numpy_top_k(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    best = np.argpartition(scores, len(scores) - k)[len(scores) - k :]
    return best[np.lexsort((best, -scores[best]))]


@lru_cache(maxsize=2)
def top_k_race(n_nodes: int, k: int) -> Race:
    scores = np.random.default_rng(1).permutation(n_nodes).astype(np.float32)
    race = Race(f"exact top {k:,}", n_nodes, "scores")
    race.enter("ytrag", lambda: top_k(scores, k))
    race.enter("numpy", lambda: numpy_top_k(scores, k))
    assert_array_equal(race.results["ytrag"], race.results["numpy"])
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "numpy"])
@pytest.mark.parametrize("k", [20, 500])
def test_top_k(benchmark: BenchmarkFixture, n_nodes: int, k: int, peer: str) -> None:
    top_k_race(n_nodes, k).time(benchmark, peer)
