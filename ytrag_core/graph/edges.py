"""A graph that someone already has: `nodes.parquet` and `edges.parquet` to node and edge tables."""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ytrag_core.documents.model import Problem
from ytrag_core.documents.text import path_name
from ytrag_core.errors import GraphFormatError
from ytrag_core.graph.assemble import NodeColumns, graph_from_triples
from ytrag_core.graph.normalise import entity_key, relation_key
from ytrag_core.graph.resolve import resolve_forms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from ytrag_core.graph.tables import GraphTables

__all__ = ["EdgeSource", "read_edges"]

_EXAMPLES = 3


@dataclass(frozen=True, slots=True, eq=False)
class EdgeSource:
    """An imported graph and what was set aside while reading it."""

    graph: GraphTables
    problems: tuple[Problem, ...]


def read_edges(folder: Path) -> EdgeSource:
    """Read a folder with `nodes.parquet` {id, name, type?} and `edges.parquet` {src, relation, dst}.

    The given ids are the identity: nodes of one name stay apart. Nodes are ordered by id, so the order of
    the rows does not matter. Rows that cannot be used (an id given twice, a null, an edge to an unknown id)
    are set aside and reported; exact repeats of an edge count once.

    Parameters
    ----------
    folder
        The folder of the two files.

    Returns
    -------
    EdgeSource

    Raises
    ------
    GraphFormatError
        A file or a column is missing or of the wrong type, or no usable node is left.
    """
    problems: list[Problem] = []
    nodes, ids = _read_nodes(folder / "nodes.parquet", problems)
    path = folder / "edges.parquet"
    table = _read_columns(path, ("src", "relation", "dst"), ())
    src, dst = (_node_rows(ids, _id_column(table[name], path, name)) for name in ("src", "dst"))
    relations = resolve_forms(_text_column(table["relation"], path, "relation"), relation_key)
    usable = (src >= 0) & (dst >= 0) & (relations.codes >= 0)
    unknown = (src < 0) | (dst < 0)
    problems.extend(_examples(path, "an edge whose src or dst is null or not in nodes.parquet", unknown))
    problems.extend(_examples(path, "an edge without a relation", ~unknown & ~usable))
    graph = graph_from_triples(
        nodes=nodes,
        n_entities=len(nodes.key),
        relations=relations,
        head=src[usable],
        relation=relations.codes[usable],
        tail=dst[usable],
        triple_chunk=None,
        mention=None,
    )
    return EdgeSource(graph, tuple(problems))


def _read_columns(path: Path, wanted: tuple[str, ...], optional: tuple[str, ...]) -> pa.Table:
    if not path.is_file():
        raise GraphFormatError(
            f"{path} does not exist; `import edges` takes a folder with nodes.parquet {{id, name, type?}} "
            "and edges.parquet {src, relation, dst}"
        )
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            present = set(names)
            missing = [name for name in wanted if name not in present]
            if missing:
                raise GraphFormatError(
                    f"{path} has the columns {sorted(present)}; {missing} must be among them"
                )
            columns = [*wanted, *(name for name in optional if name in present)]
            repeated = [name for name in columns if names.count(name) > 1]
            if repeated:
                raise GraphFormatError(f"{path} has several columns {repeated}; one of each is needed")
            table = file.read(columns)
            table.validate(full=True)
            return table
    except UnicodeEncodeError:
        raise GraphFormatError(f"the path {path_name(path)} is not UTF-8: rename the folder") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise GraphFormatError(f"{path} is not a readable Parquet file: {error}") from error


def _id_column(column: pa.ChunkedArray, path: Path, name: str) -> pa.Array:
    """Return ids as int64 or string, nulls kept."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_integer(kind):
        try:
            return column.cast(pa.int64()).combine_chunks()
        except pa.ArrowInvalid as error:
            raise GraphFormatError(
                f"{path}: column {name!r} holds ids beyond signed 64 bits ({error}); give them as strings"
            ) from error
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return column.cast(pa.string()).combine_chunks()
    raise GraphFormatError(f"{path}: column {name!r} is of type {kind}; ids must be integers or strings")


def _text_column(column: pa.ChunkedArray, path: Path, name: str) -> pa.Array:
    try:
        return pc.fill_null(column.cast(pa.string()), "").combine_chunks()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise GraphFormatError(
            f"{path}: column {name!r} is of type {column.type}; it must hold strings"
        ) from error


def _read_nodes(path: Path, problems: list[Problem]) -> tuple[NodeColumns, pa.Array]:
    """Return node columns sorted by id, and the ids."""
    table = _read_columns(path, ("id", "name"), ("type",))
    ids = _id_column(table["id"], path, "id")
    names = _text_column(table["name"], path, "name")
    types = _text_column(table["type"], path, "type") if "type" in table.column_names else None
    null = ids.is_null().to_numpy(zero_copy_only=False)
    problems.extend(_examples(path, "a node without an id", null))
    columns = pa.table({"id": ids, "name": names, "type": types if types is not None else [""] * len(ids)})
    order = pc.sort_indices(columns, [("id", "ascending"), ("name", "ascending"), ("type", "ascending")])
    sorted_columns = columns.take(order).filter(pc.is_valid(pc.take(ids, order)))
    sorted_ids = sorted_columns["id"].combine_chunks()
    repeated = np.zeros(len(sorted_ids), bool)
    if len(sorted_ids) > 1:
        repeated[1:] = pc.equal(sorted_ids[1:], sorted_ids[:-1]).to_numpy(zero_copy_only=False)
    if repeated.any():
        again = sorted_ids.filter(pa.array(repeated)).slice(0, _EXAMPLES).to_pylist()
        problems.append(
            Problem(
                str(path), f"{int(repeated.sum())} nodes repeat an id (such as {again}); the first counts"
            )
        )
        sorted_columns = sorted_columns.filter(pa.array(~repeated))
        sorted_ids = sorted_columns["id"].combine_chunks()
    if not len(sorted_ids):
        raise GraphFormatError(f"{path} holds no node with an id; at least one is needed")
    external = sorted_ids.cast(pa.string())
    name = sorted_columns["name"].combine_chunks()
    blank = pc.equal(pc.utf8_trim_whitespace(name), "")
    n_blank = int(pc.sum(blank).as_py() or 0)
    if n_blank:
        problems.append(Problem(str(path), f"{n_blank} nodes have no name; their id stands in for it"))
        name = pc.if_else(blank, external, name)
    distinct = name.dictionary_encode()
    keys = pa.array([entity_key(text) for text in distinct.dictionary.to_pylist()], pa.string())
    displays = pa.array([" ".join(text.split()) for text in distinct.dictionary.to_pylist()], pa.string())
    n_nodes = len(name)
    aliases = pa.ListArray.from_arrays(np.zeros(n_nodes + 1, np.int32), pa.array([], pa.string()))
    return (
        NodeColumns(
            key=keys.take(distinct.indices),
            name=displays.take(distinct.indices),
            type=sorted_columns["type"].combine_chunks(),
            aliases=aliases,
            external_id=external,
        ),
        sorted_ids,
    )


def _node_rows(ids: pa.Array, wanted: pa.Array) -> NDArray[np.int32]:
    """Return the row of each wanted id, -1 where it is null or unknown."""
    if ids.type != wanted.type:
        wanted = wanted.cast(pa.string())
        ids = ids.cast(pa.string())
    rows = pc.index_in(wanted, value_set=ids, skip_nulls=True)
    filled: NDArray[np.int32] = pc.fill_null(rows, -1).to_numpy(zero_copy_only=False).astype(np.int32)
    return filled


def _examples(path: Path, what: str, mask: NDArray[np.bool_]) -> Iterator[Problem]:
    rows = np.flatnonzero(mask)
    if rows.size:
        shown = ", ".join(str(row + 1) for row in rows[:_EXAMPLES].tolist())
        more = ", ..." if rows.size > _EXAMPLES else ""
        yield Problem(str(path), f"{rows.size} times {what} (rows {shown}{more}); set aside")
