"""Another encoder for everything that a knowledge base holds; nothing is read or extracted again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ytrag_core.errors import SnapshotError
from ytrag_core.graph.tables import (
    ATTRIBUTES,
    CHUNK_PLACES,
    CHUNKS,
    DOCUMENTS,
    ENTITIES,
    MERGES,
    RELATIONS,
    RESTATED,
    SENSES,
    TRIPLES,
    Csr,
    GraphTables,
    Merged,
    Provenance,
)
from ytrag_core.pipeline.build import Content, build_snapshot
from ytrag_core.pipeline.records import known_sources
from ytrag_core.pipeline.settings import settings_of
from ytrag_core.pipeline.vector_cache import VectorCache
from ytrag_core.retrieval import layout
from ytrag_core.storage.layout import live_name
from ytrag_core.storage.snapshot import Snapshot, SnapshotWriter

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ytrag_core.config import BuildSettings
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.report import BuildReport, StageRecorder

__all__ = ["reembed"]

_TABLES = ("documents", "chunks", "entities", "attributes", "relations", "triples")
_RECORDED = {"merges": MERGES, "restated": RESTATED, "senses": SENSES}
_COUNTED = ("entities", "attributes", "triples", "chunks", "communities")


def reembed(
    root: Path,
    encoder: Encoder,
    settings: BuildSettings | None,
    recorder: StageRecorder,
    reuse_vectors: Path | None = None,
) -> BuildReport:
    """Encode everything in a knowledge base with another encoder, and build anew what rests on vectors.

    Documents, passages, triples and their provenance are those of the live snapshot, to the byte; their
    sources need not be there any more. The old vectors stay with the old snapshot until the next build.

    Parameters
    ----------
    root
        The knowledge base's directory.
    encoder
        The encoder from now on.
    settings
        Sizes and thresholds; those of the live snapshot by default.
    recorder
        Times the stages.
    reuse_vectors
        Another knowledge base whose vectors of the new encoder may be used.

    Raises
    ------
    SnapshotError
        There is no knowledge base, or it is damaged or cannot be written.
    ConfigError
        The vectors of `reuse_vectors` are of another encoder.
    """
    live_name(root)
    with SnapshotWriter(root) as writer:
        live = writer.previous
        if live is None:
            raise SnapshotError(f"{root} has no finished snapshot to encode again: build one first")
        with recorder.stage("read") as stage:
            read = [layout.GRAPH, *(f"{name}.parquet" for name in (*_TABLES, *_RECORDED))]
            live.check_sums([path for path in read if path in live.manifest.files])
            content = _content(live)
            stage.items = content.graph.n_triples
        cache = VectorCache(writer, encoder, reuse_vectors, change_encoder=True)
        return build_snapshot(writer, content, encoder, settings or settings_of(live), recorder, cache)


def _content(snapshot: Snapshot) -> Content:
    """Return what a snapshot holds but for its vectors and what was made of them."""
    return Content(
        graph=_graph(snapshot),
        documents=snapshot.table("documents", DOCUMENTS.names, DOCUMENTS),
        chunks=snapshot.table("chunks", CHUNKS.names, CHUNKS, CHUNK_PLACES),
        sources=known_sources(snapshot),
        problems=[],
        schema_version=snapshot.manifest.schema_version,
    )


def _graph(snapshot: Snapshot) -> GraphTables:
    tables = {
        # What Parquet calls the items of a list is not what the schema calls them.
        name: snapshot.table(name, schema.names, schema).cast(schema)
        for name, schema in (
            ("entities", ENTITIES),
            ("attributes", ATTRIBUTES),
            ("relations", RELATIONS),
            ("triples", TRIPLES),
        )
    }
    counts = snapshot.manifest.counts
    n_entities, n_attributes, n_triples, n_chunks, n_communities = (counts[name] for name in _COUNTED)
    spec = layout.graph_spec(n_entities + n_attributes, n_triples, n_chunks, n_communities)
    arrays = snapshot.arrays(layout.GRAPH, spec)
    head, relation, tail = (_column(tables["triples"], name) for name in ("head", "relation", "tail"))
    return GraphTables(
        **tables,
        head=head,
        relation=relation,
        tail=tail,
        out=_csr(arrays, "out"),
        into=_csr(arrays, "in"),
        triple_chunks=Provenance(arrays["triple_chunks_indptr"], arrays["triple_chunks"]),
        node_chunks=Provenance(arrays["node_chunks_indptr"], arrays["node_chunks"]),
        merged=_merged(snapshot),
    )


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
