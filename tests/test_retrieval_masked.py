"""Searches among allowed rows, exact and by graph, and allowed edges, against plain sorting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ytrag_core.embedding.index import VectorIndex
from ytrag_core.graph.tables import build_csr
from ytrag_core.retrieval.masked import allowed_entries, search_allowed

if TYPE_CHECKING:
    from numpy.typing import NDArray

N, WIDTH = 3000, 24


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float16]:
    rows = np.random.default_rng(0).normal(size=(N, WIDTH))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float16)


@pytest.fixture(scope="module", params=["exact", "graph"])
def index(request: pytest.FixtureRequest, vectors: NDArray[np.float16]) -> VectorIndex:
    return VectorIndex.build(vectors, exact_below=10 if request.param == "graph" else N + 1)


def query(seed: int) -> NDArray[np.float32]:
    row = np.random.default_rng(seed).normal(size=WIDTH)
    return np.asarray(row / np.linalg.norm(row), np.float32)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.05, 0.2, 0.7, 1.0])
@pytest.mark.parametrize("k", [1, 10, 100])
def test_the_best_allowed_rows(
    index: VectorIndex, vectors: NDArray[np.float16], share: float, k: int
) -> None:
    allowed = np.random.default_rng(7).random(N) < share
    hits = wanted_hits = 0
    for seed in range(5):
        similar = vectors.astype(np.float32) @ query(seed)
        rows = np.flatnonzero(allowed)
        wanted = rows[np.argsort(-similar[rows], kind="stable")][:k].tolist()
        ids, scores = search_allowed(index, query(seed), k, allowed)
        assert len(ids) == len(wanted) == min(k, int(allowed.sum()))
        assert allowed[ids].all()
        assert scores.tolist() == pytest.approx(similar[ids].tolist(), abs=1e-3)
        assert scores.tolist() == sorted(scores.tolist(), reverse=True)
        hits += len({*ids.tolist()} & {*wanted})
        wanted_hits += len(wanted)
    assert hits >= 0.98 * wanted_hits


def test_all_rows_without_a_mask(index: VectorIndex) -> None:
    ids, scores = search_allowed(index, query(1), 10, None)
    plain = index.search(query(1), 10)
    assert ids.tolist() == plain[0][0].tolist()
    assert scores.tolist() == plain[1][0].tolist()


def test_edges_at_a_hub_are_chosen_among_those_allowed() -> None:
    head, tail = np.zeros(500, np.int32), np.arange(1, 501, dtype=np.int32)
    relation = (np.arange(500) % 50).astype(np.int32)
    csr = build_csr(head, tail, relation, 501)
    allowed = relation >= 48
    nodes = np.array([0, 3], np.int32)
    positions, owner = allowed_entries(csr, nodes, allowed, 0)
    assert relation[positions].tolist() == [48, 49] * 10
    assert owner.tolist() == [0] * 20
    positions, _ = allowed_entries(csr, nodes, allowed, 5)
    assert len(positions) == 5
    assert allowed[positions].all()
    alike = np.zeros(50, np.float32)
    alike[49] = 1.0
    positions, _ = allowed_entries(csr, nodes, allowed, 10, alike)
    assert relation[positions].tolist() == [49] * 10
    every, _ = allowed_entries(csr, nodes, np.empty(0, bool), 10, alike)
    assert relation[every].tolist() == [49] * 10
