"""Headings and pages of documents, in a table of `meta.sqlite` of its own: what cutting them anew needs.

An outline is keyed by its document's hash, so it is true whether or not a build completes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ytrag_core.storage.meta_rows import in_batches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ytrag_core.storage.meta import MetaStore

__all__ = ["TABLE", "OutlineRow", "drop_outlines", "put_outlines", "read_outline"]

TABLE = (
    "CREATE TABLE IF NOT EXISTS outlines(sha256 TEXT PRIMARY KEY, headings TEXT NOT NULL,"
    " pages TEXT NOT NULL) WITHOUT ROWID"
)


@dataclass(frozen=True, slots=True)
class OutlineRow:
    """The outline of a document.

    Attributes
    ----------
    sha256
        Hash of the document's row.
    headings
        (offset, level, text) of each heading.
    pages
        Offset at which each page starts.
    """

    sha256: str
    headings: tuple[tuple[int, int, str], ...]
    pages: tuple[int, ...]


def put_outlines(meta: MetaStore, rows: Iterable[OutlineRow]) -> None:
    """Store outlines, which `meta` must be open for writing for."""
    for batch in in_batches(rows):
        values = [
            (row.sha256, json.dumps(row.headings, ensure_ascii=False), json.dumps(row.pages)) for row in batch
        ]
        with meta.database.transaction() as connection:
            connection.execute(TABLE)
            connection.executemany("INSERT OR REPLACE INTO outlines VALUES(?, ?, ?)", values)


def read_outline(meta: MetaStore, sha256: str) -> OutlineRow | None:
    """Return the outline of a document, None where none is stored."""
    if not _exists(meta):
        return None
    rows = meta.database.rows("SELECT headings, pages FROM outlines WHERE sha256 = ?", (sha256,))
    if not rows:
        return None
    headings = tuple((start, level, text) for start, level, text in json.loads(rows[0][0]))
    return OutlineRow(sha256, headings, tuple(json.loads(rows[0][1])))


def drop_outlines(meta: MetaStore) -> None:
    """Remove the outlines of documents that are stored no more."""
    if _exists(meta):
        with meta.database.transaction() as connection:
            connection.execute("DELETE FROM outlines WHERE sha256 NOT IN (SELECT sha256 FROM documents)")


def _exists(meta: MetaStore) -> bool:
    return bool(meta.database.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'outlines'"))
