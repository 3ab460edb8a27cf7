"""Aggregation beside scipy.sparse and k-means beside scikit-learn; peers agree before anything is timed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.cluster import KMeans

from ytrag_core.kernels.aggregate import incident_triples
from ytrag_core.tree.features import TripleArrays, aggregate_vectors
from ytrag_core.tree.kmeans import lloyd
from ytrag_core.tree.workers import open_workers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from pytest_benchmark.fixture import BenchmarkFixture

DIMENSION = 384
N_RELATIONS = 250
ITERATIONS = 5
ROUNDS = 3


@lru_cache(maxsize=2)
def random_triples(n_entities: int) -> TripleArrays:
    """Three triples an entity; every node and relation has a string of its own."""
    rng = np.random.default_rng(11)
    n_triples = 3 * n_entities
    strings = rng.standard_normal((N_RELATIONS + n_entities, DIMENSION), dtype=np.float32)
    strings /= np.linalg.norm(strings, axis=1, keepdims=True)
    return TripleArrays(
        n_entities,
        N_RELATIONS,
        rng.integers(0, n_entities, n_triples).astype(np.int32),
        rng.integers(0, N_RELATIONS, n_triples).astype(np.int32),
        rng.integers(0, n_entities, n_triples).astype(np.int32),
        np.arange(N_RELATIONS, N_RELATIONS + n_entities, dtype=np.int32),
        np.arange(N_RELATIONS, dtype=np.int32),
        strings.astype(np.float16),
    )


def by_kernel(triples: TripleArrays, n_threads: int) -> Callable[[], NDArray[np.float16]]:
    incidence = incident_triples(triples.head, triples.tail, triples.n_entities)

    def run() -> NDArray[np.float16]:
        with open_workers(n_threads) as workers:
            return aggregate_vectors(triples, incidence, workers, lambda done: None)

    return run


def by_scipy(triples: TripleArrays) -> Callable[[], NDArray[np.float32]]:
    """Make ready three matrices, entities by strings, whose products with the vectors are the three parts.

    The vectors are given in float32: scipy has no float16 products.
    """
    indptr, incident = incident_triples(triples.head, triples.tail, triples.n_entities)
    degree = np.diff(indptr)
    share = np.repeat(1 / np.maximum(degree, 1), degree).astype(np.float32)
    lonely = sp.diags_array((degree == 0).astype(np.float32), format="csr")
    shape = (triples.n_entities, len(triples.string_vectors))
    names = sp.csr_array(
        (np.ones(triples.n_entities, np.float32), (np.arange(triples.n_entities), triples.node_string)), shape
    )
    columns = (
        triples.node_string[triples.head],
        triples.relation_string[triples.relation],
        triples.node_string[triples.tail],
    )
    parts: list[Any] = [sp.csr_array((share, column[incident], indptr), shape) for column in columns]
    parts[0], parts[2] = parts[0] + lonely @ names, parts[2] + lonely @ names
    for part in parts:
        part.sum_duplicates()
    dense = triples.string_vectors.astype(np.float32)
    return lambda: np.hstack([part @ dense for part in parts])


@pytest.mark.parametrize("peer", ["ytrag, 1 thread", "ytrag, 2 threads", "scipy"])
def test_aggregation(benchmark: BenchmarkFixture, peer: str, smoke: bool) -> None:
    n_entities = 300 if smoke else 60_000
    triples = random_triples(n_entities)
    runs: dict[str, Callable[[], NDArray[np.float16] | NDArray[np.float32]]] = {
        "ytrag, 1 thread": by_kernel(triples, 1),
        "ytrag, 2 threads": by_kernel(triples, 2),
        "scipy": by_scipy(triples),
    }
    assert_allclose(runs["ytrag, 2 threads"](), runs["scipy"](), rtol=2e-3, atol=1e-4)
    benchmark.group = f"3d aggregation | {n_entities} entities, {3 * n_entities} triples"
    benchmark.pedantic(runs[peer], rounds=ROUNDS, warmup_rounds=1)  # type: ignore[no-untyped-call]


@lru_cache(maxsize=2)
def random_rows(n: int) -> NDArray[np.float32]:
    """Unit rows around planted places, as wide as an entity vector."""
    rng = np.random.default_rng(12)
    places = rng.standard_normal((n // 20, 3 * DIMENSION), dtype=np.float32)
    rows = places[rng.integers(0, len(places), n)] + rng.standard_normal((n, 3 * DIMENSION), dtype=np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def kmeans_by_ytrag(rows: NDArray[np.float32], k: int, n_threads: int) -> NDArray[np.int32]:
    with open_workers(n_threads) as workers:
        return lloyd(rows, rows[:k], ITERATIONS, workers)[0]


def kmeans_by_sklearn(rows: NDArray[np.float32], k: int) -> NDArray[np.int32]:
    options: dict[str, Any] = {"init": rows[:k], "n_init": 1, "max_iter": ITERATIONS, "tol": 0}
    return np.asarray(KMeans(k, **options).fit(rows).labels_, np.int32)


@pytest.mark.parametrize("peer", ["ytrag, 1 thread", "ytrag, 2 threads", "scikit-learn"])
def test_kmeans(benchmark: BenchmarkFixture, peer: str, smoke: bool) -> None:
    n, k = (400, 10) if smoke else (8192, 200)
    rows = random_rows(n)
    runs = {
        "ytrag, 1 thread": lambda: kmeans_by_ytrag(rows, k, 1),
        "ytrag, 2 threads": lambda: kmeans_by_ytrag(rows, k, 2),
        "scikit-learn": lambda: kmeans_by_sklearn(rows, k),
    }
    assert np.mean(runs["ytrag, 2 threads"]() == runs["scikit-learn"]()) > 0.999
    benchmark.group = f"k-means, {ITERATIONS} rounds | {n} rows of {3 * DIMENSION}, k = {k}"
    benchmark.pedantic(runs[peer], rounds=ROUNDS, warmup_rounds=1)  # type: ignore[no-untyped-call]
