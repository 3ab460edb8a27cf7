"""A language model reads passages: side by side, within a budget, each kept as soon as it is finished."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ytrag_core.documents.model import Problem
from ytrag_core.extraction.codec import extraction_to_json
from ytrag_core.llm.budget import Budget, Prices
from ytrag_core.llm.side_by_side import side_by_side
from ytrag_core.llm.usage import Usage
from ytrag_core.pipeline.extractions import batches, chunk_of, model_hash, without_recorded
from ytrag_core.schema.proposals import record
from ytrag_core.storage.jobs import JobRow, Jobs

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from ytrag_core.config import ExtractionSettings
    from ytrag_core.documents.model import Chunk
    from ytrag_core.extraction.by_model import ModelExtractor, Reading
    from ytrag_core.extraction.menu import Menu
    from ytrag_core.pipeline.report import StageRecorder
    from ytrag_core.storage.meta import ChunkRow, MetaStore

__all__ = ["ModelRun", "RunTally"]

STAGE = "language model"
_BATCH = 64
_LEAST_FAILURES = 5
"""So many calls in a row, and at least as many as run at a time, have to fail before a run gives up."""

_MOST_PROBLEMS = 200


@dataclass(slots=True)
class RunTally:
    """What a run of a language model came to.

    Attributes
    ----------
    done, salvaged, failed
        Passages that were sent in this run, by what became of them.
    known
        Passages that had been read before.
    pending
        Passages that were to be sent and were not.
    failed_before
        Passages that failed in an earlier run and were not tried again.
    triples
        Facts that were read.
    usage
        What it cost.
    cost
        In money, None where prices are not known.
    stopped
        Why it stopped early; empty where it did not.
    problems
        The passages that failed or were salvaged, with their reasons.
    """

    done: int = 0
    salvaged: int = 0
    failed: int = 0
    known: int = 0
    pending: int = 0
    failed_before: int = 0
    triples: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    stopped: str = ""
    problems: list[Problem] = field(default_factory=list)

    @property
    def sent(self) -> int:
        """Passages that were sent."""
        return self.done + self.salvaged + self.failed

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, part of that of `index`."""
        return {
            **{name: getattr(self, name) for name in ("done", "salvaged", "failed", "known", "pending")},
            "failed_before": self.failed_before,
            "triples": self.triples,
            **self.usage.to_json(),
            "cost": None if self.cost is None else round(self.cost, 6),
            "stopped": self.stopped,
        }


@dataclass(frozen=True, slots=True)
class _Task:
    """A passage to be sent, and what was held back for it."""

    row: ChunkRow
    chunk: Chunk
    key: str
    menu: Menu
    n_in: int
    n_out: int
    may_repair: bool


class ModelRun:
    """Sends what has not been read.

    Parameters
    ----------
    meta
        The open store.
    extractor
        The model.
    settings
        How many calls at a time, and what they may cost.
    recorder
        Told how far it is.
    proposing
        Whether types that the schema lacks are proposed.
    """

    def __init__(
        self,
        meta: MetaStore,
        extractor: ModelExtractor,
        settings: ExtractionSettings,
        recorder: StageRecorder,
        *,
        proposing: bool = True,
    ) -> None:
        self._proposing = proposing
        self._meta = meta
        self._extractor = extractor
        self._jobs = Jobs(meta.database)
        self._settings = settings
        self._recorder = recorder
        prices = Prices(settings.price_in, settings.price_out)
        self._budget = Budget(prices, settings.max_tokens, settings.max_cost)
        self._tally = RunTally()
        self._failures_in_row = 0
        self._n_running = 0
        self._writing = threading.Lock()

    def run(self, documents: Container[str], *, retry_failed: bool = False) -> RunTally:
        """Read the passages of some documents.

        Parameters
        ----------
        documents
            Their ids.
        retry_failed
            Send those that failed before, and nothing else.

        Returns
        -------
        RunTally
        """
        wanted = self._wanted(documents, retry_failed=retry_failed)
        tally, total = self._tally, len(wanted)
        self._recorder.progress(STAGE, 0, total or None)
        for task, reading in side_by_side(
            self._tasks(documents, wanted), self._read, self._settings.concurrency
        ):
            self._n_running -= 1
            self._count(task, reading)
            self._recorder.tell(STAGE, self._summary())
            self._recorder.progress(STAGE, tally.sent, total)
        tally.pending = total - tally.sent
        tally.cost = self._budget.cost()
        return tally

    def _wanted(self, documents: Container[str], *, retry_failed: bool) -> set[str]:
        """Return the hashes of what is to be sent, each once however many passages have it."""
        wanted: set[str] = set()
        key = self._extractor.key
        for batch in batches(row for row in self._meta.chunks() if row.document_id in documents):
            hashes = dict.fromkeys(map(model_hash, without_recorded(self._meta, batch)))
            stored = self._meta.extractions(key, hashes)
            jobs = self._jobs.of(key, hashes)
            for each in hashes:
                has_failed = each in jobs and jobs[each].status != "done"
                if each in stored and not (retry_failed and has_failed):
                    self._tally.known += each not in wanted
                elif has_failed and not retry_failed:
                    self._tally.failed_before += each not in wanted
                elif has_failed or not retry_failed:
                    wanted.add(each)
        return wanted

    def _tasks(self, documents: Container[str], wanted: set[str]) -> Iterator[_Task | None]:
        """Yield what may start now; None where the budget allows nothing before a call has ended."""
        left = set(wanted)
        for batch in batches((row for row in self._meta.chunks() if row.document_id in documents), _BATCH):
            rows = []
            for row in batch:
                if (key := model_hash(row)) in left:
                    left.discard(key)
                    rows.append(row)
            chunks = [chunk_of(row) for row in rows]
            for row, chunk, menu in zip(rows, chunks, self._extractor.menus(chunks), strict=True):
                n_in, _, n_out = self._extractor.cost(chunk, menu)
                while (held := self._reserve(n_in, n_out)) is None and not self._tally.stopped:
                    if self._n_running == 0:
                        self._tally.stopped = self._bound()
                    yield None
                if held is None or self._tally.stopped:
                    return
                self._n_running += 1
                yield _Task(row, chunk, model_hash(row), menu, *held)

    def _reserve(self, n_in: int, n_out: int) -> tuple[int, int, bool] | None:
        """Hold back two calls, the second with the first one's reply, or one; None where neither is there."""
        if self._budget.reserve(2 * n_in + n_out, 2 * n_out):
            return 2 * n_in + n_out, 2 * n_out, True
        return (n_in, n_out, False) if self._budget.reserve(n_in, n_out) else None

    def _bound(self) -> str:
        if self._settings.max_cost is not None:
            bound, spent = f"a cost of {self._settings.max_cost:g}", f"{self._budget.cost():.4g}"
        else:
            bound, spent = f"{self._settings.max_tokens:,} tokens", f"{sum(self._budget.spent()):,}"
        return f"the next call could exceed {bound} ({spent} spent)"

    def _read(self, task: _Task) -> Reading:
        """Send a passage and keep what came of it at once; runs in a thread of its own."""
        reading = self._extractor.read(task.chunk, task.menu, repair=task.may_repair)
        key, usage = self._extractor.key, reading.usage
        with self._writing:
            if reading.extraction is not None:
                if self._proposing:
                    record(self._meta, reading.proposals)
                self._meta.put_extractions(key, [(task.key, extraction_to_json(reading.extraction))])
            self._jobs.put(
                JobRow(
                    *(key, task.key, reading.status, reading.reason, 1),
                    *(usage.llm_calls, usage.prompt_tokens, usage.completion_tokens),
                )
            )
        return reading

    def _count(self, task: _Task, reading: Reading) -> None:
        tally = self._tally
        self._budget.settle(task.n_in, task.n_out, reading.usage)
        tally.usage += reading.usage
        setattr(tally, reading.status, getattr(tally, reading.status) + 1)
        if reading.extraction is not None:
            tally.triples += len(reading.extraction.triples) + len(reading.extraction.attributes)
        if reading.status != "done" and len(tally.problems) < _MOST_PROBLEMS:
            what = "was not read by the language model" if reading.status == "failed" else "was read in part"
            tally.problems.append(
                Problem(task.row.document_id, f"passage {task.row.id} {what}: {reading.reason}")
            )
        self._failures_in_row = self._failures_in_row + 1 if reading.endpoint_failed else 0
        if self._failures_in_row >= max(_LEAST_FAILURES, self._settings.concurrency) and not tally.stopped:
            tally.stopped = (
                f"{self._failures_in_row} calls in a row failed, the last one so: {reading.reason}"
            )

    def _summary(self) -> str:
        n_in, n_out = self._budget.spent()
        cost = self._budget.cost()
        money = "" if cost is None else f", cost {cost:.4g}"
        return f"{self._tally.triples:,} facts, {n_in:,} tokens in, {n_out:,} out{money}"
