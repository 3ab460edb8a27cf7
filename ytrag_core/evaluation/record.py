"""One run of an evaluation as a file that a machine reads: what was asked of what, and every answer."""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ytrag_core import __version__
from ytrag_core.evaluation.run import hops_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ytrag_core.evaluation.datasets import Question
    from ytrag_core.evaluation.run import Results
    from ytrag_core.knowledge_base import KnowledgeBase

__all__ = ["run_record"]

_FORMAT = 1
_LIBRARIES = ("numpy", "numba", "onnxruntime", "bm25s")


def run_record(
    kb: KnowledgeBase,
    file: Path,
    questions: Sequence[Question],
    results: Mapping[str, Results],
    report: Mapping[str, Any],
    *,
    seed: int,
) -> dict[str, Any]:
    """Return a run with its versions, its settings and the results of every question.

    Parameters
    ----------
    kb
        What was asked.
    file
        Where the questions came from.
    questions
        Those that were measured, in the order of the results.
    results
        System -> results.
    report
        What `evaluate` returned.
    seed
        Of the intervals.

    Returns
    -------
    dict
        `{format, date, versions, machine, kb, settings, questions_file, seed, report, questions}`; each of
        `questions` has `id`, `hops`, `gold` and for each system `passages`, `latency_ms` and its metrics in
        [0, 1].
    """
    return {
        "format": _FORMAT,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "ytrag": __version__,
            "python": platform.python_version(),
            **{library: version(library) for library in _LIBRARIES},
        },
        "machine": {"processor": platform.machine(), "system": platform.system()},
        "kb": kb.info(),
        "settings": kb.settings.model_dump(mode="json"),
        "questions_file": {"name": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()},
        "seed": seed,
        "report": dict(report),
        "questions": [
            {
                "id": question.id,
                "hops": hops_of(question),
                "gold": list(question.supporting_ids),
                "systems": {name: _one(found, place) for name, found in results.items()},
            }
            for place, question in enumerate(questions)
        ],
    }


def _one(results: Results, place: int) -> dict[str, Any]:
    metrics = zip(results.metrics, results.values[place].tolist(), strict=True)
    return {
        **{name: round(value, 4) for name, value in metrics},
        "latency_ms": round(float(results.seconds[place]) * 1e3, 2),
        "passages": results.passages[place],
    }
