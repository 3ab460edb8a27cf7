"""What each route is worth: alone, and what is lost without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ytrag_core.config import ROUTES
from ytrag_core.evaluation.rankers import KnowledgeBaseRanker
from ytrag_core.evaluation.run import measure
from ytrag_core.evaluation.statistics import bootstrap_intervals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ytrag_core.evaluation.datasets import Question
    from ytrag_core.evaluation.run import Results
    from ytrag_core.knowledge_base import KnowledgeBase

__all__ = ["ablate"]


def ablate(
    kb: KnowledgeBase,
    questions: Sequence[Question],
    whole: Results,
    depths: Sequence[int],
    *,
    documents: Mapping[str, str] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    seed: int = 0,
) -> dict[str, Any]:
    """Measure each route alone and all routes without each.

    Parameters
    ----------
    kb
        The knowledge base.
    questions
        Those that `measurable` returns.
    whole
        What all routes together did with them.
    depths, documents, progress, seed
        As for `evaluate`, depths ascending.

    Returns
    -------
    dict
        `{alone: {route: {metric: percent}}, without: {route: {metric: percent, "change": {metric: [points,
        low, high]}}}}`. A change is that of each question against all routes, with its 95 % interval: below 0
        where the route helps.
    """
    alone: dict[str, dict[str, Any]] = {}
    without: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        others = [other for other in ROUTES if other != route]
        for rows, routes, name in ((alone, [route], "alone"), (without, others, "without")):
            results = measure(
                f"{route} {name}", KnowledgeBaseRanker(kb, routes), questions, depths, documents, progress
            )
            rows[route] = _means(results)
            if rows is without:
                rows[route]["change"] = _change(results, whole, seed)
    return {"alone": alone, "without": without}


def _means(results: Results) -> dict[str, Any]:
    means = results.values.mean(axis=0).tolist()
    return {name: round(100.0 * mean, 1) for name, mean in zip(results.metrics, means, strict=True)}


def _change(results: Results, whole: Results, seed: int) -> dict[str, list[float]]:
    difference = 100.0 * (results.values - whole.values)
    columns = (difference.mean(axis=0), *bootstrap_intervals(difference, seed=seed))
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return {name: [round(value, 1) for value in row] for name, row in zip(results.metrics, rows, strict=True)}
