"""What can be read of a damaged `meta.sqlite`, in a new one."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ytrag_core.storage import (
    choices,
    descriptions,
    entity_rules,
    jobs,
    long_texts,
    manifest_copies,
    outlines,
    schema_store,
)
from ytrag_core.storage.database import sqlite_errors
from ytrag_core.storage.files import writing
from ytrag_core.storage.meta import MetaStore
from ytrag_core.storage.sqlite_pages import BadPageError, Pages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ytrag_core.storage.sqlite_pages import Row

__all__ = ["Saved", "salvage_meta"]

_LATER_TABLES = (
    *(choices.TABLE, descriptions.TABLE, entity_rules.TABLE, jobs.TABLE, outlines.TABLE),
    manifest_copies.TABLE,
    *long_texts.TABLES,
    *schema_store.TABLES,
)
_JSON_COLUMNS = frozenset({"payload", "metadata", "decisions", "headings", "pages"})
_TYPES: dict[str, tuple[type, ...]] = {
    "TEXT": (str,),
    "INTEGER": (int,),
    "REAL": (int, float),
    "BLOB": (bytes,),
}


@dataclass(slots=True)
class Saved:
    """What was saved.

    Attributes
    ----------
    rows
        Table -> number of rows in the new file.
    n_bad
        Rows and pages that could not be read, as far as they could be counted.
    was_there
        Whether there was a file at all.
    """

    rows: dict[str, int] = field(default_factory=dict)
    n_bad: int = 0
    was_there: bool = True

    def told(self) -> list[str]:
        """Return it in words."""
        if not self.was_there:
            return ["made anew"]
        kept = ", ".join(f"{count:,} {table}" for table, count in self.rows.items() if count)
        bad = f", {self.n_bad:,} rows or pages could not be read" if self.n_bad else ""
        return [f"rows saved: {kept or 'none'}{bad}"]


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of the new file: its columns as they are stored, and where it begins in the old one."""

    name: str
    columns: tuple[str, ...]
    types: tuple[tuple[type, ...], ...]
    is_needed: tuple[bool, ...]
    defaults: tuple[Any, ...]
    rowid_column: str
    has_rowid: bool
    root: int

    def values(self, row: Row) -> list[Any] | None:
        """Return the values of the columns; None where the row is none of this table, or damaged."""
        rowid, values = row
        if len(values) > len(self.columns):
            return None
        values = [*values, *self.defaults[len(values) :]]
        for position, column in enumerate(self.columns):
            if column == self.rowid_column:
                values[position] = rowid
            value = values[position]
            if value is None:
                if self.is_needed[position]:
                    return None
            elif not isinstance(value, self.types[position]) or (
                column in _JSON_COLUMNS and not _is_json(value)
            ):
                return None
        return values


def salvage_meta(path: Path, target: Path) -> Saved:
    """Write the rows of a damaged store, as far as they can be read, into a new one.

    Parameters
    ----------
    path
        The damaged file; it is only read, and so is its log.
    target
        The new file; what is there is replaced.

    Raises
    ------
    SnapshotError
        If the new file cannot be written.
    """
    with writing(target):
        for suffix in ("", "-wal", "-shm", "-journal"):
            target.with_name(f"{target.name}{suffix}").unlink(missing_ok=True)
    MetaStore(target).close()
    saved = Saved(was_there=path.is_file())
    with sqlite_errors(target), closing(sqlite3.connect(target, isolation_level=None)) as connection:
        for statement in _LATER_TABLES:
            connection.execute(statement)
        connection.execute("BEGIN")
        if saved.was_there:
            _copy(Pages(path), connection, saved)
        connection.execute("COMMIT")
    return saved


def _copy(pages: Pages, connection: sqlite3.Connection, saved: Saved) -> None:
    seen: set[int] = set()
    roots = _roots(pages, seen, saved)
    tables = [_table(connection, name, roots.get(name, 0)) for name in _names(connection)]
    for table in tables:
        if table.root:
            for page in pages.tree(table.root, seen):
                saved.n_bad += page.n_bad
                _insert(connection, table, page.rows, saved)
    for name, root in roots.items():  # indices: their pages hold no rows of a table
        if name not in {table.name for table in tables}:
            for _ in pages.tree(root, seen):
                pass
    _copy_orphans(pages, connection, tables, saved, seen)
    saved.rows = {
        table.name: int(connection.execute(f'SELECT count(*) FROM "{table.name}"').fetchone()[0])
        for table in tables
    }


def _copy_orphans(
    pages: Pages,
    connection: sqlite3.Connection,
    tables: Sequence[_Table],
    saved: Saved,
    seen: set[int],
) -> None:
    """Save the rows of pages that no tree leads to any more, where their form tells their table."""
    free = pages.free()
    for number in range(1, pages.n_pages + 1):
        if number in seen or number in free:
            continue
        try:
            page = pages.page(number)
        except BadPageError:
            continue
        saved.n_bad += page.n_bad
        for table in tables:
            if table.has_rowid == page.is_table and page.rows and _fits(table, page.rows):
                _insert(connection, table, page.rows, saved)
                break


def _fits(table: _Table, rows: Sequence[Row]) -> bool:
    return all(
        len(values) == len(table.columns) and table.values((rowid, values)) is not None
        for rowid, values in rows
    )


def _roots(pages: Pages, seen: set[int], saved: Saved) -> dict[str, int]:
    """Return the root pages of tables and indices, as far as the list of them can be read."""
    roots: dict[str, int] = {}
    if not pages.n_pages:
        return roots
    for page in pages.tree(1, seen):
        saved.n_bad += page.n_bad
        for _, values in page.rows:
            if len(values) == 5 and isinstance(values[1], str) and isinstance(values[3], int):
                roots[values[1]] = values[3]
    return roots


def _names(connection: sqlite3.Connection) -> list[str]:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
    return [str(row[0]) for row in found if not str(row[0]).startswith("sqlite_")]


def _table(connection: sqlite3.Connection, name: str, root: int) -> _Table:
    info = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
    made = str(
        connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0]
    ).upper()
    has_rowid = "WITHOUT ROWID" not in made
    # A table without rowid stores its key first, in the order of the key.
    stored = info if has_rowid else sorted(info, key=lambda row: (row[5] == 0, row[5], row[0]))
    rowid_column = "".join(row[1] for row in info if row[5] == 1 and row[2] == "INTEGER" and has_rowid)
    return _Table(
        name,
        tuple(row[1] for row in stored),
        tuple(_TYPES[row[2]] for row in stored),
        tuple(bool(row[3] or row[5]) for row in stored),
        tuple(None if row[4] is None else str(row[4]).strip("'") for row in stored),
        rowid_column,
        has_rowid,
        root,
    )


def _insert(connection: sqlite3.Connection, table: _Table, rows: Iterable[Row], saved: Saved) -> None:
    with_rowid = table.has_rowid and not table.rowid_column
    columns = ", ".join(f'"{column}"' for column in (*(("rowid",) if with_rowid else ()), *table.columns))
    marks = ", ".join("?" * (len(table.columns) + with_rowid))
    statement = f'INSERT OR IGNORE INTO "{table.name}"({columns}) VALUES({marks})'
    connection.executemany(statement, _sound(table, rows, saved, with_rowid=with_rowid))


def _sound(table: _Table, rows: Iterable[Row], saved: Saved, *, with_rowid: bool) -> Iterator[list[Any]]:
    for row in rows:
        values = table.values(row)
        if values is None:
            saved.n_bad += 1
        else:
            yield [row[0], *values] if with_rowid else values


def _is_json(value: Any) -> bool:
    try:
        json.loads(value)
    except (TypeError, ValueError):
        return False
    return True
