"""Texts too long for one row, in a table of `meta.sqlite` of its own: pieces of equal length.

They are keyed by their document's hash, so they are true whether or not a build completes. The text of the
document's own row is then empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from ytrag_core.storage.database import Database

__all__ = ["TABLES", "StoredText", "drop_long_texts", "long_text", "long_text_size", "put_long_text"]

_PIECE = 1 << 18
TABLES = (
    "CREATE TABLE IF NOT EXISTS"
    " text_pieces(sha256 TEXT NOT NULL, number INTEGER NOT NULL, text TEXT NOT NULL)",
    "CREATE UNIQUE INDEX IF NOT EXISTS text_pieces_once ON text_pieces(sha256, number)",
)
_EXISTS = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'text_pieces'"
_TOGETHER = 32


class StoredText:
    """The text of a stored document, in one row or in pieces; ascending slices cost least.

    Parameters
    ----------
    database
        Where it lies.
    sha256
        Hash of the document's row.
    text
        What that row has as its text.
    """

    def __init__(self, database: Database, sha256: str, text: str) -> None:
        self._database = database
        self._sha256 = sha256
        self._text = text
        self._is_long = not text and _has_long_texts(database)
        self._span, self._held = (-1, -1), ""

    def slice(self, start: int, end: int) -> str:
        """Return the characters from `start` to `end`; fewer where the text is shorter."""
        if not self._is_long:
            return self._text[start:end]
        span = start // _PIECE, max(start, end - 1) // _PIECE
        if span != self._span:
            self._span, self._held = span, self._pieces(*span)
        offset = span[0] * _PIECE
        return self._held[start - offset : end - offset]

    def _pieces(self, first: int, last: int) -> str:
        rows = self._database.rows(
            "SELECT text FROM text_pieces WHERE sha256 = ? AND number BETWEEN ? AND ? ORDER BY number",
            (self._sha256, first, last),
        )
        return "".join(text for (text,) in rows)


def put_long_text(database: Database, sha256: str, pieces: Iterable[str]) -> None:
    """Store a text that comes in pieces of any length; what was stored under its hash is replaced.

    Whatever `pieces` raises leaves an incomplete text, which no document's row refers to yet.
    """
    with database.transaction() as connection:
        for statement in TABLES:
            connection.execute(statement)
        connection.execute("DELETE FROM text_pieces WHERE sha256 = ?", (sha256,))
    rows: list[tuple[str, int, str]] = []
    for number, text in enumerate(_even(pieces)):
        rows.append((sha256, number, text))
        if len(rows) == _TOGETHER:
            _insert(database, rows)
            rows = []
    _insert(database, rows)


def _insert(database: Database, rows: list[tuple[str, int, str]]) -> None:
    with database.transaction() as connection:
        connection.executemany("INSERT INTO text_pieces(sha256, number, text) VALUES(?, ?, ?)", rows)


def _even(pieces: Iterable[str]) -> Iterator[str]:
    held = ""
    for piece in pieces:
        held += piece
        while len(held) >= _PIECE:
            yield held[:_PIECE]
            held = held[_PIECE:]
    if held:
        yield held


def long_text(database: Database, sha256: str) -> Iterator[str]:
    """Yield a stored text piece by piece; nothing where none is stored under this hash."""
    if _has_long_texts(database):
        statement = "SELECT text FROM text_pieces WHERE sha256 = ? ORDER BY number"
        for (text,) in database.stream(statement, (sha256,)):
            yield text


def long_text_size(database: Database, sha256: str) -> tuple[int, int]:
    """Return how many characters and bytes of UTF-8 a stored text has; zeros where there is none."""
    if not _has_long_texts(database):
        return 0, 0
    statement = (
        "SELECT total(length(text)), total(length(CAST(text AS BLOB))) FROM text_pieces WHERE sha256 = ?"
    )
    (n_characters, n_bytes), *_ = database.rows(statement, (sha256,))
    return int(n_characters), int(n_bytes)


def drop_long_texts(connection: sqlite3.Connection) -> None:
    """Remove the texts of documents that are stored no more."""
    if connection.execute(_EXISTS).fetchone():
        connection.execute("DELETE FROM text_pieces WHERE sha256 NOT IN (SELECT sha256 FROM documents)")


def _has_long_texts(database: Database) -> bool:
    """Tell whether the file has the table; those of earlier versions lack it until it is needed."""
    return bool(database.rows(_EXISTS))
