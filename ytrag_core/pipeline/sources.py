"""The three ways in: documents, recorded extractions, and a graph that someone already has."""

from __future__ import annotations

import hashlib
import json
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from ytrag_core.documents.chunking import chunk_document, whole_chunk
from ytrag_core.documents.model import Chunk, Document, Problem
from ytrag_core.documents.read import read_documents
from ytrag_core.errors import ConfigError, DocumentError
from ytrag_core.extraction.codec import extraction_from_json, extraction_to_json
from ytrag_core.extraction.model import Extraction
from ytrag_core.extraction.offline import EXTRACTOR_VERSION, extract_offline
from ytrag_core.extraction.recorded import read_openie
from ytrag_core.graph.assemble import assemble_graph
from ytrag_core.graph.edges import read_edges
from ytrag_core.graph.tables import CHUNKS, DOCUMENTS
from ytrag_core.pipeline.build import Content, build_snapshot
from ytrag_core.storage.meta import ChunkRow, DocumentRow, MetaStore
from ytrag_core.storage.snapshot import Snapshot, SnapshotWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from ytrag_core.config import BuildSettings
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.report import BuildReport, RunningStage, StageRecorder

__all__ = ["build_from_documents", "build_from_edges", "build_from_openie"]

_RECORDED = "recorded"
_OFFLINE = EXTRACTOR_VERSION
_BATCH = 256

T = TypeVar("T")


def build_from_documents(
    root: Path,
    paths: Sequence[Path],
    encoder: Encoder,
    settings: BuildSettings,
    recorder: StageRecorder,
) -> BuildReport:
    """Add documents to a knowledge base; unchanged ones cost nothing, changed ones are replaced.

    Raises
    ------
    DocumentError
        A path does not exist, or there is not one readable document in the whole knowledge base.
    ConfigError
        The knowledge base holds an imported graph.
    """
    problems: list[Problem] = []
    with SnapshotWriter(root) as writer:
        _refuse_other(root, writer.previous, "documents")
        with recorder.stage("read") as stage:
            documents = _counted(_documents(paths, problems), stage, recorder)
            _store(
                writer.meta,
                documents,
                f"chunks of {settings.max_tokens}",
                lambda document: chunk_document(document, encoder.tokenizer, max_tokens=settings.max_tokens),
                problems,
            )
        with recorder.stage("extract") as stage:
            stage.items = _extract_missing(writer.meta, recorder)
        content = _stored_content(writer.meta, writer.previous, paths, "documents", problems, recorder)
        return build_snapshot(writer, content, encoder, settings, recorder)


def build_from_openie(
    root: Path, folder: Path, encoder: Encoder, settings: BuildSettings, recorder: StageRecorder
) -> BuildReport:
    """Add passages with recorded triples to a knowledge base; chunk ids are the passage ids.

    Raises
    ------
    DocumentError
        The folder is not of the form that `import openie` takes, or holds no usable passage.
    ConfigError
        The knowledge base holds an imported graph.
    """
    with SnapshotWriter(root) as writer:
        _refuse_other(root, writer.previous, "documents")
        with recorder.stage("read") as stage:
            source = read_openie(folder)
            problems = list(source.problems)
            stage.items = len(source.documents)
            _store(writer.meta, source.documents, "whole", lambda document: [whole_chunk(document)], problems)
            writer.meta.put_extractions(
                _RECORDED,
                (
                    (
                        _recorded_key(document.id, document.title, document.text),
                        extraction_to_json(source.extractions.get(document.id, Extraction(document.id))),
                    )
                    for document in source.documents
                ),
            )
        content = _stored_content(writer.meta, writer.previous, [folder], "openie", problems, recorder)
        return build_snapshot(writer, content, encoder, settings, recorder)


def build_from_edges(
    root: Path,
    folder: Path,
    encoder: Encoder,
    settings: BuildSettings,
    recorder: StageRecorder,
    *,
    replace: bool = False,
) -> BuildReport:
    """Import a graph of nodes and edges.

    Raises
    ------
    GraphFormatError
        The files are not of the form that `import edges` takes.
    ConfigError
        The knowledge base holds documents, or another graph and `replace` is False.
    """
    with SnapshotWriter(root) as writer:
        _refuse_other(root, writer.previous, "edges")
        with recorder.stage("read") as stage:
            source = read_edges(folder)
            stage.items = source.graph.n_triples
            origin = {"format": "edges", "path": str(folder), "sha256": _folder_hash(folder)}
        if writer.previous is not None and not replace:
            before = _sources(writer.previous)
            if [entry.get("sha256") for entry in before] != [origin["sha256"]]:
                held = ", ".join(repr(entry.get("path")) for entry in before)
                raise ConfigError(
                    f"{root} holds another graph, from {held}; import into a new directory, "
                    "or replace it with --replace"
                )
        content = Content(
            source.graph, DOCUMENTS.empty_table(), CHUNKS.empty_table(), [origin], source.problems
        )
        return build_snapshot(writer, content, encoder, settings, recorder)


def _sources(previous: Snapshot | None) -> list[dict[str, Any]]:
    """Return where the content of the live snapshot came from."""
    entries = previous.manifest.sources if previous is not None else []
    return [entry for entry in entries if isinstance(entry, dict)]


def _refuse_other(root: Path, previous: Snapshot | None, wanted: str) -> None:
    """Refuse to mix documents with a graph whose identities are its own."""
    if previous is None:
        return
    held = "edges" if any(entry.get("format") == "edges" for entry in _sources(previous)) else "documents"
    if held != wanted:
        raise ConfigError(
            f"{root} holds {'an imported graph' if held == 'edges' else 'documents'}, and "
            f"{'documents' if wanted == 'documents' else 'a graph'} arrived; use a directory of its own"
        )


def _documents(paths: Sequence[Path], problems: list[Problem]) -> Iterator[Document]:
    seen: set[str] = set()
    for item in read_documents(paths):
        if isinstance(item, Problem):
            problems.append(item)
        elif item.id in seen:
            problems.append(Problem(item.source, f"the id {item.id!r} was already used; the first counts"))
        else:
            seen.add(item.id)
            yield item


def _sha256(*parts: str) -> str:
    digest = hashlib.sha256()
    for part in parts:
        encoded = part.encode()
        digest.update(len(encoded).to_bytes(8, "little"))
        digest.update(encoded)
    return digest.hexdigest()


def _folder_hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for name in ("nodes.parquet", "edges.parquet"):
        with (folder / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _document_row(document: Document, chunked: str) -> DocumentRow:
    metadata = json.dumps(document.metadata, ensure_ascii=False, sort_keys=True, default=str)
    return DocumentRow(
        id=document.id,
        source=document.source,
        title=document.title,
        text=document.text,
        sha256=_sha256(chunked, document.title, document.text, metadata),
        metadata=document.metadata,
        has_record_id=document.has_record_id,
    )


def _counted(
    documents: Iterable[Document], stage: RunningStage, recorder: StageRecorder
) -> Iterator[Document]:
    for document in documents:
        stage.items += 1
        recorder.progress("read", stage.items, None)
        yield document


def _store(
    meta: MetaStore,
    documents: Iterable[Document],
    chunked: str,
    chunk: Callable[[Document], Sequence[Chunk]],
    problems: list[Problem],
) -> None:
    """Store documents that are new or changed, with their chunks; one that cannot be stored is a problem."""
    known = meta.document_hashes()
    for batch in _batches(documents):
        changed = []
        for document in batch:
            row = _document_row(document, chunked)
            if known.get(row.id) != row.sha256:
                changed.append((row, [_chunk_row(*item) for item in enumerate(chunk(document))]))
        try:
            _put(meta, changed)
        except DocumentError:
            for row, passages in changed:
                try:
                    _put(meta, [(row, passages)])
                except DocumentError as error:
                    meta.delete_documents([row.id])
                    problems.append(Problem(row.source, str(error)))


def _put(meta: MetaStore, changed: Sequence[tuple[DocumentRow, Sequence[ChunkRow]]]) -> None:
    meta.put_documents(row for row, _ in changed)
    meta.put_chunks(passage for _, passages in changed for passage in passages)


def _chunk_row(position: int, chunk: Chunk) -> ChunkRow:
    return ChunkRow(
        id=chunk.id,
        document_id=chunk.document_id,
        position=position,
        title=chunk.title,
        text=chunk.text,
        start=chunk.start,
        end=chunk.end,
        sha256=_sha256(chunk.title, chunk.text, "first" if chunk.start == 0 else "later"),
    )


def _recorded_key(chunk_id: str, title: str, text: str) -> str:
    return _sha256(_RECORDED, chunk_id, title, text)


def _batches(rows: Iterable[T]) -> Iterator[list[T]]:
    iterator = iter(rows)
    while batch := list(islice(iterator, _BATCH)):
        yield batch


def _known_extractions(meta: MetaStore, batch: Sequence[ChunkRow]) -> list[Extraction | None]:
    """Return the best extraction stored for each chunk: a recorded one before one made offline."""
    recorded = meta.extractions(_RECORDED, [_recorded_key(row.id, row.title, row.text) for row in batch])
    offline = meta.extractions(_OFFLINE, [row.sha256 for row in batch])
    found: list[Extraction | None] = []
    for row in batch:
        payload = recorded.get(_recorded_key(row.id, row.title, row.text)) or offline.get(row.sha256)
        found.append(None if payload is None else extraction_from_json(row.id, payload))
    return found


def _extract_missing(meta: MetaStore, recorder: StageRecorder) -> int:
    """Extract from chunks without an extraction; each batch is kept at once. Returns how many."""
    done = n_extracted = 0
    for batch in _batches(meta.chunks()):
        missing = [
            row
            for row, extraction in zip(batch, _known_extractions(meta, batch), strict=True)
            if extraction is None
        ]
        if missing:
            extracted = [
                (
                    row.sha256,
                    extraction_to_json(
                        extract_offline(
                            Chunk(row.id, row.document_id, row.title, row.text, row.start, row.end)
                        )
                    ),
                )
                for row in missing
            ]
            meta.put_extractions(_OFFLINE, extracted)
            n_extracted += len(missing)
        done += len(batch)
        recorder.progress("extract", done, None)
    return n_extracted


def _stored_content(
    meta: MetaStore,
    previous: Snapshot | None,
    paths: Sequence[Path],
    source_format: str,
    problems: Sequence[Problem],
    recorder: StageRecorder,
) -> Content:
    """Return everything the knowledge base now holds, in canonical order."""
    with recorder.stage("graph") as stage:
        rows = sorted(meta.chunks(), key=lambda row: (row.document_id, row.position))
        if not rows:
            reasons = "".join(f"\n  {problem.source}: {problem.reason}" for problem in problems[:5])
            raise DocumentError(
                f"no text was found in {', '.join(map(str, paths))}; files of text are needed{reasons}"
            )
        documents = list(meta.documents())
        row_of_document = {document.id: position for position, document in enumerate(documents)}
        counts = np.bincount([row_of_document[row.document_id] for row in rows], minlength=len(documents))
        extractions = (
            extraction
            for batch in _batches(rows)
            for extraction in _known_extractions(meta, batch)
            if extraction is not None
        )
        graph = assemble_graph(extractions, {row.id: position for position, row in enumerate(rows)})
        stage.items = graph.n_triples
    document_table = pa.table(
        [
            [document.id for document in documents],
            [document.title for document in documents],
            [document.source for document in documents],
            counts.astype(np.int32),
            [
                json.dumps(dict(document.metadata), ensure_ascii=False, sort_keys=True)
                for document in documents
            ],
        ],
        schema=DOCUMENTS,
    )
    chunk_table = pa.table(
        [
            [row.id for row in rows],
            np.array([row_of_document[row.document_id] for row in rows], np.int32),
            [row.title for row in rows],
            [row.text for row in rows],
            np.array([row.start for row in rows], np.int32),
            np.array([row.end for row in rows], np.int32),
        ],
        schema=CHUNKS,
    )
    before = _sources(previous)
    entries = [{"format": source_format, "path": str(path)} for path in paths]
    sources = [*before, *(entry for entry in entries if entry not in before)]
    return Content(graph, document_table, chunk_table, sources, problems)
