"""The proximity graph that we build: its parts by definition, its whole by what hnswlib finds in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import hnswlib
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ytrag_core.embedding.layers import M, build_layers
from ytrag_core.embedding.mapped_graph import MappedGraph
from ytrag_core.embedding.partition import partition
from ytrag_core.workers import SERIAL, open_workers

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

N, WIDTH = 6000, 24


def unit_rows(n: int, width: int = WIDTH, seed: int = 0) -> NDArray[np.float32]:
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((max(1, n // 40), width))
    rows = centres[rng.integers(0, len(centres), n)] + 0.6 * rng.standard_normal((n, width))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(0, 400), most=st.integers(1, 60), kinds=st.integers(1, 400), seed=st.integers(0, 1_000_000)
)
def test_every_row_is_in_exactly_one_small_set(n: int, most: int, kinds: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = unit_rows(kinds, 4, seed)[rng.integers(0, kinds, n)]
    sets = partition(rows, most, np.random.default_rng(seed), SERIAL)
    assert sorted(row for members in sets for row in members.tolist()) == list(range(n))
    for members in sets:
        assert len(members) <= most
        assert (np.diff(members) > 0).all()


def test_sets_hold_similar_rows() -> None:
    rows = unit_rows(N)
    inside = [
        float((rows[members] @ rows[members].T).mean()) for members in partition(rows, 64, _rng(), SERIAL)
    ]
    assert np.mean(inside) > float((rows[:500] @ rows[500:1000].T).mean()) + 0.3


def test_the_number_of_threads_changes_nothing() -> None:
    rows = unit_rows(N)
    graphs = []
    for n_threads in (1, 2, 4):
        with open_workers(n_threads) as workers:
            graphs.append(build_layers(rows, workers))
    for graph in graphs[1:]:
        assert len(graph.layers) == len(graphs[0].layers)
        for one, other in zip(graphs[0].layers, graph.layers, strict=True):
            assert np.array_equal(one.nodes, other.nodes)
            assert np.array_equal(one.links, other.links)


def test_links_are_distinct_others_of_the_layer_and_the_nearest_comes_first() -> None:
    rows = unit_rows(N)
    graph = build_layers(rows, SERIAL)
    assert len(graph.layers) > 2
    assert graph.layers[0].nodes.tolist() == list(range(N))
    for level, layer in enumerate(graph.layers):
        assert layer.links.shape == (len(layer.nodes), M if level else 2 * M)
        assert np.isin(layer.nodes, graph.layers[max(level - 1, 0)].nodes).all()
        for node, links in zip(layer.nodes.tolist(), layer.links.tolist(), strict=True):
            kept = [link for link in links if link >= 0]
            assert links == kept + [-1] * (len(links) - len(kept))
            assert len(set(kept)) == len(kept)
            assert node not in kept
            assert np.isin(kept, layer.nodes).all()
            scores = rows[kept] @ rows[node]
            assert (np.diff(scores) <= 1e-6).all()


@pytest.mark.parametrize("n", [1, 2, 3, 40])
def test_few_rows_are_linked_to_their_true_neighbours(n: int) -> None:
    rows = unit_rows(n)
    links = build_layers(rows, SERIAL).layers[0].links
    scores = rows @ rows.T - 2 * np.eye(n, dtype=np.float32)
    for node in range(n):
        if n > 1:
            assert links[node, 0] == scores[node].argmax()
        for place, link in enumerate(links[node].tolist()):
            if link >= 0:
                # Either side may have chosen it: among the nearer ones, none is more like it than the node.
                chosen = _diverse(rows, scores, node)
                assert link in chosen or node in _diverse(rows, scores, link), (node, place)


def test_most_of_the_nearest_are_known() -> None:
    rows = unit_rows(N)
    near = build_layers(rows, SERIAL).near
    nearest = np.argsort(-(rows[:500] @ rows.T), axis=1)[:, 1:13]
    found = [np.isin(wanted, some).mean() for wanted, some in zip(nearest, near, strict=False)]
    assert np.mean(found) > 0.95
    scores = np.einsum("ijk,ik->ij", rows[near[:500]], rows[:500])
    assert (np.diff(scores, axis=1) <= 1e-6).all()


def test_hnswlib_reads_the_file_and_finds_the_nearest_in_it(tmp_path: Path) -> None:
    rows = unit_rows(N)
    queries = unit_rows(200, seed=1)
    graph = MappedGraph.assemble(build_layers(rows, SERIAL), rows)
    graph.save(tmp_path / "g.bin")
    reader: Any = hnswlib.Index(space="ip", dim=WIDTH)
    reader.load_index(str(tmp_path / "g.bin"))
    reader.set_ef(100)
    theirs = reader.knn_query(queries, 100, 1)[0]
    ours = MappedGraph.open(tmp_path / "g.bin", N, WIDTH).search_all(queries, 100)
    in_memory = graph.search_all(queries, 100)
    assert ours is not None
    assert in_memory is not None
    assert np.array_equal(ours, np.sort(theirs.astype(np.int32), axis=1))
    assert np.array_equal(ours, in_memory)
    nearest = np.argsort(-(queries @ rows.T), axis=1)[:, :10]
    assert (
        np.mean([np.isin(wanted, found).mean() for wanted, found in zip(nearest, ours, strict=True)]) > 0.97
    )


def test_progress_rises_to_the_end() -> None:
    seen: list[tuple[int, int]] = []
    build_layers(unit_rows(3000), SERIAL, lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (3000, 3000)


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _diverse(rows: NDArray[np.float32], scores: NDArray[np.float32], node: int) -> list[int]:
    kept: list[int] = []
    for other in np.argsort(-scores[node], kind="stable").tolist():
        if other != node and all(float(rows[other] @ rows[one]) <= scores[node, other] for one in kept):
            kept.append(other)
    return kept
