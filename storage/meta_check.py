"""Whether `meta.sqlite` is whole: its pages by SQLite's own check, its rows by what can be told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ytrag_core.errors import NewerFormatError, SnapshotError
from ytrag_core.storage.layout import META_NAME
from ytrag_core.storage.meta import MetaStore

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["check_meta"]

_SHOWN = 3
_NO_DAMAGE = (
    *("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_PERM", "SQLITE_READONLY"),
    *("SQLITE_CANTOPEN", "SQLITE_NOMEM", "SQLITE_INTERRUPT"),
)
_JSON = (
    ("extractions", "payload"),
    ("replies", "payload"),
    ("documents", "metadata"),
    ("schema_versions", "payload"),
    ("settings", "payload"),
)


def check_meta(root: Path, live: int, n_documents: int | None) -> str:
    """Return what is wrong with the store of a knowledge base, empty where nothing is.

    Parameters
    ----------
    root
        The knowledge base's directory.
    live
        Number of the live snapshot, 0 where there is none.
    n_documents
        How many documents that snapshot has; None where it is not known.

    Raises
    ------
    SnapshotError
        It cannot be read at this moment, or was written by a later version.

    Notes
    -----
    SQLite keeps no checksums: a changed letter in a text is seen only where it breaks a page, a JSON value or
    the order of an index.
    """
    path = root / META_NAME
    try:
        with MetaStore(path, snapshot=live, writable=False) as meta:
            found = [str(row[0]) for row in meta.database.rows("PRAGMA integrity_check(10)")]
            if found != ["ok"]:
                more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
                return f"SQLite finds: {'; '.join(found[:_SHOWN])}{more}"
            tables = {str(row[0]) for row in meta.database.rows("SELECT name FROM sqlite_master")}
            for table, column in _JSON:
                if table not in tables:
                    return f"its table {table} is missing"
                counted = meta.database.rows(f"SELECT count(*) FROM {table} WHERE NOT json_valid({column})")
                if counted[0][0]:
                    return f"{counted[0][0]} rows of {table} are no JSON"
            if n_documents is not None and meta.n_documents() != n_documents:
                return f"it holds {meta.n_documents():,} documents, the live snapshot has {n_documents:,}"
    except (SnapshotError, UnicodeDecodeError) as error:
        code = getattr(error.__cause__, "sqlite_errorname", None) or ""
        if isinstance(error, NewerFormatError) or code.startswith(_NO_DAMAGE):
            raise
        return str(error)
    return ""
