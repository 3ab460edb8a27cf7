"""Path search beside the same beam over networkx, scored by numpy; their scores agree."""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import networkx as nx
import numpy as np
import pytest
from graphs import random_edges
from numpy.testing import assert_allclose
from race import Race

from ytrag_core.config import RetrievalSettings
from ytrag_core.graph.tables import Csr
from ytrag_core.kernels.csr import csr_from_edges
from ytrag_core.retrieval.paths import find_paths
from ytrag_core.retrieval.relation_words import AskedWords
from ytrag_core.retrieval.triples import QueryVectors

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pytest_benchmark.fixture import BenchmarkFixture

SETTINGS = RetrievalSettings(row_limit=1 << 30)
DIMENSION = 384
N_RELATIONS = 40
N_STARTS = 3
N_PATHS = 20
HUB_COST, CHOICE_COST, STEP_GAIN, WORD_GAIN = 0.02, 0.07, 0.1, 0.5
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


def view_of(given: Problem) -> Any:
    """Return what path search reads of a snapshot: relation 0 has a word that the question says once."""
    forth = csr_from_edges(given.head, given.tail, given.relation, given.n_nodes)
    back = csr_from_edges(given.tail, given.head, given.relation, given.n_nodes)
    strings = {
        "vectors": given.vectors,
        "node_string": np.arange(given.n_nodes, dtype=np.int32),
        "relation_string": np.arange(given.n_nodes, len(given.vectors), dtype=np.int32),
    }
    return SimpleNamespace(
        out=Csr(*forth),
        into=Csr(*back),
        strings=strings,
        triple_index=None,
        n_triples=len(given.head),
        n_relations=N_RELATIONS,
        n_entities=given.n_nodes,
        relation_words=SimpleNamespace(said=np.ones(N_RELATIONS, np.float32)),
    )


def asked_words() -> AskedWords:
    has_it = np.arange(N_RELATIONS) == 0
    one = np.ones(1, np.float32)
    return AskedWords(has_it.astype(np.uint64), one.astype(np.uint64), one, 1.0, has_it.astype(np.float32))


def by_networkx(given: Problem, graph: nx.MultiDiGraph) -> NDArray[np.float32]:
    """Prolong chains along and against the edges, keep the best of each length."""
    none = np.zeros(DIMENSION, np.float32)
    beam: list[tuple[tuple[int, ...], tuple[int, ...], Any, Any, float, bool]] = [
        ((node,), (), none, none, 0.0, False) for node in given.starts.tolist()
    ]
    best: dict[frozenset[int], float] = {}
    for hop in range(SETTINGS.max_hops):
        longer = []
        for nodes, triples, facts, relations, cost, is_said in beam:
            node = nodes[-1]
            passed = cost + (HUB_COST * math.log1p(graph.degree(node)) if hop else 0.0)
            out = [(other, *key) for _, other, key in graph.out_edges(node, keys=True)]
            into = [(other, *key) for other, _, key in graph.in_edges(node, keys=True)]
            for side in (out, into):
                alike = Counter(relation for _, _, relation in side)
                for other, triple, relation in side:
                    if other in nodes:
                        continue
                    asked = given.vectors[given.n_nodes + relation].astype(np.float32)
                    fact = given.vectors[node].astype(np.float32) + asked + given.vectors[other]
                    fact /= np.linalg.norm(fact)
                    sums = facts + fact, relations + asked
                    says = is_said or relation == 0
                    total = passed + CHOICE_COST * math.log(alike[relation])
                    score = sum(
                        float(rows @ query) / float(np.linalg.norm(rows))
                        for rows, query in zip(sums, given.queries, strict=True)
                    )
                    score += WORD_GAIN * 2 * says / (hop + 2) + STEP_GAIN * hop - total
                    longer.append((score, (*nodes, other), (*triples, triple), *sums, total, says))
        longer.sort(key=lambda chain: -chain[0])
        beam = [chain[1:] for chain in longer[: SETTINGS.beam]]
        for score, _, triples, *_ in longer[: SETTINGS.beam]:
            known = frozenset(triples)
            best[known] = max(float(score), best.get(known, float(score)))
    return np.array(sorted(best.values(), reverse=True)[:N_PATHS], np.float32)


@lru_cache(maxsize=1)
def path_race(n_nodes: int) -> Race:
    given = problem(n_nodes)
    view, asked, query = view_of(given), asked_words(), QueryVectors(*given.queries)
    starts = dict.fromkeys(given.starts.tolist(), 1.0)

    def ours() -> NDArray[np.float32]:
        return np.array([path.score for path in find_paths(view, query, asked, starts, SETTINGS)], np.float32)

    race = Race("paths of 3 hops, beam 32, d = 384", n_nodes)
    race.enter("ytrag", ours)
    if n_nodes <= NETWORKX_LIMIT:
        graph = nx.MultiDiGraph()
        graph.add_nodes_from(range(n_nodes))
        triples = zip(given.head.tolist(), given.tail.tolist(), given.relation.tolist(), strict=True)
        for triple, (head, tail, relation) in enumerate(triples):
            graph.add_edge(head, tail, (triple, relation))
        race.enter("networkx and numpy", lambda: by_networkx(given, graph))
        assert_allclose(race.results["ytrag"], race.results["networkx and numpy"], atol=1e-3)
    else:
        race.leave_out("networkx and numpy", NETWORKX_LIMIT)
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "networkx and numpy"])
def test_path_search(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    path_race(n_nodes).time(benchmark, peer)
