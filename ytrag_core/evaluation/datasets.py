"""Question files: JSON Lines of {id, question, answers, supporting_ids}."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ytrag_core.documents.model import Problem
from ytrag_core.documents.records import read_records, record_id
from ytrag_core.errors import ConfigError, QueryError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Question", "naming", "read_question_file", "read_questions"]


@dataclass(frozen=True, slots=True)
class Question:
    """One question with what is known about its answer.

    Attributes
    ----------
    id
        Unique within its file; `line 7` and its like where the file gives none.
    question
        The question itself.
    answers
        Accepted answers; may be empty.
    supporting_ids
        The passages that together carry the answer, each once; may be empty.
    hops
        How many facts have to be chained, where the file says so.
    """

    id: str
    question: str
    answers: tuple[str, ...] = ()
    supporting_ids: tuple[str, ...] = ()
    hops: int | None = None


@contextmanager
def naming(question: Question) -> Iterator[None]:
    """Say which question it is where one cannot be asked.

    Raises
    ------
    QueryError
        As it was raised inside, the id of the question before it.
    """
    try:
        yield
    except QueryError as error:
        raise QueryError(f"question {question.id!r}: {error}") from error


def read_questions(path: Path) -> list[Question]:
    """Read a question file as `read_question_file` does, without what it sets aside."""
    return read_question_file(path)[0]


def read_question_file(path: Path) -> tuple[list[Question], list[Problem]]:
    """Read a question file; a bad line is an error, since it would shift every figure.

    Parameters
    ----------
    path
        JSON Lines: `question` is required; `id`, `answers`, `supporting_ids` and `hops` may be missing.

    Returns
    -------
    questions : list of Question
        In the file's order, at least one.
    problems : list of Problem
        Records whose question is empty: nothing can be asked there, and published sets have such.

    Raises
    ------
    ConfigError
        When the file is missing, empty or holds a line of another form; the message names the line.
    """
    if not path.is_file():
        raise ConfigError(f"no question file at {path}; a JSON Lines file of questions was wanted")
    questions: list[Question] = []
    problems: list[Problem] = []
    seen: dict[str, str] = {}
    for record in read_records(path):
        if isinstance(record, Problem):
            raise ConfigError(f"{record.source}: {record.reason}")
        text = record.fields.get("question")
        if isinstance(text, str) and not text.strip():
            problems.append(Problem(record.source, "its question is empty"))
            continue
        question = _question(record.fields, record.source)
        if question.id in seen:
            raise ConfigError(
                f"{record.source}: the id {question.id!r} was given before, at {seen[question.id]}; "
                "every question needs its own"
            )
        seen[question.id] = record.source
        questions.append(question)
    if not questions:
        what = "only empty questions" if problems else "no question"
        raise ConfigError(f"{path} holds {what}; one JSON object a line was wanted")
    return questions, problems


def _question(fields: Any, source: str) -> Question:
    text = fields.get("question")
    if not isinstance(text, str):
        raise ConfigError(f"{source}: `question` must be a text, {_shown(text)} arrived")
    try:
        identity = record_id(fields.get("id"))
    except ValueError as error:
        raise ConfigError(f"{source}: `id`: {error}") from None
    hops = fields.get("hops")
    if hops is not None and (isinstance(hops, bool) or not isinstance(hops, int) or hops < 1):
        raise ConfigError(f"{source}: `hops` must be a whole number from 1, {_shown(hops)} arrived")
    return Question(
        id=identity or f"line {source.rpartition(':')[2]}",
        question=text.strip(),
        answers=_texts(fields.get("answers"), "answers", source),
        supporting_ids=_texts(fields.get("supporting_ids"), "supporting_ids", source),
        hops=hops,
    )


def _texts(value: Any, name: str, source: str) -> tuple[str, ...]:
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    texts: dict[str, None] = {}
    for item in items:
        try:
            text = record_id(item)
        except ValueError:
            text = None
        if text is None:
            raise ConfigError(f"{source}: `{name}` must be a list of texts, it holds {_shown(item)}")
        texts[text] = None
    return tuple(texts)


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
