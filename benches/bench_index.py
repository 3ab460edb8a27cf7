"""The vector index beside faiss, hnswlib and numpy: recall is checked before time is taken."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import faiss
import hnswlib
import numpy as np
import pytest
from race import Race

from ytrag_core.embedding.index import VectorIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pytest_benchmark.fixture import BenchmarkFixture

DIMENSION = 384
N_QUESTIONS = 200
K = 10
RECALL_SLACK = 0.02
LINKS, EFFORT, EFFORT_OF_SEARCH = 16, 100, 200
GRAPH_LIMIT = 100_000


@lru_cache(maxsize=1)
def rows_of(n: int) -> NDArray[np.float16]:
    """Unit rows whose variance falls off over the dimensions as an encoder's does."""
    rng = np.random.default_rng(0)
    spread = (1 / np.sqrt(1 + np.arange(DIMENSION) / 24)).astype(np.float32)
    halves = np.empty((n, DIMENSION), np.float16)
    for start in range(0, n, 65_536):
        block = rng.standard_normal((min(65_536, n - start), DIMENSION), dtype=np.float32) * spread
        halves[start : start + len(block)] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return halves


def questions_of(rows: NDArray[np.float16]) -> NDArray[np.float32]:
    some = rows[np.random.default_rng(1).integers(0, len(rows), N_QUESTIONS)].astype(np.float32)
    noise = np.random.default_rng(2).standard_normal(some.shape, dtype=np.float32)
    near = some + noise * np.float32(0.02)
    return np.asarray(near / np.linalg.norm(near, axis=1, keepdims=True), np.float32)


def recall(found: NDArray[Any], wanted: NDArray[Any]) -> float:
    return float(np.mean([len(np.intersect1d(f, w)) / K for f, w in zip(found, wanted, strict=True)]))


def one_by_one(search: Any, questions: NDArray[np.float32]) -> NDArray[Any]:
    """Ask one question after the other, as a server is asked."""
    return np.concatenate([search(questions[i : i + 1]) for i in range(len(questions))])


def faiss_flat(rows: NDArray[np.float16]) -> Any:
    index = faiss.IndexFlatIP(DIMENSION)
    index.add(rows.astype(np.float32))
    return index


def faiss_graph(rows: NDArray[np.float16]) -> Any:
    index = faiss.IndexHNSWFlat(DIMENSION, LINKS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction, index.hnsw.efSearch = EFFORT, EFFORT_OF_SEARCH
    index.add(rows.astype(np.float32))
    return index


def hnswlib_graph(rows: NDArray[np.float16]) -> Any:
    index: Any = hnswlib.Index(space="ip", dim=DIMENSION)
    index.init_index(max_elements=len(rows), M=LINKS, ef_construction=EFFORT)
    index.add_items(rows.astype(np.float32))
    index.set_ef(EFFORT_OF_SEARCH)
    return index


@lru_cache(maxsize=1)
def exact_race(n: int) -> Race:
    rows = rows_of(n)
    questions = questions_of(rows)
    ours, theirs = VectorIndex.build(rows, exact_below=n + 1), faiss_flat(rows)
    wide = rows.astype(np.float32)
    race = Race(f"exact nearest {K}, {N_QUESTIONS} questions one by one", n, "vectors")
    race.enter("ytrag", lambda: one_by_one(lambda q: ours.search(q, K)[0], questions))
    race.enter("faiss, flat", lambda: one_by_one(lambda q: theirs.search(q, K)[1], questions))
    race.enter(
        "numpy",
        lambda: one_by_one(lambda q: np.argpartition(-(q @ wide.T), K, axis=1)[:, :K], questions),
    )
    for peer in ("faiss, flat", "numpy"):
        assert recall(race.results["ytrag"], race.results[peer]) > 0.999
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "faiss, flat", "numpy"])
def test_exact_search(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    if n_nodes > GRAPH_LIMIT:
        pytest.skip("a million vectors are not scanned for a single question")
    exact_race(n_nodes).time(benchmark, peer)


@lru_cache(maxsize=1)
def build_race(n: int) -> Race:
    """Each builds the index that `graph_race` searches, on all cores."""
    rows = rows_of(n)
    race = Race("building a neighbour graph", n, "vectors")
    race.enter("ytrag, two-stage", lambda: VectorIndex.build(rows, exact_below=1))
    race.enter("faiss, HNSW", lambda: faiss_graph(rows))
    race.enter("hnswlib", lambda: hnswlib_graph(rows))
    return race


@pytest.mark.parametrize("peer", ["ytrag, two-stage", "faiss, HNSW", "hnswlib"])
def test_building(benchmark: BenchmarkFixture, n_nodes: int, peer: str, full: bool) -> None:
    if n_nodes > (GRAPH_LIMIT if full else GRAPH_LIMIT - 1):
        pytest.skip("takes a minute; 100,000 vectors with --full, a million not at all")
    build_race(n_nodes).time(benchmark, peer)


@lru_cache(maxsize=1)
def graph_race(n: int) -> Race:
    rows = rows_of(n)
    questions = questions_of(rows)
    built = build_race(n).results
    ours, theirs, third = built["ytrag, two-stage"], built["faiss, HNSW"], built["hnswlib"]
    wanted = faiss_flat(rows).search(questions, K)[1]
    race = Race(f"approximate nearest {K}, {N_QUESTIONS} questions one by one", n, "vectors")
    race.enter("ytrag, two-stage", lambda: one_by_one(lambda q: ours.search(q, K)[0], questions))
    race.enter("faiss, HNSW", lambda: one_by_one(lambda q: theirs.search(q, K)[1], questions))
    race.enter("hnswlib", lambda: one_by_one(lambda q: third.knn_query(q, K)[0], questions))
    race.recalls = {peer: recall(found, wanted) for peer, found in race.results.items()}
    assert race.recalls["ytrag, two-stage"] >= race.recalls["faiss, HNSW"] - RECALL_SLACK, race.recalls
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag, two-stage", "faiss, HNSW", "hnswlib"])
def test_graph_search(benchmark: BenchmarkFixture, n_nodes: int, peer: str, full: bool) -> None:
    if n_nodes > (GRAPH_LIMIT if full else GRAPH_LIMIT - 1):
        pytest.skip("takes a minute; 100,000 vectors with --full, a million not at all")
    race = graph_race(n_nodes)
    race.time(benchmark, peer, recall=race.recalls[peer])
