"""Arrays and tables on disk."""

from __future__ import annotations

import os
import sys
import tracemalloc
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ytrag_core.errors import GraphFormatError, SnapshotError
from ytrag_core.storage.arrays import ArraySpec, map_arrays, write_arrays
from ytrag_core.storage.tables import read_table, write_table

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

DTYPES = [
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "float32",
    "float64",
]


def random_array(dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    return (np.random.default_rng(3).random(shape) * 100).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_comes_back_as_it_was(tmp_path: Path, dtype: str) -> None:
    arrays = {"flat": random_array(dtype, (17,)), "rows": random_array(dtype, (5, 7))}
    write_arrays(tmp_path / "deep" / "er" / "a.arrow", arrays)
    found = map_arrays(tmp_path / "deep" / "er" / "a.arrow")
    assert list(found) == ["flat", "rows"]
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0), (0, 0), (1, 1)])
def test_empty_arrays_keep_their_shape(tmp_path: Path, shape: tuple[int, ...]) -> None:
    write_arrays(
        tmp_path / "a.arrow", {"x": random_array("float16", shape), "beside": random_array("int32", (3,))}
    )
    found = map_arrays(tmp_path / "a.arrow")
    assert found["x"].shape == shape
    assert found["x"].dtype == np.float16
    assert not found["x"].flags.writeable
    np.testing.assert_array_equal(found["beside"], random_array("int32", (3,)))


def test_a_file_without_arrays(tmp_path: Path) -> None:
    write_arrays(tmp_path / "a.arrow", {})
    assert map_arrays(tmp_path / "a.arrow") == {}


@pytest.mark.parametrize("layout", ["transposed", "strided", "big-endian"])
def test_other_layouts_are_made_plain(tmp_path: Path, layout: str) -> None:
    rows = random_array("float32", (6, 4))
    array = {"transposed": rows.T, "strided": rows[::2, 1:3], "big-endian": rows.astype(">f4")}[layout]
    write_arrays(tmp_path / "a.arrow", {"x": array})
    found = map_arrays(tmp_path / "a.arrow")["x"]
    assert found.flags.c_contiguous
    assert found.dtype == np.dtype("float32")
    np.testing.assert_array_equal(found, array)


@pytest.mark.parametrize(
    "array", [np.zeros(3, dtype=bool), np.zeros((2, 2, 2), dtype=np.int32), np.array(["x"]), np.array(1.0)]
)
def test_other_kinds_are_refused(tmp_path: Path, array: NDArray[Any]) -> None:
    with pytest.raises(GraphFormatError, match=r"'x' is .-D of"):
        write_arrays(tmp_path / "a.arrow", {"x": array})
    assert not (tmp_path / "a.arrow").exists()


def test_mapped_arrays_are_read_only_and_lie_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    write_arrays(path, {"x": np.arange(1000, dtype=np.int32), "v": random_array("float16", (50, 8))})
    before = pa.total_allocated_bytes()
    found = map_arrays(path)
    assert pa.total_allocated_bytes() == before
    for array in found.values():
        assert not array.flags.writeable
        assert not array.flags.owndata
        assert array.flags.aligned
    with pytest.raises(ValueError, match="read-only"):
        found["x"][0] = 1
    offset = path.read_bytes().index(np.arange(1000, dtype=np.int32).tobytes())
    with path.open("r+b") as file:
        file.seek(offset)
        file.write((77).to_bytes(4, sys.byteorder))
    assert found["x"][0] == 77, "the array shows what the file holds now: nothing was copied"


def test_writing_copies_nothing(tmp_path: Path) -> None:
    rows = np.ones((20_000, 384), dtype=np.float16)
    arrow_peak = pa.default_memory_pool().max_memory() or 0
    tracemalloc.start()
    write_arrays(tmp_path / "a.arrow", {"rows": rows})
    numpy_peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert numpy_peak < rows.nbytes // 10
    assert (pa.default_memory_pool().max_memory() or 0) - arrow_peak < rows.nbytes // 10


SPEC_CASES = {
    "dtype": ("x", ArraySpec(np.int64), "is int32 of shape"),
    "length": ("x", ArraySpec(np.int32, length=9), r"\(10,\), wanted int32 of shape \(9\)"),
    "ndim": ("x", ArraySpec(np.int32, ndim=2), r"wanted int32 of shape \(any, any\)"),
    "width": ("v", ArraySpec(np.float16, ndim=2, width=5), r"\(3, 4\), wanted float16 of shape \(any, 5\)"),
    "missing": ("y", ArraySpec(np.int32), "has no array 'y', only \\['x', 'v'\\]"),
}


@pytest.mark.parametrize("case", SPEC_CASES)
def test_arrays_that_are_not_as_wanted(tmp_path: Path, case: str) -> None:
    name, spec, message = SPEC_CASES[case]
    path = tmp_path / "a.arrow"
    write_arrays(path, {"x": np.arange(10, dtype=np.int32), "v": np.zeros((3, 4), dtype=np.float16)})
    with pytest.raises(SnapshotError, match=message) as caught:
        map_arrays(path, {name: spec})
    assert str(path) in str(caught.value)


def test_arrays_that_are_as_wanted(tmp_path: Path) -> None:
    write_arrays(tmp_path / "a.arrow", {"v": np.zeros((3, 4), dtype=np.float16)})
    for spec in (ArraySpec("float16", ndim=2), ArraySpec(np.float16, ndim=2, length=3, width=4)):
        assert map_arrays(tmp_path / "a.arrow", {"v": spec})["v"].shape == (3, 4)


def test_array_files_cut_anywhere_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    write_arrays(path, {"x": np.arange(200, dtype=np.int64), "v": np.ones((7, 3), dtype=np.float16)})
    whole = path.read_bytes()
    for size in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:size])
        with pytest.raises(SnapshotError, match=r"a\.arrow"):
            map_arrays(path)


@pytest.mark.parametrize(
    "column", [pa.array([[1, 2]]), pa.array([[[1], [2, 3]]]), pa.array(["text"]), pa.array([1])]
)
def test_other_arrow_files_are_errors(tmp_path: Path, column: pa.Array) -> None:
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink:
        batch = pa.record_batch([column], names=["x"])
        with pa.ipc.new_file(sink, batch.schema) as writer:
            writer.write_batch(batch)
    with pytest.raises(SnapshotError, match="array 'x' is stored as"):
        map_arrays(tmp_path / "a.arrow")


def test_nulls_in_an_array_are_errors(tmp_path: Path) -> None:
    batch = pa.record_batch([pa.array([[1, None, 3]], pa.large_list(pa.int32()))], names=["x"])
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as sink, pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(SnapshotError, match="array 'x' has nulls"):
        map_arrays(tmp_path / "a.arrow")


def test_a_missing_array_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=r"none\.arrow is missing"):
        map_arrays(tmp_path / "none.arrow")


def test_an_array_file_above_four_gib_is_written_and_mapped(tmp_path: Path) -> None:
    """Lengths and offsets beyond 32 bits; the zero pages of the source take no memory."""
    if os.environ.get("YTRAG_LARGE_FILES") != "1":
        pytest.skip("writes 4.4 GB; set YTRAG_LARGE_FILES=1")
    rows = np.zeros((2_300_000_000, 1), dtype=np.int8)
    flat = np.zeros(2_200_000_000, dtype=np.int8)
    rows[-1], flat[-1] = 5, 6
    write_arrays(tmp_path / "a.arrow", {"rows": rows, "flat": flat})
    found = map_arrays(tmp_path / "a.arrow", {"rows": ArraySpec(np.int8, ndim=2, length=len(rows), width=1)})
    assert (int(found["rows"][-1, 0]), int(found["flat"][-1])) == (5, 6)


def entities(n_rows: int = 1000) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(n_rows), pa.int32()),
            "name": pa.array([f"name {row % 37}" for row in range(n_rows)], pa.large_string()),
            "aliases": pa.array(
                [[f"a{row}", None] if row % 3 else [] for row in range(n_rows)], pa.list_(pa.string())
            ),
        }
    )


def test_tables_come_back_as_they_were(tmp_path: Path) -> None:
    write_table(tmp_path / "deep" / "entities.parquet", entities())
    assert read_table(tmp_path / "deep" / "entities.parquet", schema=entities().schema).equals(entities())
    some = read_table(tmp_path / "deep" / "entities.parquet", ["name", "id"])
    assert some.column_names == ["name", "id"]
    assert pq.read_table(tmp_path / "deep" / "entities.parquet").equals(entities())


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    whole = entities()
    in_pieces = pa.concat_tables([whole.slice(0, 10), whole.slice(10, 500), whole.slice(510)])
    annotated = whole.replace_schema_metadata({"made": "just now"})
    for number, table in enumerate([whole, in_pieces, annotated]):
        write_table(tmp_path / f"{number}.parquet", table)
    assert len({(tmp_path / f"{number}.parquet").read_bytes() for number in range(3)}) == 1


def test_the_same_arrays_give_the_same_bytes(tmp_path: Path) -> None:
    for number in range(2):
        write_arrays(
            tmp_path / f"{number}", {"x": random_array("float16", (9, 4)), "y": np.arange(5, dtype=np.int64)}
        )
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()


def test_empty_tables_come_back(tmp_path: Path) -> None:
    write_table(tmp_path / "t.parquet", entities(0))
    assert read_table(tmp_path / "t.parquet").equals(entities(0))


def test_columns_that_are_not_as_wanted(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, entities())
    with pytest.raises(SnapshotError, match=r"has no column \['other'\], only"):
        read_table(path, ["id", "other"])
    with pytest.raises(SnapshotError, match=r"has no column \['other'\]"):
        read_table(path, schema=pa.schema([("id", pa.int32()), ("other", pa.int32())]))
    with pytest.raises(SnapshotError, match="column 'id' is int32, wanted int64"):
        read_table(path, schema=pa.schema([("id", pa.int64())]))
    assert read_table(path, ["name"], pa.schema([("id", pa.int64())])).num_columns == 1


def test_damaged_tables_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, entities())
    whole = path.read_bytes()
    for size in (0, 3, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(SnapshotError, match=r"t\.parquet"):
            read_table(path)
    flipped = bytearray(whole)
    flipped[200] ^= 0xFF
    path.write_bytes(flipped)
    with pytest.raises(SnapshotError, match=r"t\.parquet"):
        read_table(path)
    with pytest.raises(SnapshotError, match=r"none\.parquet is missing"):
        read_table(tmp_path / "none.parquet")
