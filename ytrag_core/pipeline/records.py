"""Documents, chunks and extractions into the knowledge base's store, and out of it as content."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from ytrag_core.documents.model import Chunk, Document, LongDocument, Problem
from ytrag_core.documents.text import path_name
from ytrag_core.errors import DocumentError
from ytrag_core.extraction.canonical import CanonicalTypes
from ytrag_core.extraction.codec import extraction_to_json
from ytrag_core.extraction.model import Extraction
from ytrag_core.graph.assemble import assemble_graph
from ytrag_core.graph.tables import CHUNKS, DOCUMENTS
from ytrag_core.pipeline.build import Content
from ytrag_core.pipeline.checked import chunk_hash
from ytrag_core.pipeline.extractions import RECORDED, ContentHash, batches, recorded_key
from ytrag_core.storage.long_texts import long_text, put_long_text
from ytrag_core.storage.meta import ChunkRow, DocumentRow, MetaStore
from ytrag_core.storage.meta_rows import in_batches
from ytrag_core.storage.outlines import OutlineRow, put_outlines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ytrag_core.extraction.recorded import RecordedSource
    from ytrag_core.graph.resolution import Resolver
    from ytrag_core.pipeline.extractions import StoredExtractions
    from ytrag_core.pipeline.report import StageRecorder
    from ytrag_core.schema.model import GraphSchema
    from ytrag_core.storage.snapshot import Snapshot, SnapshotWriter

__all__ = [
    "chunk_row",
    "document_entry",
    "known_sources",
    "recorded_key",
    "store_documents",
    "store_recorded",
    "stored_content",
]

_LINE = re.compile(r":\d+$")

_TABLE_ROWS = 4096

_Cut: TypeAlias = "Callable[[Document | LongDocument], Iterable[Chunk]]"
_Changed: TypeAlias = tuple[DocumentRow, Document | LongDocument]


def document_entry(document: Document | LongDocument, chunked: str) -> DocumentRow:
    """Return a document as it is stored; without its text where that is stored in pieces.

    Parameters
    ----------
    document
        The document.
    chunked
        How it is cut: another way makes another row.

    Raises
    ------
    DocumentError
        A long text cannot be read, or changed since it was found.
    """
    metadata = json.dumps(document.metadata, ensure_ascii=False, sort_keys=True, default=str)
    content = ContentHash()
    content.add(chunked)
    content.add(document.title)
    if isinstance(document, LongDocument):
        content.add_pieces(document.n_bytes, document.pieces())
    else:
        content.add(document.text)
    content.add(metadata)
    if document.headings or document.pages:
        content.add(repr((document.headings, document.pages)))
    return DocumentRow(
        id=document.id,
        source=_LINE.sub("", document.source) if document.has_record_id else document.source,
        title=document.title,
        text="" if isinstance(document, LongDocument) else document.text,
        sha256=content.hexdigest(),
        metadata=document.metadata,
        has_record_id=document.has_record_id,
    )


def store_documents(
    meta: MetaStore,
    documents: Iterable[Document | LongDocument],
    chunked: str,
    chunk: _Cut,
    problems: list[Problem],
) -> None:
    """Store documents that are new or changed, with their chunks.

    One that cannot be stored is a problem, and leaves its former version in place.
    """
    known = meta.document_hashes()
    for batch in in_batches(documents, weight=lambda document: document.n_characters):
        changed: list[_Changed] = []
        for document in batch:
            try:
                row = document_entry(document, chunked)
            except DocumentError as error:
                problems.append(Problem(document.source, str(error)))
                continue
            if known.get(row.id) != row.sha256:
                changed.append((row, document))
        put_outlines(
            meta, [outline for row, document in changed for outline in _outline(document, row.sha256)]
        )
        try:
            _put(meta, changed, chunk)
        except DocumentError:
            for row, document in changed:
                try:
                    _put(meta, [(row, document)], chunk)
                except DocumentError as error:
                    meta.restore_documents([row.id])
                    problems.append(Problem(row.source, str(error)))


def _outline(document: Document | LongDocument, sha256: str) -> list[OutlineRow]:
    if not document.headings and not document.pages:
        return []
    headings = tuple((heading.start, heading.level, heading.text) for heading in document.headings)
    return [OutlineRow(sha256, headings, document.pages)]


def _put(meta: MetaStore, changed: Sequence[_Changed], chunk: _Cut) -> None:
    """Store documents, then cut and store one after the other: passages take as much memory as the text."""
    for row, document in changed:
        if isinstance(document, LongDocument):
            put_long_text(meta.database, row.sha256, document.pieces())
    meta.put_documents(row for row, _ in changed)
    meta.put_chunks(
        passage for row, document in changed for passage in _chunk_rows(meta, row, document, chunk)
    )


def _chunk_rows(
    meta: MetaStore, row: DocumentRow, document: Document | LongDocument, chunk: _Cut
) -> Iterator[ChunkRow]:
    if isinstance(document, LongDocument):  # what is cut is what was stored, whatever became of the file
        document = replace(document, pieces=partial(long_text, meta.database, row.sha256))
    return (chunk_row(position, passage) for position, passage in enumerate(chunk(document)))


def chunk_row(position: int, chunk: Chunk) -> ChunkRow:
    """Return a passage as it is stored, at its place among those of its document."""
    return ChunkRow(
        id=chunk.id,
        document_id=chunk.document_id,
        position=position,
        title=chunk.title,
        text=chunk.text,
        start=chunk.start,
        end=chunk.end,
        sha256=chunk_hash(chunk.title, chunk.text, chunk.start),
        page=chunk.page,
        heading=chunk.heading,
    )


def store_recorded(meta: MetaStore, source: RecordedSource) -> None:
    """Store recorded extractions; a passage without one has an empty one, and is not extracted again."""
    meta.put_extractions(
        RECORDED,
        (
            (
                recorded_key(document.id, document.title, document.text),
                extraction_to_json(source.extractions.get(document.id, Extraction(document.id))),
            )
            for document in source.documents
        ),
    )


def stored_content(
    writer: SnapshotWriter,
    paths: Sequence[Path],
    source_format: str,
    problems: Sequence[Problem],
    schema: GraphSchema | None,
    recorder: StageRecorder,
    resolver: Callable[[NDArray[np.int32]], Resolver],
    stored: StoredExtractions,
) -> Content:
    """Return everything the knowledge base now holds, in canonical order."""
    meta = writer.meta
    with recorder.stage("graph") as stage:
        documents = list(meta.documents(with_text=False))
        chunk_table = _chunk_table(meta, {row.id: place for place, row in enumerate(documents)})
        if not chunk_table.num_rows:
            reasons = "".join(f"\n  {problem.source}: {problem.reason}" for problem in problems[:5])
            raise DocumentError(
                f"no text was found in {', '.join(map(str, paths))}; files of text are needed{reasons}"
            )
        document_rows = chunk_table["document"].to_numpy()
        canonical = CanonicalTypes(schema)
        extractions = (
            canonical.apply(extraction)
            for batch in batches(meta.chunks())
            for extraction in stored.of(batch)
            if extraction is not None
        )
        graph = assemble_graph(
            extractions,
            {each: place for place, each in enumerate(chunk_table["id"].to_pylist())},
            is_attribute=lambda relation: schema is not None and schema.attribute_type(relation) is not None,
            resolver=resolver(document_rows),
        )
        stage.items = graph.n_triples
    document_table = pa.table(
        [
            [document.id for document in documents],
            [document.title for document in documents],
            [document.source for document in documents],
            np.bincount(document_rows, minlength=len(documents)).astype(np.int32),
            [
                json.dumps(dict(document.metadata), ensure_ascii=False, sort_keys=True)
                for document in documents
            ],
        ],
        schema=DOCUMENTS,
    )
    metadata = document_table["metadata"].combine_chunks().take(document_rows)
    chunk_table = chunk_table.append_column(CHUNKS.field("metadata"), metadata).cast(CHUNKS)
    before = known_sources(writer.previous)
    entries = [{"format": source_format, "path": path_name(path)} for path in paths]
    sources = [*before, *(entry for entry in entries if entry not in before)]
    return Content(
        graph, document_table, chunk_table, sources, problems, schema.version if schema is not None else ""
    )


def _chunk_table(meta: MetaStore, row_of_document: Mapping[str, int]) -> pa.Table:
    """Return the passages in canonical order: all columns of `CHUNKS` but that of the metadata."""
    schema = CHUNKS.remove(CHUNKS.get_field_index("metadata"))
    tables = [
        pa.record_batch(
            [
                [row.id for row in rows],
                pa.array([row_of_document[row.document_id] for row in rows], pa.int32()),
                [row.title for row in rows],
                [row.text for row in rows],
                pa.array([row.start for row in rows], pa.int32()),
                pa.array([row.end for row in rows], pa.int32()),
                pa.array([row.page for row in rows], pa.int32()),
                [row.heading for row in rows],
            ],
            schema=schema,
        )
        for rows in batches(meta.chunks(), _TABLE_ROWS)  # in the order of documents and positions
    ]
    return pa.Table.from_batches(tables, schema).combine_chunks()


def known_sources(previous: Snapshot | None) -> list[dict[str, Any]]:
    """Return where the content of the live snapshot came from."""
    entries = previous.manifest.sources if previous is not None else []
    return [entry for entry in entries if isinstance(entry, dict)]
