"""How a knowledge base cuts its documents; other sizes cut all of them anew, from what is stored."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ytrag_core.documents.chunking import cut_passages
from ytrag_core.documents.model import Document, Heading, LongDocument
from ytrag_core.pipeline.records import document_entry, store_documents
from ytrag_core.pipeline.settings import settings_of
from ytrag_core.storage.long_texts import long_text, long_text_size
from ytrag_core.storage.outlines import drop_outlines, read_outline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ytrag_core.config import BuildSettings
    from ytrag_core.documents.model import Chunk, Problem
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.report import StageRecorder
    from ytrag_core.storage.meta_rows import DocumentRow
    from ytrag_core.storage.snapshot import SnapshotWriter

__all__ = ["WHOLE", "cut_label", "cutter", "recut_stored"]

WHOLE = "whole"
"""How passages are cut that someone else cut."""

_LONG_TEXT = 2_000_000


def cut_label(settings: BuildSettings) -> str:
    """Return what tells one way of cutting from another."""
    overlap = f", overlap {settings.chunk_overlap}" if settings.chunk_overlap else ""
    return f"chunks of {settings.max_tokens}{overlap}"


def cutter(
    encoder: Encoder, settings: BuildSettings, recorder: StageRecorder
) -> Callable[[Document | LongDocument], Iterator[Chunk]]:
    """Return what cuts a document by some settings, and shows how far it is with a long one."""

    def cut(document: Document | LongDocument) -> Iterator[Chunk]:
        shown = None
        if document.n_characters >= _LONG_TEXT:
            shown = recorder.callback(f"cut {document.source.rpartition('/')[2]}")
        return cut_passages(
            document,
            encoder.tokenizer,
            max_tokens=settings.max_tokens,
            overlap=settings.chunk_overlap,
            progress=shown,
        )

    return cut


def recut_stored(
    writer: SnapshotWriter,
    settings: BuildSettings,
    cut: Callable[[Document | LongDocument], Iterator[Chunk]],
    problems: list[Problem],
) -> list[str]:
    """Cut the stored documents anew where the live snapshot was cut otherwise.

    All of them, whether or not this build reads their files, so that a knowledge base has passages of one
    size. Passages that someone else cut (`import openie`) stay as they are, and so does a document of an
    earlier version of ytrag whose headings or pages are not stored.

    Parameters
    ----------
    writer
        The open writer.
    settings
        Sizes of the passages.
    cut
        Cuts a document by them.
    problems
        Takes what could not be stored.

    Returns
    -------
    list of str
        What the user should know.
    """
    if writer.previous is None or cut_label(settings) == cut_label(before := settings_of(writer.previous)):
        return []
    label, kept = cut_label(settings), 0

    def otherwise() -> Iterator[Document | LongDocument]:
        nonlocal kept
        for row in writer.meta.documents():
            document = _document(writer, row)
            if document_entry(document, cut_label(before)).sha256 == row.sha256:
                yield document
            elif row.sha256 not in {document_entry(document, way).sha256 for way in (label, WHOLE)}:
                kept += 1

    store_documents(writer.meta, otherwise(), label, cut, problems)
    drop_outlines(writer.meta)
    if not kept:
        return []
    return [
        f"{kept} documents keep their passages: an earlier version did not store their headings and pages; "
        "index their files again"
    ]


def _document(writer: SnapshotWriter, row: DocumentRow) -> Document | LongDocument:
    outline = read_outline(writer.meta, row.sha256)
    headings = () if outline is None else tuple(Heading(*heading) for heading in outline.headings)
    pages = () if outline is None else outline.pages
    database = writer.meta.database
    n_characters, n_bytes = (0, 0) if row.text else long_text_size(database, row.sha256)
    if not n_characters:
        record = row.metadata, row.has_record_id
        return Document(row.id, row.title, row.text, row.source, *record, headings, pages)
    return LongDocument(
        id=row.id,
        title=row.title,
        pieces=partial(long_text, database, row.sha256),
        n_characters=n_characters,
        n_bytes=n_bytes,
        source=row.source,
        metadata=row.metadata,
        has_record_id=row.has_record_id,
        headings=headings,
        pages=pages,
    )
