"""build_tree: its invariants, its recursion and what it refuses."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import normalized_mutual_info_score

from tests import oracles_tree as oracles
from tests.planted import lookalikes, planted_graph
from ytrag_core.config import TreeSettings
from ytrag_core.errors import GraphFormatError
from ytrag_core.tree import hierarchy
from ytrag_core.tree.build import build_tree

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.tree.model import KnowledgeTree


def members_of(tree: KnowledgeTree, community: int) -> list[int]:
    span = slice(tree.members_indptr[community], tree.members_indptr[community + 1])
    return [int(entity) for entity in tree.members[span]]


def keywords_of(tree: KnowledgeTree, community: int) -> list[int]:
    span = slice(tree.keywords_indptr[community], tree.keywords_indptr[community + 1])
    return [int(entity) for entity in tree.keywords[span]]


def check_invariants(tree: KnowledgeTree, n_entities: int, max_size: int, n_keywords: int = 5) -> None:
    """Every entity in exactly one leaf, every inner community the union of its children, ids in order."""
    n = tree.n_communities
    children: list[list[int]] = [[] for _ in range(n)]
    for community, parent in enumerate(tree.parent.tolist()):
        if parent >= 0:
            children[parent].append(community)
            assert tree.level[community] == tree.level[parent] + 1
        else:
            assert tree.level[community] == 0
    leaves = [community for community in range(n) if not children[community]]
    assert sorted(i for leaf in leaves for i in members_of(tree, leaf)) == list(range(n_entities))
    for community in range(n):
        members = members_of(tree, community)
        assert members == sorted(set(members))
        assert len(members) == tree.size[community] > 0
        keywords = keywords_of(tree, community)
        assert len(keywords) == len(set(keywords)) == min(n_keywords, len(members))
        assert set(keywords) <= set(members)
        assert keywords[0] == tree.centre[community]
        if children[community]:
            below = sorted(i for child in children[community] for i in members_of(tree, child))
            assert below == members
            assert len(members) > max_size
        else:
            assert len(members) <= max_size
            assert (tree.leaf[members] == community).all()
    order = [(int(tree.level[c]), members_of(tree, c)[0]) for c in range(n)]
    assert order == sorted(order)
    assert len(tree.names) == n
    assert tree.vectors.shape[0] == n


def assert_same_tree(a: KnowledgeTree, b: KnowledgeTree) -> None:
    for field in dataclasses.fields(a):
        left, right = getattr(a, field.name), getattr(b, field.name)
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype
            assert_array_equal(left, right)
        else:
            assert left == right


@pytest.mark.parametrize(
    ("n_entities", "options"),
    [
        (1, {}),
        (9, {}),
        (60, {}),
        (700, {}),
        (700, {"max_size": 7, "n_keywords": 2}),
        (700, {"max_size": 1}),
        (700, {"merge_threshold": 0.0}),
        (700, {"merge_threshold": 1.0}),
        (700, {"weight": 0.0}),
        (700, {"weight": 1.0}),
        (700, {"sample_size": 90, "max_clusters": 4}),
    ],
)
def test_every_entity_is_in_exactly_one_leaf(n_entities: int, options: dict[str, Any]) -> None:
    graph = planted_graph(n_entities, 6)
    settings = TreeSettings(**options)
    tree, vectors = build_tree(**graph.arguments, settings=settings, n_threads=1)
    check_invariants(tree, n_entities, settings.max_size, settings.n_keywords)
    assert vectors.shape == (n_entities, 36)
    assert vectors.dtype == np.float16


def test_planted_groups_are_found() -> None:
    graph = planted_graph(600, 12)
    tree, _ = build_tree(**graph.arguments, settings=TreeSettings(), n_threads=1)
    assert normalized_mutual_info_score(graph.groups, tree.leaf) > 0.95


@pytest.mark.parametrize("options", [{}, {"sample_size": 200}])
def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    monkeypatch.setattr(hierarchy, "_LARGE", 300)
    graph = planted_graph(5000, 9)
    settings = TreeSettings(**options)
    one, vectors = build_tree(**graph.arguments, settings=settings, n_threads=1)
    check_invariants(one, 5000, settings.max_size)
    for n_threads in (2, 3):
        tree, again = build_tree(**graph.arguments, settings=settings, n_threads=n_threads)
        assert_same_tree(tree, one)
        assert_array_equal(again, vectors)


def test_the_place_of_strings_changes_nothing() -> None:
    graph = planted_graph(300, 5)
    rng = np.random.default_rng(1)
    new_row = rng.permutation(len(graph.arguments["string_vectors"])).astype(np.int32)
    strings = np.empty_like(graph.arguments["string_vectors"])
    strings[new_row] = graph.arguments["string_vectors"]
    moved = graph.arguments | {
        "string_vectors": strings,
        "node_string": new_row[graph.arguments["node_string"]],
        "relation_string": new_row[graph.arguments["relation_string"]],
    }
    tree, vectors = build_tree(**graph.arguments, settings=TreeSettings())
    tree_of_moved, vectors_of_moved = build_tree(**moved, settings=TreeSettings())
    assert_same_tree(tree, tree_of_moved)
    assert_array_equal(vectors, vectors_of_moved)


def test_the_leaves_of_a_hub_that_nothing_tells_apart() -> None:
    tree, _ = build_tree(**lookalikes(3000).arguments, settings=TreeSettings(init="kmeans"))
    check_invariants(tree, 3000, 100)
    assert tree.level.max() <= 2
    inner = int(np.argmax(tree.size))
    runs = [members_of(tree, child) for child in np.flatnonzero(tree.parent == inner).tolist()]
    assert all(run == list(range(run[0], run[-1] + 1)) for run in runs)


def test_entities_without_names_or_triples() -> None:
    arguments = lookalikes(250).arguments | {
        "string_vectors": np.zeros((3, 8), np.float16),
        "head": np.empty(0, np.int32),
        "relation": np.empty(0, np.int32),
        "tail": np.empty(0, np.int32),
    }
    tree, vectors = build_tree(**arguments, settings=TreeSettings())
    check_invariants(tree, 250, 100)
    assert not vectors.any()
    assert tree.names[0] == "hub, leaf"


def test_no_entities() -> None:
    arguments = planted_graph(5, 1).arguments | {
        "n_entities": 0,
        "entity_names": [],
        "head": np.empty(0, np.int32),
        "relation": np.empty(0, np.int32),
        "tail": np.empty(0, np.int32),
    }
    tree, vectors = build_tree(**arguments, settings=TreeSettings())
    assert tree.n_communities == len(tree.leaf) == len(vectors) == 0
    assert tree.members_indptr.tolist() == tree.keywords_indptr.tolist() == [0]


def test_recursion_stops_at_its_greatest_depth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hierarchy, "MAX_DEPTH", 1)
    graph = planted_graph(900, 3)
    tree, _ = build_tree(**graph.arguments, settings=TreeSettings(max_clusters=3, max_size=20))
    check_invariants(tree, 900, 20)
    assert tree.level.max() == 1


def test_vectors_and_keywords_are_those_of_the_definition() -> None:
    graph = planted_graph(160, 4)
    settings = TreeSettings(weight=0.4, max_size=30)
    tree, vectors = build_tree(**graph.arguments, settings=settings)
    rows = vectors.astype(float).tolist()
    for community in range(tree.n_communities):
        members = members_of(tree, community)
        assert_allclose(tree.vectors[community], oracles.mean([rows[i] for i in members]), atol=1e-5)
        scores = {i: oracles.phi(i, members, graph.triples, rows, 0.4) for i in members}
        best = sorted(scores.values(), reverse=True)[: settings.n_keywords]
        assert_allclose([scores[i] for i in keywords_of(tree, community)], best, atol=1e-4)


def test_progress_ends_at_its_total() -> None:
    calls: list[tuple[int, int]] = []
    build_tree(
        **planted_graph(300, 4).arguments,
        settings=TreeSettings(),
        progress=lambda done, total: calls.append((done, total)),
    )
    assert calls == sorted(calls)
    assert calls[-1] == (600, 600)


def ids(*values: int) -> NDArray[np.int32]:
    return np.array(values, np.int32)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"string_vectors": np.zeros((30, 12), np.float32)}, "float32"),
        ({"string_vectors": np.zeros((26, 24), np.float16)[:, ::2]}, "not C-contiguous"),
        ({"string_vectors": np.zeros((3, 12), np.float16)}, "below 3"),
        ({"head": ids(0, 99), "relation": ids(0, 0), "tail": ids(0, 0)}, "head holds ids from 0 to 99"),
        ({"head": ids(0), "relation": ids(0), "tail": ids(-1)}, "tail holds ids from -1"),
        ({"head": ids(0), "relation": ids(9), "tail": ids(0)}, "relation holds"),
        ({"head": ids(0), "relation": ids(0, 0), "tail": ids(0)}, "relation is int32 of shape"),
        ({"head": np.array([0]), "relation": ids(0), "tail": ids(0)}, "head is int64"),
        ({"entity_names": ["only one"]}, "entity_names has 1 names"),
        ({"relation_names": []}, "relation_names has 0 names"),
        ({"n_entities": 99}, "99 entities in 22 nodes"),
    ],
)
def test_arrays_of_the_wrong_form_are_refused(changed: dict[str, Any], message: str) -> None:
    arguments = planted_graph(20, 2).arguments | changed
    with pytest.raises(GraphFormatError, match=message):
        build_tree(**arguments, settings=TreeSettings())


def test_a_recorded_graph_with_real_vectors(shared_data: Path, encoder: Encoder) -> None:
    lines = (shared_data / "lightrag_film_24" / "openie.jsonl").read_text(encoding="utf-8").splitlines()
    triples = sorted({tuple(triple) for line in lines for triple in json.loads(line)["triples"]})
    names = sorted({name for head, _, tail in triples for name in (head, tail)})
    relations = sorted({relation for _, relation, _ in triples})
    tree, _ = build_tree(
        n_entities=len(names),
        head=ids(*(names.index(head) for head, _, _ in triples)),
        relation=ids(*(relations.index(relation) for _, relation, _ in triples)),
        tail=ids(*(names.index(tail) for _, _, tail in triples)),
        n_nodes=len(names),
        n_relations=len(relations),
        node_string=np.arange(len(names), dtype=np.int32),
        relation_string=np.arange(len(names), len(names) + len(relations), dtype=np.int32),
        string_vectors=encoder.encode(names + relations).astype(np.float16),
        entity_names=names,
        relation_names=relations,
        settings=TreeSettings(max_size=20),
    )
    check_invariants(tree, len(names), 20)
    assert tree.n_communities > 3
    for community, name in enumerate(tree.names):
        assert name.startswith(names[tree.centre[community]])
