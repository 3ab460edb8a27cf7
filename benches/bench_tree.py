"""The tree's kernels beside scipy.sparse, scikit-learn and numpy; peers agree before all timing."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from race import Race
from scipy.sparse import _sparsetools
from sklearn.cluster import KMeans, MiniBatchKMeans

from ytrag_core.kernels.aggregate import aggregate_rows, incident_triples
from ytrag_core.kernels.matching import greedy_matching, select_centres
from ytrag_core.kernels.phi import phi_edges, phi_members, phi_pairs
from ytrag_core.kernels.relation_profile import entity_profiles
from ytrag_core.tree.features import TripleArrays, aggregate_vectors
from ytrag_core.tree.kmeans import assign_rows, lloyd, sum_rows
from ytrag_core.workers import SERIAL, blocks, open_workers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from pytest_benchmark.fixture import BenchmarkFixture

DIMENSION = 384
N_RELATIONS = 250
N_MEMBERS = 100
"""Members of a community."""
WEIGHT = 0.5
ITERATIONS = 5
KMEANS_LIMIT = 10_000
PAIR_LIMIT = 100_000


@lru_cache(maxsize=1)
def random_triples(n_entities: int) -> TripleArrays:
    """Three triples an entity; every node and relation has a string of its own."""
    rng = np.random.default_rng(11)
    n_triples = 3 * n_entities
    strings = np.empty((N_RELATIONS + n_entities, DIMENSION), np.float16)
    for start in range(0, len(strings), 65_536):
        block = rng.standard_normal((min(65_536, len(strings) - start), DIMENSION), dtype=np.float32)
        strings[start : start + len(block)] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return TripleArrays(
        n_entities,
        N_RELATIONS,
        rng.integers(0, n_entities, n_triples).astype(np.int32),
        rng.integers(0, N_RELATIONS, n_triples).astype(np.int32),
        rng.integers(0, n_entities, n_triples).astype(np.int32),
        np.arange(N_RELATIONS, N_RELATIONS + n_entities, dtype=np.int32),
        np.arange(N_RELATIONS, dtype=np.int32),
        strings,
    )


@lru_cache(maxsize=1)
def incidence_of(n_entities: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    triples = random_triples(n_entities)
    return incident_triples(triples.head, triples.tail, n_entities)


def aggregated(n_entities: int, n_threads: int) -> NDArray[np.float16]:
    with open_workers(n_threads) as workers:
        return aggregate_vectors(
            random_triples(n_entities), incidence_of(n_entities), workers, lambda done: None
        )


@lru_cache(maxsize=1)
def entity_vectors(n_entities: int) -> NDArray[np.float16]:
    return aggregated(n_entities, 2)


def matrices_of_scipy(triples: TripleArrays) -> tuple[list[Any], NDArray[np.float32]]:
    """Return three matrices, entities by strings, whose products with the vectors are the three parts.

    Entities without triples are left out, rows are merged, and the vectors are given in float32: scipy has no
    products of float16.
    """
    indptr, incident = incidence_of(triples.n_entities)
    degree = np.diff(indptr)
    share = np.repeat(1 / np.maximum(degree, 1), degree).astype(np.float32)
    shape = (triples.n_entities, len(triples.string_vectors))
    columns = (
        triples.node_string[triples.head],
        triples.relation_string[triples.relation],
        triples.node_string[triples.tail],
    )
    parts: list[Any] = [
        sp.csr_array((share.copy(), column[incident], indptr.copy()), shape) for column in columns
    ]
    for part in parts:
        part.sum_duplicates()
    return parts, triples.string_vectors.astype(np.float32)


def products_of_scipy(triples: TripleArrays) -> Callable[[], list[Any]]:
    parts, dense = matrices_of_scipy(triples)
    return lambda: [part @ dense for part in parts]


@lru_cache(maxsize=1)
def aggregation_race(n_nodes: int) -> Race:
    race = Race("3d aggregation, 3 triples a node, d = 384", n_nodes)
    race.enter("ytrag, 1 thread", lambda: aggregated(n_nodes, 1))
    race.enter("ytrag, 2 threads", lambda: aggregated(n_nodes, 2))
    ours = race.results.pop("ytrag, 1 thread")
    assert_array_equal(ours, race.results.pop("ytrag, 2 threads"))
    race.enter("scipy.sparse, 3 products", products_of_scipy(random_triples(n_nodes)))
    some = np.random.default_rng(0).choice(n_nodes, min(n_nodes, 5000), replace=False)
    some = some[np.diff(incidence_of(n_nodes)[0])[some] > 0]
    theirs = np.hstack([part[some] for part in race.results["scipy.sparse, 3 products"]])
    assert_allclose(ours[some], theirs, rtol=2e-3, atol=1e-4)
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag, 1 thread", "ytrag, 2 threads", "scipy.sparse, 3 products"])
def test_aggregation(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    aggregation_race(n_nodes).time(benchmark, peer)


def aggregated_into(n_entities: int, out: NDArray[np.float16]) -> NDArray[np.float16]:
    triples, incidence = random_triples(n_entities), incidence_of(n_entities)
    columns = triples.head, triples.relation, triples.tail, triples.node_string, triples.relation_string
    bits, out_bits = triples.string_vectors.view(np.uint16), out.view(np.uint16)

    def fill(block: slice) -> None:
        aggregate_rows(*incidence, *columns, bits, block.start, out_bits[block])

    with open_workers(2) as workers:
        for _ in workers.map(fill, blocks(n_entities, 8192)):
            pass
    return out


@lru_cache(maxsize=1)
def aggregation_in_place_race(n_nodes: int) -> Race:
    """The same into memory that was touched before: new memory costs either peer more than the sums do.

    scipy's own kernel, which `@` calls, adds to what it is given.
    """
    parts, dense = matrices_of_scipy(random_triples(n_nodes))
    add_product: Any = _sparsetools.csr_matvecs
    out = np.zeros((n_nodes, 3 * DIMENSION), np.float16)
    wide = np.zeros((3, n_nodes, DIMENSION), np.float32)

    def by_scipy() -> NDArray[np.float32]:
        for part, target in zip(parts, wide, strict=True):
            target.fill(0)
            add_product(
                *part.shape, DIMENSION, part.indptr, part.indices, part.data, dense.ravel(), target.ravel()
            )
        return wide

    race = Race("3d aggregation into given memory, 3 triples a node, d = 384", n_nodes)
    race.enter("ytrag, 2 threads", lambda: aggregated_into(n_nodes, out))
    race.enter("scipy.sparse, 3 products", by_scipy)
    some = np.flatnonzero(np.diff(incidence_of(n_nodes)[0]))[:5000]
    assert_allclose(out[some], np.hstack(list(wide[:, some])), rtol=2e-3, atol=1e-4)
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag, 2 threads", "scipy.sparse, 3 products"])
def test_aggregation_into_given_memory(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    aggregation_in_place_race(n_nodes).time(benchmark, peer)


class Profiles(NamedTuple):
    indptr: NDArray[np.int64]
    codes: NDArray[np.int32]
    frequencies: NDArray[np.float32]


def histograms(n_entities: int) -> Profiles:
    triples = random_triples(n_entities)
    indptr, codes, _, frequencies = entity_profiles(
        *incidence_of(n_entities), triples.head, triples.relation, triples.tail, N_RELATIONS
    )
    return Profiles(indptr, codes, frequencies)


def histograms_by_scipy(n_entities: int) -> Any:
    """Count (entity, code) as the sum of a list of ones, then divide by row sums."""
    triples = random_triples(n_entities)
    rows = np.concatenate([triples.head, triples.tail])
    codes = np.concatenate([2 * triples.relation, 2 * triples.relation + 1])
    ones = np.ones(len(rows), np.float32)
    counts = sp.coo_array((ones, (rows, codes)), shape=(n_entities, 2 * N_RELATIONS)).tocsr()
    counts.sort_indices()
    degree = np.asarray(counts.sum(axis=1)).ravel()
    counts.data /= np.repeat(degree, np.diff(counts.indptr))
    return counts


@lru_cache(maxsize=1)
def histogram_race(n_nodes: int) -> Race:
    incidence_of(n_nodes)
    race = Race("relation histograms", n_nodes)
    race.enter("ytrag", lambda: histograms(n_nodes))
    race.enter("scipy.sparse", lambda: histograms_by_scipy(n_nodes))
    ours, theirs = race.results["ytrag"], race.results["scipy.sparse"]
    assert_array_equal(ours.indptr, theirs.indptr)
    assert_array_equal(ours.codes, theirs.indices)
    assert_allclose(ours.frequencies, theirs.data, rtol=1e-6)
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "scipy.sparse"])
def test_relation_histograms(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    histogram_race(n_nodes).time(benchmark, peer)


def jaccard_by_scipy(matrix: Any, first: NDArray[np.int32], second: NDArray[np.int32]) -> NDArray[np.float32]:
    shared = np.asarray(matrix[first].minimum(matrix[second]).sum(axis=1), np.float32).ravel()
    return np.asarray(shared / (2 - shared), np.float32)


@lru_cache(maxsize=1)
def jaccard_race(n_nodes: int) -> Race:
    """Each entity with the centres of three communities: what merging asks for, without the vectors' part."""
    own, matrix = histograms(n_nodes), histograms_by_scipy(n_nodes)
    others = np.random.default_rng(4).integers(0, n_nodes, 3).astype(np.int32)
    entities = np.arange(n_nodes, dtype=np.int32)
    indptr = np.concatenate([[0], np.cumsum(np.diff(own.indptr)[others])]).astype(np.int64)
    places = np.concatenate([np.arange(int(own.indptr[o]), int(own.indptr[o + 1])) for o in others])
    none = np.zeros((n_nodes, len(others)), np.float32)
    race = Race("weighted Jaccard, 3 a node", n_nodes)
    race.enter(
        "ytrag",
        lambda: phi_pairs(
            none, *own, entities, indptr, own.codes[places], own.frequencies[places], 2 * N_RELATIONS, 1.0
        ),
    )
    race.enter(
        "scipy.sparse",
        lambda: jaccard_by_scipy(matrix, np.repeat(entities, 3), np.tile(others, n_nodes)),
    )
    assert_allclose(race.results["ytrag"].ravel(), race.results["scipy.sparse"], atol=1e-5)
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "scipy.sparse"])
def test_weighted_jaccard(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    jaccard_race(n_nodes).time(benchmark, peer)


def random_labels(n_nodes: int) -> NDArray[np.int32]:
    labels = np.random.default_rng(5).integers(0, max(1, n_nodes // N_MEMBERS), n_nodes)
    return np.unique(labels, return_inverse=True)[1].astype(np.int32)


def unit_means(vectors: NDArray[np.float16], labels: NDArray[np.int32]) -> NDArray[np.float32]:
    sums = sum_rows(vectors.astype(np.float32), np.ones(len(labels), np.float32), labels, labels.max() + 1)[0]
    return np.asarray(sums / np.linalg.norm(sums, axis=1, keepdims=True), np.float32)


def phi_by_numpy(
    vectors: NDArray[np.float16], directions: NDArray[np.float32], labels: NDArray[np.int32]
) -> NDArray[np.float32]:
    wide = vectors.astype(np.float32)
    dots = np.einsum("ij,ij->i", wide, directions[labels])
    return np.asarray((1 - WEIGHT) * dots / np.linalg.norm(wide, axis=1), np.float32)


@lru_cache(maxsize=1)
def members_race(n_nodes: int) -> Race:
    """Every entity with its community; numpy leaves the relations out, so ours gets empty ones to agree."""
    vectors, labels = entity_vectors(n_nodes), random_labels(n_nodes)
    directions, own = unit_means(vectors, labels), histograms(n_nodes)
    entities, bits = np.arange(n_nodes, dtype=np.int32), vectors.view(np.uint16)
    empty = np.zeros(len(directions) + 1, np.int64), np.empty(0, np.int32), np.empty(0, np.float32)
    race = Race("phi of members, d = 3 x 384", n_nodes)
    race.enter("ytrag", lambda: phi_members(bits, *own, entities, labels, directions, *empty, WEIGHT))
    race.enter("numpy, vectors only", lambda: phi_by_numpy(vectors, directions, labels))
    assert_allclose(race.results["ytrag"], race.results["numpy, vectors only"], atol=1e-4)
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "numpy, vectors only"])
def test_phi_of_members(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    if n_nodes > PAIR_LIMIT:
        pytest.skip("float32 copies of a million entity vectors take 9 GB")
    members_race(n_nodes).time(benchmark, peer)


def edges_by_numpy(
    vectors: NDArray[np.float16], first: NDArray[np.int32], second: NDArray[np.int32]
) -> NDArray[np.float32]:
    """Score in blocks: all pairs at once would not fit."""
    scores = np.empty(len(first), np.float32)
    for start in range(0, len(first), 4096):
        block = slice(start, start + 4096)
        one, other = vectors[first[block]].astype(np.float32), vectors[second[block]].astype(np.float32)
        squares = np.einsum("ij,ij->i", one, one) * np.einsum("ij,ij->i", other, other)
        scores[block] = np.einsum("ij,ij->i", one, other) / np.sqrt(squares)
    return np.maximum(scores, np.float32(0))


@lru_cache(maxsize=1)
def edges_race(n_nodes: int) -> Race:
    """Two edges a node, as the dual-perceived graph asks for, grouped by the first end."""
    vectors, own = entity_vectors(n_nodes), histograms(n_nodes)
    first = np.repeat(np.arange(n_nodes, dtype=np.int32), 2)
    second = np.random.default_rng(6).integers(0, n_nodes, len(first)).astype(np.int32)
    bits = vectors.view(np.uint16)
    race = Race("phi of edges, 2 a node, d = 3 x 384", n_nodes)
    race.enter("ytrag, vectors only", lambda: phi_edges(bits, *own, first, second, 0.0))
    race.enter("numpy, vectors only", lambda: edges_by_numpy(vectors, first, second), up_to=PAIR_LIMIT)
    if n_nodes <= PAIR_LIMIT:
        ours, theirs = race.results.values()
        assert_allclose(ours, theirs, atol=1e-4)
    race.enter("ytrag, with relations", lambda: phi_edges(bits, *own, first, second, WEIGHT))
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag, vectors only", "ytrag, with relations", "numpy, vectors only"])
def test_phi_of_edges(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    edges_race(n_nodes).time(benchmark, peer)


def centres_by_numpy(
    phi: NDArray[np.float32], members: NDArray[np.int32], labels: NDArray[np.int32]
) -> NDArray[np.int32]:
    order = np.lexsort((members, -phi, labels))
    return members[order[np.flatnonzero(np.diff(labels[order], prepend=-1))]]


@lru_cache(maxsize=1)
def centres_race(n_nodes: int) -> Race:
    phi = np.random.default_rng(7).integers(0, 1000, n_nodes).astype(np.float32)
    members, labels = np.arange(n_nodes, dtype=np.int32), random_labels(n_nodes)
    race = Race("centres of communities", n_nodes)
    race.enter("ytrag", lambda: select_centres(phi, members, labels, int(labels.max()) + 1))
    race.enter("numpy", lambda: centres_by_numpy(phi, members, labels))
    assert_array_equal(race.results["ytrag"], race.results["numpy"])
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "numpy"])
def test_centres(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    centres_race(n_nodes).time(benchmark, peer)


def matching_by_numpy(similarity: NDArray[np.float32]) -> NDArray[np.int32]:
    """Sort all pairs, then take them one by one."""
    partner = np.full(len(similarity), -1, np.int32)
    one, other = np.triu_indices(len(similarity), 1)
    good = similarity[one, other] >= WEIGHT
    one, other = one[good], other[good]
    order = np.argsort(-similarity[one, other], kind="stable")
    for a, b in zip(one[order].tolist(), other[order].tolist(), strict=True):
        if partner[a] < 0 and partner[b] < 0:
            partner[a], partner[b] = b, a
    return partner


@lru_cache(maxsize=1)
def matching_race(n_communities: int) -> Race:
    half = np.random.default_rng(8).random((n_communities, n_communities), dtype=np.float32)
    similarity = np.asarray((half + half.T) / 2, np.float32)
    sizes = np.ones(n_communities, np.int64)
    n_pairs = n_communities * (n_communities - 1) // 2
    race = Race("matching of communities, most similar first", n_pairs, "pairs")
    race.enter("ytrag", lambda: greedy_matching(similarity, sizes, WEIGHT, 2))
    race.enter("numpy", lambda: matching_by_numpy(similarity))
    assert_array_equal(race.results["ytrag"], race.results["numpy"])
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "numpy"])
@pytest.mark.parametrize("n_communities", [200, 1000])
def test_matching(benchmark: BenchmarkFixture, n_communities: int, peer: str) -> None:
    matching_race(n_communities).time(benchmark, peer)


@lru_cache(maxsize=1)
def random_rows(n: int) -> NDArray[np.float32]:
    """Unit rows around planted places, as wide as an entity vector."""
    rng = np.random.default_rng(12)
    places = rng.standard_normal((n // 20, 3 * DIMENSION), dtype=np.float32)
    rows = rng.standard_normal((n, 3 * DIMENSION), dtype=np.float32)
    rows += places[rng.integers(0, len(places), n)]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def kmeans_by_ytrag(rows: NDArray[np.float32], k: int, n_threads: int) -> NDArray[np.int32]:
    with open_workers(n_threads) as workers:
        return lloyd(rows, rows[:k], ITERATIONS, workers)[0]


def kmeans_by_sklearn(kind: type[Any], rows: NDArray[np.float32], k: int) -> NDArray[np.int32]:
    options: dict[str, Any] = {"init": rows[:k], "n_init": 1, "max_iter": ITERATIONS, "tol": 0}
    return np.asarray(kind(k, random_state=0, **options).fit(rows).labels_, np.int32)


@lru_cache(maxsize=1)
def kmeans_race(n_rows: int) -> Race:
    """MiniBatchKMeans does less work and finds other clusters, so it is timed but not compared."""
    rows, k = random_rows(n_rows), min(200, n_rows // 40)
    race = Race(f"k-means, {ITERATIONS} rounds, d = 3 x 384", n_rows, "rows")
    race.enter("ytrag, 1 thread", lambda: kmeans_by_ytrag(rows, k, 1))
    race.enter("ytrag, 2 threads", lambda: kmeans_by_ytrag(rows, k, 2))
    race.enter("scikit-learn KMeans", lambda: kmeans_by_sklearn(KMeans, rows, k))
    race.enter("scikit-learn MiniBatchKMeans", lambda: kmeans_by_sklearn(MiniBatchKMeans, rows, k))
    assert np.mean(race.results["ytrag, 2 threads"] == race.results["scikit-learn KMeans"]) > 0.999
    return race.start()


@pytest.mark.parametrize(
    "peer",
    ["ytrag, 1 thread", "ytrag, 2 threads", "scikit-learn KMeans", "scikit-learn MiniBatchKMeans"],
)
def test_kmeans(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    if n_nodes > KMEANS_LIMIT:
        pytest.skip("the tree fits k-means on a sample of about this many")
    kmeans_race(n_nodes).time(benchmark, peer)


@lru_cache(maxsize=1)
def assign_race(n_rows: int) -> Race:
    rows, k = random_rows(n_rows), min(200, n_rows // 40)
    options: dict[str, Any] = {"init": rows[:k], "n_init": 1, "max_iter": 1}
    model = KMeans(k, **options).fit(rows)
    centres = np.ascontiguousarray(model.cluster_centers_, np.float32)
    race = Race("k-means, one assignment, d = 3 x 384", n_rows, "rows")
    race.enter("ytrag, 1 thread", lambda: assign_rows(rows, centres, SERIAL))
    race.enter("scikit-learn predict", lambda: model.predict(rows))
    assert np.mean(race.results["ytrag, 1 thread"] == race.results["scikit-learn predict"]) > 0.999
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag, 1 thread", "scikit-learn predict"])
def test_kmeans_assignment(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    if n_nodes > PAIR_LIMIT:
        pytest.skip("a million entity vectors in float32 take 4.6 GB; the tree fits k-means on a sample")
    assign_race(n_nodes).time(benchmark, peer)


def sums_by_scipy(rows: NDArray[np.float32], labels: NDArray[np.int32], k: int) -> Any:
    ones = np.ones(len(rows), np.float32)
    return sp.csr_array((ones, (labels, np.arange(len(rows)))), shape=(k, len(rows))) @ rows


@lru_cache(maxsize=1)
def update_race(n_rows: int) -> Race:
    rows, k = random_rows(n_rows), min(200, n_rows // 40)
    labels = np.random.default_rng(2).integers(0, k, n_rows).astype(np.int32)
    ones = np.ones(n_rows, np.float32)
    race = Race("k-means, one update, d = 3 x 384", n_rows, "rows")
    race.enter("ytrag", lambda: sum_rows(rows, ones, labels, k)[0])
    race.enter("scipy.sparse", lambda: sums_by_scipy(rows, labels, k))
    assert_allclose(race.results["ytrag"], race.results["scipy.sparse"], atol=1e-3)
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "scipy.sparse"])
def test_kmeans_update(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    if n_nodes > PAIR_LIMIT:
        pytest.skip("a million entity vectors in float32 take 4.6 GB; the tree fits k-means on a sample")
    update_race(n_nodes).time(benchmark, peer)
