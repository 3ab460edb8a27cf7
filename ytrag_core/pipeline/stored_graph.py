"""What a snapshot holds but for its vectors and what was made of them, as the content of a build."""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from ytrag_core.errors import SnapshotError
from ytrag_core.graph.tables import (
    ATTRIBUTES,
    CHUNK_PLACES,
    CHUNKS,
    DOCUMENTS,
    ENTITIES,
    MENTIONS,
    MERGES,
    RELATIONS,
    RESTATED,
    SENSES,
    TRIPLES,
    Csr,
    GraphTables,
    Merged,
    Provenance,
    build_csr,
)
from ytrag_core.pipeline.build import Content
from ytrag_core.pipeline.records import known_sources
from ytrag_core.retrieval import layout
from ytrag_core.storage.advice import repair_advice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.storage.snapshot import Snapshot

__all__ = ["CONTENT_FILES", "MENTIONS_FILE", "TABLE_FILES", "snapshot_content"]

MENTIONS_FILE = "mentions.parquet"
_RECORDED = {"merges": MERGES, "restated": RESTATED, "senses": SENSES}
_NODES = {"entities": ENTITIES, "attributes": ATTRIBUTES, "relations": RELATIONS, "triples": TRIPLES}
_COUNTED = ("entities", "attributes", "triples", "chunks", "communities")

TABLE_FILES = tuple(f"{name}.parquet" for name in ("documents", "chunks", *_NODES, *_RECORDED))
"""The tables that everything else of a snapshot can be made of, together with either form of provenance."""

CONTENT_FILES = (layout.GRAPH, *TABLE_FILES)
"""The files that `snapshot_content` reads; the last three of them are not in every snapshot."""


def snapshot_content(snapshot: Snapshot, *, by_mentions: bool = False) -> Content:
    """Return the content of a snapshot.

    Parameters
    ----------
    snapshot
        The snapshot; the files that are read are taken for sound.
    by_mentions
        Take provenance from `mentions.parquet`, and the adjacency from the triples; else `graph.arrow` has
        both.

    Raises
    ------
    SnapshotError
        A file is missing or damaged.
    """
    tables = {
        # What Parquet calls the items of a list is not what the schema calls them.
        name: snapshot.table(name, schema.names, schema).cast(schema)
        for name, schema in _NODES.items()
    }
    triples = tables["triples"]
    head, relation, tail = (_column(triples, name) for name in ("head", "relation", "tail"))
    n_nodes = tables["entities"].num_rows + tables["attributes"].num_rows
    if by_mentions:
        _check_ids(snapshot, n_nodes, tables["relations"].num_rows, head, relation, tail)
        ids = np.arange(len(head), dtype=np.int32)
        out = Csr(_pointers(head, n_nodes), tail, relation, ids)
        into = build_csr(tail, head, relation, n_nodes)
        node_chunks, triple_chunks = _mentions(snapshot, n_nodes, len(head))
    else:
        arrays = _arrays(snapshot)
        out, into = _csr(arrays, "out"), _csr(arrays, "in")
        node_chunks, triple_chunks = _provenance(arrays, "node"), _provenance(arrays, "triple")
    graph = GraphTables(
        **tables,
        head=head,
        relation=relation,
        tail=tail,
        out=out,
        into=into,
        triple_chunks=triple_chunks,
        node_chunks=node_chunks,
        merged=_merged(snapshot),
    )
    return Content(
        graph=graph,
        documents=snapshot.table("documents", DOCUMENTS.names, DOCUMENTS),
        chunks=snapshot.table("chunks", CHUNKS.names, CHUNKS, CHUNK_PLACES),
        sources=known_sources(snapshot),
        problems=[],
        schema_version=snapshot.manifest.schema_version,
    )


def _arrays(snapshot: Snapshot) -> dict[str, NDArray[Any]]:
    counts = snapshot.manifest.counts
    n_entities, n_attributes, n_triples, n_chunks, n_communities = (counts[name] for name in _COUNTED)
    spec = layout.graph_spec(n_entities + n_attributes, n_triples, n_chunks, n_communities)
    return snapshot.arrays(layout.GRAPH, spec)


def _check_ids(snapshot: Snapshot, n_nodes: int, n_relations: int, *columns: NDArray[np.int32]) -> None:
    for ids, bound in zip(columns, (n_nodes, n_relations, n_nodes), strict=True):
        if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < bound:
            raise SnapshotError(
                f"{snapshot.path}: the triples name ids from {ids.min()} to {ids.max()}, wanted at least 0 "
                f"and below {bound}; {repair_advice(snapshot.path)}"
            )


def _pointers(rows: NDArray[np.int32], n_rows: int) -> NDArray[np.int64]:
    indptr = np.zeros(n_rows + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
    return indptr


def _mentions(snapshot: Snapshot, n_nodes: int, n_triples: int) -> tuple[Provenance, Provenance]:
    """Return the provenance of nodes and of triples, as `GraphTables.mentions` lists it."""
    table = snapshot.table("mentions", MENTIONS.names)
    is_node = pc.equal(table["subject"].cast("string"), "node").combine_chunks()
    found = []
    for mask, n_subjects in ((is_node, n_nodes), (pc.invert(is_node), n_triples)):
        part = table.filter(mask)
        ids, chunks = _column(part, "id"), _column(part, "chunk")
        found.append(Provenance(_pointers(ids, n_subjects), chunks))
    return found[0], found[1]


def _merged(snapshot: Snapshot) -> Merged | None:
    if "merges.parquet" not in snapshot.manifest.files:
        return None
    tables = (snapshot.table(name, schema.names).cast(schema) for name, schema in _RECORDED.items())
    return Merged(*tables)


def _column(table: Any, name: str) -> NDArray[Any]:
    values: NDArray[Any] = table[name].to_numpy()
    return values


def _csr(arrays: dict[str, NDArray[Any]], side: str) -> Csr:
    return Csr(*(arrays[f"{side}_{part}"] for part in ("indptr", "indices", "relation", "triple")))


def _provenance(arrays: dict[str, NDArray[Any]], subject: str) -> Provenance:
    return Provenance(arrays[f"{subject}_chunks_indptr"], arrays[f"{subject}_chunks"])
