"""The graph kernels beside scipy, igraph and numpy; peers agree before anything is timed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import igraph
import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from ytrag_core.kernels.csr import csr_from_edges, walk_csr
from ytrag_core.kernels.gather import gather_rows
from ytrag_core.kernels.ppr import ppr_power, ppr_push
from ytrag_core.kernels.topk import top_k

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from pytest_benchmark.fixture import BenchmarkFixture

DAMPING = 0.5
HUB_SHARE = 0.02


class Edges(NamedTuple):
    src: NDArray[np.int32]
    dst: NDArray[np.int32]
    relation: NDArray[np.int32]
    weight: NDArray[np.float32]
    n_nodes: int


class Walk(NamedTuple):
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32]
    strength: NDArray[np.float32]


@lru_cache(maxsize=4)
def random_edges(n_nodes: int) -> Edges:
    """Three edges a node, one hub with 2% of all edges, a ring so that no node is left alone."""
    rng = np.random.default_rng(17)
    n_edges = 3 * n_nodes
    src = rng.integers(0, n_nodes, n_edges).astype(np.int32)
    dst = rng.integers(0, n_nodes, n_edges).astype(np.int32)
    src[:n_nodes] = np.arange(n_nodes)
    dst[:n_nodes] = (np.arange(n_nodes) + 1) % n_nodes
    src[n_nodes : n_nodes + int(HUB_SHARE * n_edges)] = n_nodes // 2
    order = rng.permutation(n_edges)
    weight = rng.random(n_edges, dtype=np.float32) + np.float32(0.1)
    return Edges(src[order], dst[order], rng.integers(0, 40, n_edges).astype(np.int32), weight, n_nodes)


@lru_cache(maxsize=4)
def random_walk(n_nodes: int) -> Walk:
    edges = random_edges(n_nodes)
    return Walk(*walk_csr(edges.src, edges.dst, edges.weight, n_nodes))


def seeds_of(n_nodes: int) -> NDArray[np.int32]:
    return np.random.default_rng(3).choice(n_nodes, 20, replace=False).astype(np.int32)


def dense_seeds(n_nodes: int) -> NDArray[np.float32]:
    dense = np.zeros(n_nodes, np.float32)
    dense[seeds_of(n_nodes)] = 1 / 20
    return dense


def measure(
    benchmark: BenchmarkFixture, operation: str, size: str, run: Callable[[], object], rounds: int
) -> None:
    benchmark.group = f"{operation} | {size}"
    untyped: Any = benchmark
    untyped.pedantic(run, rounds=rounds, warmup_rounds=1)


def scipy_csr(
    edges: Edges,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Both payloads need a conversion each; entries of one pair stay apart, as ours do."""
    shape = (edges.n_nodes, len(edges.src))
    position = np.arange(len(edges.src), dtype=np.int32)
    by_edge = sp.coo_matrix((edges.relation, (edges.src, position)), shape=shape).tocsr()
    by_column = sp.coo_matrix((edges.dst, (edges.src, position)), shape=shape).tocsr()
    return by_edge.indptr.astype(np.int64), by_column.data, by_edge.data, by_edge.indices


@pytest.mark.parametrize("peer", ["ytrag", "scipy"])
def test_csr_from_edges(benchmark: BenchmarkFixture, peer: str, smoke: bool) -> None:
    edges = random_edges(1_000 if smoke else 1_000_000)
    ours = csr_from_edges(edges.src, edges.dst, edges.relation, edges.n_nodes)
    for one, other in zip(ours, scipy_csr(edges), strict=True):
        assert_array_equal(one, other)
    runs = {
        "ytrag": lambda: csr_from_edges(edges.src, edges.dst, edges.relation, edges.n_nodes),
        "scipy": lambda: scipy_csr(edges),
    }
    size = f"{edges.n_nodes:,} nodes, {len(edges.src):,} edges"
    measure(benchmark, "CSR with relation and edge id", size, runs[peer], rounds=5)


def scipy_walk(edges: Edges) -> tuple[sp.csr_matrix, NDArray[np.float32]]:
    kept = edges.src != edges.dst
    ends = (
        np.concatenate([edges.src[kept], edges.dst[kept]]),
        np.concatenate([edges.dst[kept], edges.src[kept]]),
    )
    weight = np.concatenate([edges.weight[kept], edges.weight[kept]])
    matrix = sp.coo_matrix((weight, ends), shape=(edges.n_nodes, edges.n_nodes)).tocsr()
    return matrix, np.asarray(matrix.sum(axis=1), np.float32).ravel()


@pytest.mark.parametrize("peer", ["ytrag", "scipy"])
def test_walk_csr(benchmark: BenchmarkFixture, peer: str, smoke: bool) -> None:
    edges = random_edges(1_000 if smoke else 1_000_000)
    ours = Walk(*walk_csr(edges.src, edges.dst, edges.weight, edges.n_nodes))
    matrix, strength = scipy_walk(edges)
    assert_array_equal(ours.indices, matrix.indices)
    assert_allclose(ours.weights, matrix.data, rtol=1e-5)
    assert_allclose(ours.strength, strength, rtol=1e-3)
    runs = {
        "ytrag": lambda: walk_csr(edges.src, edges.dst, edges.weight, edges.n_nodes),
        "scipy": lambda: scipy_walk(edges),
    }
    size = f"{edges.n_nodes:,} nodes, {len(edges.src):,} edges"
    measure(benchmark, "undirected weighted graph", size, runs[peer], rounds=3)


def numpy_gather(indptr: NDArray[np.int64], nodes: NDArray[np.int32]) -> NDArray[np.int64]:
    lengths = indptr[nodes + 1] - indptr[nodes]
    shift: NDArray[np.int64] = np.repeat(indptr[nodes] - (np.cumsum(lengths) - lengths), lengths)
    positions: NDArray[np.int64] = np.arange(lengths.sum(), dtype=np.int64) + shift
    return positions


@pytest.mark.parametrize("peer", ["ytrag", "numpy"])
def test_gather_rows(benchmark: BenchmarkFixture, peer: str, smoke: bool) -> None:
    walk = random_walk(1_000 if smoke else 100_000)
    nodes = np.random.default_rng(9).integers(0, len(walk.strength), 1000).astype(np.int32)
    assert_array_equal(gather_rows(walk.indptr, nodes, 0)[0], numpy_gather(walk.indptr, nodes))
    runs = {
        "ytrag": lambda: gather_rows(walk.indptr, nodes, 0),
        "numpy": lambda: numpy_gather(walk.indptr, nodes),
    }
    measure(benchmark, "rows of a CSR", f"1,000 of {len(walk.strength):,} rows", runs[peer], rounds=200)


def igraph_of(walk: Walk) -> tuple[igraph.Graph, NDArray[np.float32]]:
    owner = np.repeat(np.arange(len(walk.strength), dtype=np.int32), np.diff(walk.indptr))
    once = owner < walk.indices
    pairs = np.stack([owner[once], walk.indices[once]], axis=1)
    return igraph.Graph(n=len(walk.strength), edges=pairs), walk.weights[once]


def scipy_power(
    transition: sp.csr_matrix, seeds: NDArray[np.float32], n_iterations: int
) -> NDArray[np.float64]:
    rank = seeds.astype(np.float64)
    restart = (1 - DAMPING) * rank
    for _ in range(n_iterations):
        rank = DAMPING * (transition @ rank) + restart
    return rank


def scipy_transition(walk: Walk) -> sp.csr_matrix:
    n_nodes = len(walk.strength)
    matrix = sp.csr_matrix(
        (walk.weights.astype(np.float64), walk.indices, walk.indptr), shape=(n_nodes, n_nodes)
    )
    return sp.csr_matrix(matrix @ sp.diags_array(1 / walk.strength.astype(np.float64)))


@pytest.mark.parametrize("peer", ["ytrag serial", "ytrag threaded", "scipy", "igraph"])
@pytest.mark.parametrize("n_nodes", [10_000, 100_000])
def test_pagerank_of_all_nodes(benchmark: BenchmarkFixture, peer: str, n_nodes: int, smoke: bool) -> None:
    n_nodes = 500 if smoke else n_nodes
    walk, seeds, n_iterations = random_walk(n_nodes), dense_seeds(n_nodes), 25
    transition = scipy_transition(walk)
    graph, weight = igraph_of(walk)
    weights, reset = weight.tolist(), seeds.tolist()
    runs: dict[str, Callable[[], object]] = {
        "ytrag serial": lambda: ppr_power(*walk, seeds, DAMPING, n_iterations, 0.0, False),
        "ytrag threaded": lambda: ppr_power(*walk, seeds, DAMPING, n_iterations, 0.0, True),
        "scipy": lambda: scipy_power(transition, seeds, n_iterations),
        "igraph": lambda: graph.personalized_pagerank(
            directed=False, damping=DAMPING, reset=reset, weights=weights
        ),
    }
    ours = ppr_power(*walk, seeds, DAMPING, n_iterations, 0.0, False)
    assert_allclose(ours, np.asarray(runs[peer]()), atol=2e-7)
    size = f"{n_nodes:,} nodes, {len(walk.indices) // 2:,} edges"
    measure(benchmark, "personalised PageRank, all nodes", size, runs[peer], rounds=5)


@pytest.mark.parametrize("peer", ["ytrag push", "ytrag power", "scipy"])
@pytest.mark.parametrize("n_nodes", [100_000, 1_000_000])
def test_pagerank_around_seeds(benchmark: BenchmarkFixture, peer: str, n_nodes: int, smoke: bool) -> None:
    n_nodes = 500 if smoke else n_nodes
    walk, seeds, n_iterations, epsilon = random_walk(n_nodes), dense_seeds(n_nodes), 25, 1e-6
    mass = np.zeros((n_nodes, 2))
    queue, touched = np.empty(n_nodes, np.int32), np.empty(n_nodes, np.int32)
    nodes = seeds_of(n_nodes)
    shares = np.full(len(nodes), 1 / len(nodes), np.float32)

    def push() -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        return ppr_push(*walk, nodes, shares, DAMPING, epsilon, 0, mass, queue, touched)

    exact = ppr_power(*walk, seeds, DAMPING, n_iterations, 0.0, False)
    found, scores = push()
    ratio = float((np.diff(walk.indptr) / walk.strength).max())
    assert (np.abs(exact[found] - scores) <= epsilon * ratio * walk.strength[found] + 1e-6).all()
    assert_array_equal(np.sort(found[top_k(scores, 20)]), np.sort(top_k(exact, 20)))
    transition = scipy_transition(walk)
    assert_allclose(exact, scipy_power(transition, seeds, n_iterations), atol=2e-7)
    runs: dict[str, Callable[[], object]] = {
        "ytrag push": push,
        "ytrag power": lambda: ppr_power(*walk, seeds, DAMPING, n_iterations, 0.0, True),
        "scipy": lambda: scipy_power(transition, seeds, n_iterations),
    }
    size = f"{n_nodes:,} nodes, {len(walk.indices) // 2:,} edges"
    rounds = 50 if peer == "ytrag push" else 1
    measure(benchmark, "personalised PageRank around 20 seeds", size, runs[peer], rounds)


def numpy_top_k(scores: NDArray[np.float32], k: int) -> NDArray[np.int64]:
    best = np.argpartition(scores, len(scores) - k)[len(scores) - k :]
    return best[np.lexsort((best, -scores[best]))]


@pytest.mark.parametrize("peer", ["ytrag", "numpy"])
@pytest.mark.parametrize(("n", "k"), [(10_000, 20), (10_000, 1000), (1_000_000, 20), (1_000_000, 1000)])
def test_top_k(benchmark: BenchmarkFixture, peer: str, n: int, k: int, smoke: bool) -> None:
    n = 2_000 if smoke else n
    scores = np.random.default_rng(1).permutation(n).astype(np.float32)
    assert_array_equal(top_k(scores, k), numpy_top_k(scores, k))
    runs: dict[str, Callable[[], object]] = {
        "ytrag": lambda: top_k(scores, k),
        "numpy": lambda: numpy_top_k(scores, k),
    }
    measure(benchmark, "top-k", f"{k:,} of {n:,}", runs[peer], rounds=50)
