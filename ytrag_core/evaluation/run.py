"""Runs retrieval systems over a question file and measures what they find, and how fast."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ytrag_core.errors import ConfigError
from ytrag_core.evaluation.metrics import chain_at_k, passages_of, recall_at_k, reciprocal_rank
from ytrag_core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ytrag_core.evaluation.datasets import Question

__all__ = ["Ranker", "documents_of_chunks", "evaluate"]

Ranker = Callable[[str, int], list[str]]
"""(question, k) -> up to k chunk ids, best first."""

_MAX_DEEPENING = 5


def documents_of_chunks(kb: Path) -> dict[str, str]:
    """Return chunk id -> document id of a knowledge base's live snapshot.

    Raises
    ------
    SnapshotError
        There is no knowledge base, or it is damaged.
    """
    snapshot = Snapshot.open(kb)
    ids = snapshot.table("documents", ["id"]).column("id").to_pylist()
    chunks = snapshot.table("chunks", ["id", "document"])
    documents = chunks.column("document").to_pylist()
    return {chunk: ids[row] for chunk, row in zip(chunks.column("id").to_pylist(), documents, strict=True)}


def evaluate(
    systems: Mapping[str, Ranker],
    questions: Sequence[Question],
    *,
    top_k: Sequence[int] = (2, 5, 10, 20),
    documents: Mapping[str, str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    forget: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Measure every system on every question that has supporting passages.

    Parameters
    ----------
    systems
        Name -> ranker; each warms up on the first question, and on the first that is not ASCII, untimed.
    questions
        Those without `supporting_ids` are left out and reported.
    top_k
        Depths, each from 1.
    documents
        Chunk id -> document id of the knowledge base. Given, gold passages that it does not hold are reported
        (they count as not found), and questions of which it holds none at all are an error.
    progress
        Called with (system, done, total).
    forget
        Called after each system's warm-up: empties caches that one system would fill for the next.

    Returns
    -------
    dict
        `{n, systems: {name: {"recall@k", "chain@k", "mrr", latency_ms: {p50, p95, p99}}}, problems}`. All
        three metrics are percentages (0..100) with one decimal; the latency is that of a whole call.

    Raises
    ------
    ConfigError
        For a depth below 1, no question with supporting passages, or questions of another corpus.
    """
    depths = sorted(set(top_k))
    if not depths or depths[0] < 1:
        raise ConfigError(f"top-k values must be whole numbers from 1, {list(top_k)} arrived")
    scored = [question for question in questions if question.supporting_ids]
    if not scored:
        raise ConfigError(
            f"none of the {len(questions)} questions names supporting passages (`supporting_ids`); "
            "without them retrieval cannot be measured"
        )
    problems = [
        {"source": question.id, "reason": "no supporting_ids; left out"}
        for question in questions
        if not question.supporting_ids
    ]
    if documents is not None:
        problems += _missing_passages(scored, documents)
    report = {
        name: _measure(name, ranker, scored, depths, documents, progress, forget)
        for name, ranker in systems.items()
    }
    return {"n": len(scored), "systems": report, "problems": problems}


def _missing_passages(questions: Sequence[Question], documents: Mapping[str, str]) -> list[dict[str, str]]:
    if not documents:
        raise ConfigError("this knowledge base has no passages, so finding them cannot be measured")
    known = set(documents).union(documents.values())
    problems = []
    for question in questions:
        missing = [passage for passage in question.supporting_ids if passage not in known]
        if missing:
            reason = f"supporting passages that the knowledge base does not hold: {', '.join(missing)}"
            problems.append({"source": question.id, "reason": reason})
    if not any(passage in known for question in questions for passage in question.supporting_ids):
        example = questions[0].supporting_ids[0]
        raise ConfigError(
            f"the knowledge base holds none of the questions' supporting passages (for example {example!r}); "
            "the questions and the knowledge base must come from the same corpus"
        )
    return problems


@dataclass(slots=True)
class _Tally:
    """Sums over questions, and the seconds of each."""

    recall: dict[int, float]
    chain: dict[int, float]
    reciprocal: float = 0.0
    seconds: list[float] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        n = len(self.seconds)
        report: dict[str, Any] = {f"recall@{k}": _percent(value, n) for k, value in self.recall.items()}
        report |= {f"chain@{k}": _percent(value, n) for k, value in self.chain.items()}
        report["mrr"] = _percent(self.reciprocal, n)
        p50, p95, p99 = np.percentile(np.array(self.seconds) * 1e3, [50, 95, 99])
        report["latency_ms"] = {
            "p50": round(float(p50), 2),
            "p95": round(float(p95), 2),
            "p99": round(float(p99), 2),
        }
        return report


def _percent(total: float, n: int) -> float:
    return round(100.0 * total / n, 1)


def _measure(
    name: str,
    ranker: Ranker,
    questions: Sequence[Question],
    depths: Sequence[int],
    documents: Mapping[str, str] | None,
    progress: Callable[[str, int, int], None] | None,
    forget: Callable[[], None] | None,
) -> dict[str, Any]:
    tally = _Tally(dict.fromkeys(depths, 0.0), dict.fromkeys(depths, 0.0))
    for text in _warm_up_questions(questions):
        ranker(text, depths[-1])
    if forget is not None:
        forget()
    for done, question in enumerate(questions):
        if progress is not None:
            progress(name, done, len(questions))
        start = time.perf_counter()
        ranked = ranker(question.question, depths[-1])
        tally.seconds.append(time.perf_counter() - start)
        passages = _deepened(ranker, question, ranked, depths[-1], documents)
        for k in depths:
            tally.recall[k] += recall_at_k(passages, question.supporting_ids, k)
            tally.chain[k] += chain_at_k(passages, question.supporting_ids, k)
        tally.reciprocal += reciprocal_rank(passages[: depths[-1]], question.supporting_ids)
    if progress is not None:
        progress(name, len(questions), len(questions))
    return tally.to_json()


def _warm_up_questions(questions: Sequence[Question]) -> list[str]:
    """Return the first question, and the first in another script: that loads a word segmenter."""
    texts = [question.question for question in questions]
    return list(dict.fromkeys([texts[0], *[text for text in texts if not text.isascii()][:1]]))


def _deepened(
    ranker: Ranker, question: Question, ranked: list[str], depth: int, documents: Mapping[str, str] | None
) -> list[str]:
    """Return `depth` passages where the ranker has them: chunks of one passage collapse, so ask for more."""
    passages = passages_of(ranked, question.supporting_ids, documents)
    asked = depth
    for _ in range(_MAX_DEEPENING):
        if len(passages) >= depth or len(ranked) < asked:
            break  # enough, or the ranker has no more
        asked *= 2
        deeper = ranker(question.question, asked)
        ranked = list(dict.fromkeys([*ranked, *deeper]))
        passages = passages_of(ranked, question.supporting_ids, documents)
    return passages
