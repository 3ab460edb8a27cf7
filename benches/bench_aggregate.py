"""Entity vectors and relation histograms beside scipy.sparse; peers agree before all timing."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from race import Race
from scipy.sparse import _sparsetools
from tree_inputs import DIMENSION, aggregated, histograms, histograms_by_scipy, incidence_of, random_triples

from ytrag_core.kernels.aggregate import aggregate_rows
from ytrag_core.workers import blocks, open_workers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from pytest_benchmark.fixture import BenchmarkFixture

    from ytrag_core.tree.features import TripleArrays


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
