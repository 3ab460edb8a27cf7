"""Rows of `meta.sqlite`: its tables, what a document and a chunk are there, and their values in SQLite."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ytrag_core.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

__all__ = [
    "APPLICATION_ID",
    "META_VERSION",
    "STATEMENTS",
    "UPGRADES",
    "ChunkRow",
    "DocumentRow",
    "RecordKind",
    "document_row",
    "document_values",
    "in_batches",
    "to_json",
]

_Row = TypeVar("_Row")

META_VERSION = 2
APPLICATION_ID = 0x79745247  # "ytRG"
_BATCH_ROWS = 500
_PIECE = 1 << 20
_BATCH_CHARACTERS = 16_000_000

RecordKind = Literal["schema_versions", "schema_proposals", "jobs", "settings"]
_RECORD_KINDS: tuple[RecordKind, ...] = ("schema_versions", "schema_proposals", "jobs", "settings")

STATEMENTS = (
    "CREATE TABLE documents(id TEXT NOT NULL, source TEXT NOT NULL, title TEXT NOT NULL,"
    " sha256 TEXT NOT NULL, metadata TEXT NOT NULL, has_record_id INTEGER NOT NULL,"
    " added INTEGER NOT NULL, removed INTEGER, text TEXT NOT NULL)",
    "CREATE INDEX documents_by_id ON documents(id)",
    "CREATE UNIQUE INDEX documents_once ON documents(id) WHERE removed IS NULL",
    "CREATE TABLE chunks(id TEXT NOT NULL, document_id TEXT NOT NULL, position INTEGER NOT NULL, "
    ' "start" INTEGER NOT NULL, "end" INTEGER NOT NULL, sha256 TEXT NOT NULL,'
    " added INTEGER NOT NULL, removed INTEGER, page INTEGER, heading TEXT NOT NULL DEFAULT '')",
    "CREATE INDEX chunks_by_document ON chunks(document_id, position)",
    "CREATE UNIQUE INDEX chunks_once ON chunks(id) WHERE removed IS NULL",
    "CREATE TABLE extractions(chunk_sha256 TEXT NOT NULL, extractor TEXT NOT NULL, payload TEXT NOT NULL,"
    " PRIMARY KEY(extractor, chunk_sha256)) WITHOUT ROWID",
    'CREATE TABLE replies("key" TEXT NOT NULL, model TEXT NOT NULL, payload TEXT NOT NULL,'
    ' PRIMARY KEY("key", model)) WITHOUT ROWID',
    *(f"CREATE TABLE {kind}(id TEXT PRIMARY KEY, payload TEXT NOT NULL)" for kind in _RECORD_KINDS),
)

UPGRADES = {
    1: (
        "ALTER TABLE chunks ADD COLUMN page INTEGER",
        "ALTER TABLE chunks ADD COLUMN heading TEXT NOT NULL DEFAULT ''",
    ),
}


@dataclass(frozen=True, slots=True)
class DocumentRow:
    """A document as it is stored.

    Attributes
    ----------
    id
        Identity within the knowledge base.
    source
        Where it came from.
    title
        Title; may be empty.
    text
        The whole text; empty where it is stored in pieces (`long_texts`).
    sha256
        Hash of what it was made from, by which a later build tells that it is unchanged.
    metadata
        Further JSON fields.
    has_record_id
        True when the id was given by the record itself.
    """

    id: str
    source: str
    title: str
    text: str
    sha256: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    has_record_id: bool = False


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk as it is stored: its text is a slice of its document's.

    Attributes
    ----------
    id
        Identity within the knowledge base.
    document_id
        The document that it is part of.
    position
        Place among the document's chunks, from 0.
    title
        The document's title.
    text
        The passage.
    start, end
        Offsets into the document's text, in characters, end exclusive.
    sha256
        Hash by which recorded extractions are found.
    page
        The page that it starts on, from 1; None where the document has no pages.
    heading
        The headings that it stands under, outermost first, joined by ` > `; may be empty.
    """

    id: str
    document_id: str
    position: int
    title: str
    text: str
    start: int
    end: int
    sha256: str
    page: int | None = None
    heading: str = ""


def to_json(value: Any, owner: str) -> str:
    """Return JSON of `value` that SQLite can store.

    Raises
    ------
    DocumentError
        If it has NaN, infinities or objects that JSON has not; `owner` is named in the message.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError) as error:
        raise DocumentError(f"what {owner!r} carries cannot be stored as JSON: {error}") from error
    return text if _is_unicode(text) else json.dumps(value, allow_nan=False, sort_keys=True)


def document_values(row: DocumentRow) -> tuple[str, str, str, str, str, int, str]:
    """Return the values of id, source, title, sha256, metadata, has_record_id and text, in this order.

    Raises
    ------
    DocumentError
        If its text or metadata cannot be stored.
    """
    for name, value in (("id", row.id), ("source", row.source), ("title", row.title), ("text", row.text)):
        if not _is_unicode(value):
            raise DocumentError(f"document {row.id!r}: its {name} has lone surrogates, wanted valid Unicode")
    metadata = to_json(dict(row.metadata), row.id)
    return row.id, row.source, row.title, row.sha256, metadata, int(row.has_record_id), row.text


def document_row(values: tuple[Any, ...]) -> DocumentRow:
    """Return the document of a row with the columns as `document_values` gives them."""
    document_id, source, title, sha256, metadata, has_record_id, text = values
    return DocumentRow(document_id, source, title, text, sha256, json.loads(metadata), bool(has_record_id))


def in_batches(
    rows: Iterable[_Row], weight: Callable[[_Row], int] = lambda _: 1, limit: int = _BATCH_CHARACTERS
) -> Iterator[list[_Row]]:
    """Yield lists of at most 500 rows, each list ended by the row at which its weights reach `limit`."""
    batch: list[_Row] = []
    total = 0
    for row in rows:
        batch.append(row)
        total += weight(row)
        if len(batch) == _BATCH_ROWS or total >= limit:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def _is_unicode(text: str) -> bool:
    if text.isascii():
        return True
    try:
        for start in range(0, len(text), _PIECE):  # a copy of a whole text might take hundreds of megabytes
            text[start : start + _PIECE].encode()
    except UnicodeEncodeError:
        return False
    return True
