"""Search in a mapped proximity graph against hnswlib, which wrote the file, and against all vectors."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import hnswlib
import numpy as np
import pytest

from ytrag_core.embedding.mapped_graph import MappedGraph
from ytrag_core.errors import SnapshotError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

N, WIDTH = 1500, 16


@pytest.fixture(autouse=True)
def _hashes_wrap_around() -> Iterator[None]:
    """Interpreted kernels warn of what machine code does silently."""
    with np.errstate(over="ignore"):
        yield


def unit(rows: NDArray[np.float64]) -> NDArray[np.float32]:
    units: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return units


@pytest.fixture(scope="module")
def vectors() -> NDArray[np.float32]:
    return unit(np.random.default_rng(0).normal(size=(N, WIDTH)))


@pytest.fixture(scope="module")
def index(vectors: NDArray[np.float32]) -> Any:
    built: Any = hnswlib.Index(space="ip", dim=WIDTH)
    built.init_index(max_elements=N, M=4, ef_construction=60, random_seed=1)
    built.add_items(vectors, np.arange(N)[::-1], 1)
    return built


@pytest.fixture
def file(index: Any, tmp_path: Path) -> Path:
    index.save_index(str(tmp_path / "g.bin"))
    return tmp_path / "g.bin"


QUERIES = unit(np.random.default_rng(1).normal(size=(40, WIDTH)))


@pytest.mark.parametrize("width", [1, 7, 60, 400])
def test_the_same_is_found_as_by_hnswlib(index: Any, file: Path, width: int) -> None:
    index.set_ef(width)
    wanted, _ = index.knn_query(QUERIES, width, 1)
    found = MappedGraph.open(file, N, WIDTH).search_all(QUERIES, width)
    assert found is not None
    assert found.dtype == np.int32
    assert found.tolist() == np.sort(wanted.astype(np.int64), axis=1).tolist()


def test_a_beam_as_wide_as_the_graph_finds_all(file: Path) -> None:
    found = MappedGraph.open(file, N, WIDTH).search_all(QUERIES[:2], N)
    assert found is not None
    assert found.tolist() == [list(range(N))] * 2
    assert MappedGraph.open(file, N, WIDTH).search_all(QUERIES[:2], N + 1) is None


def test_threads_find_what_one_finds(file: Path) -> None:
    graph = MappedGraph.open(file, N, WIDTH)
    alone = [graph.search_all(query[None], 50) for query in QUERIES]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda query: graph.search_all(query[None], 50), QUERIES))
    for one, other in zip(alone, together, strict=True):
        assert one is not None
        assert other is not None
        assert np.array_equal(one, other)


def test_one_vector_is_a_graph_too(tmp_path: Path) -> None:
    index: Any = hnswlib.Index(space="ip", dim=2)
    index.init_index(max_elements=1, M=4)
    index.add_items(np.array([[1, 0]], np.float32))
    index.save_index(str(tmp_path / "one.bin"))
    graph = MappedGraph.open(tmp_path / "one.bin", 1, 2)
    assert graph.search_all(np.array([[0, 1]], np.float32), 1) == np.array([[0]])


def test_a_written_copy_is_the_same_file(file: Path, tmp_path: Path) -> None:
    MappedGraph.open(file, N, WIDTH).save(tmp_path / "copy.bin")
    assert (tmp_path / "copy.bin").read_bytes() == file.read_bytes()


@pytest.mark.parametrize("kept", [0, 40, 96, 5000, -4])
def test_a_file_that_is_cut_short_is_an_error(file: Path, kept: int) -> None:
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(SnapshotError, match=r"cannot be read|file ends"):
        MappedGraph.open(file, N, WIDTH).search_all(QUERIES, 3)


def test_files_of_other_vectors_are_errors(file: Path, tmp_path: Path) -> None:
    for n, width in ((N + 1, WIDTH), (N, WIDTH * 2)):
        with pytest.raises(SnapshotError, match=f"holds {N} vectors"):
            MappedGraph.open(file, n, width)
    with pytest.raises(SnapshotError, match="cannot be read"):
        MappedGraph.open(tmp_path / "none.bin", N, WIDTH)


@pytest.mark.parametrize("what", ["link", "label", "tail"])
def test_numbers_that_lead_out_of_the_graph_are_errors(file: Path, what: str) -> None:
    content = bytearray(file.read_bytes())
    words = np.frombuffer(content, np.uint32)
    header, stride = 24, int(words[6])
    stride //= 4
    nodes = words[header : header + N * stride].reshape(N, stride)
    if what == "link":
        nodes[:, 1] = N
    elif what == "label":
        nodes[:, -2] = N
    else:
        words[header + N * stride] = 2**31
    file.write_bytes(content)
    with pytest.raises(SnapshotError, match=r"leads out|label that no vector|file ends"):
        MappedGraph.open(file, N, WIDTH).search_all(QUERIES, 3)
