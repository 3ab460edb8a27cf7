"""The tables of a snapshot, written as Parquet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ytrag_core.graph.tables import ENTITIES
from ytrag_core.storage.tables import write_table

if TYPE_CHECKING:
    from ytrag_core.pipeline.build import Content
    from ytrag_core.storage.snapshot import SnapshotWriter
    from ytrag_core.tree.model import KnowledgeTree

__all__ = ["COMMUNITIES", "write_tables"]

COMMUNITIES = pa.schema(
    [
        ("id", pa.int32()),
        ("level", pa.int32()),
        ("parent", pa.int32()),
        ("name", pa.string()),
        ("summary", pa.string()),
        ("centre", pa.int32()),
        ("keywords", pa.list_(pa.int32())),
        ("size", pa.int32()),
        ("is_leaf", pa.bool_()),
    ]
)


def write_tables(writer: SnapshotWriter, content: Content, tree: KnowledgeTree) -> None:
    """Write documents, chunks, nodes, triples, communities, provenance and the record of merges.

    Parameters
    ----------
    writer
        The open writer.
    content
        What goes into the snapshot.
    tree
        Its communities.
    """
    graph = content.graph
    entities = graph.entities.cast(ENTITIES).append_column("community", pa.array(tree.leaf))
    is_leaf = np.zeros(tree.n_communities, bool)
    is_leaf[tree.leaf] = True
    communities = pa.table(
        [
            np.arange(tree.n_communities, dtype=np.int32),
            tree.level,
            tree.parent,
            tree.names,
            [""] * tree.n_communities,
            tree.centre,
            pa.ListArray.from_arrays(tree.keywords_indptr.astype(np.int32), pa.array(tree.keywords)),
            tree.size,
            is_leaf,
        ],
        schema=COMMUNITIES,
    )
    for name, table in (
        ("documents", content.documents),
        ("chunks", content.chunks),
        ("entities", entities),
        ("attributes", graph.attributes),
        ("relations", graph.relations),
        ("triples", graph.triples),
        ("communities", communities),
        ("mentions", graph.mentions()),
    ):
        write_table(writer.path / f"{name}.parquet", table)
    if graph.merged is not None:
        for name in ("merges", "restated", "senses"):
            write_table(writer.path / f"{name}.parquet", getattr(graph.merged, name))
