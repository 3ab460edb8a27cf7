"""What became of passages that were sent to a language model, in a table of `meta.sqlite` of its own."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from ytrag_core.storage.meta_rows import in_batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ytrag_core.storage.database import Database

__all__ = ["TABLE", "JobRow", "JobStatus", "Jobs"]

JobStatus = Literal["done", "salvaged", "failed"]

TABLE = (
    "CREATE TABLE IF NOT EXISTS extraction_jobs(extractor TEXT NOT NULL, chunk_sha256 TEXT NOT NULL,"
    " status TEXT NOT NULL, reason TEXT NOT NULL, tries INTEGER NOT NULL, calls INTEGER NOT NULL,"
    " prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, at TEXT NOT NULL,"
    " PRIMARY KEY(extractor, chunk_sha256)) WITHOUT ROWID"
)
_PUT = (
    "INSERT INTO extraction_jobs VALUES(?, ?, ?, ?, 1, ?, ?, ?, ?)"
    " ON CONFLICT(extractor, chunk_sha256) DO UPDATE SET status = excluded.status,"
    " reason = excluded.reason, tries = tries + 1, calls = calls + excluded.calls,"
    " prompt_tokens = prompt_tokens + excluded.prompt_tokens,"
    " completion_tokens = completion_tokens + excluded.completion_tokens, at = excluded.at"
)
_COLUMNS = "extractor, chunk_sha256, status, reason, tries, calls, prompt_tokens, completion_tokens, at"


@dataclass(frozen=True, slots=True)
class JobRow:
    """What became of one passage.

    Attributes
    ----------
    extractor
        Who read it.
    chunk_sha256
        Hash of what was read.
    status
        `done`, `salvaged` (a part of the reply was lost) or `failed`.
    reason
        Why it is not simply done.
    tries
        How often it was tried, over all runs.
    calls, prompt_tokens, completion_tokens
        What that cost, over all tries.
    at
        When it was tried last, in UTC.
    """

    extractor: str
    chunk_sha256: str
    status: JobStatus
    reason: str = ""
    tries: int = 1
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    at: str = ""


class Jobs:
    """The jobs of a knowledge base.

    Parameters
    ----------
    database
        Its `meta.sqlite`. Where it was opened read-only and has no jobs, there are none.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_there = bool(
            database.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'extraction_jobs'")
        )

    def put(self, row: JobRow) -> None:
        """Store what became of a passage; its earlier tries and their cost are added."""
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        with self._database.transaction() as connection:
            if not self._is_there:
                connection.execute(TABLE)
            connection.execute(
                _PUT,
                (
                    *(row.extractor, row.chunk_sha256, row.status, row.reason, row.calls),
                    *(row.prompt_tokens, row.completion_tokens, at),
                ),
            )
        self._is_there = True

    def of(self, extractor: str, chunk_sha256s: Iterable[str]) -> dict[str, JobRow]:
        """Return the jobs of an extractor for those passages that have one, by their hash."""
        found: dict[str, JobRow] = {}
        if not self._is_there:
            return found
        for batch in in_batches(chunk_sha256s):
            marks = ", ".join("?" * len(batch))
            where = f"extractor = ? AND chunk_sha256 IN ({marks})"
            for row in self._database.rows(
                f"SELECT {_COLUMNS} FROM extraction_jobs WHERE {where}", (extractor, *batch)
            ):
                found[row[1]] = JobRow(*row)
        return found

    def all(self) -> Iterator[JobRow]:
        """Yield all jobs, ordered by extractor and hash."""
        if self._is_there:
            for row in self._database.stream(f"SELECT {_COLUMNS} FROM extraction_jobs"):
                yield JobRow(*row)
