"""What became of the passages that a language model was to read, listed for a user."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from ytrag_core.llm.usage import Usage
from ytrag_core.pipeline.extractions import batches, is_model_key, model_hash
from ytrag_core.storage.choices import Choices
from ytrag_core.storage.jobs import Jobs
from ytrag_core.storage.layout import META_NAME
from ytrag_core.storage.meta import MetaStore
from ytrag_core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ytrag_core.storage.jobs import JobRow
    from ytrag_core.storage.meta import ChunkRow

__all__ = ["ChunkJob", "JobsReport", "list_jobs"]

JobState = Literal["done", "salvaged", "failed", "pending"]
_STATES: tuple[JobState, ...] = ("done", "salvaged", "failed", "pending")


@dataclass(frozen=True, slots=True)
class ChunkJob:
    """One passage.

    Attributes
    ----------
    chunk_id, document_id, source
        Which one.
    status
        `done`, `salvaged` (a part of the reply was lost), `failed`, or `pending` (not sent yet).
    reason
        Why it is not simply done.
    tries
        How often it was sent.
    at
        When it was sent last, in UTC; empty for never.
    """

    chunk_id: str
    document_id: str
    source: str
    status: JobState
    reason: str
    tries: int
    at: str


@dataclass(frozen=True, slots=True)
class JobsReport:
    """All passages that are a language model's to read.

    Attributes
    ----------
    counts
        Passages by status.
    usage
        What all tries of them cost.
    jobs
        The passages of the statuses asked for, by document and place.
    """

    counts: dict[str, int]
    usage: Usage
    jobs: tuple[ChunkJob, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the command `jobs`."""
        return {
            "counts": self.counts,
            "usage": self.usage.to_json(),
            "jobs": [asdict(job) for job in self.jobs],
        }


def list_jobs(root: Path, statuses: Sequence[str] = _STATES) -> JobsReport:
    """Return what became of the passages of the live snapshot that a language model was to read.

    Parameters
    ----------
    root
        The knowledge base.
    statuses
        Which ones to list; all are counted.

    Raises
    ------
    SnapshotError
        There is no knowledge base, or it is damaged.
    """
    number = Snapshot.open(root, verify="size").number
    counts: Counter[str] = Counter()
    listed: list[ChunkJob] = []
    with MetaStore(root / META_NAME, snapshot=number, writable=False) as meta:
        sources = {row.id: row.source for row in meta.documents(with_text=False)}
        paid: dict[tuple[str, str], JobRow] = {}
        for row, status, job in _states(meta, number):
            counts[status] += 1
            if job is not None:
                paid[job.extractor, job.chunk_sha256] = job
            if status in statuses:
                said = (job.reason, job.tries, job.at) if job is not None else ("", 0, "")
                listed.append(ChunkJob(row.id, row.document_id, sources[row.document_id], status, *said))
    usage = sum(
        (Usage(job.calls, job.prompt_tokens, job.completion_tokens) for job in paid.values()), Usage()
    )
    return JobsReport({status: counts[status] for status in _STATES}, usage, tuple(listed))


def _states(meta: MetaStore, number: int) -> Iterator[tuple[ChunkRow, JobState, JobRow | None]]:
    """Yield the passages that are a model's to read, with what became of each."""
    jobs = Jobs(meta.database)
    chosen = {each: key for each, key in Choices(meta.database, number).all().items() if is_model_key(key)}
    for batch in batches(row for row in meta.chunks() if row.document_id in chosen):
        rows_of: dict[str, list[ChunkRow]] = defaultdict(list)
        for row in batch:
            rows_of[chosen[row.document_id]].append(row)
        for extractor, rows in rows_of.items():
            hashes = list(map(model_hash, rows))
            stored, known = meta.extractions(extractor, hashes), jobs.of(extractor, hashes)
            for row, each in zip(rows, hashes, strict=True):
                job = known.get(each)
                state: JobState = "done" if each in stored else "pending"
                yield row, job.status if job is not None else state, job
