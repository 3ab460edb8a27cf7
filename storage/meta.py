"""What a knowledge base remembers besides its snapshots: documents, chunks, extractions, replies, records.

Documents and chunks carry the numbers of the first snapshot that has them and of the first that no longer
does. A build writes rows for the snapshot to come; no reader sees them before `CURRENT` is switched, and if
the build dies the next one drops them. Extractions and replies are keyed by content: they are true whether or
not a build completes, and are kept at once.
"""

from __future__ import annotations

import json
import sqlite3
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Self

from ytrag_core.errors import DocumentError, SnapshotError
from ytrag_core.storage.database import Database
from ytrag_core.storage.long_texts import StoredText, drop_long_texts
from ytrag_core.storage.meta_rows import (
    APPLICATION_ID,
    META_VERSION,
    STATEMENTS,
    UPGRADES,
    ChunkRow,
    DocumentRow,
    RecordKind,
    document_row,
    document_values,
    in_batches,
    to_json,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from types import TracebackType

__all__ = ["META_VERSION", "ChunkRow", "DocumentRow", "MetaStore", "RecordKind"]

_SEEN = "added <= ?1 AND (removed IS NULL OR removed > ?1)"
_CHUNKS_OF_DOCUMENT = (
    "CASE WHEN text = '' THEN NULL ELSE ("
    'SELECT json_group_array(json_array(position, chunks.id, "start", "end", chunks.sha256, {place}))'
    " FROM chunks"
    " WHERE document_id = documents.id"
    " AND chunks.added <= ?1 AND (chunks.removed IS NULL OR chunks.removed > ?1)) END"
)
_CHUNKS_OF_LONG = (
    'SELECT position, id, "start", "end", sha256, {place} FROM chunks'
    f" WHERE document_id = ?2 AND {_SEEN} ORDER BY position"
)
_PLACE = {1: "NULL, ''"}
_OWNED = (("documents", "id"), ("chunks", "document_id"))
_COLUMNS = "id, source, title, sha256, metadata, has_record_id, text"


class MetaStore:
    """The SQLite file of a knowledge base, seen as of one snapshot.

    Parameters
    ----------
    path
        The file.
    snapshot
        Number of the live snapshot, 0 where there is none.
    writable
        True: rows are written for snapshot `snapshot + 1` and seen at once by this object. False: read-only,
        rows as of `snapshot`.

    Raises
    ------
    SnapshotError
        If the file is missing and not to be made, foreign, damaged or of a newer format. Every method raises
        it too when the disk is full or fails.

    Notes
    -----
    Threads may share one object. Iterators read a state of their own: rows may be written meanwhile.
    """

    def __init__(self, path: Path, *, snapshot: int = 0, writable: bool = True) -> None:
        self._database = Database(
            path,
            application_id=APPLICATION_ID,
            version=META_VERSION,
            statements=STATEMENTS,
            writable=writable,
            upgrades=UPGRADES,
        )
        place = _PLACE.get(self._database.version, "page, heading")
        self._chunks_of_document = _CHUNKS_OF_DOCUMENT.format(place=place)
        self._chunks_of_long = _CHUNKS_OF_LONG.format(place=place)
        self._as_of = snapshot + 1 if writable else snapshot
        self._frozen = not writable

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; doing so twice is harmless."""
        self._database.close()

    @property
    def database(self) -> Database:
        """The file itself, for stores that keep tables of their own in it."""
        return self._database

    def drop_unfinished(self) -> None:
        """Undo what a dead writer left for a snapshot that never came; only the holder of the lock may."""
        live = self._as_of - 1
        with self._database.transaction() as connection:
            for table in ("documents", "chunks"):
                connection.execute(f"DELETE FROM {table} WHERE added > ?", (live,))
                connection.execute(f"UPDATE {table} SET removed = NULL WHERE removed > ?", (live,))

    def prune(self, oldest: int) -> None:
        """Delete the rows that no snapshot from number `oldest` on has."""
        with self._database.transaction() as connection:
            for table in ("documents", "chunks"):
                connection.execute(f"DELETE FROM {table} WHERE removed <= ?", (oldest,))
            drop_long_texts(connection)

    def freeze(self) -> None:
        """Refuse further changes to documents and chunks: the snapshot that they belong to is complete."""
        self._frozen = True

    def _check_open_build(self) -> None:
        if self._frozen:
            raise SnapshotError(
                f"{self._database.path}: snapshot {self._as_of} is complete; start another writer"
            )

    def put_documents(self, documents: Iterable[DocumentRow]) -> None:
        """Store documents; one that is already there is replaced and loses its chunks.

        Raises
        ------
        DocumentError
            If a document's text or metadata cannot be stored.
        """
        self._check_open_build()
        for batch in in_batches(documents, weight=lambda row: len(row.text)):
            rows = [(*document_values(row), self._as_of) for row in batch]
            with self._database.transaction() as connection:
                _remove(connection, [row.id for row in batch], self._as_of)
                connection.executemany(
                    f"INSERT OR REPLACE INTO documents({_COLUMNS}, added) VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
                    rows,
                )

    def delete_documents(self, ids: Iterable[str]) -> None:
        """Remove documents and their chunks; unknown ids are passed over."""
        self._check_open_build()
        for batch in in_batches(ids):
            with self._database.transaction() as connection:
                _remove(connection, batch, self._as_of)

    def restore_documents(self, ids: Iterable[str]) -> None:
        """Undo what this build did to documents and their chunks, as far as the live snapshot has them."""
        self._check_open_build()
        for batch in in_batches(ids):
            with self._database.transaction() as connection:
                _remove(connection, batch, self._as_of)
                keys = [(document_id, self._as_of) for document_id in batch]
                for table, column in _OWNED:
                    statement = f"UPDATE {table} SET removed = NULL WHERE {column} = ?1 AND removed = ?2"
                    connection.executemany(statement, keys)

    def documents(self, *, with_text: bool = True) -> Iterator[DocumentRow]:
        """Yield the documents in the order of their ids, one in memory at a time.

        Parameters
        ----------
        with_text
            False leaves their texts empty, for those who need the rest.
        """
        columns = _COLUMNS if with_text else _COLUMNS.removesuffix("text") + "''"
        statement = f"SELECT {columns} FROM documents WHERE {_SEEN} ORDER BY id"
        return map(document_row, self._database.stream(statement, (self._as_of,)))

    def document(self, document_id: str) -> DocumentRow | None:
        """Return one document, or None."""
        statement = f"SELECT {_COLUMNS} FROM documents WHERE {_SEEN} AND id = ?2"
        rows = self._database.rows(statement, (self._as_of, document_id))
        return document_row(rows[0]) if rows else None

    def n_documents(self) -> int:
        """Return the number of documents."""
        rows = self._database.rows(f"SELECT count(*) FROM documents WHERE {_SEEN}", (self._as_of,))
        return int(rows[0][0])

    def document_hashes(self) -> dict[str, str]:
        """Return the `sha256` of every document by its id, in the order of the ids."""
        return dict(
            self._database.rows(f"SELECT id, sha256 FROM documents WHERE {_SEEN} ORDER BY id", (self._as_of,))
        )

    def put_chunks(self, chunks: Iterable[ChunkRow]) -> None:
        """Store chunks of documents that are already stored; group them by document, for speed.

        Raises
        ------
        DocumentError
            If a chunk's document is unknown, its text is not what lies at its offsets, or its id is taken.
        """
        self._check_open_build()
        owner: tuple[str, StoredText] | None = None
        for batch in in_batches(chunks, weight=lambda row: len(row.text)):
            for document_id, rows in groupby(batch, key=lambda row: row.document_id):
                if owner is None or owner[0] != document_id:  # a long text is fetched once, not a batch
                    owner = document_id, self._text(document_id)
                _check_slices(*owner, rows)
            values = [
                (
                    *(row.id, row.document_id, row.position, row.start, row.end, row.sha256),
                    *(row.page, row.heading, self._as_of),
                )
                for row in batch
            ]
            with self._database.transaction() as connection:
                before = connection.total_changes
                try:
                    connection.executemany(
                        "INSERT INTO chunks"
                        '(id, document_id, position, "start", "end", sha256, page, heading, added)'
                        " VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)",
                        values,
                    )
                except sqlite3.IntegrityError as error:
                    taken = batch[connection.total_changes - before]
                    raise DocumentError(
                        f"chunk id {taken.id!r} of document {taken.document_id!r} is taken: ids are unique"
                    ) from error

    def _text(self, document_id: str) -> StoredText:
        statement = f"SELECT sha256, text FROM documents WHERE {_SEEN} AND id = ?2"
        found = self._database.rows(statement, (self._as_of, document_id))
        if not found:
            raise DocumentError(
                f"a chunk is of document {document_id!r}, which is not stored: store the document first"
            )
        return StoredText(self._database, *found[0])

    def chunks(self, document_id: str | None = None) -> Iterator[ChunkRow]:
        """Yield the chunks with text and title, ordered by document id and position.

        Parameters
        ----------
        document_id
            Only this document's; None for all.
        """
        statement = (
            f"SELECT id, title, text, sha256, {self._chunks_of_document} FROM documents WHERE {_SEEN}"
            f" {'' if document_id is None else 'AND id = ?2'} ORDER BY id"
        )
        values = (self._as_of,) if document_id is None else (self._as_of, document_id)
        for owner, title, text, sha256, listed in self._database.stream(statement, values):
            stored = StoredText(self._database, sha256, text)
            places = (
                self._database.stream(self._chunks_of_long, (self._as_of, owner))
                if listed is None
                else sorted(json.loads(listed), key=itemgetter(0))
            )
            for position, chunk_id, start, end, *rest in places:
                passage = stored.slice(start, end)
                yield ChunkRow(chunk_id, owner, position, title, passage, start, end, *rest)

    def put_extractions(self, extractor: str, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Store what `extractor` said about chunks: pairs of the chunk's hash and a JSON object."""
        for batch in in_batches(rows):
            values = [(sha256, extractor, to_json(dict(payload), sha256)) for sha256, payload in batch]
            with self._database.transaction() as connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO extractions(chunk_sha256, extractor, payload) VALUES(?, ?, ?)",
                    values,
                )

    def extractions(self, extractor: str, chunk_sha256s: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the stored extractions of those chunks that have one, by the chunk's hash."""
        found: dict[str, dict[str, Any]] = {}
        for batch in in_batches(chunk_sha256s):
            marks = ", ".join("?" * len(batch))
            where = f"extractor = ? AND chunk_sha256 IN ({marks})"
            statement = f"SELECT chunk_sha256, payload FROM extractions WHERE {where}"
            rows = self._database.rows(statement, (extractor, *batch))
            found.update((sha256, json.loads(payload)) for sha256, payload in rows)
        return found

    def put_reply(self, key: str, model: str, payload: str) -> None:
        """Store a language model's reply under the hash of what it was asked."""
        with self._database.transaction() as connection:
            connection.execute(
                'INSERT OR REPLACE INTO replies("key", model, payload) VALUES(?, ?, ?)',
                (key, model, to_json(payload, key)),
            )

    def reply(self, key: str, model: str) -> str | None:
        """Return a stored reply, or None."""
        rows = self._database.rows('SELECT payload FROM replies WHERE "key" = ? AND model = ?', (key, model))
        return str(json.loads(rows[0][0])) if rows else None

    def put_record(self, kind: RecordKind, record_id: str, payload: Any) -> None:
        """Store a JSON value among the schema versions, schema proposals, jobs or settings."""
        with self._database.transaction() as connection:
            connection.execute(
                f"INSERT INTO {kind}(id, payload) VALUES(?, ?)"
                " ON CONFLICT(id) DO UPDATE SET payload = excluded.payload",
                (record_id, to_json(payload, record_id)),
            )

    def records(self, kind: RecordKind) -> dict[str, Any]:
        """Return all records of a kind by id, in the order in which they were first stored."""
        rows = self._database.rows(f"SELECT id, payload FROM {kind} ORDER BY rowid")
        return {record_id: json.loads(payload) for record_id, payload in rows}


def _remove(connection: sqlite3.Connection, document_ids: list[str], snapshot: int) -> None:
    keys = [(document_id, snapshot) for document_id in document_ids]
    for table, column in _OWNED:
        live = f"{column} = ?1 AND removed IS NULL"
        connection.executemany(f"DELETE FROM {table} WHERE {live} AND added = ?2", keys)
        connection.executemany(f"UPDATE {table} SET removed = ?2 WHERE {live}", keys)


def _check_slices(document_id: str, text: StoredText, chunks: Iterable[ChunkRow]) -> None:
    for chunk in chunks:
        if not 0 <= chunk.start <= chunk.end or text.slice(chunk.start, chunk.end) != chunk.text:
            raise DocumentError(
                f"chunk {chunk.id!r} is not what is at {chunk.start}:{chunk.end} of {document_id!r}"
            )
