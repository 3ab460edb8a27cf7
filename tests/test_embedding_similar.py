"""Similar rows of every row, by a graph in memory and by one on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ytrag_core.embedding.index import VectorIndex
from ytrag_core.embedding.similar import SimilarRows
from ytrag_core.errors import SnapshotError
from ytrag_core.storage.arrays import map_arrays, write_arrays

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def clustered(n: int, n_clusters: int, seed: int = 0) -> tuple[NDArray[np.float16], NDArray[np.int64]]:
    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, n_clusters, n)
    rows = rng.standard_normal((n_clusters, 160))[cluster] + rng.standard_normal((n, 160))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16), cluster


def on_disk(rows: NDArray[np.float16], folder: Path) -> VectorIndex:
    VectorIndex.build(rows, exact_below=1).save(folder, "v")
    return VectorIndex.load(folder, "v", rows, exact_below=1)


def test_similar_rows_are_among_the_nearest(tmp_path: Path) -> None:
    rows, cluster = clustered(4000, 40)
    everyone = np.arange(4000)
    for index in (VectorIndex.build(rows), on_disk(rows, tmp_path)):
        found = SimilarRows(index).of(everyone)
        owner, column = np.nonzero(found >= 0)
        assert (found[owner, column] != owner).all()
        assert np.bincount(owner, minlength=4000).min() >= 4
        nearest, _ = VectorIndex.build(rows).search(rows[:300].astype(np.float32), 6)
        hits = [len(set(nearest[i]) & set(found[i].tolist()) - {i}) for i in range(300)]
        assert np.mean(hits) > 4.5
        assert np.mean(cluster[owner] == cluster[found[owner, column]]) > 0.6


def test_rows_of_one_vector_form_a_ring_and_share_what_is_similar(tmp_path: Path) -> None:
    rows, _ = clustered(300, 300)
    rows[100:200] = rows[100]
    for index in (VectorIndex.build(rows), on_disk(rows, tmp_path)):
        found = SimilarRows(index).of(np.arange(300))
        ring = [set(found[i][found[i] >= 0].tolist()) & set(range(100, 200)) for i in range(100, 200)]
        assert ring == [{100 + (i + 1) % 100} for i in range(100)]
        others = found[:100]
        assert np.bincount(others[others >= 0], minlength=300)[100:200].max() <= 40


@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_few_rows(n: int) -> None:
    rows, _ = clustered(n, 3)
    found = SimilarRows(VectorIndex.build(rows)).of(np.arange(n))
    for i in range(n):
        assert set(found[i].tolist()) - {-1} == set(range(n)) - {i}


def test_an_index_on_disk_gives_what_one_in_memory_gives(tmp_path: Path) -> None:
    rows, _ = clustered(2000, 20)
    everyone = np.arange(2000)
    in_memory = SimilarRows(VectorIndex.build(rows)).of(everyone)
    assert np.array_equal(in_memory, SimilarRows(on_disk(rows, tmp_path)).of(everyone))


def test_neighbours_that_lead_out_of_the_index_are_refused(tmp_path: Path) -> None:
    rows, _ = clustered(500, 20)
    path = tmp_path / "hnsw" / "v.pca.arrow"
    on_disk(rows, tmp_path)
    arrays = {name: array.copy() for name, array in map_arrays(path).items()}
    arrays["near"][3, 0] = 500
    write_arrays(path, arrays)
    similar = SimilarRows(VectorIndex.load(tmp_path, "v", rows, exact_below=1))
    with pytest.raises(SnapshotError, match="lead out of the index: run `ytrag repair`"):
        similar.of(np.arange(500))
    write_arrays(path, arrays | {"near": arrays["near"][:, :3].copy()})
    with pytest.raises(SnapshotError, match="near is int32 of shape"):
        VectorIndex.load(tmp_path, "v", rows, exact_below=1)
    arrays.pop("near")
    write_arrays(path, arrays)
    earlier = SimilarRows(VectorIndex.load(tmp_path, "v", rows, exact_below=1))
    assert np.array_equal(earlier.of(np.arange(500)), SimilarRows(VectorIndex.build(rows)).of(np.arange(500)))
