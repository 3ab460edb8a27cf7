"""The vector index: exact search against its definition, the graph against exact search, files, errors."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ytrag_core.embedding.distinct import group_rows
from ytrag_core.embedding.index import VectorIndex
from ytrag_core.errors import GraphFormatError, SnapshotError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def unit_rows(rng: np.random.Generator, n: int, d: int) -> NDArray[np.float32]:
    rows = rng.standard_normal((n, d)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def clustered(
    n: int, d: int, n_clusters: int, n_queries: int, seed: int = 0
) -> tuple[NDArray[np.float16], NDArray[np.float32]]:
    """Return rows around centres, with a spectrum that falls off as a real encoder's does, and queries."""
    rng = np.random.default_rng(seed)
    spread = (1 / np.sqrt(1 + np.arange(d) / 24)).astype(np.float32)
    centres = rng.standard_normal((n_clusters, d)).astype(np.float32) * spread
    noise = rng.standard_normal((n + n_queries, d)).astype(np.float32) * spread
    rows = centres[rng.integers(0, n_clusters, n + n_queries)] + np.float32(0.8) * noise
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows[:n].astype(np.float16), rows[n:]


def by_definition(rows: NDArray[np.float16], query: NDArray[np.float32], k: int) -> list[int]:
    scores = [sum(float(a) * float(b) for a, b in zip(row, query, strict=True)) for row in rows]
    return sorted(range(len(rows)), key=lambda row: (-scores[row], row))[:k]


def recall(found: NDArray[np.int32], wanted: NDArray[np.int32]) -> float:
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(wanted, found, strict=True)]))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_exact_search_follows_the_definition_with_ties_by_lower_id(data: st.DataObject) -> None:
    # Small whole numbers have exact products, so that ties are ties.
    n, d, k = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 5)), data.draw(st.integers(0, 14))
    numbers = st.integers(-2, 2)
    rows = np.array(data.draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n, max_size=n)))
    n_queries = data.draw(st.sampled_from([1, 2, 9]))
    queries = np.array(
        data.draw(st.lists(st.lists(numbers, min_size=d, max_size=d), min_size=n_queries, max_size=n_queries))
    ).astype(np.float32)
    halves = rows.astype(np.float16)
    ids, scores = VectorIndex.build(halves).search(queries, k)
    assert ids.shape == scores.shape == (n_queries, min(k, n))
    for query, found, found_scores in zip(queries, ids, scores, strict=True):
        assert found.tolist() == by_definition(halves, query, k)
        assert found_scores.tolist() == [float(rows[row] @ query) for row in found]


def test_scores_do_not_depend_on_what_is_asked_together() -> None:
    rng = np.random.default_rng(3)
    index = VectorIndex.build(unit_rows(rng, 3000, 96))
    queries = unit_rows(rng, 40, 96)
    together = index.search(queries, 25)
    for i, query in enumerate(queries):
        ids, scores = index.search(query, 25)
        np.testing.assert_array_equal(ids[0], together[0][i])
        np.testing.assert_array_equal(scores[0], together[1][i])


def test_exact_search_is_the_same_each_time_and_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(4)
    rows, queries = unit_rows(rng, 2000, 384), unit_rows(rng, 12, 384)
    one = VectorIndex.build(rows, n_threads=1).search(queries, 10)
    two = VectorIndex.build(rows, n_threads=2).search(queries, 10)
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


def test_identical_rows_come_in_order_of_their_ids_exactly_and_from_the_graph() -> None:
    rng = np.random.default_rng(5)
    rows = unit_rows(rng, 2000, 32).astype(np.float16)
    rows[[3, 700, 701, 1999]] = rows[42]
    query = rows[42].astype(np.float32)
    for exact_below in (10_000, 10):
        ids, scores = VectorIndex.build(rows, exact_below=exact_below, n_threads=1).search(query, 6)
        assert ids[0, :5].tolist() == [3, 42, 700, 701, 1999]
        assert len(set(scores[0, :5].tolist())) == 1
        assert scores[0, 5] < scores[0, 4]


def test_more_neighbours_than_rows_gives_all_rows() -> None:
    rows = unit_rows(np.random.default_rng(6), 30, 8)
    for exact_below in (100, 5):
        ids, _ = VectorIndex.build(rows, exact_below=exact_below).search(rows[0], 99)
        assert sorted(ids[0].tolist()) == list(range(30))


def test_an_index_of_nothing_finds_nothing() -> None:
    index = VectorIndex.build(np.zeros((0, 16), np.float16))
    ids, scores = index.search(np.ones(16, np.float32), 5)
    assert ids.shape == scores.shape == (1, 0)


@pytest.mark.parametrize("d", [24, 384])
def test_graph_finds_what_exact_search_finds(d: int) -> None:
    rows, queries = clustered(3000, d, 30, 30)
    graph = VectorIndex.build(rows, exact_below=100, n_threads=1)
    exact = VectorIndex.build(rows)
    assert exact.is_exact
    assert not graph.is_exact
    wanted, wanted_scores = exact.search(queries, 10)
    found, scores = graph.search(queries, 10)
    assert recall(found, wanted) >= 0.98
    same = found == wanted
    np.testing.assert_array_equal(scores[same], wanted_scores[same])


def test_a_graph_stays_whole_where_most_rows_are_identical() -> None:
    rows, queries = clustered(3000, 384, 24, 30)
    crowd = np.arange(1000, 2800)
    rows[crowd] = rows[np.arange(1000, 1007)][crowd % 7]
    graph = VectorIndex.build(rows, exact_below=100, n_threads=1)
    wanted, _ = VectorIndex.build(rows).search(queries, 10)
    assert recall(graph.search(queries, 10)[0], wanted) >= 0.98


def test_one_thread_builds_the_same_graph_each_time() -> None:
    rows, queries = clustered(2500, 384, 25, 20)
    first = VectorIndex.build(rows, exact_below=100, n_threads=1).search(queries, 10, n_candidates=20)
    again = VectorIndex.build(rows, exact_below=100, n_threads=1).search(queries, 10, n_candidates=20)
    np.testing.assert_array_equal(first[0], again[0])


def test_saved_and_loaded_it_answers_the_same(tmp_path: Path) -> None:
    rows, queries = clustered(2500, 384, 25, 20)
    built = VectorIndex.build(rows, exact_below=100, n_threads=1)
    built.save(tmp_path, "strings")
    assert {file.name for file in (tmp_path / "hnsw").iterdir()} == {"strings.bin", "strings.pca.arrow"}
    rows.flags.writeable = False
    loaded = VectorIndex.load(tmp_path, "strings", rows)
    np.testing.assert_array_equal(loaded.search(queries, 10)[0], built.search(queries, 10)[0])
    loaded.save(tmp_path, "again")
    again = VectorIndex.load(tmp_path, "again", rows)
    np.testing.assert_array_equal(again.search(queries, 10)[0], built.search(queries, 10)[0])


def test_an_exact_index_leaves_no_files(tmp_path: Path) -> None:
    rows = unit_rows(np.random.default_rng(7), 50, 16).astype(np.float16)
    VectorIndex.build(rows).save(tmp_path, "few")
    assert list(tmp_path.iterdir()) == []
    assert VectorIndex.load(tmp_path, "few", rows).is_exact


def test_missing_damaged_or_foreign_files_are_errors(tmp_path: Path) -> None:
    rows, queries = clustered(2000, 384, 20, 1)
    VectorIndex.build(rows, exact_below=100, n_threads=1).save(tmp_path, "v")
    with pytest.raises(SnapshotError, match="other\\.bin is missing"):
        VectorIndex.load(tmp_path, "other", rows, exact_below=100)
    with pytest.raises(SnapshotError):
        VectorIndex.load(tmp_path, "v", rows[:-1])
    graph_file = tmp_path / "hnsw" / "v.bin"
    whole = graph_file.read_bytes()
    graph_file.write_bytes(whole[: len(whole) // 2])
    truncated = VectorIndex.load(tmp_path, "v", rows)
    with pytest.raises(SnapshotError, match="cannot be read"):
        truncated.search(queries, 5)
    other, _ = clustered(1800, 384, 20, 1, seed=1)
    VectorIndex.build(other, exact_below=100, n_threads=1).save(tmp_path, "w")
    (tmp_path / "hnsw" / "w.bin").replace(graph_file)
    swapped = VectorIndex.load(tmp_path, "v", rows)
    with pytest.raises(SnapshotError, match="holds 1800 vectors"):
        swapped.warm()


def test_wrong_arrays_are_refused() -> None:
    index = VectorIndex.build(unit_rows(np.random.default_rng(8), 10, 4))
    with pytest.raises(GraphFormatError, match="wanted \\(\\.\\.\\., 4\\) float32"):
        index.search(np.ones(5, np.float32), 1)
    with pytest.raises(GraphFormatError, match="finite"):
        index.search(np.array([1, np.nan, 0, 0], np.float32), 1)
    with pytest.raises(GraphFormatError, match="k is -1"):
        index.search(np.ones(4, np.float32), -1)
    with pytest.raises(GraphFormatError, match="float64"):
        VectorIndex.build(np.ones((3, 4)))  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), min_size=1, max_size=20))
def test_groups_hold_equal_rows(rows: list[list[int]]) -> None:
    groups = group_rows(np.array(rows, np.uint16))
    parts = [
        groups.members[groups.indptr[group] : groups.indptr[group + 1]].tolist()
        for group in range(len(groups))
    ]
    wanted: dict[tuple[int, ...], list[int]] = {}
    for row, content in enumerate(rows):
        wanted.setdefault(tuple(content), []).append(row)
    assert parts == list(wanted.values())


@pytest.mark.slow
def test_recall_of_the_graph_on_many_rows() -> None:
    rows, queries = clustered(60_000, 384, 600, 100)
    progress: list[tuple[int, int]] = []
    graph = VectorIndex.build(rows, progress=lambda done, total: progress.append((done, total)))
    assert not graph.is_exact
    assert progress[-1] == (60_000, 60_000)
    wanted, _ = VectorIndex.build(rows, exact_below=100_000).search(queries, 20)
    assert recall(graph.search(queries, 20)[0], wanted) >= 0.95


def test_a_graph_that_could_not_be_written_whole_is_told(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    index = VectorIndex.build(unit_rows(np.random.default_rng(9), 2000, 64), exact_below=100)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(SnapshotError, match="could not be written whole"):
            index.save(tmp_path, "v")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
