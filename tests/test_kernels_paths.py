"""The beam of path search against a plain beam over Python lists."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ytrag_core.kernels.csr import csr_from_edges
from ytrag_core.kernels.paths import beam_paths

if TYPE_CHECKING:
    from numpy.typing import NDArray

HUB, VALUE, STEP = 0.02, 0.1, 0.1
WIDTH = 8
Chain = tuple[tuple[int, ...], tuple[int, ...], float]


@dataclass(frozen=True)
class Graph:
    """Triples sorted by head, float16 vectors of nodes, relations and, perhaps, triples."""

    n_nodes: int
    triples: list[tuple[int, int, int]]
    names: NDArray[np.float16]
    facts: NDArray[np.float16]

    def fact(self, triple: int) -> NDArray[np.float64]:
        if len(self.facts):
            return np.asarray(self.facts[triple], np.float64)
        head, relation, tail = self.triples[triple]
        total = np.asarray(self.names[[head, self.n_nodes + relation, tail]].astype(np.float64).sum(axis=0))
        return np.asarray(total / np.linalg.norm(total))

    def relation(self, triple: int) -> NDArray[np.float64]:
        return np.asarray(self.names[self.n_nodes + self.triples[triple][1]], np.float64)

    def degree(self, node: int) -> int:
        return sum((head == node) + (tail == node) for head, _, tail in self.triples)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    n_nodes = draw(st.integers(1, 6))
    node = st.integers(0, n_nodes - 1)
    triples = sorted(draw(st.lists(st.tuples(node, st.integers(0, 2), node), max_size=9, unique=True)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    vectors = rng.normal(size=(n_nodes + 3 + len(triples), WIDTH))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    halves = vectors.astype(np.float16)
    facts = halves[n_nodes + 3 :] if draw(st.booleans()) else halves[:0]
    return Graph(n_nodes, triples, halves[: n_nodes + 3], facts)


def cosine(total: NDArray[np.float64], query: NDArray[np.float32]) -> float:
    return float(total @ query / max(float(np.linalg.norm(total)), 1e-12))


def oracle(
    graph: Graph, queries: NDArray[np.float32], starts: list[int], n_entities: int, beam: int, hops: int
) -> list[Chain]:
    """All chains of a beam search, the best `beam` of each length."""
    chains: list[Chain] = [((node,), (), 0.0) for node in starts]
    found: list[Chain] = []
    for hop in range(hops):
        longer = []
        for forward in (True, False):
            for nodes, passed, _ in chains:
                for triple, (head, _, tail) in enumerate(graph.triples):
                    here, there = (head, tail) if forward else (tail, head)
                    if here == nodes[-1] and there not in nodes:
                        longer.append(((*nodes, there), (*passed, triple), 0.0))
        scored = []
        for nodes, passed, _ in longer:
            facts = np.sum([graph.fact(triple) for triple in passed], axis=0)
            relations = np.sum([graph.relation(triple) for triple in passed], axis=0)
            cost = sum(HUB * math.log(1 + graph.degree(node)) for node in nodes[1:-1])
            cost += sum(VALUE for node in nodes[1:-1] if node >= n_entities)
            score = cosine(facts, queries[0]) + cosine(relations, queries[1]) - cost + STEP * hop
            scored.append((nodes, passed, score))
        chains = sorted(scored, key=lambda chain: -chain[2])[:beam]
        found += chains
    return found


def search(
    graph: Graph,
    queries: NDArray[np.float32],
    starts: list[int],
    n_entities: int,
    beam: int,
    hops: int,
    row_limit: int = 99,
    max_scored: int = 999,
) -> list[Chain]:
    columns = np.array(graph.triples, np.int32).reshape(-1, 3)
    head, relation, tail = (np.ascontiguousarray(column) for column in columns.T)
    forth = csr_from_edges(head, tail, relation, graph.n_nodes)
    back = csr_from_edges(tail, head, relation, graph.n_nodes)
    nodes, triples, scores = beam_paths(
        forth[0],
        forth[1],
        forth[2],
        back[0],
        back[1],
        back[2],
        back[3],
        graph.names.view(np.uint16),
        graph.facts.view(np.uint16),
        np.arange(graph.n_nodes, dtype=np.int32),
        np.arange(graph.n_nodes, graph.n_nodes + 3, dtype=np.int32),
        queries[0],
        queries[1],
        np.array(starts, np.int32),
        n_entities,
        beam,
        hops,
        row_limit,
        max_scored,
        np.float32(HUB),
        np.float32(VALUE),
        np.float32(STEP),
    )
    return [
        (tuple(node for node in passed if node >= 0), tuple(triple for triple in row if triple >= 0), score)
        for passed, row, score in zip(nodes.tolist(), triples.tolist(), scores.tolist(), strict=True)
    ]


def two_queries(seed: int) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).normal(size=(2, WIDTH))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@settings(max_examples=150, deadline=None)
@given(graphs(), st.data(), st.sampled_from([1, 2, 3, 50]), st.integers(1, 4), st.integers(0, 9))
def test_the_beam_keeps_what_a_plain_beam_keeps(
    graph: Graph, data: st.DataObject, beam: int, hops: int, seed: int
) -> None:
    starts = data.draw(st.lists(st.integers(0, graph.n_nodes - 1), unique=True, max_size=3))
    n_entities = data.draw(st.integers(0, graph.n_nodes))
    queries = two_queries(seed)
    found = search(graph, queries, starts, n_entities, beam, hops)
    wanted = oracle(graph, queries, starts, n_entities, beam, hops)
    assert [score for _, _, score in found] == pytest.approx([score for *_, score in wanted], abs=1e-4)
    if beam >= 50:
        assert {chain[:2] for chain in found} == {chain[:2] for chain in wanted}
    for nodes, triples, _ in found:
        assert len(set(nodes)) == len(nodes) == len(triples) + 1
        for here, there, triple in zip(nodes, nodes[1:], triples, strict=False):
            assert {here, there} == {graph.triples[triple][0], graph.triples[triple][2]}


def star(n: int) -> Graph:
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(n + 4, WIDTH))
    halves = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    return Graph(n + 1, [(0, node % 3, node) for node in range(1, n + 1)], halves, halves[:0])


def test_a_long_row_is_sampled_evenly() -> None:
    found = search(star(40), two_queries(0), [0], 41, 50, 1, row_limit=4)
    assert sorted(nodes[1] for nodes, _, _ in found) == [1, 11, 21, 31]


def test_of_many_steps_the_likely_ones_are_scored_in_full() -> None:
    graph, queries = star(40), two_queries(1)
    found = search(graph, queries, [0], 41, 50, 1, max_scored=5)

    def rough(node: int) -> float:
        relation = graph.names[graph.n_nodes + node % 3].astype(np.float64)
        parts = graph.names[0].astype(np.float64) + graph.names[node] + relation
        return float(parts @ queries[0] / 3 + relation @ queries[1])

    assert {nodes[1] for nodes, _, _ in found} == set(sorted(range(1, 41), key=rough)[-5:])


@pytest.mark.parametrize("change", [{"beam": 0}, {"hops": 0}, {"row_limit": 0}, {"max_scored": 0}])
def test_limits_below_one_are_refused(change: dict[str, int]) -> None:
    limits = {"beam": 2, "hops": 2, "row_limit": 2, "max_scored": 2} | change
    with pytest.raises(ValueError, match="1 or more"):
        search(star(3), two_queries(0), [0], 4, **limits)


@pytest.mark.parametrize("start", [-1, 4])
def test_starts_outside_the_graph_are_refused(start: int) -> None:
    with pytest.raises(ValueError, match="outside the graph"):
        search(star(3), two_queries(0), [start], 4, 2, 2)
