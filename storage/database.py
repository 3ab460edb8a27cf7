"""One SQLite file: opened, recognised, and with errors that say what to do."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ytrag_core.errors import NewerFormatError, SnapshotError
from ytrag_core.storage.advice import repair_advice

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["Database", "sqlite_errors"]

_BUSY_SECONDS = 60.0
"""How long other writers are waited for."""

_BUSY_PAUSE = 0.05
_ADVICE = {
    "SQLITE_FULL": "no space left on the disk: free some space and run again",
    "SQLITE_READONLY": "it cannot be written: a knowledge base is built in a writable directory",
    "SQLITE_BUSY": "another process holds it: wait and run again",
    "SQLITE_LOCKED": "another process holds it: wait and run again",
    "SQLITE_NOTADB": "it is not a SQLite file: {repair}",
    "SQLITE_CORRUPT": "it is damaged: {repair}",
    "SQLITE_CANTOPEN": "it cannot be opened: check that it exists and who may read and write its directory",
    "SQLITE_IOERR": "the disk failed or is full: check it and run again",
}


@contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """Turn an error of SQLite about `path` into a `SnapshotError`."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorname", None) or ""
        advice = next((text for name, text in _ADVICE.items() if code.startswith(name)), "{repair}")
        raise SnapshotError(f"{path}: {error}; {advice.format(repair=repair_advice(path))}") from error


class Database:
    """A connection that several threads may share, and short-lived ones for reading along.

    Parameters
    ----------
    path
        The file; made where it is missing and `writable` is True.
    application_id
        Mark in the file's header by which ours are told from others.
    version
        Highest `user_version` understood; new files get it.
    statements
        What makes the tables of a new file.
    writable
        False opens read-only, also in a directory that cannot be written.
    upgrades
        For each older version, what makes the next one of it; done when the file is opened for writing.

    Attributes
    ----------
    version
        The file's version; below the highest one only where it was opened read-only.

    Raises
    ------
    SnapshotError
        If the file is missing, foreign, damaged, of a newer version, or cannot be written.
    """

    def __init__(
        self,
        path: Path,
        *,
        application_id: int,
        version: int,
        statements: Sequence[str],
        writable: bool,
        upgrades: Mapping[int, Sequence[str]] | None = None,
    ) -> None:
        self.path = path
        self.writable = writable
        self._mutex = threading.RLock()
        if not writable and not path.is_file():
            raise SnapshotError(f"{path} is missing: {repair_advice(path)}")
        end = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                self._open(application_id, version, statements, upgrades or {})
            except SnapshotError as error:
                # While others open or close the file, SQLite may refuse at once, without waiting for them.
                cause = getattr(error.__cause__, "sqlite_errorname", "")
                if not cause.startswith("SQLITE_BUSY") or time.monotonic() > end:
                    raise
                time.sleep(_BUSY_PAUSE)
            else:
                return

    def _open(
        self,
        application_id: int,
        version: int,
        statements: Sequence[str],
        upgrades: Mapping[int, Sequence[str]],
    ) -> None:
        with sqlite_errors(self.path):
            self._connection = self._connect()
        try:
            with sqlite_errors(self.path):
                if self.writable:
                    self._connection.execute("PRAGMA journal_mode=WAL")
                    self._connection.execute("PRAGMA synchronous=FULL")
                    self._create(application_id, version, statements)
                self.version = self._recognise(application_id, version)
                if self.writable:
                    self._upgrade(version, upgrades)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"file:{quote(str(self.path.absolute()))}?{self._mode()}",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        if not self.writable:
            connection.execute("PRAGMA query_only=ON")
        return connection

    def _mode(self) -> str:
        if self.writable:
            return "mode=rwc"
        if os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK):
            return "mode=rw"  # a read-only connection would leave its -wal and -shm files behind
        log = self.path.with_name(f"{self.path.name}-wal")
        settled = not log.exists() or log.stat().st_size == 0
        return "mode=ro&immutable=1" if settled else "mode=ro"

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    def _create(self, application_id: int, version: int, statements: Sequence[str]) -> None:
        if self._pragma("application_id") or self._pragma("user_version"):
            return
        with self.transaction() as connection:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                return
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id={application_id}")
            connection.execute(f"PRAGMA user_version={version}")

    def _upgrade(self, version: int, upgrades: Mapping[int, Sequence[str]]) -> None:
        if self.version == version:
            return
        with self.transaction() as connection:
            for older in range(self._pragma("user_version"), version):  # another may have come first
                for statement in upgrades[older]:
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version={version}")
        self.version = version

    def _recognise(self, application_id: int, version: int) -> int:
        found, found_version = self._pragma("application_id"), self._pragma("user_version")
        if found != application_id:
            raise SnapshotError(
                f"{self.path} is a SQLite file of another program: give an empty or a new directory"
            )
        if found_version > version:
            raise NewerFormatError(
                f"{self.path} is of format {found_version}, this ytrag reads up to {version}: upgrade ytrag"
            )
        return found_version

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run a block as one transaction: all of it or, on any exception, nothing."""
        if not self.writable:
            raise SnapshotError(f"{self.path} was opened read-only: only a writer may change it")
        with self._mutex, sqlite_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self._mutex, sqlite_errors(self.path):
            return self._connection.execute(statement, values).fetchall()

    def stream(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a query one at a time, all as of the moment when the first was read."""
        with sqlite_errors(self.path), closing(self._connect()) as connection:
            yield from connection.execute(statement, values)

    def close(self) -> None:
        """Close the connection; doing so twice is harmless."""
        with self._mutex:
            self._connection.close()
