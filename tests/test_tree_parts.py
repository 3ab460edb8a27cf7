"""K-means, merging rounds, size limits and names, each by itself."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pydantic import ValidationError
from sklearn.cluster import KMeans

from tests import oracles_tree as oracles
from tests.planted import planted_graph
from ytrag_core.config import TreeSettings
from ytrag_core.kernels.aggregate import incident_triples
from ytrag_core.tree import kmeans
from ytrag_core.tree.features import EntityFeatures, TripleArrays, gather_features
from ytrag_core.tree.kmeans import assign_rows, cluster_entities, lloyd, n_clusters, seed_rows
from ytrag_core.tree.naming import community_name, typical_codes
from ytrag_core.tree.profiles import EntityProfiles, Profiles, profile_entities
from ytrag_core.tree.rounds import describe, merge_rounds, similarities, size_limit
from ytrag_core.workers import SERIAL, blocks, open_workers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.planted import Planted


def features_of(graph: Planted) -> tuple[EntityFeatures, NDArray[np.float16]]:
    fields = TripleArrays.__dataclass_fields__
    return gather_features(
        TripleArrays(**{name: graph.arguments[name] for name in fields}), SERIAL, lambda done: None
    )


def unit_rows(n: int, width: int, seed: int) -> NDArray[np.float32]:
    rows = np.random.default_rng(seed).standard_normal((n, width)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@pytest.mark.parametrize(
    ("n", "k"), [(0, 1), (1, 1), (19, 1), (20, 2), (1999, 199), (2000, 200), (10**6, 200)]
)
def test_the_number_of_clusters_is_the_papers(n: int, k: int) -> None:
    assert n_clusters(n) == k


def test_assignment_takes_the_nearest_centre() -> None:
    rows, centres = unit_rows(200, 6, 0), unit_rows(9, 6, 1) * np.float32(0.7)
    found = assign_rows(rows, centres, SERIAL)
    expected = [oracles.nearest(row, centres.tolist()) for row in rows.tolist()]
    assert found.tolist() == expected
    doubled = np.concatenate([centres, centres])
    assert assign_rows(rows, doubled, SERIAL).tolist() == expected


def test_lloyd_agrees_with_scikit_learn() -> None:
    rows = unit_rows(600, 8, 2)
    start = rows[:12]
    labels, centres = lloyd(rows, start, 25, SERIAL)
    options: dict[str, Any] = {"init": start, "n_init": 1, "max_iter": 300, "tol": 0}
    peer = KMeans(12, **options).fit(rows)
    ours, _ = lloyd(rows, start, 300, SERIAL)
    assert_array_equal(ours, peer.labels_)
    assert_array_equal(labels, assign_rows(rows, centres, SERIAL))


def test_lloyd_drops_clusters_that_became_empty() -> None:
    rows = unit_rows(50, 4, 3)
    far = np.full((1, 4), 1e3, np.float32)
    labels, centres = lloyd(rows, np.concatenate([rows[:3], far]), 5, SERIAL)
    assert len(centres) == 3
    assert set(labels.tolist()) == {0, 1, 2}


def test_seeds_are_distinct_rows() -> None:
    rows = np.repeat(unit_rows(3, 5, 4), 40, axis=0)
    seeds = seed_rows(rows, 10, np.random.default_rng(0))
    assert len(seeds) == len(np.unique(rows[seeds], axis=0)) == 3


@pytest.mark.parametrize("sample_size", [40, 10_000])
def test_clusters_cover_their_members_and_their_sums_are_exact(sample_size: int) -> None:
    features, vectors = features_of(planted_graph(300, 5))
    members = np.arange(3, 260, 2, dtype=np.int32)
    settings = TreeSettings(sample_size=sample_size)
    labels, sums = cluster_entities(features.bits, members, settings, SERIAL)
    assert set(labels.tolist()) == set(range(len(sums)))
    assert len(sums) <= 12
    for cluster in range(len(sums)):
        exact = vectors[members[labels == cluster]].astype(np.float64).sum(axis=0)
        assert_allclose(sums[cluster], exact, atol=1e-4)


def test_the_nearest_of_several_starts_is_kept_and_passes_over_all_bring_it_nearer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features, vectors = features_of(planted_graph(400, 8, noise=2.0))
    members = np.arange(400, dtype=np.int32)
    rows = vectors.astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    def spread(n_starts: int, n_passes: int, seed: int) -> float:
        monkeypatch.setattr(kmeans, "_STARTS", n_starts)
        monkeypatch.setattr(kmeans, "_FULL_PASSES", n_passes)
        settings = TreeSettings(sample_size=150, max_clusters=25, seed=seed)
        labels, _ = cluster_entities(features.bits, members, settings, SERIAL)
        return sum(float(rows[labels == c].var(axis=0).sum() * (labels == c).sum()) for c in set(labels))

    one = np.mean([spread(1, 1, seed) for seed in range(8)])
    several = np.mean([spread(6, 1, seed) for seed in range(8)])
    passed = np.mean([spread(6, 4, seed) for seed in range(8)])
    assert passed < several < one


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_rounds_merge_as_the_definition_does(weight: float) -> None:
    graph = planted_graph(48, 3, noise=0.4, seed=5)
    features, vectors = features_of(graph)
    members = np.arange(48, dtype=np.int32)
    labels = np.random.default_rng(6).integers(0, 3, 48) + 3 * graph.groups
    labels = np.unique(labels, return_inverse=True)[1].astype(np.int32)
    communities = [np.flatnonzero(labels == c).tolist() for c in range(labels.max() + 1)]
    rows = vectors.astype(float).tolist()
    sums = np.array([vectors[c].astype(np.float64).sum(axis=0) for c in communities])
    start = describe(features, members, labels, sums, weight, SERIAL)
    assert start.centres.tolist() == [
        oracles.centre_of(community, graph.triples, rows, weight) for community in communities
    ]
    expected = [
        [oracles.similarity(a, b, graph.triples, rows, weight) for b in communities] for a in communities
    ]
    found = similarities(features, start, weight)
    assert_allclose(found, expected, atol=1e-4)
    assert_array_equal(found, found.T)
    merged_somewhere = False
    for threshold in (0.0, 0.45, 0.6, 0.8):
        settings = TreeSettings(weight=weight, merge_threshold=threshold, max_size=30)
        end = merge_rounds(features, start, settings, SERIAL)
        partition = {
            tuple(end.members[end.labels == community].tolist()) for community in range(len(end.sizes))
        }
        limit = size_limit(48, 30)
        assert partition == oracles.merged(communities, graph.triples, rows, weight, threshold, limit)
        assert end.sizes.max() <= limit
        merged_somewhere |= len(partition) < len(communities)
    assert merged_somewhere


@pytest.mark.parametrize("n", [10, 999, 1000, 12_345, 1_082_003])
def test_merging_never_undoes_a_division(n: int) -> None:
    assert size_limit(n, 100) < max(n, 101)
    if n >= 1000:
        assert size_limit(n, 100) == math.isqrt(100 * n)


def test_threads_keep_the_order_of_results() -> None:
    with open_workers(3) as workers:
        assert list(workers.map(lambda block: block.start, blocks(100, 7))) == list(range(0, 100, 7))
    assert blocks(0, 7) == []
    assert blocks(15, 7) == [slice(0, 7), slice(7, 14), slice(14, 15)]


def test_the_typical_relation_is_frequent_here_and_rare_elsewhere() -> None:
    profiles = Profiles(
        np.array([0, 2, 3, 3], np.int64),
        np.array([0, 3, 0], np.int32),
        np.array([0.6, 0.4, 1.0], np.float32),
    )
    background = np.array([0.9, 0.0, 0.0, 0.01])
    assert typical_codes(profiles, background).tolist() == [3, 0, -1]


def test_names_are_made_of_keywords_and_a_relation() -> None:
    names = ["Neil Young", "Neil Young", "Hank Snow", "林黛玉", "贾宝玉"]
    relations = ["performer", "表妹", " "]
    assert (
        community_name(np.array([0, 1, 2], np.int32), 1, names, relations)
        == "Neil Young, Hank Snow: performer"
    )
    assert community_name(np.array([3, 4], np.int32), 2, names, relations) == "林黛玉, 贾宝玉: 表妹"
    assert community_name(np.array([2], np.int32), -1, names, relations) == "Hank Snow"
    assert community_name(np.array([2], np.int32), 4, names, relations) == "Hank Snow"


@pytest.mark.parametrize(
    "options",
    [{"weight": 1.5}, {"merge_threshold": -0.1}, {"max_size": 0}, {"init": "leiden"}, {"lambda": 0.5}],
)
def test_settings_out_of_range_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        TreeSettings.model_validate(options)


@pytest.mark.parametrize("variant", ["relation", "neighbour"])
def test_profiles_count_what_lies_around(variant: Literal["relation", "neighbour"]) -> None:
    graph = planted_graph(80, 4)
    triples = TripleArrays(**{name: graph.arguments[name] for name in TripleArrays.__dataclass_fields__})
    incidence = incident_triples(triples.head, triples.tail, 80)
    found = profile_entities(triples, incidence, variant)
    around: list[Counter[tuple[int, ...]]] = [Counter() for _ in range(80)]
    rows = zip(triples.head.tolist(), triples.relation.tolist(), triples.tail.tolist(), strict=True)
    for head, relation, tail in rows:
        around[head][(2 * relation, tail)[: 1 + (variant == "neighbour")]] += 1
        if tail < 80:
            around[tail][(2 * relation + 1, head)[: 1 + (variant == "neighbour")]] += 1
    check_profiles(found, found.rows, around)
    groups = [[0], [3, 5, 7], list(range(20, 60))]
    pointers = np.cumsum([0, *map(len, groups)])
    members = np.concatenate(groups).astype(np.int32)
    for chosen in (slice(None), slice(1)):
        few = groups[chosen]
        together = [sum((around[i] for i in group), Counter[tuple[int, ...]]()) for group in few]
        stop = sum(map(len, few))
        check_profiles(found, found.of(pointers[: len(few) + 1], members[:stop]), together)


def check_profiles(
    entities: EntityProfiles, profiles: Profiles, wanted: list[Counter[tuple[int, ...]]]
) -> None:
    """Compare the frequencies of each row, and the relations that its codes stand for."""
    assert len(profiles.indptr) == len(wanted) + 1
    for row, counts in enumerate(wanted):
        part = slice(profiles.indptr[row], profiles.indptr[row + 1])
        codes, total = profiles.codes[part], sum(counts.values())
        assert (np.diff(codes) > 0).all()
        relations = sorted(entities.relation_of[codes].tolist())
        assert relations == sorted(key[0] for key in counts)
        shares = sorted(count / total for count in counts.values())
        assert sorted(profiles.frequencies[part].tolist()) == pytest.approx(shares, abs=1e-6)


def test_numbering_codes_anew_changes_no_score() -> None:
    graph = planted_graph(120, 6)
    features, _ = features_of(graph)
    labels = np.arange(120, dtype=np.int32) % 6
    members = np.arange(120, dtype=np.int32)
    sums = np.array([features.bits.view(np.float16)[labels == c].astype(float).sum(axis=0) for c in range(6)])
    found = describe(features, members, labels, sums, 0.5, SERIAL)
    many = replace(features, own=replace(features.own, relation_of=np.zeros(100_000, np.int32)))
    assert np.array_equal(similarities(features, found, 0.5), similarities(many, found, 0.5))
