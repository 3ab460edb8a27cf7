"""Which extractor counts for each document, as of each snapshot, in a table of `meta.sqlite` of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ytrag_core.storage.meta_rows import in_batches

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ytrag_core.storage.database import Database

__all__ = ["TABLE", "Choices"]

TABLE = (
    "CREATE TABLE IF NOT EXISTS document_extractors(document_id TEXT NOT NULL, added INTEGER NOT NULL,"
    " extractor TEXT NOT NULL, PRIMARY KEY(document_id, added)) WITHOUT ROWID"
)
_THERE = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'document_extractors'"
_NEWEST = (
    "SELECT document_id, extractor FROM document_extractors AS c WHERE added <= ?1 AND added ="
    " (SELECT max(added) FROM document_extractors WHERE document_id = c.document_id AND added <= ?1)"
)


class Choices:
    """The extractor of each document.

    Parameters
    ----------
    database
        The knowledge base's `meta.sqlite`.
    snapshot
        Number of the snapshot that is looked at, or, while one is built, of that one.

    Notes
    -----
    What a build that died has chosen does not count: `put` of the next one removes it.
    """

    def __init__(self, database: Database, snapshot: int) -> None:
        self._database = database
        self._snapshot = snapshot

    def all(self) -> dict[str, str]:
        """Return document id -> extractor; documents without a choice are absent."""
        if not self._database.rows(_THERE):
            return {}
        return dict(self._database.rows(_NEWEST, (self._snapshot,)))

    def forget_unfinished(self) -> None:
        """Remove what was chosen for the snapshot that is built now, by a build that died."""
        if not self._database.rows(_THERE):
            return
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM document_extractors WHERE added >= ?", (self._snapshot,))

    def put(self, chosen: Mapping[str, str]) -> None:
        """Choose extractors for documents from the snapshot that is built now on."""
        for batch in in_batches(chosen.items()):
            with self._database.transaction() as connection:
                connection.execute(TABLE)
                connection.executemany(
                    "INSERT OR REPLACE INTO document_extractors VALUES(?, ?, ?)",
                    [(document_id, self._snapshot, extractor) for document_id, extractor in batch],
                )
