"""The dual-perceived graph and the tree that starts from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

from tests import oracles_tree as oracles
from tests.planted import Planted, lookalikes, planted_graph
from tests.test_tree_build import assert_same_tree, check_invariants
from ytrag_core.config import TreeSettings
from ytrag_core.embedding.index import VectorIndex
from ytrag_core.tree import hierarchy
from ytrag_core.tree.build import build_tree
from ytrag_core.tree.dual import dual_graph, name_pairs, part_graph, relation_pairs, resolution_of
from ytrag_core.tree.features import TripleArrays, gather_features
from ytrag_core.workers import SERIAL

if TYPE_CHECKING:
    from pathlib import Path

DUAL = TreeSettings(init="dual")


def triples_of(planted: Planted) -> TripleArrays:
    names = ("n_entities", "n_relations", "head", "relation", "tail")
    strings = ("node_string", "relation_string", "string_vectors")
    return TripleArrays(**{name: planted.arguments[name] for name in (*names, *strings)})


@pytest.mark.parametrize("weight", [0.0, 0.4, 1.0])
def test_edges_weigh_phi_of_their_ends(weight: float) -> None:
    planted = planted_graph(60, 4, noise=1.0)
    triples = triples_of(planted)
    features, vectors = gather_features(triples, SERIAL, lambda _: None)
    settings = TreeSettings(init="dual", weight=weight, n_neighbours=3)
    graph = dual_graph(triples, features, settings, None, SERIAL)
    alike, phi = name_pairs(triples, features, settings, None, SERIAL)
    assert (phi > 0).all()
    pairs = np.concatenate([relation_pairs(triples), alike])
    wanted = {}
    for one, other in {frozenset(pair) for pair in pairs.tolist()}:
        score = oracles.phi(one, [other], planted.triples, vectors.astype(float).tolist(), weight)
        if score > 0:
            wanted[one, other] = wanted[other, one] = score
    found = {
        (node, int(graph.indices[entry])): float(graph.weights[entry])
        for node in range(60)
        for entry in range(graph.indptr[node], graph.indptr[node + 1])
    }
    assert found == pytest.approx(wanted, abs=2e-3)


def test_relation_pairs_are_distinct_and_leave_out_attributes_and_loops() -> None:
    triples = triples_of(planted_graph(40, 3))
    kept = {
        (min(head, tail), max(head, tail))
        for head, tail in zip(triples.head.tolist(), triples.tail.tolist(), strict=True)
        if tail < 40 and head != tail
    }
    assert [tuple(pair) for pair in relation_pairs(triples).tolist()] == sorted(kept)


def linked(planted: Planted, n_neighbours: int, index: VectorIndex | None = None) -> set[tuple[int, int]]:
    triples = triples_of(planted)
    features, _ = gather_features(triples, SERIAL, lambda _: None)
    settings = TreeSettings(init="dual", n_neighbours=n_neighbours)
    return {(i, j) for i, j in name_pairs(triples, features, settings, index, SERIAL)[0].tolist()}


def test_neighbours_are_those_of_the_highest_phi_among_similar_names() -> None:
    planted = planted_graph(24, 3, noise=1.0)
    triples = triples_of(planted)
    _, vectors = gather_features(triples, SERIAL, lambda _: None)
    rows = vectors.astype(float).tolist()
    wanted = set()
    for i in range(24):
        phi = {j: oracles.phi(i, [j], planted.triples, rows, DUAL.weight) for j in range(24) if j != i}
        best = sorted(phi, key=lambda j: (-phi[j], j))[:4]
        wanted |= {(i, j) for j in best if phi[j] > 0}
    assert linked(planted, 4) == wanted
    assert linked(planted, 0) == set()


def test_an_index_on_disk_gives_its_links(tmp_path: Path) -> None:
    planted = planted_graph(3000, 30)
    vectors = planted.arguments["string_vectors"]
    VectorIndex.build(vectors, exact_below=1).save(tmp_path, "strings")
    pairs = linked(planted, 5, VectorIndex.load(tmp_path, "strings", vectors, exact_below=1))
    inside = np.mean([planted.groups[i] == planted.groups[j] for i, j in pairs])
    searched = linked(planted, 5)
    assert inside > 0.9 * np.mean([planted.groups[i] == planted.groups[j] for i, j in searched])
    assert len(pairs) > 0.9 * len(searched)


def test_bearers_of_one_name_form_a_ring() -> None:
    pairs = linked(lookalikes(30), 5)
    assert {(i, j) for i, j in pairs if i > 0 and j > 0} == {(i, i % 29 + 1) for i in range(1, 30)}
    assert len(pairs) <= 5 * 30


def test_resolution_falls_with_size_down_to_one() -> None:
    sizes = (0, 100, 10_000, 20_000, 10**6)
    assert [resolution_of(n, 4.0) for n in sizes] == [1.0, 1.0, 2.0, 4.0, 4.0]


@pytest.mark.parametrize("n_entities", [1, 9, 60, 700])
@pytest.mark.parametrize("max_size", [1, 100])
def test_every_entity_is_in_exactly_one_leaf(n_entities: int, max_size: int) -> None:
    planted = planted_graph(n_entities, 6)
    settings = TreeSettings(init="dual", max_size=max_size)
    tree, _ = build_tree(**planted.arguments, settings=settings, n_threads=1)
    check_invariants(tree, n_entities, max_size)


def test_planted_groups_are_found() -> None:
    planted = planted_graph(600, 12)
    tree, _ = build_tree(**planted.arguments, settings=DUAL, n_threads=1)
    assert normalized_mutual_info_score(planted.groups, tree.leaf) > 0.95


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hierarchy, "_LARGE", 300)
    planted = planted_graph(3000, 9)
    one, _ = build_tree(**planted.arguments, settings=DUAL, n_threads=1)
    check_invariants(one, 3000, 100)
    for n_threads in (2, 3):
        assert_same_tree(build_tree(**planted.arguments, settings=DUAL, n_threads=n_threads)[0], one)


def test_a_hub_of_leaves_of_one_name() -> None:
    tree, _ = build_tree(**lookalikes(3000).arguments, settings=DUAL)
    check_invariants(tree, 3000, 100)


def test_what_has_no_edges_is_left_to_kmeans() -> None:
    arguments = lookalikes(250).arguments | {
        "string_vectors": np.zeros((3, 8), np.float16),
        "head": np.empty(0, np.int32),
        "relation": np.empty(0, np.int32),
        "tail": np.empty(0, np.int32),
    }
    planted = Planted(arguments, np.zeros(250, np.int64))
    triples = triples_of(planted)
    features, _ = gather_features(triples, SERIAL, lambda _: None)
    graph = dual_graph(triples, features, DUAL, None, SERIAL)
    assert part_graph(graph, np.arange(250, dtype=np.int32), DUAL) is None
    tree, _ = build_tree(**arguments, settings=DUAL)
    check_invariants(tree, 250, 100)


def test_no_entities() -> None:
    arguments = planted_graph(5, 1).arguments | {
        "n_entities": 0,
        "entity_names": [],
        "head": np.empty(0, np.int32),
        "relation": np.empty(0, np.int32),
        "tail": np.empty(0, np.int32),
    }
    tree, _ = build_tree(**arguments, settings=DUAL)
    assert tree.n_communities == 0


@pytest.mark.parametrize("init", ["kmeans", "dual"])
def test_trees_by_whole_neighbourhoods(init: Literal["kmeans", "dual"]) -> None:
    planted = planted_graph(900, 9)
    settings = TreeSettings(init=init, jaccard="neighbour", merge_threshold=0.4)
    tree, _ = build_tree(**planted.arguments, settings=settings, n_threads=1)
    check_invariants(tree, 900, 100)
    assert_same_tree(build_tree(**planted.arguments, settings=settings, n_threads=3)[0], tree)
    relations = set(planted.arguments["relation_names"])
    assert all(name.rsplit(": ", 1)[-1] in relations for name in tree.names)
