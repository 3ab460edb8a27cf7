"""Integer triples to node and edge tables, both CSR and provenance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ytrag_core.errors import GraphFormatError
from ytrag_core.graph.runs import first_of_run, row_pointers
from ytrag_core.graph.tables import (
    ATTRIBUTES,
    ENTITIES,
    RELATIONS,
    TRIPLES,
    Csr,
    GraphTables,
    Provenance,
    build_csr,
    string_column,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.graph.resolve import ResolvedForms

__all__ = ["NodeColumns", "graph_from_triples", "provenance"]

_MOST_IDS = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class NodeColumns:
    """Columns of all nodes in id order, as strings; `external_id` is None where identity is the key."""

    key: pa.Array | pa.ChunkedArray
    name: pa.Array | pa.ChunkedArray
    type: pa.Array | pa.ChunkedArray
    aliases: pa.ListArray
    external_id: pa.Array | pa.ChunkedArray | None


def graph_from_triples(
    *,
    nodes: NodeColumns,
    n_entities: int,
    relations: ResolvedForms,
    head: NDArray[np.int32],
    relation: NDArray[np.int32],
    tail: NDArray[np.int32],
    triple_chunk: NDArray[np.int32] | None,
    mention: tuple[NDArray[np.int32], NDArray[np.int32]] | None,
) -> GraphTables:
    """Build the tables and the CSR from integer triples.

    Parameters
    ----------
    nodes
        Columns of all nodes, entities first.
    n_entities
        How many of them are entities.
    relations
        Resolved relation names.
    head, relation, tail
        (m,) int32 ids, repeats allowed: they become one triple.
    triple_chunk
        (m,) int32 chunk row of each statement, or None for graphs without passages.
    mention
        (node, chunk) int32 pairs beyond those that triples give, or None.

    Returns
    -------
    GraphTables

    Raises
    ------
    GraphFormatError
        An id is out of range, or there are more nodes or triples than int32 ids.

    Notes
    -----
    One sort of integers that pack a triple, one counting sort for the incoming side. Beside its strings the
    graph holds 40 bytes for a triple (ids, both CSR, provenance pointers; tables and the outgoing CSR share
    the columns) and 40 for a node. Sorting takes 17 more for a statement, 40 with provenance.
    """
    n_nodes, n_relations = len(nodes.key), len(relations.keys)
    for name, ids, limit in (
        ("head", head, n_nodes),
        ("tail", tail, n_nodes),
        ("relation", relation, n_relations),
    ):
        _check_ids(name, ids, limit)
    heads, rels, tails, inverse = _distinct_triples(
        head, relation, tail, n_nodes, n_relations, with_inverse=triple_chunk is not None
    )
    n_triples = heads.shape[0]
    for kind, count in (("nodes", n_nodes), ("triples", n_triples)):
        if count > _MOST_IDS:
            raise GraphFormatError(f"{count} {kind} arrived, int32 ids hold {_MOST_IDS}: split the graph")
    if triple_chunk is None or inverse is None:
        triple_chunks, node_chunks = _no_chunks(n_triples), _no_chunks(n_nodes)
    else:
        triple_chunks = provenance(inverse, triple_chunk, n_triples)
        extra = mention or (np.empty(0, np.int32), np.empty(0, np.int32))
        node_chunks = provenance(
            np.concatenate([head, tail, extra[0]]),
            np.concatenate([triple_chunk, triple_chunk, extra[1]]),
            n_nodes,
        )
    ids = np.arange(n_triples, dtype=np.int32)
    out = Csr(row_pointers(heads, n_nodes), tails, rels, ids)
    into = build_csr(tails, heads, rels, n_nodes)
    degree = (np.diff(out.indptr) + np.diff(into.indptr)).astype(np.int32)
    entities, attributes = _node_tables(
        nodes, n_entities, np.diff(node_chunks.indptr).astype(np.int32), degree
    )
    n_chunks = np.diff(triple_chunks.indptr).astype(np.int32)
    triples = pa.table([ids, heads, rels, tails, n_chunks], schema=TRIPLES)
    return GraphTables(
        entities,
        attributes,
        _relation_table(relations, rels),
        triples,
        heads,
        rels,
        tails,
        out,
        into,
        triple_chunks,
        node_chunks,
    )


def _check_ids(name: str, ids: NDArray[np.int32], limit: int) -> None:
    if ids.size:
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= limit:
            raise GraphFormatError(f"{name} ids run from {low} to {high}; they must lie in 0..{limit - 1}")


def _relation_table(relations: ResolvedForms, rels: NDArray[np.int32]) -> pa.Table:
    n_relations = len(relations.keys)
    counts = np.bincount(rels, minlength=n_relations).astype(np.int32)
    names, keys = string_column(relations.names), string_column(relations.keys)
    return pa.table([np.arange(n_relations, dtype=np.int32), names, keys, counts], schema=RELATIONS)


def _node_tables(
    nodes: NodeColumns, n_entities: int, n_mentions: NDArray[np.int32], degree: NDArray[np.int32]
) -> tuple[pa.Table, pa.Table]:
    ids = np.arange(len(nodes.key), dtype=np.int32)
    external = nodes.external_id if nodes.external_id is not None else pa.nulls(len(ids), pa.string())
    head, rest = slice(0, n_entities), slice(n_entities, None)
    entities = pa.table(
        [
            ids[head],
            nodes.name[head],
            nodes.key[head],
            nodes.type[head],
            nodes.aliases[head],
            external[head],
            n_mentions[head],
            degree[head],
        ],
        schema=ENTITIES,
    )
    attributes = pa.table(
        [ids[rest], nodes.name[rest], nodes.key[rest], nodes.aliases[rest], n_mentions[rest], degree[rest]],
        schema=ATTRIBUTES,
    )
    return entities, attributes


def _distinct_triples(
    head: NDArray[np.int32],
    relation: NDArray[np.int32],
    tail: NDArray[np.int32],
    n_nodes: int,
    n_relations: int,
    *,
    with_inverse: bool,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64] | None]:
    """Return the distinct triples sorted by (head, tail, relation), and each input's row among them."""
    node_bits, relation_bits = max(n_nodes - 1, 0).bit_length(), max(n_relations - 1, 0).bit_length()
    if 2 * node_bits + relation_bits > 63:
        return _distinct_wide_triples(head, relation, tail, n_nodes)
    packed = head.astype(np.int64)
    for column, bits in ((tail, node_bits), (relation, relation_bits)):
        packed <<= bits
        packed |= column
    inverse = None
    if with_inverse:
        packed, inverse = _sorted_with_inverse(packed, np.argsort(packed))
    else:
        packed.sort()
        packed = packed[first_of_run(packed)]
    rels = (packed & ((1 << relation_bits) - 1)).astype(np.int32)
    packed >>= relation_bits
    tails = (packed & ((1 << node_bits) - 1)).astype(np.int32)
    packed >>= node_bits
    return packed.astype(np.int32), rels, tails, inverse


def _distinct_wide_triples(
    head: NDArray[np.int32], relation: NDArray[np.int32], tail: NDArray[np.int32], n_nodes: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Do the same where the ids of a triple do not fit 63 bits."""
    pair = head.astype(np.int64) * n_nodes + tail
    order = np.lexsort((relation, pair))
    first = first_of_run(pair[order]) | first_of_run(relation[order])
    inverse = np.empty(order.shape[0], np.int64)
    inverse[order] = np.cumsum(first) - 1
    rows = order[first]
    return head[rows], relation[rows], tail[rows], inverse


def _sorted_with_inverse(
    values: NDArray[np.int64], order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    ordered = values[order]
    first = first_of_run(ordered)
    inverse = np.empty(order.shape[0], np.int64)
    inverse[order] = np.cumsum(first) - 1
    return ordered[first], inverse


def provenance(
    subjects: NDArray[np.int32] | NDArray[np.int64], chunks: NDArray[np.int32], n_subjects: int
) -> Provenance:
    """Return the distinct (subject, chunk) pairs as CSR.

    Parameters
    ----------
    subjects, chunks
        (m,) ids of equal length, repeats allowed.
    n_subjects
        Number of rows.
    """
    if not subjects.size:
        return _no_chunks(n_subjects)
    bits = int(chunks.max()).bit_length()
    pairs = subjects.astype(np.int64)
    pairs <<= bits
    pairs |= chunks
    pairs.sort()
    pairs = pairs[first_of_run(pairs)]
    columns = (pairs & ((1 << bits) - 1)).astype(np.int32)
    pairs >>= bits
    return Provenance(row_pointers(pairs, n_subjects), columns)


def _no_chunks(n_subjects: int) -> Provenance:
    return Provenance(np.zeros(n_subjects + 1, np.int64), np.empty(0, np.int32))
