"""The nodes of a graph that someone already has: `nodes.parquet` to node columns, ascending by id."""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ytrag_core.documents.model import Problem
from ytrag_core.errors import GraphFormatError
from ytrag_core.graph.dictionary import DictionaryEncoder, EncodedColumns
from ytrag_core.graph.keys import display_forms, entity_keys
from ytrag_core.graph.parquet import id_array, read_batches, text_array
from ytrag_core.graph.tables import string_column
from ytrag_core.graph.triples import NodeColumns

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["read_nodes", "row_problems"]

_EXAMPLES = 3


def read_nodes(path: Path, problems: list[Problem]) -> tuple[NodeColumns, pa.Array]:
    """Read nodes {id, name, type?}; of an id given twice the first by name counts.

    Parameters
    ----------
    path
        The file `nodes.parquet`.
    problems
        Takes what had to be set aside.

    Returns
    -------
    nodes
        Columns of the nodes, ascending by id.
    ids
        (n_nodes,) int64 or large strings, ascending.

    Raises
    ------
    GraphFormatError
        The file or a column is missing or of the wrong type, or no usable node is left.
    """
    ids, names, types = _read_columns(path)
    null = ids.is_null().to_numpy(zero_copy_only=False)
    problems.extend(row_problems(path, "a node without an id", null))
    order, repeated = _order(ids, names, types)
    sorted_ids = ids.take(order)
    if repeated.any():
        again = sorted_ids.filter(pa.array(repeated)).slice(0, _EXAMPLES).to_pylist()
        reason = f"{int(repeated.sum())} nodes repeat an id (such as {again}); the first by name counts"
        problems.append(Problem(str(path), reason))
        order = order[~repeated]
        sorted_ids = ids.take(order)
    if not len(order):
        raise GraphFormatError(f"{path} holds no node with an id; at least one is needed")
    external = sorted_ids.cast(pa.large_string())
    distinct, codes = _named(path, names, order, external, problems)
    no_aliases = pa.ListArray.from_arrays(np.zeros(len(order) + 1, np.int32), pa.array([], pa.string()))
    nodes = NodeColumns(
        key=string_column(entity_keys(distinct).take(codes)),
        name=string_column(display_forms(distinct).take(codes)),
        type=string_column(types.distinct.take(types.codes[0][order])),
        aliases=no_aliases,
        external_id=string_column(external),
    )
    return nodes, sorted_ids


def row_problems(path: Path, what: str, mask: NDArray[np.bool_]) -> Iterator[Problem]:
    """Yield a problem that counts and names the rows of a file which the mask marks, if it marks any."""
    rows = np.flatnonzero(mask)
    if rows.size:
        shown = ", ".join(str(row + 1) for row in rows[:_EXAMPLES].tolist())
        more = ", ..." if rows.size > _EXAMPLES else ""
        yield Problem(str(path), f"{rows.size} times {what} (rows {shown}{more}); set aside")


def _read_columns(path: Path) -> tuple[pa.Array, EncodedColumns, EncodedColumns]:
    """Return ids, names and types, empty where there are none."""
    ids, names, types = [], DictionaryEncoder(), DictionaryEncoder()
    for batch in read_batches(path, ("id", "name"), ("type",)):
        ids.append(id_array(batch, "id", path))
        names.add(text_array(batch, "name", path))
        if "type" in batch.schema.names:
            types.add(text_array(batch, "type", path))
        else:
            types.add(pa.repeat(pa.scalar("", pa.large_string()), len(batch)))
    return pa.concat_arrays(ids), names.finish(), types.finish()


def _order(
    ids: pa.Array, names: EncodedColumns, types: EncodedColumns
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return rows with an id by id, name (those without one last) and type, and which repeat one."""
    n_ids = len(ids) - ids.null_count
    order = np.arange(len(ids))
    ordered = ids
    if n_ids < len(ids) or not _ascending(ids):
        order = pc.sort_indices(ids).to_numpy()[:n_ids].astype(np.int64)
        ordered = ids.take(order)
    repeated = np.zeros(n_ids, bool)
    repeated[1:] = pc.equal(ordered.slice(1), ordered.slice(0, max(n_ids - 1, 0)))
    shared = repeated.copy()
    shared[:-1] |= repeated[1:]
    if repeated.any():
        rows = order[shared]
        table = pa.table(
            {
                "id": ordered.filter(pa.array(shared)),
                "blank": _nameless(names.distinct)[names.codes[0][rows]],
                "name": names.distinct.take(names.codes[0][rows]),
                "type": types.distinct.take(types.codes[0][rows]),
            }
        )
        keys = [(column, "ascending") for column in table.column_names]
        order[shared] = rows[pc.sort_indices(table, keys).to_numpy()]
    return order, repeated


def _ascending(ids: pa.Array) -> bool:
    return len(ids) < 2 or bool(pc.all(pc.less(ids.slice(0, len(ids) - 1), ids.slice(1))).as_py())


def _nameless(names: pa.LargeStringArray) -> NDArray[np.bool_]:
    """Return which names are nothing but white space and characters that do not show."""
    mask: NDArray[np.bool_] = pc.equal(entity_keys(names), "").to_numpy(zero_copy_only=False)
    return mask


def _named(
    path: Path,
    names: EncodedColumns,
    order: NDArray[np.int64],
    external: pa.LargeStringArray,
    problems: list[Problem],
) -> tuple[pa.LargeStringArray, NDArray[np.int64]]:
    """Return names and which of them each node has; one without a name has its id."""
    codes = names.codes[0][order].astype(np.int64)
    blank = np.flatnonzero(_nameless(names.distinct)[codes])
    if not blank.size:
        return names.distinct, codes
    problems.append(Problem(str(path), f"{blank.size} nodes have no name; their id stands in for it"))
    codes[blank] = len(names.distinct) + np.arange(blank.size)
    return pa.concat_arrays([names.distinct, external.take(blank)]), codes
