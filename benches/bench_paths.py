"""Path search: the beam kernel beside the same beam over networkx, scored by numpy; their scores agree."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx
import numpy as np
import pytest
from graphs import random_edges
from numpy.testing import assert_allclose
from race import Race

from ytrag_core.config import RetrievalSettings
from ytrag_core.kernels.csr import csr_from_edges
from ytrag_core.kernels.paths import beam_paths

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pytest_benchmark.fixture import BenchmarkFixture

SETTINGS = RetrievalSettings()
DIMENSION = 384
N_RELATIONS = 40
N_STARTS = 3
HUB_COST, VALUE_COST, STEP_GAIN = 0.02, 0.1, 0.1
MOST = 1 << 30
NETWORKX_LIMIT = 100_000


class Problem(NamedTuple):
    """Triples in the order of their heads, vectors of nodes and relations, two queries, and starts."""

    head: NDArray[np.int32]
    relation: NDArray[np.int32]
    tail: NDArray[np.int32]
    vectors: NDArray[np.float16]
    queries: NDArray[np.float32]
    starts: NDArray[np.int32]
    n_nodes: int


def unit_rows(rng: np.random.Generator, n: int) -> NDArray[np.float32]:
    rows = rng.standard_normal((n, DIMENSION), np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@lru_cache(maxsize=1)
def problem(n_nodes: int) -> Problem:
    edges = random_edges(n_nodes)
    order = np.argsort(edges.src, kind="stable")
    rng = np.random.default_rng(5)
    vectors = np.empty((n_nodes + N_RELATIONS, DIMENSION), np.float16)
    for start in range(0, len(vectors), 65_536):
        block = vectors[start : start + 65_536]
        block[:] = unit_rows(rng, len(block))
    starts = np.arange(1, 1 + N_STARTS, dtype=np.int32)
    head, relation, tail = (column[order] for column in (edges.src, edges.relation, edges.dst))
    return Problem(head, relation, tail, vectors, unit_rows(rng, 2), starts, n_nodes)


def by_kernel(given: Problem, forth: Any, back: Any) -> NDArray[np.float32]:
    bits = given.vectors.view(np.uint16)
    return beam_paths(
        forth[0],
        forth[1],
        forth[2],
        back[0],
        back[1],
        back[2],
        back[3],
        bits,
        bits[:0],
        np.arange(given.n_nodes, dtype=np.int32),
        np.arange(given.n_nodes, len(bits), dtype=np.int32),
        given.queries[0],
        given.queries[1],
        given.starts,
        given.n_nodes,
        SETTINGS.beam,
        SETTINGS.max_hops,
        MOST,
        MOST,
        np.float32(HUB_COST),
        np.float32(VALUE_COST),
        np.float32(STEP_GAIN),
    )[2]


def by_networkx(given: Problem, graph: nx.MultiDiGraph) -> NDArray[np.float32]:
    """Prolong chains along and against the edges, keep the best of each length."""
    none = np.zeros(DIMENSION, np.float32)
    beam: list[tuple[tuple[int, ...], Any, Any, float]] = [
        ((node,), none, none, 0.0) for node in given.starts.tolist()
    ]
    found: list[float] = []
    for hop in range(SETTINGS.max_hops):
        longer = []
        for nodes, facts, relations, cost in beam:
            node = nodes[-1]
            passed = cost + (HUB_COST * math.log1p(graph.degree(node)) if hop else 0.0)
            out = ((node, other, relation) for _, other, relation in graph.out_edges(node, data="relation"))
            into = ((other, node, relation) for other, _, relation in graph.in_edges(node, data="relation"))
            for head, tail, relation in (*out, *into):
                other = tail if head == node else head
                if other in nodes:
                    continue
                asked = given.vectors[given.n_nodes + relation].astype(np.float32)
                fact = given.vectors[head].astype(np.float32) + asked + given.vectors[tail]
                fact /= np.linalg.norm(fact)
                sums = facts + fact, relations + asked
                score = sum(
                    float(total @ query) / float(np.linalg.norm(total))
                    for total, query in zip(sums, given.queries, strict=True)
                )
                longer.append((score - passed + STEP_GAIN * hop, (*nodes, other), *sums, passed))
        longer.sort(key=lambda chain: -chain[0])
        beam = [chain[1:] for chain in longer[: SETTINGS.beam]]
        found += [chain[0] for chain in longer[: SETTINGS.beam]]
    return np.array(found, np.float32)


@lru_cache(maxsize=1)
def path_race(n_nodes: int) -> Race:
    given = problem(n_nodes)
    forth = csr_from_edges(given.head, given.tail, given.relation, n_nodes)
    back = csr_from_edges(given.tail, given.head, given.relation, n_nodes)
    race = Race("paths of 3 hops, beam 32, d = 384", n_nodes)
    race.enter("ytrag", lambda: by_kernel(given, forth, back))
    if n_nodes <= NETWORKX_LIMIT:
        graph = nx.MultiDiGraph()
        graph.add_nodes_from(range(n_nodes))
        triples = zip(given.head.tolist(), given.tail.tolist(), given.relation.tolist(), strict=True)
        graph.add_edges_from((head, tail, {"relation": relation}) for head, tail, relation in triples)
        race.enter("networkx and numpy", lambda: by_networkx(given, graph))
        assert_allclose(race.results["ytrag"], race.results["networkx and numpy"], atol=1e-3)
    else:
        race.leave_out("networkx and numpy", NETWORKX_LIMIT)
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "networkx and numpy"])
def test_path_search(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    path_race(n_nodes).time(benchmark, peer)
