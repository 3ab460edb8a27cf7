"""The k-means of the tree beside scikit-learn and scipy.sparse; peers agree before all timing."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from race import Race
from sklearn.cluster import KMeans, MiniBatchKMeans
from tree_inputs import DIMENSION, PAIR_LIMIT

from ytrag_core.tree.kmeans import assign_rows, lloyd, sum_rows
from ytrag_core.workers import SERIAL, open_workers

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pytest_benchmark.fixture import BenchmarkFixture

ITERATIONS = 5
KMEANS_LIMIT = 10_000


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
