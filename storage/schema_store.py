"""Proposals of new types and the history of a graph schema, in tables of `meta.sqlite` of their own.

Several processes may write them at once, also while a build holds the knowledge base's lock: every write is
one short transaction that begins by taking SQLite's write lock. A proposal's key is made of what it says, so
one that is written twice is one row, and the rows do not depend on who came first. A change of the schema
names the change that it follows, and is refused where another came in between.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Any, Self

from ytrag_core.errors import SnapshotError
from ytrag_core.storage import layout
from ytrag_core.storage.advice import repair_advice
from ytrag_core.storage.database import Database
from ytrag_core.storage.meta_rows import (
    APPLICATION_ID,
    META_VERSION,
    STATEMENTS,
    UPGRADES,
    in_batches,
    to_json,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

__all__ = ["TABLES", "ChangeRow", "ProposalRow", "SchemaStore"]

TABLES = (
    "CREATE TABLE IF NOT EXISTS type_proposals(id TEXT PRIMARY KEY, kind TEXT NOT NULL,"
    ' "key" TEXT NOT NULL, document_id TEXT NOT NULL, chunk_id TEXT NOT NULL, confidence REAL NOT NULL,'
    " name TEXT NOT NULL, description TEXT NOT NULL, evidence TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS schema_changes(number INTEGER PRIMARY KEY, version TEXT NOT NULL,"
    " action TEXT NOT NULL, who TEXT NOT NULL, at TEXT NOT NULL, why TEXT NOT NULL, decisions TEXT NOT NULL)",
)
# Of two proposals of one type by one chunk the greater one stays, whichever came first.
_PUT = (
    "INSERT INTO type_proposals VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO UPDATE SET"
    " confidence = excluded.confidence, name = excluded.name, description = excluded.description,"
    " evidence = excluded.evidence WHERE (excluded.confidence, excluded.name, excluded.description,"
    " excluded.evidence) > (confidence, name, description, evidence)"
)
# A document that was cut anew or changed no longer says what its former chunks said.
_LIVE = (
    'SELECT kind, "key", document_id, chunk_id, confidence, name, description, evidence'
    " FROM type_proposals AS p"
    " WHERE NOT EXISTS(SELECT 1 FROM documents WHERE id = p.document_id AND removed IS NULL)"
    " OR EXISTS(SELECT 1 FROM chunks WHERE id = p.chunk_id AND removed IS NULL)"
    ' ORDER BY kind, "key", document_id, chunk_id'
)


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """One chunk's proposal of one type.

    Attributes
    ----------
    kind
        `entity`, `relation` or `attribute`.
    key
        What all spellings of the type's name share.
    document_id, chunk_id
        Which passage proposes it; with kind and key, the proposal's identity.
    confidence
        In [0, 1].
    name
        The type's name as proposed.
    description
        What falls under it; may be empty.
    evidence
        The words that led to it; may be empty.
    """

    kind: str
    key: str
    document_id: str
    chunk_id: str
    confidence: float
    name: str
    description: str
    evidence: str

    @property
    def id(self) -> str:
        """The proposal's identity, 32 hexadecimal digits: the same for every repetition."""
        said = json.dumps([self.kind, self.key, self.document_id, self.chunk_id])
        return hashlib.sha256(said.encode("ascii")).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One change of a knowledge base's schema; none is ever altered or removed.

    Attributes
    ----------
    number
        From 1, without gaps.
    version
        Version of the schema from then on; its content is among the records `schema_versions`.
    action
        `seed`, `evolve`, `accept`, `reject` or `rollback`.
    who
        `auto`, or the name of a user.
    at
        When, ISO 8601 in UTC.
    why
        In words.
    decisions
        What was decided about which types, with the evidence; JSON objects.
    """

    number: int
    version: str
    action: str
    who: str
    at: str
    why: str
    decisions: Sequence[Mapping[str, Any]] = field(default_factory=tuple)


class SchemaStore:
    """The tables of schema proposals and changes in an open `meta.sqlite`.

    Parameters
    ----------
    database
        The file, for example `MetaStore.database`. Tables are made when they are first written; a file
        without them has no proposals and no changes.
    """

    def __init__(self, database: Database) -> None:
        self.database = database

    @classmethod
    def open(cls, root: Path, *, writable: bool = True) -> SchemaStore:
        """Open the store of a knowledge base on its own; no lock is needed, a build may be under way.

        Parameters
        ----------
        root
            The knowledge base's directory; its first build may be unfinished.
        writable
            False opens read-only.

        Raises
        ------
        SnapshotError
            If there is no knowledge base, or its file is damaged, foreign or of a newer format.
        """
        path = root / layout.META_NAME
        if not path.is_file():
            layout.live_name(root)
            raise SnapshotError(f"{path} is missing: {repair_advice(path)}")
        return cls(
            Database(
                path,
                application_id=APPLICATION_ID,
                version=META_VERSION,
                statements=STATEMENTS,
                writable=writable,
                upgrades=UPGRADES,
            )
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; doing so twice is harmless."""
        self.database.close()

    def put_proposals(self, rows: Iterable[ProposalRow]) -> int:
        """Store proposals, and return how many were not there yet.

        Of two proposals of one type by one chunk the one of higher confidence stays, ties by their texts:
        the table is the same in whatever order, how often and by how many processes they are written.
        """
        n_new = 0
        for batch in in_batches(rows):
            values = [(row.id, *astuple(row)) for row in batch]
            ids = list({value[0] for value in values})
            with self.database.transaction() as connection:
                for statement in TABLES:
                    connection.execute(statement)
                n_new += len(ids) - _n_known(connection, ids)
                connection.executemany(_PUT, values)
        return n_new

    def proposals(self) -> list[ProposalRow]:
        """Return the proposals by kind, key, document and chunk, without those of passages that are gone."""
        return [ProposalRow(*row) for row in self.database.rows(_LIVE)] if self._is_there() else []

    def changes(self) -> list[ChangeRow]:
        """Return all changes of the schema, oldest first."""
        if not self._is_there():
            return []
        rows = self.database.rows("SELECT * FROM schema_changes ORDER BY number")
        return [
            ChangeRow(number, version, action, who, at, why, json.loads(decisions))
            for number, version, action, who, at, why, decisions in rows
        ]

    def schema(self, version: str) -> dict[str, Any] | None:
        """Return the content of a schema version, or None where it is not stored."""
        rows = self.database.rows("SELECT payload FROM schema_versions WHERE id = ?", (version,))
        return dict(json.loads(rows[0][0])) if rows else None

    def n_documents(self) -> int:
        """Return how many documents the knowledge base holds, those of a build under way included."""
        return int(self.database.rows("SELECT count(*) FROM documents WHERE removed IS NULL")[0][0])

    def append(self, changes: Sequence[ChangeRow], schemas: Mapping[str, Mapping[str, Any]]) -> bool:
        """Append changes that follow one another, with the schemas that they lead to.

        Parameters
        ----------
        changes
            Numbered on from the last one known.
        schemas
            Content of the versions by their ids; one that is there already is left as it is.

        Returns
        -------
        bool
            False, and nothing is written, where another change came first: read `changes` again.
        """
        with self.database.transaction() as connection:
            for statement in TABLES:
                connection.execute(statement)
            last = connection.execute("SELECT coalesce(max(number), 0) FROM schema_changes").fetchone()[0]
            if changes[0].number != last + 1:
                return False
            connection.executemany(
                "INSERT OR IGNORE INTO schema_versions(id, payload) VALUES(?, ?)",
                [(version, to_json(dict(payload), version)) for version, payload in schemas.items()],
            )
            connection.executemany(
                "INSERT INTO schema_changes VALUES(?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        *(row.number, row.version, row.action, row.who, row.at, row.why),
                        to_json([dict(decision) for decision in row.decisions], row.version),
                    )
                    for row in changes
                ],
            )
        return True

    def _is_there(self) -> bool:
        known = "SELECT count(*) FROM sqlite_master WHERE name IN ('type_proposals', 'schema_changes')"
        return bool(self.database.rows(known)[0][0] == len(TABLES))


def _n_known(connection: Any, ids: Sequence[str]) -> int:
    marks = ", ".join("?" * len(ids))
    return int(
        connection.execute(f"SELECT count(*) FROM type_proposals WHERE id IN ({marks})", ids).fetchone()[0]
    )
