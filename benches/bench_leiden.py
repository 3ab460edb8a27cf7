"""Leiden beside igraph: modularity agrees within half a percent before time is taken."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import igraph
import numpy as np
import pytest

from ytrag_core.kernels.csr import walk_csr
from ytrag_core.tree.leiden import WeightedGraph, leiden, modularity_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pytest_benchmark.fixture import BenchmarkFixture

EDGES_PER_NODE = 5
SIZES = [10_000, 100_000, pytest.param(1_000_000, marks=pytest.mark.slow)]


@lru_cache(maxsize=1)
def planted_graph(n_nodes: int) -> WeightedGraph:
    """Communities of sizes by a power law, six of ten edges inside, weights from 0.2 to 1.2, ids shuffled."""
    rng = np.random.default_rng(0)
    n_groups = max(10, n_nodes // 100)
    group = np.sort((rng.pareto(1.5, n_nodes) * n_groups / 8).astype(np.int64) % n_groups)
    head = rng.integers(0, n_nodes, EDGES_PER_NODE * n_nodes)
    start = np.searchsorted(group, group[head])
    size = np.searchsorted(group, group[head], side="right") - start
    inner = start + (rng.random(len(head)) * size).astype(np.int64)
    tail = np.where(rng.random(len(head)) < 0.6, inner, rng.integers(0, n_nodes, len(head)))
    new_id = rng.permutation(n_nodes).astype(np.int32)
    weights = (rng.random(len(head)) + 0.2).astype(np.float32)
    return WeightedGraph(*walk_csr(new_id[head], new_id[tail], weights, n_nodes)[:3])


def igraph_of(graph: WeightedGraph) -> tuple[Any, NDArray[np.float64]]:
    row = np.repeat(np.arange(graph.n_nodes), np.diff(graph.indptr))
    upper = row < graph.indices
    edges = np.column_stack([row[upper], graph.indices[upper]])
    return igraph.Graph(n=graph.n_nodes, edges=edges), graph.weights[upper].astype(np.float64)


@pytest.mark.parametrize("peer", ["ytrag", "igraph"])
@pytest.mark.parametrize("n_nodes", SIZES)
def test_leiden(benchmark: BenchmarkFixture, n_nodes: int, peer: str, smoke: bool) -> None:
    if smoke:
        n_nodes = min(n_nodes, 1000)
    graph = planted_graph(n_nodes)
    other, weights = igraph_of(graph)

    def by_igraph() -> NDArray[np.int32]:
        found = other.community_leiden(objective_function="modularity", weights=weights, n_iterations=2)
        return np.array(found.membership, np.int32)

    ours, theirs = modularity_of(graph, leiden(graph)), modularity_of(graph, by_igraph())
    assert ours >= 0.995 * theirs
    benchmark.extra_info["modularity"] = ours if peer == "ytrag" else theirs
    benchmark.group = f"Leiden | {n_nodes:,} nodes, {len(graph.indices) // 2:,} edges"
    rounds = 5 if n_nodes <= 10_000 else 1
    untyped: Any = benchmark
    untyped.pedantic({"ytrag": lambda: leiden(graph), "igraph": by_igraph}[peer], rounds=rounds)
