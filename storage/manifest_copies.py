"""Copies of the manifests of the snapshots that are kept, in a table of `meta.sqlite` of their own.

Without its manifest nobody can tell which files of a snapshot are as they were written.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import quote

from ytrag_core.storage.layout import snapshot_name

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.storage.meta import MetaStore

__all__ = ["TABLE", "keep_manifest", "kept_manifest"]

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
    if not path.is_file():
        return None
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    for wanted in (address, f"{address}&immutable=1"):  # without write access no log can be opened
        try:
            with closing(sqlite3.connect(wanted, uri=True)) as connection:
                row = connection.execute(
                    "SELECT content, sha256 FROM snapshot_manifests WHERE snapshot = ?", (name,)
                ).fetchone()
        except sqlite3.Error:
            continue
        return row[0] if row and hashlib.sha256(row[0]).hexdigest() == row[1] else None
    return None
