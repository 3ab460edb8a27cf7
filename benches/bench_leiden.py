"""Leiden beside igraph and networkx's Louvain: modularity agrees to half a percent before all timing."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import pytest
from graphs import igraph_of
from race import Race

from ytrag_core.kernels.csr import walk_csr
from ytrag_core.tree.leiden import WeightedGraph, leiden, modularity_of

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pytest_benchmark.fixture import BenchmarkFixture

EDGES_PER_NODE = 5
NETWORKX_LIMIT = 10_000


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


def louvain(graph: nx.Graph) -> NDArray[np.int32]:
    labels = np.empty(graph.number_of_nodes(), np.int32)
    for community, members in enumerate(nx.community.louvain_communities(graph, seed=0)):
        labels[list(members)] = community
    return labels


@lru_cache(maxsize=1)
def leiden_race(n_nodes: int) -> Race:
    graph = planted_graph(n_nodes)
    other, weights = igraph_of(graph.indptr, graph.indices, graph.weights)

    def by_igraph() -> NDArray[np.int32]:
        random.seed(0)  # where it takes its random numbers from
        found = other.community_leiden(objective_function="modularity", weights=weights, n_iterations=2)
        return np.array(found.membership, np.int32)

    race = Race("communities by modularity, 5 edges a node", n_nodes)
    race.enter("ytrag, Leiden", lambda: leiden(graph))
    race.enter("igraph, Leiden", by_igraph)
    if n_nodes <= NETWORKX_LIMIT:
        slow = nx.Graph()
        slow.add_nodes_from(range(n_nodes))
        ends = np.array(other.get_edgelist(), np.int32).reshape(-1, 2)
        slow.add_weighted_edges_from(zip(*ends.T.tolist(), weights.tolist(), strict=True))
        race.enter("networkx, Louvain", lambda: louvain(slow))
    else:
        race.leave_out("networkx, Louvain", NETWORKX_LIMIT)
    found = {peer: modularity_of(graph, labels) for peer, labels in race.results.items()}
    assert found["ytrag, Leiden"] >= 0.995 * max(found.values()), found
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag, Leiden", "igraph, Leiden", "networkx, Louvain"])
def test_leiden(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    leiden_race(n_nodes).time(benchmark, peer)
