"""csr_from_edges and walk_csr against the oracles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tests import oracles
from ytrag_core.kernels.csr import csr_from_edges, walk_csr

if TYPE_CHECKING:
    from random import Random

    from numpy.typing import NDArray

LIMIT = 2**31 - 1

Edges = list[tuple[int, int, float]]
Graph = tuple[int, Edges]


@st.composite
def edge_lists(draw: st.DrawFn) -> Graph:
    n_nodes = draw(st.integers(1, 12))
    node = st.integers(0, n_nodes - 1)
    weight = st.floats(0, 1e6, width=32)
    return n_nodes, draw(st.lists(st.tuples(node, node, weight), max_size=60))


def columns(
    edges: Edges,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    return (
        np.array([e[0] for e in edges], np.int32),
        np.array([e[1] for e in edges], np.int32),
        np.array([e[2] for e in edges], np.float32),
    )


@settings(deadline=None)
@given(edge_lists(), st.randoms(use_true_random=False))
def test_rows_hold_their_edges_in_input_order(graph: Graph, random: Random) -> None:
    n_nodes, edges = graph
    src, dst, _ = columns(edges)
    relation = np.array([random.randint(0, LIMIT) for _ in edges], np.int32)
    indptr, indices, kept, edge = csr_from_edges(src, dst, relation, n_nodes)
    expected = oracles.grouped_edges(src.tolist(), dst.tolist(), relation.tolist(), n_nodes)
    for row in range(n_nodes):
        span = slice(indptr[row], indptr[row + 1])
        got = zip(indices[span].tolist(), kept[span].tolist(), edge[span].tolist(), strict=True)
        assert list(got) == expected[row]
    assert indptr[0] == 0
    assert indptr[-1] == len(edges)
    assert [a.dtype for a in (indptr, indices, kept, edge)] == [np.int64, np.int32, np.int32, np.int32]


def test_no_edges_and_no_rows() -> None:
    empty = np.empty(0, np.int32)
    indptr, indices, _, _ = csr_from_edges(empty, empty, empty, 0)
    assert_array_equal(indptr, [0])
    assert indices.size == 0
    indptr, indices, weights, strength = walk_csr(empty, empty, np.empty(0, np.float32), 3)
    assert_array_equal(indptr, [0, 0, 0, 0])
    assert indices.size == weights.size == 0
    assert_array_equal(strength, np.zeros(3))


@pytest.mark.parametrize("bad", [-1, 3, LIMIT, -LIMIT - 1])
def test_rows_out_of_range_are_refused(bad: int) -> None:
    rows = np.array([0, bad], np.int32)
    ok = np.array([0, 1], np.int32)
    with pytest.raises(ValueError, match="outside"):
        csr_from_edges(rows, ok, ok, 3)
    for src, dst in ((rows, ok), (ok, rows)):
        with pytest.raises(ValueError, match="outside"):
            walk_csr(src, dst, np.ones(2, np.float32), 3)


def test_lengths_must_agree() -> None:
    three, two = np.zeros(3, np.int32), np.zeros(2, np.int32)
    with pytest.raises(ValueError, match="one length"):
        csr_from_edges(three, two, three, 1)
    with pytest.raises(ValueError, match="one length"):
        walk_csr(three, three, np.ones(2, np.float32), 1)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_weights_that_make_no_walk_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="weight"):
        walk_csr(np.array([0], np.int32), np.array([1], np.int32), np.array([bad], np.float32), 2)


@settings(deadline=None)
@given(edge_lists())
def test_walk_graph_sums_pairs(graph: Graph) -> None:
    n_nodes, edges = graph
    src, dst, weight = columns(edges)
    indptr, indices, weights, strength = walk_csr(src, dst, weight, n_nodes)
    expected = oracles.undirected_weights(src.tolist(), dst.tolist(), weight.tolist(), n_nodes)
    assert [a.dtype for a in (indptr, indices, weights, strength)] == [
        np.int64,
        np.int32,
        np.float32,
        np.float32,
    ]
    pairs: dict[tuple[int, int], np.float32] = {}
    for row in range(n_nodes):
        span = slice(indptr[row], indptr[row + 1])
        assert indices[span].tolist() == sorted(expected[row])
        np.testing.assert_allclose(weights[span], [expected[row][c] for c in indices[span]], rtol=1e-6)
        np.testing.assert_allclose(strength[row], sum(expected[row].values()), rtol=1e-6)
        pairs |= {(row, col): w for col, w in zip(indices[span].tolist(), weights[span], strict=True)}
    assert all(pairs[col, row] == w for (row, col), w in pairs.items())


@settings(deadline=None)
@given(edge_lists(), st.randoms(use_true_random=False))
def test_walk_graph_ignores_order_and_direction_of_edges(graph: Graph, random: Random) -> None:
    n_nodes, edges = graph
    shuffled = [(b, a, w) if random.random() < 0.5 else (a, b, w) for a, b, w in edges]
    random.shuffle(shuffled)
    for one, other in zip(
        walk_csr(*columns(edges), n_nodes), walk_csr(*columns(shuffled), n_nodes), strict=True
    ):
        assert_array_equal(one, other)


def test_long_rows_and_parallel_edges() -> None:
    rng = np.random.default_rng(5)
    dst = rng.integers(1, 50, 400).astype(np.int32)
    src = np.zeros(400, np.int32)
    weight = rng.random(400, dtype=np.float32)
    indptr, indices, weights, _ = walk_csr(src, dst, weight, 50)
    expected = oracles.undirected_weights(src.tolist(), dst.tolist(), weight.tolist(), 50)
    assert dict(zip(indices[: indptr[1]].tolist(), weights[: indptr[1]], strict=True)) == pytest.approx(
        expected[0], rel=1e-6
    )
