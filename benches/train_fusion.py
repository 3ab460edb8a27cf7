"""Makes `ytrag_core/retrieval/fusion.json`: the weights that ytrag comes with, and their report.

    python benches/train_fusion.py multi:KB:QUESTIONS[:IMPORTANCE[:STEP]] ... > fusion.json

Each argument names a set of questions and the knowledge base that they are asked of; `parts` as the last word
of a set takes the sub-questions of its `decomposition` in place of the questions, each with its own passage.
Sets of one knowledge base or of the same passages are divided into folds together: no passage that is wanted
in fitting is wanted in judging.
"""

from __future__ import annotations

import json
import os
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np

from ytrag_core import KnowledgeBase, __version__
from ytrag_core.evaluation.datasets import Question, read_questions
from ytrag_core.evaluation.samples import Sample, collect_samples, grouped
from ytrag_core.evaluation.tuning import METRICS, cross_validate, fit_fusion, judge
from ytrag_core.retrieval.weights import FusionWeights

if TYPE_CHECKING:
    from numpy.typing import NDArray

PRIOR = {"walk": 1.0}
"""PageRank alone; all else has to prove itself."""


def sub_questions(path: Path) -> list[Question]:
    """Return the steps of each question, `#1` and so on replaced by the answers of the steps before."""
    asked = []
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        answers = [step["answer"] for step in record["decomposition"]]
        for number, step in enumerate(record["decomposition"]):
            text = re.sub(r"#(\d)", lambda match: answers[int(match[1]) - 1], step["question"])  # noqa: B023
            text = text.replace(" >> ", " ")
            asked.append(Question(f"{record['id']}/{number}", text, supporting_ids=(step["supporting_id"],)))
    return asked


def read_set(spec: str) -> tuple[str, list[Sample]]:
    """Return the name and the samples of one argument."""
    name, base, questions, *rest = spec.split(":")
    parts = rest[-1:] == ["parts"]
    numbers = [float(value) for value in (rest[:-1] if parts else rest)]
    importance, step = (*numbers, *(1.0, 1.0)[len(numbers) :])
    asked = sub_questions(Path(questions)) if parts else read_questions(Path(questions))
    kb = KnowledgeBase.open(base)
    return name, collect_samples(kb, asked[:: int(step)], importance=importance)


def by_set(sets: dict[str, list[Sample]], metrics: NDArray[np.float64]) -> dict[str, dict[str, float]]:
    """Return the means of each set's questions in percent."""
    figures, start = {}, 0
    for name, samples in sets.items():
        means = 100.0 * metrics[start : start + len(samples)].mean(axis=0)
        figures[name] = {metric: round(mean, 1) for metric, mean in zip(METRICS, means.tolist(), strict=True)}
        start += len(samples)
    return figures


def main(specs: list[str]) -> None:
    """Fit, cross-validate, and print the JSON."""
    sets = dict(map(read_set, specs))
    samples = [sample for members in sets.values() for sample in members]
    groups = grouped(samples)
    weights = fit_fusion(samples, PRIOR)
    report: dict[str, Any] = {
        "date": datetime.now(UTC).date().isoformat(),
        "version": __version__,
        "model": "conditional logit without negative weights; five folds that share no passage, thrice",
        "n": len(samples),
        "n_groups": len(set(groups)),
        "data": {
            name: {"questions": len(members), "importance": members[0].importance}
            for name, members in sets.items()
        },
        "figures": {
            "cross_validated": by_set(sets, cross_validate(samples, PRIOR, groups)),
            "fitted": by_set(sets, np.array([judge(sample, weights) for sample in samples])),
        },
    }
    print(json.dumps(FusionWeights(weights, report).to_json(), indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1:])
