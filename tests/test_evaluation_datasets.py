from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from ytrag_core.errors import ConfigError
from ytrag_core.evaluation.datasets import Question, read_question_file, read_questions

if TYPE_CHECKING:
    from pathlib import Path


def write(path: Path, *lines: Any) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), "utf-8")
    return path


def test_reads_all_fields_and_their_defaults(tmp_path: Path) -> None:
    path = write(
        tmp_path / "q.jsonl",
        {
            "id": 7,
            "question": " Who? ",
            "answers": "Ada",
            "supporting_ids": ["a", "b", "a"],
            "hops": 2,
            "x": 1,
        },
        "",
        {"question": "谁？"},
    )
    assert read_questions(path) == [
        Question("7", "Who?", ("Ada",), ("a", "b"), 2),
        Question("line 3", "谁？"),
    ]


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": "1", "question": "Who?"}\r\n{"id": "2", "question": "Where?"}\r\n')
    assert [question.question for question in read_questions(path)] == ["Who?", "Where?"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"question": "ok"}', "{"], r"q\.jsonl:2: not valid JSON"),
        (['{"question": "ok"}', "[1]"], r"q\.jsonl:2: .*array"),
        (['{"question": "ok", "score": NaN}'], r"q\.jsonl:1: .*NaN"),
        (['{"question": 3}'], r"q\.jsonl:1: `question`.*3 arrived"),
        (['{"question": "  "}'], "holds only empty questions"),
        (['{"id": "1"}'], r"q\.jsonl:1: `question`.*nothing arrived"),
        (['{"id": [1], "question": "x"}'], r"q\.jsonl:1: `id`"),
        (
            ['{"id": 1, "question": "x"}', '{"id": "1", "question": "y"}'],
            r"q\.jsonl:2: the id '1' .*jsonl:1",
        ),
        (['{"question": "x", "supporting_ids": [["a"]]}'], r"q\.jsonl:1: `supporting_ids`"),
        (['{"question": "x", "answers": [""]}'], r"q\.jsonl:1: `answers`"),
        (['{"question": "x", "hops": "two"}'], r"q\.jsonl:1: `hops`"),
        (["", "  "], "holds no question"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_questions(write(tmp_path / "q.jsonl", *lines))


def test_an_empty_question_is_set_aside_and_told(tmp_path: Path) -> None:
    path = write(tmp_path / "q.jsonl", '{"id": 1, "question": ""}', '{"id": 2, "question": "Who?"}')
    questions, problems = read_question_file(path)
    assert [question.id for question in questions] == ["2"]
    assert [(problem.source.endswith("q.jsonl:1"), problem.reason) for problem in problems] == [
        (True, "its question is empty")
    ]


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no question file"):
        read_questions(tmp_path / "none.jsonl")


def test_reads_the_recorded_questions(shared_data: Path) -> None:
    questions = read_questions(shared_data / "musique_train" / "questions.jsonl")
    assert len(questions) == 60
    assert sorted({question.hops for question in questions if question.hops}) == [2, 3, 4]
    assert all(len(question.supporting_ids) == question.hops for question in questions)
