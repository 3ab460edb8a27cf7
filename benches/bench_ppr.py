"""Personalised PageRank beside igraph, scipy and networkx; the best hundred nodes agree before all timing."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from graphs import Walk, igraph_of, random_walk
from numpy.testing import assert_allclose
from race import Race

from ytrag_core.config import RetrievalSettings
from ytrag_core.kernels.ppr import ppr_power, ppr_push
from ytrag_core.kernels.topk import top_k

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from pytest_benchmark.fixture import BenchmarkFixture

SETTINGS = RetrievalSettings()
N_SEEDS = 20
N_BEST = 100
LEAST_OVERLAP = 0.98
N_STEPS = 60
NETWORKX_LIMIT = 10_000
SCIPY_LIMIT = 100_000


def seeds_of(walk: Walk) -> NDArray[np.int32]:
    """Return nodes that have an edge."""
    nodes = np.random.default_rng(3).choice(np.flatnonzero(walk.strength > 0), N_SEEDS, replace=False)
    return np.sort(nodes).astype(np.int32)


def dense_seeds(walk: Walk) -> NDArray[np.float32]:
    dense = np.zeros(len(walk.strength), np.float32)
    dense[seeds_of(walk)] = 1 / N_SEEDS
    return dense


def scipy_transition(walk: Walk) -> Any:
    n_nodes = len(walk.strength)
    matrix = sp.csr_matrix(
        (walk.weights.astype(np.float64), walk.indices, walk.indptr), shape=(n_nodes, n_nodes)
    )
    return sp.csr_matrix(matrix @ sp.diags_array(1 / walk.strength.astype(np.float64)))


def scipy_power(transition: Any, seeds: NDArray[np.float32]) -> NDArray[np.float64]:
    rank = seeds.astype(np.float64)
    restart = (1 - SETTINGS.damping) * rank
    for _ in range(N_STEPS):
        rank = SETTINGS.damping * (transition @ rank) + restart
    return rank


def networkx_graph(walk: Walk) -> nx.Graph:
    owner = np.repeat(np.arange(len(walk.strength)), np.diff(walk.indptr))
    graph = nx.Graph()
    graph.add_nodes_from(range(len(walk.strength)))
    graph.add_weighted_edges_from(
        zip(owner.tolist(), walk.indices.tolist(), walk.weights.tolist(), strict=True)
    )
    return graph


def enter_others(race: Race, walk: Walk) -> None:
    """Enter the peers, all of which rank every node."""
    seeds = dense_seeds(walk)
    graph, weight = igraph_of(walk.indptr, walk.indices, walk.weights)
    weights, reset = weight.tolist(), seeds.tolist()
    race.enter(
        "igraph",
        lambda: np.array(
            graph.personalized_pagerank(
                directed=False, damping=SETTINGS.damping, reset=reset, weights=weights
            )
        ),
    )
    n_nodes = len(walk.strength)
    if n_nodes <= SCIPY_LIMIT:
        transition = scipy_transition(walk)
        race.enter("scipy.sparse, 60 steps", lambda: scipy_power(transition, seeds))
    else:
        race.leave_out("scipy.sparse, 60 steps", SCIPY_LIMIT)
    if n_nodes <= NETWORKX_LIMIT:
        other = networkx_graph(walk)
        personal = dict.fromkeys(seeds_of(walk).tolist(), 1.0)
        race.enter(
            "networkx", lambda: nx.pagerank(other, SETTINGS.damping, personal, weight="weight", tol=1e-9)
        )
    else:
        race.leave_out("networkx", NETWORKX_LIMIT)


def overlap(best: NDArray[np.int32], ranks: NDArray[np.float64]) -> float:
    """Return the share of nodes that rank among the first hundred; equal ranks are all among them."""
    least = np.partition(ranks, -N_BEST)[-N_BEST]
    return float(np.mean(ranks[best] >= least * (1 - 1e-6)))


def pusher(walk: Walk) -> Callable[[], tuple[NDArray[np.int32], NDArray[np.float32]]]:
    """Return a push around the seeds with the product's settings."""
    n_nodes = len(walk.strength)
    mass = np.zeros((n_nodes, 2))
    queue, touched = np.empty((2, n_nodes + 1), np.int32)
    nodes, shares = seeds_of(walk), np.full(N_SEEDS, 1 / N_SEEDS, np.float32)
    damping, epsilon, most = SETTINGS.damping, SETTINGS.epsilon, SETTINGS.max_pushes
    return lambda: ppr_push(*walk, nodes, shares, damping, epsilon, most, mass, queue, touched)


@lru_cache(maxsize=1)
def push_race(n_nodes: int) -> Race:
    walk = random_walk(n_nodes)
    race = Race("personalised PageRank around 20 seeds", n_nodes)
    race.enter("ytrag, local push", pusher(walk))
    enter_others(race, walk)
    found, scores = race.results["ytrag, local push"]
    assert overlap(found[top_k(scores, N_BEST)], race.results["igraph"]) >= LEAST_OVERLAP
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag, local push", "igraph", "scipy.sparse, 60 steps", "networkx"])
def test_pagerank_around_seeds(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    push_race(n_nodes).time(benchmark, peer)


@lru_cache(maxsize=1)
def power_race(n_nodes: int) -> Race:
    walk = random_walk(n_nodes)
    seeds = dense_seeds(walk)
    race = Race("personalised PageRank of all nodes", n_nodes)
    for peer, threaded in (("ytrag, 1 thread", False), ("ytrag, 2 threads", True)):
        race.enter(
            peer,
            lambda threaded=threaded: ppr_power(*walk, seeds, SETTINGS.damping, N_STEPS, 1e-9, threaded),  # type: ignore[misc]
        )
    enter_others(race, walk)
    ours = race.results["ytrag, 1 thread"]
    for ranks in race.results.values():
        each = [ranks[node] for node in range(n_nodes)] if isinstance(ranks, dict) else ranks
        assert_allclose(ours, each, atol=2e-7)
    return race.start()


@pytest.mark.parametrize(
    "peer", ["ytrag, 1 thread", "ytrag, 2 threads", "igraph", "scipy.sparse, 60 steps", "networkx"]
)
def test_pagerank_of_all_nodes(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    power_race(n_nodes).time(benchmark, peer)
