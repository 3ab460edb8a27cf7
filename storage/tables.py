"""Tables in Parquet files: the same table always gives the same bytes, and columns are checked when read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from ytrag_core.errors import SnapshotError
from ytrag_core.storage.advice import repair_advice
from ytrag_core.storage.files import fsync_path, reading, writing

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

__all__ = ["read_table", "write_table"]

_ROW_GROUP_ROWS = 1 << 20


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table as Parquet (zstd), flushed to the disk.

    The bytes depend on the rows and column types only: not on how the table is cut into chunks, on its schema
    metadata, or on the time.

    Parameters
    ----------
    path
        The file to write; folders are made as needed.
    table
        The table.

    Raises
    ------
    SnapshotError
        If the file cannot be written.
    """
    plain = table.replace_schema_metadata(None).combine_chunks()
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with pa.OSFile(str(path), "wb") as sink:
            pq.write_table(
                plain,
                sink,
                compression="zstd",
                row_group_size=_ROW_GROUP_ROWS,
                version="2.6",
                write_page_checksum=True,
            )
        fsync_path(path)


def read_table(
    path: Path,
    columns: Sequence[str] | None = None,
    schema: pa.Schema | None = None,
    optional: Collection[str] = (),
) -> pa.Table:
    """Read a Parquet table and check its columns.

    Parameters
    ----------
    path
        A Parquet file.
    columns
        The columns to read, in this order; None for all.
    schema
        Names and types that the columns must have; with `columns`, only those among them are checked.
    optional
        Columns of `schema` that older files lack; where one is missing it is read as nulls.

    Returns
    -------
    pyarrow.Table
        The rows in the order in which they were written.

    Raises
    ------
    SnapshotError
        If the file is missing, truncated, damaged or not Parquet, or a column is missing or of another type.
    """
    try:
        with reading(path), pq.ParquetFile(str(path), page_checksum_verification=True) as file:
            found = file.schema_arrow
            absent = [name for name in optional if name not in found.names]
            wanted = None if columns is None else [name for name in columns if name not in absent]
            present = schema if schema is None else _without(schema, absent)
            _check(path, found, wanted, present)
            table = file.read(columns=wanted)
    except (pa.ArrowException, ValueError) as error:
        raise SnapshotError(
            f"{path} is truncated, damaged or not Parquet ({error}): {repair_advice(path)}"
        ) from error
    for name in absent:
        if schema is not None and (columns is None or name in columns):
            field = schema.field(name)
            table = table.append_column(field, pa.nulls(table.num_rows, field.type))
    return table if columns is None else table.select(list(columns))


def _without(schema: pa.Schema, names: Collection[str]) -> pa.Schema:
    return pa.schema([field for field in schema if field.name not in names])


def _check(path: Path, found: pa.Schema, columns: Sequence[str] | None, schema: pa.Schema | None) -> None:
    wanted = list(columns) if columns is not None else schema.names if schema is not None else []
    missing = [name for name in wanted if name not in found.names]
    if missing:
        raise SnapshotError(f"{path} has no column {missing}, only {found.names}: {repair_advice(path)}")
    for field in schema if schema is not None else []:
        if field.name in wanted and not found.field(field.name).type.equals(field.type):
            raise SnapshotError(
                f"{path}: column {field.name!r} is {found.field(field.name).type}, wanted {field.type}: "
                f"{repair_advice(path)}"
            )
