"""Copies of the manifests of the snapshots that are kept, in a table of `meta.sqlite` of their own.

Without its manifest nobody can tell which files of a snapshot are as they were written.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ytrag_core.storage.layout import snapshot_name

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.storage.meta import MetaStore

__all__ = ["TABLE", "keep_manifest", "kept_manifest", "kept_names"]

TABLE = (
    "CREATE TABLE IF NOT EXISTS snapshot_manifests(snapshot TEXT PRIMARY KEY, content BLOB NOT NULL,"
    " sha256 TEXT NOT NULL) WITHOUT ROWID"
)


def keep_manifest(meta: MetaStore, number: int, content: bytes, oldest: int) -> None:
    """Store a copy of a manifest and forget those of snapshots that are gone.

    Parameters
    ----------
    meta
        A store that is open for writing.
    number
        Number of the snapshot.
    content
        Its `manifest.json`.
    oldest
        Number of the oldest snapshot that is kept.
    """
    digest = hashlib.sha256(content).hexdigest()
    with meta.database.transaction() as connection:
        connection.execute(TABLE)
        connection.execute(
            "INSERT OR REPLACE INTO snapshot_manifests VALUES(?, ?, ?)",
            (snapshot_name(number), content, digest),
        )
        connection.execute("DELETE FROM snapshot_manifests WHERE snapshot < ?", (snapshot_name(oldest),))


def kept_manifest(path: Path, name: str) -> bytes | None:
    """Return the copy of a snapshot's manifest; None where there is none, or it is damaged itself.

    Parameters
    ----------
    path
        The store.
    name
        Name of the snapshot.
    """
    rows = _rows(path, "SELECT content, sha256 FROM snapshot_manifests WHERE snapshot = ?", name)
    return next((content for content, sha256 in rows if hashlib.sha256(content).hexdigest() == sha256), None)


def kept_names(path: Path) -> list[str]:
    """Return the names of the snapshots whose manifests a store has copies of, the newest first."""
    return [str(row[0]) for row in _rows(path, "SELECT snapshot FROM snapshot_manifests ORDER BY 1 DESC")]


def _rows(path: Path, statement: str, *values: str) -> list[tuple[Any, ...]]:
    """Return rows of a store; none where it cannot be read."""
    if not path.is_file():
        return []
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    for wanted in (address, f"{address}&immutable=1"):  # without write access no log can be opened
        try:
            with closing(sqlite3.connect(wanted, uri=True)) as connection:
                return connection.execute(statement, values).fetchall()
        except sqlite3.Error:
            continue
    return []
