"""Rows that a damaged store lost, had back from the live snapshot as far as it knows them."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ytrag_core.errors import SnapshotError
from ytrag_core.extraction.codec import extraction_to_json
from ytrag_core.extraction.model import EntityMention, Extraction
from ytrag_core.extraction.offline import extract_offline
from ytrag_core.pipeline.checked import chunk_hash
from ytrag_core.pipeline.cutting import WHOLE, cut_label
from ytrag_core.pipeline.extractions import (
    OFFLINE,
    RECORDED,
    StoredExtractions,
    batches,
    chunk_of,
    content_hash,
    is_model_key,
    model_hash,
    recorded_key,
)
from ytrag_core.pipeline.records import known_sources
from ytrag_core.pipeline.settings import settings_of
from ytrag_core.pipeline.stored_graph import MENTIONS_FILE, TABLE_FILES, snapshot_content
from ytrag_core.retrieval import layout
from ytrag_core.storage.choices import Choices
from ytrag_core.storage.layout import SNAPSHOTS_NAME
from ytrag_core.storage.meta import ChunkRow, DocumentRow, MetaStore

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from ytrag_core.pipeline.build import Content
    from ytrag_core.storage.snapshot import Snapshot

__all__ = ["Restored", "restore_rows"]

_DOCUMENT_TABLES = ("documents.parquet", "chunks.parquet")


@dataclass(slots=True)
class Restored:
    """What came back, what did not, and what there is to know; in words."""

    told: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def restore_rows(path: Path, snapshot: Snapshot | None, wrong: Collection[str]) -> Restored:
    """Fill up a store with the documents, passages and extractions of the live snapshot that it lacks.

    Parameters
    ----------
    path
        The store that rows were saved into.
    snapshot
        The live snapshot; None where there is none.
    wrong
        Paths of damaged files, relative to the knowledge base's directory.

    Notes
    -----
    Between its passages a text that is put together from them has line feeds where the document had
    something else that no passage holds; then its hash is another, and the next `index` reads it anew.
    """
    restored = Restored()
    if snapshot is None or not snapshot.manifest.counts.get("documents", 0):
        return restored
    place = f"{SNAPSHOTS_NAME}/{snapshot.path.name}/"
    damaged = {name.removeprefix(place) for name in wrong if name.startswith(place)}
    with MetaStore(path, snapshot=snapshot.number - 1) as meta:
        _restore_documents(meta, snapshot, damaged, restored)
        _restore_extractions(meta, snapshot, damaged, restored)
    return restored


def _restore_documents(
    meta: MetaStore, snapshot: Snapshot, damaged: AbstractSet[str], out_restored: Restored
) -> None:
    if damaged.isdisjoint(_DOCUMENT_TABLES):
        lacking = _lacking(meta, snapshot)
        documents = [row for row, _ in lacking]
        meta.put_documents(documents)
        meta.put_chunks(chunk for _, chunks in lacking for chunk in chunks)
        if documents:
            out_restored.told.append(f"{len(documents):,} documents put together from their passages")
        known = set(snapshot.table("documents", ["id"])["id"].to_pylist())
        meta.delete_documents([key for key in meta.document_hashes() if key not in known])
        return
    n_left, n_wanted = meta.n_documents(), snapshot.manifest.counts["documents"]
    if n_left < n_wanted:
        out_restored.lost.append(
            f"{n_wanted - n_left:,} of {n_wanted:,} documents: the snapshot's tables are damaged too; index "
            "their files again"
        )


def _lacking(meta: MetaStore, snapshot: Snapshot) -> list[tuple[DocumentRow, list[ChunkRow]]]:
    """Return the documents of the snapshot that the store has not, or has with other passages."""
    stored: dict[str, list[str]] = defaultdict(list)
    for row in meta.chunks():
        fits = row.sha256 == chunk_hash(row.title, row.text, row.start)
        stored[row.document_id].append(row.id if fits else "")
    hashes = meta.document_hashes()
    found = []
    for document, chunks in _documents(snapshot):
        if document.id not in hashes or stored.get(document.id, []) != [chunk.id for chunk in chunks]:
            found.append((document, chunks))
    return found


def _documents(snapshot: Snapshot) -> Iterator[tuple[DocumentRow, list[ChunkRow]]]:
    """Yield each document of a snapshot, its text put together from its passages."""
    chunks_of: dict[int, list[dict[str, Any]]] = defaultdict(list)
    table = snapshot.table("chunks")
    for row in table.to_pylist():
        chunks_of[row["document"]].append(row)
    formats = {entry.get("format") for entry in known_sources(snapshot)}
    label = WHOLE if formats == {"openie"} else cut_label(settings_of(snapshot))
    for number, entry in enumerate(snapshot.table("documents").to_pylist()):
        rows = chunks_of[number]
        text = _joined(rows)
        metadata = entry.get("metadata") or "{}"
        names = {row["id"] for row in rows}
        document = DocumentRow(
            id=entry["id"],
            source=entry["source"],
            title=entry["title"],
            text=text,
            sha256=content_hash(label, entry["title"], text, metadata),
            metadata=json.loads(metadata),
            has_record_id=names <= {entry["id"], *(f"{entry['id']}#{at}" for at in range(len(rows)))},
        )
        yield document, [_chunk(document, at, row) for at, row in enumerate(rows)]


def _joined(rows: Sequence[Mapping[str, Any]]) -> str:
    text = ""
    for row in rows:
        text = text.ljust(row["start"], "\n")
        text += row["text"][len(text) - row["start"] :]
    return text


def _chunk(document: DocumentRow, position: int, row: Mapping[str, Any]) -> ChunkRow:
    return ChunkRow(
        id=row["id"],
        document_id=document.id,
        position=position,
        title=row["title"],
        text=row["text"],
        start=row["start"],
        end=row["end"],
        sha256=chunk_hash(row["title"], row["text"], row["start"]),
        page=row.get("page"),
        heading=row.get("heading") or "",
    )


def _restore_extractions(
    meta: MetaStore, snapshot: Snapshot, damaged: AbstractSet[str], out_restored: Restored
) -> None:
    """Give each passage without an extraction what the snapshot says that it states, or let rules read it."""
    choices = Choices(meta.database, snapshot.number).all()
    formats = {entry.get("format") for entry in known_sources(snapshot)}
    stored = StoredExtractions(meta, choices, fallback="offline")
    without = [
        row
        for batch in batches(meta.chunks())
        for row, extraction in zip(batch, stored.of(batch), strict=True)
        if extraction is None
    ]
    if not without:
        return
    was_read = {
        row.id: is_model_key(choices.get(row.document_id, OFFLINE)) or formats == {"openie"}
        for row in without
    }
    by_rules = [row for row in without if not was_read[row.id]]
    for batch in batches(by_rules):
        meta.put_extractions(
            OFFLINE, [(row.sha256, extraction_to_json(extract_offline(chunk_of(row)))) for row in batch]
        )
    if by_rules:
        out_restored.told.append(f"{len(by_rules):,} passages read by rules again")
    rest = [row for row in without if was_read[row.id]]
    if not rest:
        return
    content = _content(snapshot, damaged)
    if content is None:
        out_restored.lost.append(
            f"the extractions of {len(rest):,} passages: the snapshot's tables are damaged too; import them "
            "again, or let the language model read them again with `ytrag index`"
        )
        return
    said = _extractions(content)
    for row in rest:
        payload = extraction_to_json(said.get(row.id, Extraction(row.id)))
        extractor = choices.get(row.document_id, OFFLINE)
        if is_model_key(extractor):
            meta.put_extractions(extractor, [(model_hash(row), payload)])
        else:
            meta.put_extractions(RECORDED, [(recorded_key(row.id, row.title, row.text), payload)])
    out_restored.told.append(f"{len(rest):,} extractions made of the facts that the snapshot holds")
    out_restored.notes.append(
        f"{len(rest):,} extractions name each entity as the snapshot does, not as each passage did"
    )


def _content(snapshot: Snapshot, damaged: AbstractSet[str]) -> Content | None:
    if not damaged.isdisjoint(TABLE_FILES) or {layout.GRAPH, MENTIONS_FILE} <= set(damaged):
        return None
    try:
        return snapshot_content(snapshot, by_mentions=layout.GRAPH in damaged)
    except SnapshotError:
        return None


def _extractions(content: Content) -> dict[str, Extraction]:
    """Return what each passage states, in the names of the graph."""
    graph = content.graph
    names: list[str] = graph.node_names().to_pylist()
    types: list[str] = graph.entities["type"].to_pylist()
    relations: list[str] = graph.relations["name"].to_pylist()
    chunk_ids: list[str] = content.chunks["id"].to_pylist()
    entities: dict[int, list[EntityMention]] = defaultdict(list)
    triples: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    attributes: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    for node, chunk in _pairs(graph.node_chunks.indptr, graph.node_chunks.chunks):
        if node < graph.n_entities:
            entities[chunk].append(EntityMention(names[node], types[node]))
    for triple, chunk in _pairs(graph.triple_chunks.indptr, graph.triple_chunks.chunks):
        head, tail = int(graph.head[triple]), int(graph.tail[triple])
        into = attributes if tail >= graph.n_entities else triples
        into[chunk].append((names[head], relations[int(graph.relation[triple])], names[tail]))
    return {
        chunk_ids[row]: Extraction(
            chunk_ids[row], tuple(entities[row]), tuple(triples[row]), tuple(attributes[row])
        )
        for row in range(len(chunk_ids))
    }


def _pairs(indptr: Any, chunks: Any) -> Iterator[tuple[int, int]]:
    subjects = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    yield from zip(subjects.tolist(), chunks.tolist(), strict=True)
