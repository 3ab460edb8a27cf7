"""Columns of Parquet files that users bring, batch by batch and checked."""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ytrag_core.documents.text import path_name
from ytrag_core.errors import GraphFormatError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["id_array", "read_batches", "text_array"]

_BATCH_ROWS = 1 << 17


def read_batches(path: Path, wanted: Sequence[str], optional: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a Parquet file, a batch in memory at a time.

    Parameters
    ----------
    path
        The file.
    wanted, optional
        Names of the columns to read; those of `optional` may be missing.

    Yields
    ------
    pyarrow.RecordBatch
        First one without rows, which tells the columns and their types.

    Raises
    ------
    GraphFormatError
        The file or a column is missing, a column stands there twice, or the file is damaged.
    """
    if not path.is_file():
        raise GraphFormatError(
            f"{path} does not exist; `import edges` takes a folder with nodes.parquet {{id, name, type?}} "
            "and edges.parquet {src, relation, dst}"
        )
    try:
        with pq.ParquetFile(path) as file:
            columns = _columns(path, file.schema_arrow.names, wanted, optional)
            schema = file.schema_arrow
            yield pa.RecordBatch.from_pylist([], pa.schema([schema.field(name) for name in columns]))
            for batch in file.iter_batches(_BATCH_ROWS, columns=columns):
                batch.validate(full=True)
                yield batch.select(columns)
    except UnicodeEncodeError:
        raise GraphFormatError(f"the path {path_name(path)} is not UTF-8: rename the folder") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise GraphFormatError(f"{path} is not a readable Parquet file: {error}") from error


def _columns(path: Path, names: list[str], wanted: Sequence[str], optional: Sequence[str]) -> list[str]:
    present = set(names)
    missing = [name for name in wanted if name not in present]
    if missing:
        raise GraphFormatError(f"{path} has the columns {sorted(present)}; {missing} must be among them")
    columns = [*wanted, *(name for name in optional if name in present)]
    repeated = [name for name in columns if names.count(name) > 1]
    if repeated:
        raise GraphFormatError(f"{path} has several columns {repeated}; one of each is needed")
    return columns


def id_array(batch: pa.RecordBatch, name: str, path: Path) -> pa.Array:
    """Return a column of ids as int64 or large strings, nulls kept.

    Parameters
    ----------
    batch
        Of `read_batches`.
    name
        The column.
    path
        The file, for messages.

    Raises
    ------
    GraphFormatError
        The column holds neither integers of 64 bits nor strings.
    """
    values = _plain(batch.column(name))
    kind = values.type
    if pa.types.is_integer(kind):
        try:
            return values.cast(pa.int64())
        except pa.ArrowInvalid as error:
            raise GraphFormatError(
                f"{path}: column {name!r} holds ids beyond signed 64 bits ({error}); give them as strings"
            ) from error
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return values.cast(pa.large_string())
    raise GraphFormatError(f"{path}: column {name!r} is of type {kind}; ids must be integers or strings")


def text_array(batch: pa.RecordBatch, name: str, path: Path) -> pa.LargeStringArray:
    """Return a column of text as large strings, empty where it is null.

    Parameters
    ----------
    batch
        Of `read_batches`.
    name
        The column.
    path
        The file, for messages.

    Raises
    ------
    GraphFormatError
        The column cannot be taken for text.
    """
    values = batch.column(name)
    try:
        return pc.fill_null(_plain(values).cast(pa.large_string()), "")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise GraphFormatError(
            f"{path}: column {name!r} is of type {values.type}; it must hold strings"
        ) from error


def _plain(values: pa.Array) -> pa.Array:
    """Return a column without a dictionary of its own."""
    return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
