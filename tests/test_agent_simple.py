"""The cheap tests: whether a question has more than one hop, whether a query repeats another."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from ytrag_core.agent.loops import repeats
from ytrag_core.agent.simple import is_simple
from ytrag_core.sample import sample_folder

if TYPE_CHECKING:
    from pathlib import Path


def questions(path: Path) -> list[str]:
    records = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [record["question"] for record in records if record["question"].strip()]


@pytest.mark.parametrize(
    "question",
    ["Who invented the fog clock?", "What is the capital of France?", "When did Maren Tessaly die?",
     "What was Gisvi's nickname?",
     "雾钟是谁发明的？", "东港的灯塔有多高？", "《盐新娘》的作者是谁？", "", "?"],
)  # fmt: skip
def test_plain_questions_pass(question: str) -> None:
    assert is_simple(question)


@pytest.mark.parametrize(
    "question",
    ["Who taught the man who invented the fog clock?", "Who is the sibling of the performer of Decade?",
     "When did the country containing Nugegoda leave the British Empire?",
     "发明雾钟的人出生在哪个城镇？", "周岚所在的城市有哪些港口？"],
)  # fmt: skip
def test_nested_questions_do_not(question: str) -> None:
    assert not is_simple(question)


def test_a_text_instead_of_a_question_is_not_simple_and_takes_no_time() -> None:
    assert not is_simple("fog " * 5000)


def test_all_questions_of_the_sample_are_seen_to_nest() -> None:
    assert not any(map(is_simple, questions(sample_folder() / "questions.jsonl")))


def test_recorded_questions(shared_data: Path) -> None:
    nested = questions(shared_data / "musique_train" / "questions.jsonl")
    plain = questions(shared_data / "cmrc2018_trial_zh" / "questions.jsonl")
    n_right, n_wrong = sum(map(is_simple, plain)), sum(map(is_simple, nested))
    assert n_right >= 0.99 * len(plain)
    assert n_wrong <= 0.12 * len(nested)
    assert n_right >= 0.99 * (n_right + n_wrong)


@pytest.mark.parametrize(
    ("query", "asked", "same"),
    [
        ("Who taught Maren Tessaly?", "who taught maren tessaly", True),
        ("Who taught Maren Tessaly to file?", "Who was it that taught Maren Tessaly to file?", True),
        ("Population of Kansas in 1990?", "Population of Texas in 1990?", False),
        ("Population of Kansas in 1990?", "Population of Kansas in 1991?", False),
        ("Who taught Ivo Lanth?", "Who taught Maren Tessaly?", False),
        ("东港的灯塔是谁建的", "东港的灯塔是谁建的？", True),
        ("周岚生于哪个村子？", "李明生于哪个村子？", False),
        ("谁？", "谁", True),
        ("", "", True),
    ],
)
def test_repeated_queries(query: str, asked: str, same: bool) -> None:
    assert repeats(query, ["something else entirely", asked]) is same


def test_vectors_tell_paraphrases_but_never_other_names() -> None:
    def always(query: str, other: str) -> bool:
        return True

    assert repeats("tutor of Maren Tessaly", ["Who taught Maren Tessaly?"], always)
    assert not repeats("tutor of Ivo Lanth", ["Who taught Maren Tessaly?"], always)
