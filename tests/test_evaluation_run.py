from __future__ import annotations

import json

import pytest

from ytrag_core.errors import ConfigError
from ytrag_core.evaluation.datasets import Question
from ytrag_core.evaluation.run import evaluate

QUESTIONS = [
    Question("1", "one", supporting_ids=("a", "b")),
    Question("2", "two", supporting_ids=("c",)),
    Question("3", "three", supporting_ids=("d", "e", "f")),
]
RANKINGS = {
    "one": ["a", "x", "b", "y"],
    "two": ["x", "y", "z", "c"],
    "three": ["d", "e", "x", "y"],
}


def recorded(question: str, k: int) -> list[str]:
    return RANKINGS[question][:k]


def test_report_by_hand() -> None:
    report = evaluate({"recorded": recorded}, QUESTIONS, top_k=[4, 1, 2])
    system = report["systems"]["recorded"]
    latency, interval, by_hops = (system.pop(name) for name in ("latency_ms", "interval", "by_hops"))
    assert report["n"] == 3
    assert system == {
        "recall@1": 27.8,  # 1/2, 0, 1/3
        "recall@2": 38.9,  # 1/2, 0, 2/3
        "recall@4": 88.9,  # 1, 1, 2/3
        "chain@1": 0.0,
        "chain@2": 0.0,
        "chain@4": 66.7,
        "mrr": 75.0,  # 1, 1/4, 1
    }
    assert list(latency) == ["p50", "p95", "p99"]
    assert 0 <= latency["p50"] <= latency["p95"] <= latency["p99"]
    assert interval.keys() == system.keys()
    assert all(low <= system[name] <= high for name, (low, high) in interval.items())
    assert {hops: (row["n"], row["recall@2"], row["mrr"]) for hops, row in by_hops.items()} == {
        "1": (1, 0.0, 25.0),
        "2": (1, 50.0, 100.0),
        "3": (1, 66.7, 100.0),
    }
    assert report["problems"] == []
    json.dumps(report, allow_nan=False)


def test_one_call_warms_up_and_progress_is_told() -> None:
    calls: list[tuple[str, int]] = []
    told: list[tuple[str, int, int]] = []

    def ranker(question: str, k: int) -> list[str]:
        calls.append((question, k))
        return ["a", "b"]

    evaluate({"s": ranker}, QUESTIONS[:2], top_k=[2], progress=lambda *event: told.append(event))
    assert calls == [("one", 2), ("one", 2), ("two", 2)]
    assert told == [("s", 0, 2), ("s", 1, 2), ("s", 2, 2)]


def test_each_script_warms_up() -> None:
    calls: list[str] = []

    def ranker(question: str, k: int) -> list[str]:
        calls.append(question)
        return []

    questions = [
        QUESTIONS[0],
        Question("z", "谁？", supporting_ids=("a",)),
        Question("y", "谁", supporting_ids=("a",)),
    ]
    evaluate({"s": ranker}, questions, top_k=[2])
    assert calls == ["one", "谁？", "one", "谁？", "谁"]


def test_pieces_that_collapse_are_made_up_for() -> None:
    pieces = [f"long#{number}" for number in range(6)] + ["a", "b", "c"]
    documents = dict.fromkeys(pieces[:6], "long") | {"a": "a", "b": "b", "c": "c"}

    def ranker(question: str, k: int) -> list[str]:
        return pieces[:k]

    report = evaluate({"s": ranker}, QUESTIONS[:1], top_k=[3], documents=documents)
    assert report["systems"]["s"]["recall@3"] == 100.0


def test_a_deeper_call_does_not_change_the_ranking_above() -> None:
    def ranker(question: str, k: int) -> list[str]:
        return ["x#0", "x#1"] if k == 2 else ["a", "b", "x#0", "x#1"]

    report = evaluate({"s": ranker}, QUESTIONS[:1], top_k=[1, 2])
    assert report["systems"]["s"]["recall@1"] == 0.0
    assert report["systems"]["s"]["recall@2"] == 50.0


def test_what_cannot_be_measured_is_reported() -> None:
    questions = [*QUESTIONS, Question("4", "four")]
    report = evaluate(
        {"recorded": recorded}, questions, top_k=[4], documents={"a": "a", "c#0": "c", "x": "x"}
    )
    assert report["n"] == 3
    assert [problem["source"] for problem in report["problems"]] == ["4", "1", "3"]
    assert "b" in report["problems"][1]["reason"]


@pytest.mark.parametrize(
    ("questions", "top_k", "documents", "message"),
    [
        (QUESTIONS, [], None, "top-k"),
        (QUESTIONS, [0, 5], None, "top-k"),
        ([Question("1", "one")], [5], None, "supporting_ids"),
        (QUESTIONS, [5], {"other": "other"}, "same corpus"),
    ],
)
def test_errors(
    questions: list[Question], top_k: list[int], documents: dict[str, str] | None, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        evaluate({"recorded": recorded}, questions, top_k=top_k, documents=documents)
