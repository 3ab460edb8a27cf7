"""Leiden and the kernels of partitions, against the definitions and against igraph."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import igraph
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tests import oracles_tree as oracles
from ytrag_core.errors import GraphFormatError
from ytrag_core.kernels.leiden import move_nodes, refine_communities
from ytrag_core.kernels.partition import (
    contract_graph,
    induced_graph,
    number_communities,
    split_disconnected,
)
from ytrag_core.tree.leiden import WeightedGraph, leiden, modularity_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tests.oracles_tree import Edge

TOLERANCE = 1e-5


def graph_of(n_nodes: int, edges: Sequence[Edge]) -> WeightedGraph:
    rows: list[dict[int, float]] = [{} for _ in range(n_nodes)]
    for one, other, weight in edges:
        rows[one][other] = rows[one].get(other, 0.0) + weight
        rows[other][one] = rows[other].get(one, 0.0) + weight
    return WeightedGraph(
        np.cumsum([0, *map(len, rows)], dtype=np.int64),
        np.array([other for row in rows for other in row], np.int32),
        np.array([weight for row in rows for weight in row.values()], np.float32),
    )


@st.composite
def weighted(draw: st.DrawFn) -> tuple[int, list[Edge]]:
    """Draw a graph: loops, repeated edges, weights of zero, nodes without edges, or nothing at all."""
    n_nodes = draw(st.integers(0, 9))
    if n_nodes == 0:
        return 0, []
    node = st.integers(0, n_nodes - 1)
    return n_nodes, draw(st.lists(st.tuples(node, node, st.sampled_from([0.0, 0.5, 1.0, 3.0])), max_size=24))


def parts_of(labels: NDArray[np.int32]) -> list[list[int]]:
    return [np.flatnonzero(labels == label).tolist() for label in np.unique(labels)]


def planted_edges(n_nodes: int, n_groups: int, inside: float, seed: int = 0) -> list[Edge]:
    rng = random.Random(seed)
    edges = {}
    for _ in range(5 * n_nodes):
        one = rng.randrange(n_nodes)
        other = rng.randrange(n_nodes)
        if rng.random() < inside:
            other = other - other % n_groups + one % n_groups
        if one != other and other < n_nodes:
            edges[min(one, other), max(one, other)] = rng.choice([0.25, 0.5, 1.0])
    return [(one, other, weight) for (one, other), weight in edges.items()]


@given(weighted(), st.data())
def test_modularity_is_that_of_the_definition(drawn: tuple[int, list[Edge]], data: st.DataObject) -> None:
    n_nodes, edges = drawn
    label = st.integers(0, max(0, n_nodes - 1))
    labels = data.draw(st.lists(label, min_size=n_nodes, max_size=n_nodes))
    resolution = data.draw(st.sampled_from([0.5, 1.0, 2.0]))
    ours = modularity_of(graph_of(n_nodes, edges), np.array(labels, np.int32), resolution)
    assert ours == pytest.approx(oracles.modularity(n_nodes, edges, labels, resolution), abs=TOLERANCE)


@given(weighted(), st.sampled_from([0.5, 1.0, 2.0]), st.integers(0, 9))
def test_communities_are_connected_and_no_worse_than_single_nodes(
    drawn: tuple[int, list[Edge]], resolution: float, seed: int
) -> None:
    n_nodes, edges = drawn
    labels = leiden(graph_of(n_nodes, edges), resolution=resolution, seed=seed)
    assert labels.shape == (n_nodes,)
    assert list(dict.fromkeys(labels.tolist())) == list(range(len(set(labels.tolist()))))
    assert all(oracles.is_connected(part, edges) for part in parts_of(labels))
    found = oracles.modularity(n_nodes, edges, labels.tolist(), resolution)
    assert found >= oracles.modularity(n_nodes, edges, list(range(n_nodes)), resolution) - TOLERANCE


@given(weighted(), st.data())
def test_moving_never_lowers_modularity_and_refining_only_divides(
    drawn: tuple[int, list[Edge]], data: st.DataObject
) -> None:
    n_nodes, edges = drawn
    graph = graph_of(n_nodes, edges)
    label = st.integers(0, max(0, n_nodes - 1))
    before = data.draw(st.lists(label, min_size=n_nodes, max_size=n_nodes))
    order = np.array(data.draw(st.permutations(range(n_nodes))), np.int32)
    strength = np.array([2 * sum(w for *ends, w in edges if ends == [i, i]) for i in range(n_nodes)])
    strength = strength + [sum(w for a, b, w in edges if a != b and i in (a, b)) for i in range(n_nodes)]
    total = float(strength.sum())
    if total == 0:
        return
    labels = np.array(before, np.int32)
    move_nodes(graph.indptr, graph.indices, graph.weights, strength, order, 1 / total, labels)
    reached = oracles.modularity(n_nodes, edges, labels.tolist(), 1.0)
    assert reached >= oracles.modularity(n_nodes, edges, before, 1.0) - TOLERANCE
    parts = refine_communities(graph.indptr, graph.indices, graph.weights, strength, order, 1 / total, labels)
    for part in parts_of(parts):
        assert len(set(labels[part].tolist())) == 1
        assert oracles.is_connected(part, edges)


@given(weighted(), st.data())
def test_contraction_keeps_what_crosses(drawn: tuple[int, list[Edge]], data: st.DataObject) -> None:
    n_nodes, edges = drawn
    label = st.integers(0, max(0, n_nodes - 1))
    labels = np.array(data.draw(st.lists(label, min_size=n_nodes, max_size=n_nodes)), np.int32)
    order = np.array(data.draw(st.permutations(range(n_nodes))), np.int32)
    n_parts = number_communities(labels, order, labels)
    assert list(dict.fromkeys(labels[order].tolist())) == list(range(n_parts))
    graph = graph_of(n_nodes, edges)
    indptr, indices, weights = contract_graph(graph.indptr, graph.indices, graph.weights, labels, n_parts)
    crossing = [(int(labels[a]), int(labels[b]), w) for a, b, w in edges if labels[a] != labels[b]]
    assert dense(WeightedGraph(indptr, indices, weights)) == dense(graph_of(n_parts, crossing))


@given(weighted(), st.data())
def test_induced_graph(drawn: tuple[int, list[Edge]], data: st.DataObject) -> None:
    n_nodes, edges = drawn
    members = sorted(data.draw(st.sets(st.integers(0, n_nodes - 1)))) if n_nodes else []
    graph = graph_of(n_nodes, edges)
    found = induced_graph(graph.indptr, graph.indices, graph.weights, np.array(members, np.int32))
    place = {member: position for position, member in enumerate(members)}
    kept = [(place[a], place[b], w) for a, b, w in edges if a in place and b in place]
    assert dense(WeightedGraph(*found)) == dense(graph_of(len(members), kept))


@given(weighted(), st.data())
def test_splitting_parts_what_is_not_connected(drawn: tuple[int, list[Edge]], data: st.DataObject) -> None:
    n_nodes, edges = drawn
    label = st.integers(0, max(0, n_nodes - 1))
    before = data.draw(st.lists(label, min_size=n_nodes, max_size=n_nodes))
    graph = graph_of(n_nodes, edges)
    labels = np.array(before, np.int32)
    assert split_disconnected(graph.indptr, graph.indices, graph.weights, labels) == len(set(labels.tolist()))
    for part in parts_of(labels):
        assert len({before[node] for node in part}) == 1
        assert oracles.is_connected(part, edges)
    for a, b, w in edges:
        assert (labels[a] == labels[b]) == (before[a] == before[b]) or w == 0


def dense(graph: WeightedGraph) -> list[dict[int, float]]:
    rows = [range(start, stop) for start, stop in zip(graph.indptr, graph.indptr[1:], strict=False)]
    return [{int(graph.indices[e]): float(graph.weights[e]) for e in row} for row in rows]


@pytest.mark.parametrize(("n_nodes", "n_groups", "inside"), [(300, 6, 0.8), (2000, 20, 0.7), (2000, 20, 0.4)])
def test_as_good_as_igraph(n_nodes: int, n_groups: int, inside: float) -> None:
    edges = planted_edges(n_nodes, n_groups, inside)
    graph = graph_of(n_nodes, edges)
    peer = igraph.Graph(n=n_nodes, edges=[(a, b) for a, b, _ in edges])
    random.seed(0)
    found: Any = peer.community_leiden(
        objective_function="modularity", weights=[w for *_, w in edges], n_iterations=2
    )
    labels = leiden(graph)
    theirs = modularity_of(graph, np.array(found.membership, np.int32))
    assert theirs == pytest.approx(peer.modularity(found, weights=[w for *_, w in edges]), abs=TOLERANCE)
    assert modularity_of(graph, labels) >= 0.995 * theirs


def test_other_ids_and_seeds_find_as_much() -> None:
    edges = planted_edges(1500, 15, 0.7)
    wanted = modularity_of(graph_of(1500, edges), leiden(graph_of(1500, edges)))
    new_id = np.random.default_rng(3).permutation(1500).tolist()
    moved = graph_of(1500, [(new_id[a], new_id[b], w) for a, b, w in edges])
    assert modularity_of(moved, leiden(moved)) == pytest.approx(wanted, rel=0.01)
    assert modularity_of(moved, leiden(moved, seed=5)) == pytest.approx(wanted, rel=0.01)
    assert_array_equal(leiden(moved, seed=5), leiden(moved, seed=5))


def test_cliques_in_a_ring() -> None:
    cliques = [[4 * c + i for i in range(4)] for c in range(6)]
    edges = [(a, b, 1.0) for clique in cliques for a in clique for b in clique if a < b]
    edges += [(4 * c, (4 * c + 5) % 24, 1.0) for c in range(6)]
    assert parts_of(leiden(graph_of(24, edges))) == cliques


def test_nodes_without_edges_are_alone() -> None:
    assert leiden(graph_of(4, [(1, 3, 1.0)])).tolist() == [0, 1, 2, 1]
    assert leiden(graph_of(3, [(0, 0, 1.0)])).tolist() == [0, 1, 2]
    assert leiden(graph_of(0, [])).tolist() == []


def test_a_hub_of_many() -> None:
    edges = [(0, leaf, 1.0) for leaf in range(1, 20_000)]
    labels = leiden(graph_of(20_000, edges))
    assert set(labels.tolist()) == {0}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"indptr": np.array([0, 1, 3], np.int64)}, "do not cover 2 entries"),
        ({"indptr": np.array([0, 1, 2], np.int32)}, "int32"),
        ({"indices": np.array([1, 2], np.int32)}, "from 1 to 2"),
        ({"weights": np.array([1.0, -1.0], np.float32)}, "negative"),
        ({"weights": np.array([1.0, np.nan], np.float32)}, "NaN"),
        ({"weights": np.array([1.0], np.float32)}, "1 weights for 2 entries"),
    ],
)
def test_arrays_that_are_no_graph_are_refused(changed: dict[str, Any], message: str) -> None:
    graph = graph_of(2, [(0, 1, 1.0)])
    arrays: dict[str, Any] = {"indptr": graph.indptr, "indices": graph.indices, "weights": graph.weights}
    with pytest.raises(GraphFormatError, match=message):
        leiden(WeightedGraph(**(arrays | changed)))
