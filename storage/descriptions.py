"""Names and summaries of communities by what they were written for, in a table of `meta.sqlite`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ytrag_core.storage.meta_rows import in_batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ytrag_core.storage.database import Database

__all__ = ["TABLE", "Description", "Descriptions"]

TABLE = (
    'CREATE TABLE IF NOT EXISTS community_descriptions("key" TEXT PRIMARY KEY, name TEXT NOT NULL,'
    " summary TEXT NOT NULL, model TEXT NOT NULL) WITHOUT ROWID"
)


@dataclass(frozen=True, slots=True)
class Description:
    """What a language model wrote of a community: a name, a summary, and which model it was."""

    name: str
    summary: str
    model: str = ""


class Descriptions:
    """The descriptions that a knowledge base remembers.

    Parameters
    ----------
    database
        Its `meta.sqlite`.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        there = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'community_descriptions'"
        self._is_there = bool(database.rows(there))

    def __bool__(self) -> bool:
        return self._is_there and bool(self._database.rows("SELECT 1 FROM community_descriptions LIMIT 1"))

    def of(self, keys: Iterable[str]) -> dict[str, Description]:
        """Return the descriptions that are stored under some keys."""
        found: dict[str, Description] = {}
        if not self._is_there:
            return found
        for batch in in_batches(keys):
            marks = ", ".join("?" * len(batch))
            where = f'"key" IN ({marks})'
            for key, *fields in self._database.rows(
                f'SELECT "key", name, summary, model FROM community_descriptions WHERE {where}', batch
            ):
                found[key] = Description(*fields)
        return found

    def put(self, rows: Mapping[str, Description]) -> None:
        """Store descriptions by their keys."""
        with self._database.transaction() as connection:
            connection.execute(TABLE)
            connection.executemany(
                "INSERT OR REPLACE INTO community_descriptions VALUES(?, ?, ?, ?)",
                [(key, row.name, row.summary, row.model) for key, row in rows.items()],
            )
        self._is_there = True
