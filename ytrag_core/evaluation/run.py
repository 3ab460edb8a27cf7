"""Runs retrieval systems over a question file and measures what they find, and how fast."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ytrag_core.errors import ConfigError
from ytrag_core.evaluation.datasets import naming
from ytrag_core.evaluation.metrics import chain_at_k, passages_of, recall_at_k, reciprocal_rank
from ytrag_core.evaluation.rankers import Ranker, StagedRanker
from ytrag_core.evaluation.statistics import bootstrap_intervals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from ytrag_core.evaluation.datasets import Question

__all__ = ["Ranker", "Results", "evaluate", "hops_of", "measurable", "measure"]

_MAX_DEEPENING = 5


def evaluate(
    systems: Mapping[str, Ranker],
    questions: Sequence[Question],
    *,
    top_k: Sequence[int] = (2, 5, 10, 20),
    documents: Mapping[str, str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    forget: Callable[[], None] | None = None,
    seed: int = 0,
    keep: Callable[[str, Results], None] | None = None,
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
    seed
        Of the resamples that the intervals come from.
    keep
        Called with each system and its results by question.

    Returns
    -------
    dict
        `{n, systems: {name: {"recall@k", "chain@k", "mrr", latency_ms: {p50, p95, p99}, interval, by_hops,
        stages_ms?}}, problems}`. All metrics are percentages (0..100) with one decimal; `interval` holds the
        ends of their 95 % bootstrap intervals; the latency is that of a whole call.

    Raises
    ------
    ConfigError
        For a depth below 1, no question with supporting passages, or questions of another corpus.
    """
    depths = sorted(set(top_k))
    if not depths or depths[0] < 1:
        raise ConfigError(f"top-k values must be whole numbers from 1, {list(top_k)} arrived")
    scored, problems = measurable(questions, documents)
    hops = [hops_of(question) for question in scored]
    report = {}
    for name, ranker in systems.items():
        results = measure(name, ranker, scored, depths, documents, progress, forget)
        report[name] = results.to_json(hops, seed=seed)
        if keep is not None:
            keep(name, results)
    return {"n": len(scored), "systems": report, "problems": problems}


def measurable(
    questions: Sequence[Question], documents: Mapping[str, str] | None
) -> tuple[list[Question], list[dict[str, str]]]:
    """Return the questions that can be measured, and what is to be said of the others.

    Raises
    ------
    ConfigError
        No question has supporting passages, or the knowledge base holds none of them.
    """
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
    return scored, problems


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


@dataclass(frozen=True, slots=True, eq=False)
class Results:
    """What one system did with each question.

    Attributes
    ----------
    metrics
        Names of the columns: recall@k, chain@k, mrr.
    values
        (n_questions, n_metrics) float64 in [0, 1].
    passages
        For each question the passages found, best first.
    seconds
        (n_questions,) float64, of whole calls.
    stages
        Stage -> (n_questions,) float64 milliseconds, where the system tells.
    """

    metrics: tuple[str, ...]
    values: NDArray[np.float64]
    passages: list[list[str]]
    seconds: NDArray[np.float64]
    stages: Mapping[str, NDArray[np.float64]]

    def to_json(self, hops: Sequence[int], *, seed: int) -> dict[str, Any]:
        """Return means and their intervals in percent, the same by the number of hops, and latencies."""
        report: dict[str, Any] = self._means(self.values)
        report["latency_ms"] = _percentiles(self.seconds * 1e3, (50, 95, 99))
        low, high = bootstrap_intervals(self.values, seed=seed)
        report["interval"] = {
            name: [_percent(ends[0]), _percent(ends[1])]
            for name, *ends in zip(self.metrics, low.tolist(), high.tolist(), strict=True)
        }
        report["by_hops"] = {
            str(n): {"n": int((np.array(hops) == n).sum()), **self._means(self.values[np.array(hops) == n])}
            for n in sorted(set(hops))
        }
        if self.stages:
            report["stages_ms"] = {name: _percentiles(ms, (50, 95)) for name, ms in self.stages.items()}
        return report

    def _means(self, values: NDArray[np.float64]) -> dict[str, float]:
        means = values.mean(axis=0).tolist()
        return {name: _percent(mean) for name, mean in zip(self.metrics, means, strict=True)}


def _percent(share: float) -> float:
    return round(100.0 * share, 1)


def _percentiles(values: NDArray[np.float64], tails: tuple[int, ...]) -> dict[str, float]:
    return {
        f"p{tail}": round(value, 2)
        for tail, value in zip(tails, np.percentile(values, tails).tolist(), strict=True)
    }


def hops_of(question: Question) -> int:
    """Return how many facts a question chains: as its file says, else one for each supporting passage."""
    return question.hops or len(question.supporting_ids)


def measure(
    name: str,
    ranker: Ranker,
    questions: Sequence[Question],
    depths: Sequence[int],
    documents: Mapping[str, str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    forget: Callable[[], None] | None = None,
) -> Results:
    """Ask one system every question; parameters as of `evaluate`, depths ascending."""
    names = (*(f"recall@{k}" for k in depths), *(f"chain@{k}" for k in depths), "mrr")
    values, found, seconds = [], [], []
    stages: dict[str, list[float]] = {}
    for question in _warm_up_questions(questions):
        with naming(question):
            ranker(question.question, depths[-1])
    if forget is not None:
        forget()
    for done, question in enumerate(questions):
        if progress is not None:
            progress(name, done, len(questions))
        start = time.perf_counter()
        with naming(question):
            ranked = ranker(question.question, depths[-1])
        seconds.append(time.perf_counter() - start)
        if isinstance(ranker, StagedRanker):
            for stage, ms in ranker.timings_ms.items():
                stages.setdefault(stage, []).append(ms)
        passages = _deepened(ranker, question, ranked, depths[-1], documents)
        gold = question.supporting_ids
        recalls = [recall_at_k(passages, gold, k) for k in depths]
        chains = [chain_at_k(passages, gold, k) for k in depths]
        values.append([*recalls, *chains, reciprocal_rank(passages[: depths[-1]], gold)])
        found.append(passages[: depths[-1]])
    if progress is not None:
        progress(name, len(questions), len(questions))
    timed = {stage: np.array(ms) for stage, ms in stages.items()}
    return Results(names, np.array(values), found, np.array(seconds), timed)


def _warm_up_questions(questions: Sequence[Question]) -> list[Question]:
    """Return the first question, and the first in another script: that loads a word segmenter."""
    wide = [question for question in questions if not question.question.isascii()]
    return list(dict.fromkeys([questions[0], *wide[:1]]))


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
