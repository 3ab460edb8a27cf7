"""A resolved graph to a complete snapshot: vectors, tree, walk graph, indices, tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ytrag_core.embedding.index import VectorIndex
from ytrag_core.graph.tables import ENTITIES, GraphTables
from ytrag_core.pipeline.describe import community_table, describe_communities
from ytrag_core.pipeline.indices import build_indices
from ytrag_core.pipeline.report import BuildReport, StageRecorder
from ytrag_core.pipeline.text_files import write_text_columns, write_text_indices
from ytrag_core.pipeline.vectors import (
    PassageVectors,
    StringTable,
    TextEncoder,
    TextVectors,
    merged_texts,
    string_table,
    triple_sentences,
)
from ytrag_core.retrieval import layout
from ytrag_core.retrieval.walk import AliasEdges, alias_edges, reverse, walk_graph
from ytrag_core.storage.arrays import write_arrays
from ytrag_core.storage.tables import write_table
from ytrag_core.tree.build import build_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ytrag_core.config import BuildSettings
    from ytrag_core.documents.model import Problem
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.describe import Described
    from ytrag_core.pipeline.plan import ExtractionPlan
    from ytrag_core.pipeline.vector_cache import VectorCache
    from ytrag_core.storage.snapshot import SnapshotWriter
    from ytrag_core.tree.model import KnowledgeTree

__all__ = ["Content", "build_snapshot", "encoder_entry"]


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """What goes into a snapshot.

    Attributes
    ----------
    graph
        The resolved graph.
    documents, chunks
        Tables of the schemas in `ytrag_core.graph.tables`; empty for graphs without passages.
    sources
        JSON values saying where the content came from.
    problems
        What was set aside on the way here.
    schema_version
        Version of the graph schema in force, empty without one.
    """

    graph: GraphTables
    documents: pa.Table
    chunks: pa.Table
    sources: Sequence[dict[str, Any]]
    problems: Sequence[Problem]
    schema_version: str = ""

    def passages(self) -> list[str]:
        """Return the passages as they are encoded and indexed."""
        return [
            layout.passage_text(title, text)
            for title, text in zip(
                self.chunks["title"].to_pylist(), self.chunks["text"].to_pylist(), strict=True
            )
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _Vectors:
    """Everything that was encoded."""

    table: StringTable
    strings: TextVectors
    triples: TextVectors | None
    chunks: PassageVectors
    merged: TextVectors | None


def build_snapshot(
    writer: SnapshotWriter,
    content: Content,
    encoder: Encoder,
    settings: BuildSettings,
    recorder: StageRecorder,
    cache: VectorCache,
    text_encoder: TextEncoder | None = None,
    plan: ExtractionPlan | None = None,
) -> BuildReport:
    """Build, write and commit a snapshot.

    Parameters
    ----------
    writer
        The open writer.
    content
        Graph, documents and chunks.
    encoder
        The encoder of all texts.
    settings
        Sizes and thresholds.
    recorder
        Times the stages.
    cache
        The known vectors.
    text_encoder
        What encoded the names already, where that was needed to resolve them.
    plan
        Whether and how a language model names communities; without one, names that it gave before are kept.

    Returns
    -------
    BuildReport
    """
    graph = content.graph
    text_encoder = text_encoder or TextEncoder(encoder, cache)
    vectors = _encode(content, text_encoder, settings, recorder)
    passages = content.passages()
    with recorder.stage("vector index", len(vectors.table.texts)):
        index = _write_vectors(writer, vectors, settings, recorder)
    with recorder.stage("tree", graph.n_entities):
        tree, entity_vectors = _grow_tree(graph, vectors, index, settings, recorder)
        write_arrays(_path(writer, layout.ENTITY_VECTORS), {"vectors": entity_vectors})
        del entity_vectors
        _write_communities(writer, _community_vectors(tree, vectors))
    described = describe_communities(writer, tree, graph, recorder, plan)
    with recorder.stage("walk graph", graph.n_triples):
        aliases = _aliases(graph, vectors.table, index, encoder, settings, recorder)
        _write_graph(writer, graph, tree, content.chunks.num_rows, aliases)
    with recorder.stage("text index", len(passages) or graph.n_nodes):
        titles: list[str] = content.chunks["title"].to_pylist() if passages else []
        write_text_indices(writer.path, graph, passages, titles, recorder)
        write_text_columns(writer.path, content.documents, content.chunks)
    counts = {
        "documents": content.documents.num_rows,
        "chunks": content.chunks.num_rows,
        "entities": graph.n_entities,
        "attributes": graph.attributes.num_rows,
        "relations": graph.relations.num_rows,
        "triples": graph.n_triples,
        "communities": tree.n_communities,
    }
    with recorder.stage("commit", sum(counts.values())):
        _write_tables(writer, content, tree, described)
        cache.keep()
        manifest = writer.commit(
            counts=counts,
            encoder=encoder_entry(encoder),
            schema_version=content.schema_version,
            settings={**settings.model_dump(mode="json"), "sentences": vectors.triples is not None},
            sources=content.sources,
        )
        cache.drop()
    return BuildReport(
        manifest.snapshot,
        counts,
        text_encoder.n_encoded,
        text_encoder.n_reused,
        tuple(recorder.stages),
        tuple(content.problems),
        notes=described.notes,
        language_model=None if described.spent is None else {"communities": described.spent},
    )


def _path(writer: SnapshotWriter, relative: str) -> Any:
    path = writer.path / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def encoder_entry(encoder: Encoder) -> dict[str, Any]:
    """Return what the manifest says of an encoder."""
    folder = encoder.description.folder
    return {
        "name": encoder.description.name,
        "fingerprint": encoder.fingerprint,
        "dimension": encoder.dimension,
        "precision": encoder.precision,
        **({} if folder is None else {"path": str(folder)}),
    }


def _encode(
    content: Content,
    text_encoder: TextEncoder,
    settings: BuildSettings,
    recorder: StageRecorder,
) -> _Vectors:
    graph, n_passages = content.graph, content.chunks.num_rows
    table = string_table(graph)
    with recorder.stage("encode names", len(table.texts)):
        strings = text_encoder.encode(table.texts, recorder.callback("encode names"))
    triples = None
    if 0 < graph.n_triples <= settings.sentence_triples:
        with recorder.stage("encode triples", graph.n_triples):
            triples = text_encoder.encode(triple_sentences(graph), recorder.callback("encode triples"))
    with recorder.stage("encode passages", n_passages):
        titles, texts = (content.chunks[name].to_pylist() for name in ("title", "text"))
        chunks = text_encoder.encode_passages(titles, texts, recorder.callback("encode passages"))
    without_merges = merged_texts(graph, with_sentences=triples is not None)
    merged = text_encoder.encode(without_merges) if without_merges else None
    return _Vectors(table, strings, triples, chunks, merged)


def _grow_tree(
    graph: GraphTables,
    vectors: _Vectors,
    index: VectorIndex,
    settings: BuildSettings,
    recorder: StageRecorder,
) -> tuple[KnowledgeTree, NDArray[np.float16]]:
    return build_tree(
        n_entities=graph.n_entities,
        head=graph.head,
        relation=graph.relation,
        tail=graph.tail,
        n_nodes=graph.n_nodes,
        n_relations=graph.relations.num_rows,
        node_string=vectors.table.node_string,
        relation_string=vectors.table.relation_string,
        string_vectors=vectors.strings.vectors,
        entity_names=graph.entities["name"].to_pylist(),
        relation_names=graph.relations["name"].to_pylist(),
        settings=settings.tree,
        string_index=index,
        progress=recorder.callback("tree"),
    )


def _community_vectors(tree: KnowledgeTree, vectors: _Vectors) -> NDArray[np.float16]:
    """Return the unit mean of each community's keyword vectors, (n_communities, d)."""
    rows = vectors.strings.vectors[vectors.table.node_string[tree.keywords]].astype(np.float32)
    sums = np.add.reduceat(rows, tree.keywords_indptr[:-1], axis=0) if len(rows) else rows
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    unit: NDArray[np.float16] = (sums / np.maximum(norms, np.float32(1e-12))).astype(np.float16)
    return unit


def _write_vectors(
    writer: SnapshotWriter, vectors: _Vectors, settings: BuildSettings, recorder: StageRecorder
) -> VectorIndex:
    """Write the vectors of texts and their indices; return the index over strings."""
    indptr, bearers = vectors.table.bearers()
    write_arrays(
        _path(writer, layout.STRING_VECTORS),
        {
            **vectors.strings.arrays(),
            "node_string": vectors.table.node_string,
            "relation_string": vectors.table.relation_string,
            "string_nodes_indptr": indptr,
            "string_nodes": bearers,
        },
    )
    write_arrays(_path(writer, layout.CHUNK_VECTORS), vectors.chunks.arrays())
    if vectors.merged is not None:
        write_arrays(_path(writer, layout.MERGED_VECTORS), vectors.merged.arrays())
    rows = {"strings": vectors.strings.vectors, "chunks": vectors.chunks.rows.vectors}
    if vectors.triples is not None:
        write_arrays(_path(writer, layout.TRIPLE_VECTORS), vectors.triples.arrays())
        rows["triples"] = vectors.triples.vectors
    indices = build_indices(rows, recorder.callback("vector index"))
    for name, index in indices.items():
        index.save(writer.path, name)
    if len(vectors.table.texts) <= settings.alias_names:
        return indices["strings"]
    # Alias edges search it for every name, which memory is faster for; else what is mapped costs none.
    return VectorIndex.load(writer.path, "strings", vectors.strings.vectors)


def _write_communities(writer: SnapshotWriter, vectors: NDArray[np.float16]) -> None:
    write_arrays(_path(writer, layout.COMMUNITY_VECTORS), {"vectors": vectors})
    VectorIndex.build(vectors).save(writer.path, "communities")


def _aliases(
    graph: GraphTables,
    table: StringTable,
    index: VectorIndex,
    encoder: Encoder,
    settings: BuildSettings,
    recorder: StageRecorder,
) -> AliasEdges:
    if len(table.texts) > settings.alias_names or settings.alias_neighbours == 0:
        return np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.float32)
    return alias_edges(
        graph,
        table.node_string,
        index,
        similarity=encoder.description.alias_similarity,
        n_neighbours=settings.alias_neighbours,
        progress=recorder.callback("walk graph"),
    )


def _write_graph(
    writer: SnapshotWriter, graph: GraphTables, tree: KnowledgeTree, n_chunks: int, aliases: AliasEdges
) -> None:
    chunk_triples = reverse(graph.triple_chunks, n_chunks)
    arrays: dict[str, NDArray[Any]] = {
        "triple_chunks_indptr": graph.triple_chunks.indptr,
        "triple_chunks": graph.triple_chunks.chunks,
        "node_chunks_indptr": graph.node_chunks.indptr,
        "node_chunks": graph.node_chunks.chunks,
        "chunk_triples_indptr": chunk_triples.indptr,
        "chunk_triples": chunk_triples.chunks,
        "members_indptr": tree.members_indptr,
        "members": tree.members,
        "alias_source": aliases[0],
        "alias_target": aliases[1],
        "alias_similarity": aliases[2],
        **walk_graph(graph, n_chunks, aliases),
    }
    for side, csr in (("out", graph.out), ("in", graph.into)):
        arrays |= {
            f"{side}_indptr": csr.indptr,
            f"{side}_indices": csr.indices,
            f"{side}_relation": csr.relation,
            f"{side}_triple": csr.triple,
        }
    write_arrays(_path(writer, layout.GRAPH), arrays)


def _write_tables(
    writer: SnapshotWriter, content: Content, tree: KnowledgeTree, described: Described
) -> None:
    graph = content.graph
    entities = graph.entities.cast(ENTITIES).append_column("community", pa.array(tree.leaf))
    for name, table in (
        ("documents", content.documents),
        ("chunks", content.chunks),
        ("entities", entities),
        ("attributes", graph.attributes),
        ("relations", graph.relations),
        ("triples", graph.triples),
        ("communities", community_table(tree, described)),
        ("mentions", graph.mentions()),
    ):
        write_table(writer.path / f"{name}.parquet", table)
    if graph.merged is not None:
        for name in ("merges", "restated", "senses"):
            write_table(writer.path / f"{name}.parquet", getattr(graph.merged, name))
