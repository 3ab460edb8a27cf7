"""The tree's kernels against the oracles."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal

from tests import oracles_tree as oracles
from ytrag_core.kernels.aggregate import aggregate_rows, incident_triples, unit_rows
from ytrag_core.kernels.kmeans import accumulate_clusters, plus_plus_seeds
from ytrag_core.kernels.matching import greedy_matching, select_centres
from ytrag_core.kernels.phi import phi_edges, phi_members, phi_pairs, profile_overlap
from ytrag_core.kernels.relation_profile import community_profiles, entity_profiles, sort_codes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.oracles_tree import Triple

WIDTH = 5
N_RELATIONS = 4
TOLERANCE = 2e-3


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, int, list[Triple]]:
    """Draw entities, nodes (entities and attribute values) and triples, self-loops among them."""
    n_entities = draw(st.integers(1, 9))
    n_nodes = n_entities + draw(st.integers(0, 3))
    triple = st.tuples(
        st.integers(0, n_entities - 1), st.integers(0, N_RELATIONS - 1), st.integers(0, n_nodes - 1)
    )
    return n_entities, n_nodes, draw(st.lists(triple, max_size=30))


def columns(triples: list[Triple]) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    table = np.array(triples, np.int32).reshape(-1, 3)
    head, relation, tail = (np.ascontiguousarray(table[:, column]) for column in range(3))
    return head, relation, tail


def random_halves(n: int, seed: int) -> NDArray[np.float16]:
    return np.random.default_rng(seed).standard_normal((n, WIDTH)).astype(np.float16)


def aggregated(n_entities: int, triples: list[Triple], strings: NDArray[np.float16]) -> NDArray[np.float16]:
    """Aggregate with node i at string N_RELATIONS + i."""
    head, relation, tail = columns(triples)
    out = np.empty((n_entities, 3 * WIDTH), np.float16)
    aggregate_rows(
        *incident_triples(head, tail, n_entities),
        head,
        relation,
        tail,
        np.arange(N_RELATIONS, len(strings), dtype=np.int32),
        np.arange(N_RELATIONS, dtype=np.int32),
        strings.view(np.uint16),
        0,
        out.view(np.uint16),
    )
    return out


@settings(deadline=None, max_examples=50)
@given(graphs(), st.integers(0, 99))
def test_aggregation_is_the_mean_over_incident_triples(
    graph: tuple[int, int, list[Triple]], seed: int
) -> None:
    n_entities, n_nodes, triples = graph
    strings = random_halves(N_RELATIONS + n_nodes, seed)
    values = strings.astype(float).tolist()
    expected = [
        oracles.entity_vector(i, triples, values[N_RELATIONS:], values[:N_RELATIONS])
        for i in range(n_entities)
    ]
    found = aggregated(n_entities, triples, strings).astype(float)
    assert_allclose(found, expected, rtol=TOLERANCE, atol=1e-6)


@settings(deadline=None, max_examples=50)
@given(graphs())
def test_incident_triples_are_each_listed_once(graph: tuple[int, int, list[Triple]]) -> None:
    n_entities, _, triples = graph
    head, _, tail = columns(triples)
    indptr, found = incident_triples(head, tail, n_entities)
    for entity in range(n_entities):
        expected = [i for i, (h, _, t) in enumerate(triples) if entity in (h, t)]
        assert found[indptr[entity] : indptr[entity + 1]].tolist() == expected


@settings(deadline=None, max_examples=50)
@given(
    hnp.arrays(
        np.float32,
        WIDTH,
        elements=st.floats(-60000, 60000, width=32) | st.floats(-(2**-13), 2**-13, width=32),
    )
)
def test_half_rows_are_rounded_and_read_as_numpy_does(values: NDArray[np.float32]) -> None:
    strings = np.zeros((N_RELATIONS + 1, WIDTH), np.float16)
    strings[N_RELATIONS] = values.astype(np.float16)
    own = aggregated(1, [], strings)[0, :WIDTH]
    assert_array_equal(own, strings[N_RELATIONS])
    mean = aggregated(1, [(0, 0, 0), (0, 1, 0)], strings)[0]
    assert_array_equal(mean[:WIDTH], strings[N_RELATIONS])
    strings[0] = strings[N_RELATIONS]
    halved = aggregated(1, [(0, 0, 0), (0, 1, 0)], strings)[0, WIDTH : 2 * WIDTH]
    assert_array_equal(halved, (strings[0].astype(np.float32) / 2).astype(np.float16))


def test_unit_rows_have_length_one_and_zero_rows_stay() -> None:
    halves = random_halves(6, 1)
    halves[2] = 0
    rows = np.array([5, 2, 0, 5], np.int32)
    found, norms = np.empty((4, WIDTH), np.float32), np.empty(4, np.float32)
    unit_rows(halves.view(np.uint16), rows, found, norms)
    exact = halves.astype(np.float64)[rows]
    assert_allclose(norms, np.linalg.norm(exact, axis=1), rtol=1e-6)
    assert_allclose(found * norms[:, None], exact, rtol=1e-6)
    assert_array_equal(found[1], np.zeros(WIDTH))
    assert_allclose(np.linalg.norm(found[[0, 2, 3]], axis=1), 1, rtol=1e-6)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(-5, 1000), max_size=60), st.data())
def test_sort_codes_sorts_the_slice_and_nothing_else(values: list[int], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(values)))
    stop = data.draw(st.integers(start, len(values)))
    codes = np.array(values, np.int32)
    sort_codes(codes, start, stop)
    assert codes.tolist() == values[:start] + sorted(values[start:stop]) + values[stop:]


def rows_as_shares(
    indptr: NDArray[np.int64], codes: NDArray[np.int32], shares: NDArray[np.float32], row: int
) -> dict[tuple[int, str], float]:
    span = slice(indptr[row], indptr[row + 1])
    assert (np.diff(codes[span]) > 0).all()
    return {
        (int(code) // 2, "in" if code % 2 else "out"): float(share)
        for code, share in zip(codes[span], shares[span], strict=True)
    }


def assert_shares(found: dict[tuple[int, str], float], expected: oracles.Profile) -> None:
    assert set(found) == set(expected)
    for key, share in found.items():
        assert abs(share - expected[key] / expected.total()) < 1e-6


@settings(deadline=None, max_examples=50)
@given(graphs(), st.data())
def test_profiles_of_entities_and_communities(
    graph: tuple[int, int, list[Triple]], data: st.DataObject
) -> None:
    n_entities, _, triples = graph
    labels = data.draw(st.lists(st.integers(0, 2), min_size=n_entities, max_size=n_entities))
    head, relation, tail = columns(triples)
    incidence = incident_triples(head, tail, n_entities)
    indptr, codes, counts, shares = entity_profiles(*incidence, head, relation, tail, N_RELATIONS)
    for entity in range(n_entities):
        assert_shares(rows_as_shares(indptr, codes, shares, entity), oracles.profile([entity], triples))
    assert counts.sum() == sum(1 + (t < n_entities) for _, _, t in triples)
    members = [[i for i in range(n_entities) if labels[i] == c] for c in range(3)]
    members_indptr = np.cumsum([0, *map(len, members)]).astype(np.int64)
    found = community_profiles(
        indptr, codes, counts, members_indptr, np.array([*chain(*members)], np.int32), N_RELATIONS
    )
    for community in range(3):
        assert_shares(rows_as_shares(*found, community), oracles.profile(members[community], triples))


Counts = dict[tuple[int, str], int]
profiles = st.dictionaries(st.tuples(st.integers(0, 9), st.just("out")), st.integers(1, 9), max_size=8)


@settings(deadline=None, max_examples=100)
@given(profiles, profiles)
def test_overlap_is_the_weighted_jaccard(a: Counts, b: Counts) -> None:
    def row(counts: Counts) -> tuple[NDArray[np.int32], NDArray[np.float32], int, int]:
        total = max(1, sum(counts.values()))
        codes = np.array(sorted(key[0] for key in counts), np.int32)
        return codes, np.array([counts[int(c), "out"] / total for c in codes], np.float32), 0, len(codes)

    expected = oracles.weighted_jaccard(Counter(a), Counter(b))
    assert abs(profile_overlap(*row(a), *row(b)) - expected) < 1e-5
    assert abs(profile_overlap(*row(b), *row(a)) - expected) < 1e-5


@settings(deadline=None, max_examples=40)
@given(graphs(), st.integers(0, 99), st.sampled_from([0.0, 0.3, 1.0]), st.data())
def test_phi_of_members_centres_and_pairs(
    graph: tuple[int, int, list[Triple]], seed: int, weight: float, data: st.DataObject
) -> None:
    n_entities, n_nodes, triples = graph
    labels = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n_entities, max_size=n_entities)))
    _, labels = np.unique(labels, return_inverse=True)
    communities = [np.flatnonzero(labels == c).tolist() for c in range(labels.max() + 1)]
    halves = aggregated(n_entities, triples, random_halves(N_RELATIONS + n_nodes, seed))
    vectors = halves.astype(float).tolist()
    directions = np.array([oracles.mean([vectors[i] for i in c]) for c in communities], np.float32)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    head, relation, tail = columns(triples)
    indptr, codes, counts, shares = entity_profiles(
        *incident_triples(head, tail, n_entities), head, relation, tail, N_RELATIONS
    )
    theirs = community_profiles(
        indptr,
        codes,
        counts,
        np.cumsum([0, *map(len, communities)]).astype(np.int64),
        np.array([*chain(*communities)], np.int32),
        N_RELATIONS,
    )
    members = np.arange(n_entities, dtype=np.int32)
    bits = halves.view(np.uint16)
    found = phi_members(
        bits, indptr, codes, shares, members, labels.astype(np.int32), directions, *theirs, weight
    )
    expected = [oracles.phi(i, communities[labels[i]], triples, vectors, weight) for i in range(n_entities)]
    assert_allclose(found, expected, atol=1e-4)

    centres = select_centres(found, members, labels.astype(np.int32), len(communities))
    for community, centre in zip(communities, centres, strict=True):
        assert centre == min(community, key=lambda i: (-found[i], i))

    units = np.empty((len(centres), 3 * WIDTH), np.float32)
    unit_rows(bits, centres, units, np.empty(len(centres), np.float32))
    pairs = phi_pairs(units @ directions.T, indptr, codes, shares, centres, *theirs, 2 * N_RELATIONS, weight)
    expected_pairs = [
        [oracles.phi(int(c), m, triples, vectors, weight) for m in communities] for c in centres
    ]
    assert_allclose(pairs, expected_pairs, atol=1e-4)


@settings(deadline=None, max_examples=40)
@given(graphs(), st.integers(0, 99), st.sampled_from([0.0, 0.3, 1.0]), st.data())
def test_phi_of_edges_is_that_of_communities_of_one(
    graph: tuple[int, int, list[Triple]], seed: int, weight: float, data: st.DataObject
) -> None:
    n_entities, n_nodes, triples = graph
    entity = st.integers(0, n_entities - 1)
    pairs = data.draw(st.lists(st.tuples(entity, entity), max_size=20))
    halves = aggregated(n_entities, triples, random_halves(N_RELATIONS + n_nodes, seed))
    head, relation, tail = columns(triples)
    indptr, codes, _, shares = entity_profiles(
        *incident_triples(head, tail, n_entities), head, relation, tail, N_RELATIONS
    )
    first, second = (np.array([pair[end] for pair in pairs], np.int32) for end in range(2))
    found = phi_edges(halves.view(np.uint16), indptr, codes, shares, first, second, weight)
    vectors = halves.astype(float).tolist()
    expected = [max(0.0, oracles.phi(a, [b], triples, vectors, weight)) for a, b in pairs]
    assert_allclose(found, expected, atol=1e-4)


def test_centres_take_the_lower_id_and_empty_communities_have_none() -> None:
    phi = np.array([0.5, 0.5, -0.2, -0.2], np.float32)
    members, labels = np.array([7, 3, 9, 4], np.int32), np.array([0, 0, 2, 2], np.int32)
    assert select_centres(phi, members, labels, 3).tolist() == [3, -1, 4]


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 9), st.data())
def test_matching_takes_the_most_similar_pairs_first(n: int, data: st.DataObject) -> None:
    cell = st.sampled_from([0.1, 0.2, 0.5, 0.8, 0.9])
    upper = np.triu(np.array(data.draw(st.lists(cell, min_size=n * n, max_size=n * n))).reshape(n, n), 1)
    similarity = (upper + upper.T).astype(np.float32)
    sizes = np.array(data.draw(st.lists(st.integers(1, 5), min_size=n, max_size=n)), np.int64)
    partner = greedy_matching(similarity, sizes, 0.2, 7)
    pairs = {(i, int(p)) for i, p in enumerate(partner) if i < p}
    assert pairs == oracles.greedy_pairs(similarity.tolist(), sizes.tolist(), float(np.float32(0.2)), 7)
    for a, b in pairs:
        assert partner[b] == a


def test_clusters_are_summed_with_their_scale() -> None:
    rows = random_halves(7, 3).astype(np.float32)
    scale = np.arange(7, dtype=np.float32)
    labels = np.array([0, 2, 2, 0, 2, 0, 0], np.int32)
    sums, sizes = np.ones((3, WIDTH)), np.zeros(3, np.int64)
    accumulate_clusters(rows, scale, labels, sums, sizes)
    assert sizes.tolist() == [4, 0, 3]
    for cluster in range(3):
        expected = 1 + (rows * scale[:, None])[labels == cluster].astype(float).sum(axis=0)
        assert_allclose(sums[cluster], expected, rtol=1e-6)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 12), st.integers(1, 8), st.integers(0, 99), st.data())
def test_seeds_are_drawn_by_squared_distance(n: int, k: int, seed: int, data: st.DataObject) -> None:
    distinct = np.random.default_rng(seed).standard_normal((3, WIDTH)).astype(np.float32)
    rows = distinct[data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))]
    uniforms = np.array(data.draw(st.lists(st.floats(0, 0.99), min_size=k, max_size=k)))
    seeds = plus_plus_seeds(rows @ rows.T, uniforms, 1e-4)
    assert seeds[0] == int(uniforms[0] * n)
    assert len(seeds) == min(k, len(np.unique(rows, axis=0)))
    for step in range(1, len(seeds)):
        gaps = [min(float(((row - rows[s]) ** 2).sum()) for s in seeds[:step]) for row in rows.astype(float)]
        gaps = [gap if gap > 1e-3 else 0.0 for gap in gaps]
        share = np.cumsum(gaps) / sum(gaps)
        assume(np.abs(share - uniforms[step]).min() > 1e-3)
        assert seeds[step] == int(np.searchsorted(share, uniforms[step]))
