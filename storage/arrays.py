"""Arrays in Arrow IPC files: written without a copy, memory-mapped when read.

A file holds one row; each array is a column `large_list<T>`, or, with rows of its own,
`large_list<fixed_size_list<T, width>>`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ytrag_core.errors import GraphFormatError, SnapshotError
from ytrag_core.storage.advice import repair_advice
from ytrag_core.storage.files import fsync_path, reading, writing

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import DTypeLike, NDArray

__all__ = ["ArraySpec", "map_arrays", "read_metadata", "write_arrays"]

_TYPES: dict[str, pa.DataType] = {
    "int8": pa.int8(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint8": pa.uint8(),
    "uint16": pa.uint16(),
    "uint32": pa.uint32(),
    "uint64": pa.uint64(),
    "float16": pa.float16(),
    "float32": pa.float32(),
    "float64": pa.float64(),
}
_DTYPES = {arrow_type: np.dtype(name) for name, arrow_type in _TYPES.items()}


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """What an array on disk has to be.

    Attributes
    ----------
    dtype
        Element type.
    ndim
        1, or 2 for rows.
    length
        Number of elements or rows; None where any will do.
    width
        Number of columns of a 2-D array; None where any will do.
    """

    dtype: DTypeLike
    ndim: int = 1
    length: int | None = None
    width: int | None = None


def write_arrays(
    path: Path, arrays: Mapping[str, NDArray[Any]], metadata: Mapping[str, str] | None = None
) -> None:
    """Write named arrays into one Arrow IPC file, uncompressed and flushed to the disk.

    C-contiguous arrays are written from where they lie; others are copied once. Folders are made as needed.

    Parameters
    ----------
    path
        The file to write.
    arrays
        1-D or 2-D arrays of int8..int64, uint8..uint64 or float16..float64, each of any length.
    metadata
        Words to keep in the file's schema; see `read_metadata`.

    Raises
    ------
    GraphFormatError
        If an array has another dtype or number of dimensions.
    SnapshotError
        If the file cannot be written.
    """
    columns = [_column(name, array) for name, array in arrays.items()]
    batch = pa.RecordBatch.from_arrays(columns, names=list(arrays))
    if metadata:
        batch = batch.replace_schema_metadata(dict(metadata))
    options = pa.ipc.IpcWriteOptions(allow_64bit=True, compression=None)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with (
            pa.OSFile(str(path), "wb") as sink,
            pa.ipc.new_file(sink, batch.schema, options=options) as writer,
        ):
            writer.write_batch(batch)
        fsync_path(path)


def _column(name: str, array: NDArray[Any]) -> pa.Array:
    value_type = _TYPES.get(array.dtype.name)
    if value_type is None or array.ndim not in (1, 2):
        raise GraphFormatError(
            f"array {name!r} is {array.ndim}-D of {array.dtype}: wanted 1-D or 2-D of {', '.join(_TYPES)}"
        )
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    values = pa.Array.from_buffers(value_type, plain.size, [None, pa.py_buffer(plain)])
    if plain.ndim == 2:
        row_type = pa.list_(value_type, plain.shape[1])
        values = pa.Array.from_buffers(row_type, plain.shape[0], [None], children=[values])
    offsets = pa.py_buffer(np.array([0, plain.shape[0]], dtype=np.int64))
    return pa.Array.from_buffers(pa.large_list(values.type), 1, [None, offsets], children=[values])


def map_arrays(path: Path, spec: Mapping[str, ArraySpec] | None = None) -> dict[str, NDArray[Any]]:
    """Memory-map the arrays of a file: read-only, zero copy, nothing read before it is used.

    Parameters
    ----------
    path
        A file made by `write_arrays`.
    spec
        What arrays must be there and of which form; arrays it does not name are returned unchecked.

    Returns
    -------
    dict
        Read-only C-contiguous arrays by name.

    Raises
    ------
    SnapshotError
        If the file is missing, truncated or not of this form, or an array is not as `spec` says.
    """
    batch = _open_batch(path)
    names = batch.schema.names
    if len(set(names)) != len(names):
        raise SnapshotError(f"{path} names an array twice among {names}: {repair_advice(path)}")
    arrays = {name: _array(path, name, batch.column(idx)) for idx, name in enumerate(names)}
    for name, wanted in (spec or {}).items():
        if name not in arrays:
            raise SnapshotError(f"{path} has no array {name!r}, only {names}: {repair_advice(path)}")
        _check(path, name, arrays[name], wanted)
    return arrays


def read_metadata(path: Path) -> dict[str, str]:
    """Return the words that `write_arrays` kept in a file's schema, empty where it kept none.

    Raises
    ------
    SnapshotError
        If the file is missing, truncated or not of this form.
    """
    metadata = _open_batch(path).schema.metadata or {}
    return {
        key.decode("utf-8", "replace"): value.decode("utf-8", "replace") for key, value in metadata.items()
    }


def _open_batch(path: Path) -> pa.RecordBatch:
    try:
        with reading(path):
            reader = pa.ipc.open_file(pa.memory_map(str(path), "r"))
            if reader.num_record_batches != 1:
                raise SnapshotError(f"{path} holds {reader.num_record_batches} record batches, wanted one")
            batch = reader.get_batch(0)
            batch.validate()
    except (pa.ArrowException, ValueError) as error:
        raise SnapshotError(
            f"{path} is truncated or not an Arrow IPC file ({error}): {repair_advice(path)}"
        ) from error
    if batch.num_columns and batch.num_rows != 1:
        raise SnapshotError(f"{path} holds {batch.num_rows} rows, wanted one row of arrays")
    return batch


def _array(path: Path, name: str, column: pa.Array) -> NDArray[Any]:
    found = column.type
    item_type = found.value_type if pa.types.is_large_list(found) else pa.null()
    rows = pa.types.is_fixed_size_list(item_type)
    dtype = _DTYPES.get(item_type.value_type if rows else item_type)
    if dtype is None:
        raise SnapshotError(
            f"{path}: array {name!r} is stored as {found}, wanted a large_list of numbers or of rows"
        )
    items = column.flatten()
    values = items.flatten() if rows else items
    if column.null_count or items.null_count or values.null_count:
        raise SnapshotError(f"{path}: array {name!r} has nulls, wanted plain numbers")
    shape = (len(items), item_type.list_size) if rows else (len(items),)
    data = values.buffers()[1]
    if not len(values) or data is None:
        empty = np.empty(shape, dtype=dtype)
        empty.flags.writeable = False
        return empty
    start = values.offset * dtype.itemsize
    if data.size < start + len(values) * dtype.itemsize:
        raise SnapshotError(
            f"{path}: array {name!r} should have {len(values)} numbers, but the file ends before"
        )
    return np.frombuffer(data, dtype=dtype, count=len(values), offset=start).reshape(shape)


def _check(path: Path, name: str, array: NDArray[Any], wanted: ArraySpec) -> None:
    shape: tuple[int | None, ...] = (wanted.length,) if wanted.ndim == 1 else (wanted.length, wanted.width)
    fits = len(shape) == array.ndim and all(
        want is None or want == have for want, have in zip(shape, array.shape, strict=True)
    )
    if array.dtype == np.dtype(wanted.dtype) and fits:
        return
    sizes = ", ".join("any" if size is None else str(size) for size in shape)
    raise SnapshotError(
        f"{path}: array {name!r} is {array.dtype} of shape {array.shape}, "
        f"wanted {np.dtype(wanted.dtype)} of shape ({sizes}): {repair_advice(path)}"
    )
