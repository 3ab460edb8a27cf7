"""A graph that someone already has: `nodes.parquet` and `edges.parquet` to node and edge tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ytrag_core.graph.dictionary import DictionaryEncoder
from ytrag_core.graph.identities import IdentityRows
from ytrag_core.graph.keys import relation_keys
from ytrag_core.graph.nodes import read_nodes, row_problems
from ytrag_core.graph.parquet import id_array, read_batches, text_array
from ytrag_core.graph.resolve import resolve_forms
from ytrag_core.graph.triples import graph_from_triples

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ytrag_core.documents.model import Problem
    from ytrag_core.graph.resolve import ResolvedForms
    from ytrag_core.graph.tables import GraphTables

__all__ = ["EdgeSource", "read_edges"]

_LOOKUP_ROWS = 1 << 20


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

    Notes
    -----
    Both files are read batch by batch. Of an edge 12 bytes stay (two node rows and a relation), of a node its
    id, its key and its display form, and eight bytes; see `graph_from_triples` for what comes after.
    """
    problems: list[Problem] = []
    nodes, ids = read_nodes(folder / "nodes.parquet", problems)
    path = folder / "edges.parquet"
    src, dst, relation, relations = _read_rows(path, ids)
    unknown = (src < 0) | (dst < 0)
    usable = ~unknown & (relation >= 0)
    problems.extend(row_problems(path, "an edge whose src or dst is null or not in nodes.parquet", unknown))
    problems.extend(row_problems(path, "an edge without a relation", ~unknown & ~usable))
    if not usable.all():
        src, dst, relation = src[usable], dst[usable], relation[usable]
    graph = graph_from_triples(
        nodes=nodes,
        n_entities=len(nodes.key),
        relations=relations,
        head=src,
        relation=relation,
        tail=dst,
        triple_chunk=None,
        mention=None,
    )
    return EdgeSource(graph, tuple(problems))


def _read_rows(
    path: Path, ids: pa.Array
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], ResolvedForms]:
    """Return src and dst rows and relation of each edge, -1 where there is none, and the relations."""
    lookup, encoder = IdentityRows(ids), DictionaryEncoder()
    rows: list[NDArray[np.int32]] = []
    src: list[pa.Array] = []
    dst: list[pa.Array] = []
    n_waiting = 0
    for batch in read_batches(path, ("src", "relation", "dst")):
        src.append(id_array(batch, "src", path))
        dst.append(id_array(batch, "dst", path))
        encoder.add(text_array(batch, "relation", path))
        n_waiting += len(batch)
        if n_waiting >= max(_LOOKUP_ROWS, len(ids)):
            rows.append(_ends(lookup, src, dst))
            src, dst, n_waiting = [], [], 0
    if src:
        rows.append(_ends(lookup, src, dst))
    encoded = encoder.finish()
    forms = encoded.distinct
    relations = resolve_forms(forms, encoded.counts(), relation_keys(forms))
    ends = np.concatenate(rows, axis=1)
    return ends[0], ends[1], relations.key_of_form[encoded.codes[0]], relations


def _ends(lookup: IdentityRows, src: list[pa.Array], dst: list[pa.Array]) -> NDArray[np.int32]:
    """Return the (2, n) rows of both ends of edges."""
    if src[0].type == dst[0].type:
        return lookup.rows(pa.chunked_array([*src, *dst])).reshape(2, -1)
    return np.stack([lookup.rows(pa.chunked_array(ids)) for ids in (src, dst)])
