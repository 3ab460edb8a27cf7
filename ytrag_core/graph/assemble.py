"""Extractions to a resolved graph."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ytrag_core.errors import GraphFormatError
from ytrag_core.graph.literals import is_literal
from ytrag_core.graph.normalise import entity_key, relation_key
from ytrag_core.graph.resolve import ResolvedForms, resolve_forms
from ytrag_core.graph.tables import (
    ATTRIBUTES,
    ENTITIES,
    RELATIONS,
    TRIPLES,
    GraphTables,
    Provenance,
    build_csr,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from ytrag_core.extraction.model import Extraction

__all__ = ["NodeColumns", "assemble_graph", "graph_from_triples", "provenance"]

_MAX_NODES = 2**31 - 1


@dataclass(slots=True)
class _Columns:
    """Extractions laid out as columns; chunks are rows of the chunks table."""

    mention: list[str] = field(default_factory=list)
    mention_type: list[str] = field(default_factory=list)
    mention_chunk: list[int] = field(default_factory=list)
    alias_of: list[tuple[str, str]] = field(default_factory=list)
    head: list[str] = field(default_factory=list)
    relation: list[str] = field(default_factory=list)
    tail: list[str] = field(default_factory=list)
    triple_chunk: list[int] = field(default_factory=list)
    value: list[bool] = field(default_factory=list)

    def add(self, extraction: Extraction, chunk: int, is_attribute: Callable[[str], bool]) -> None:
        for entity in extraction.entities:
            self.mention.append(entity.name)
            self.mention_type.append(entity.type)
            self.mention_chunk.append(chunk)
            self.alias_of.extend((entity.name, alias) for alias in entity.aliases)
        for triples, is_value in ((extraction.triples, False), (extraction.attributes, True)):
            for head, relation, tail in triples:
                self.head.append(head)
                self.relation.append(relation)
                self.tail.append(tail)
                self.triple_chunk.append(chunk)
                self.value.append(is_value or is_attribute(relation))


def assemble_graph(
    extractions: Iterable[Extraction],
    chunk_rows: Mapping[str, int],
    *,
    is_attribute: Callable[[str], bool] = lambda relation: False,
) -> GraphTables:
    """Resolve extractions into node and edge tables.

    Surface forms with one `entity_key` are one node. A node is an attribute where its key is a literal
    (date, number, quantity) or it was given as the value of an attribute, and nothing is said *about* it; all
    others are entities. Ids follow the keys in ascending order, so the result does not depend on the order in
    which extractions arrive.

    Parameters
    ----------
    extractions
        At most one per chunk.
    chunk_rows
        Chunk id -> row of the chunks table.
    is_attribute
        Whether a relation name is an attribute of the schema, so that tails are its values.

    Returns
    -------
    GraphTables

    Raises
    ------
    GraphFormatError
        An extraction names a chunk that is not in `chunk_rows`.
    """
    columns = _Columns()
    for extraction in extractions:
        row = chunk_rows.get(extraction.chunk_id)
        if row is None:
            raise GraphFormatError(
                f"an extraction names chunk {extraction.chunk_id!r}, which is not among the "
                f"{len(chunk_rows)} chunks; give the extraction of every chunk its own id"
            )
        columns.add(extraction, row, is_attribute)
    n_mentions, n_triples = len(columns.mention), len(columns.head)
    nodes = resolve_forms(pa.array(columns.mention + columns.head + columns.tail, pa.string()), entity_key)
    relations = resolve_forms(pa.array(columns.relation, pa.string()), relation_key)
    mention, head, tail = np.split(nodes.codes, [n_mentions, n_mentions + n_triples])
    kept = (head >= 0) & (tail >= 0) & (relations.codes >= 0)
    triple_chunk = np.array(columns.triple_chunk, np.int32)
    # A triple with a part that is not there is none, but its other end is named all the same.
    named = np.concatenate([mention, head[~kept], tail[~kept]])
    named_chunk = np.concatenate([np.array(columns.mention_chunk, np.int32), *[triple_chunk[~kept]] * 2])
    named, named_chunk = named[named >= 0], named_chunk[named >= 0]
    is_value = _attribute_mask(nodes, head[kept], tail[kept], np.array(columns.value, bool)[kept], named)
    order = np.argsort(is_value, kind="stable")
    node_of_key = np.empty(len(nodes.keys), np.int32)
    node_of_key[order] = np.arange(order.shape[0], dtype=np.int32)
    return graph_from_triples(
        nodes=_node_columns(nodes, order, columns, mention),
        n_entities=int((~is_value).sum()),
        relations=relations,
        head=node_of_key[head[kept]],
        relation=relations.codes[kept],
        tail=node_of_key[tail[kept]],
        triple_chunk=triple_chunk[kept],
        mention=(node_of_key[named], named_chunk),
    )


@dataclass(frozen=True, slots=True, eq=False)
class NodeColumns:
    """Columns of all nodes in id order; `external_id` is None where identity is the key."""

    key: pa.Array
    name: pa.Array
    type: pa.Array
    aliases: pa.Array
    external_id: pa.Array | None


def _attribute_mask(
    nodes: ResolvedForms,
    head: NDArray[np.int32],
    tail: NDArray[np.int32],
    value: NDArray[np.bool_],
    mention: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Return (n_keys,) True where a node is an attribute."""
    literal = np.fromiter(map(is_literal, nodes.keys), bool, len(nodes.keys))
    mask = literal.copy()
    mask[tail[value]] = True
    named = np.concatenate([tail[~value], mention])
    mask[named] &= literal[named]
    mask[head] = False
    return mask


def _node_columns(
    nodes: ResolvedForms, order: NDArray[np.int64], columns: _Columns, mention: NDArray[np.int32]
) -> NodeColumns:
    types: dict[int, Counter[str]] = {}
    for code, label in zip(mention.tolist(), columns.mention_type, strict=True):
        if label and code >= 0:
            types.setdefault(code, Counter())[label] += 1
    row_of_key = {key: row for row, key in enumerate(nodes.keys)} if columns.alias_of else {}
    stated: dict[int, set[str]] = {}
    for name, alias in columns.alias_of:
        row = row_of_key.get(entity_key(name))
        if row is not None and entity_key(alias) not in ("", nodes.keys[row]):
            stated.setdefault(row, set()).add(" ".join(alias.split()))
    rows = order.tolist()
    return NodeColumns(
        key=pa.array([nodes.keys[row] for row in rows], pa.string()),
        name=pa.array([nodes.names[row] for row in rows], pa.string()),
        type=pa.array([_most_frequent(types.get(row)) for row in rows], pa.string()),
        aliases=pa.array(
            [sorted({*nodes.aliases[row], *stated.get(row, ())}) for row in rows], pa.list_(pa.string())
        ),
        external_id=None,
    )


def _most_frequent(counter: Counter[str] | None) -> str:
    return min(counter, key=lambda label: (-counter[label], label)) if counter else ""


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
    """
    n_nodes = len(nodes.key)
    if n_nodes > _MAX_NODES:
        raise GraphFormatError(f"{n_nodes} nodes arrived, node ids hold {_MAX_NODES}: split the graph")
    unique, inverse = _unique_triples(head, relation, tail, n_nodes, len(relations.keys))
    heads, rels, tails = (np.ascontiguousarray(column[unique]) for column in (head, relation, tail))
    n_triples = heads.shape[0]
    if triple_chunk is None:
        triple_chunks = _no_chunks(n_triples)
        node_chunks = _no_chunks(n_nodes)
    else:
        triple_chunks = provenance(inverse, triple_chunk, n_triples)
        extra = mention or (np.empty(0, np.int32), np.empty(0, np.int32))
        node_chunks = provenance(
            np.concatenate([head, tail, extra[0]]),
            np.concatenate([triple_chunk, triple_chunk, extra[1]]),
            n_nodes,
        )
    out = build_csr(heads, tails, rels, n_nodes)
    into = build_csr(tails, heads, rels, n_nodes)
    degree = (np.diff(out.indptr) + np.diff(into.indptr)).astype(np.int32)
    n_mentions = np.diff(node_chunks.indptr).astype(np.int32)
    entities, attributes = _node_tables(nodes, n_entities, n_mentions, degree)
    counts = np.bincount(rels, minlength=len(relations.keys)).astype(np.int32)
    relation_table = pa.table(
        [np.arange(len(relations.keys), dtype=np.int32), relations.names, relations.keys, counts],
        schema=RELATIONS,
    )
    triples = pa.table(
        [
            np.arange(n_triples, dtype=np.int32),
            heads,
            rels,
            tails,
            np.diff(triple_chunks.indptr).astype(np.int32),
        ],
        schema=TRIPLES,
    )
    return GraphTables(
        entities,
        attributes,
        relation_table,
        triples,
        heads,
        rels,
        tails,
        out,
        into,
        triple_chunks,
        node_chunks,
    )


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


def _unique_triples(
    head: NDArray[np.int32],
    relation: NDArray[np.int32],
    tail: NDArray[np.int32],
    n_nodes: int,
    n_relations: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return positions of the distinct triples sorted by (head, tail, relation), and each input's row."""
    if not head.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    for name, ids, limit in (
        ("head", head, n_nodes),
        ("tail", tail, n_nodes),
        ("relation", relation, n_relations),
    ):
        low, high = int(ids.min()), int(ids.max())
        if low < 0 or high >= limit:
            raise GraphFormatError(f"{name} ids run from {low} to {high}; they must lie in 0..{limit - 1}")
    pair = head.astype(np.int64) * n_nodes + tail
    order = np.lexsort((relation, pair))
    sorted_pair, sorted_relation = pair[order], relation[order]
    first = np.ones(order.shape[0], bool)
    first[1:] = (sorted_pair[1:] != sorted_pair[:-1]) | (sorted_relation[1:] != sorted_relation[:-1])
    inverse = np.empty(order.shape[0], np.int64)
    inverse[order] = np.cumsum(first) - 1
    return order[first], inverse


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
    width = int(chunks.max()) + 1
    pairs = np.unique(subjects.astype(np.int64) * width + chunks)
    rows, columns = np.divmod(pairs, width)
    indptr = np.zeros(n_subjects + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n_subjects), out=indptr[1:])
    return Provenance(indptr, columns.astype(np.int32))


def _no_chunks(n_subjects: int) -> Provenance:
    return Provenance(np.zeros(n_subjects + 1, np.int64), np.empty(0, np.int32))
