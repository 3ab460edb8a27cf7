"""What happens to a question on its way, as events that can be shown, stored and read again."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, TypeAdapter, ValidationError

__all__ = [
    "EVENTS",
    "AnswerPiece",
    "Asked",
    "Called",
    "Checked",
    "Decomposed",
    "Done",
    "Event",
    "Problem",
    "Retrieved",
    "Rewritten",
    "Thought",
    "event_from_json",
]


class _SubQuestion(BaseModel):
    id: int | str
    question: str
    needs: list[int | str]
    types: list[str]
    kind: str


class _Finding(BaseModel):
    id: int | str
    answer: str
    chunk_ids: list[str]


class _Claim(BaseModel):
    text: str
    supported: bool
    own: bool
    chunk_ids: list[str]


class _Removal(BaseModel):
    citation: str
    reason: str


class _Answer(BaseModel):
    answer: str = ""
    usage: dict[str, int] = {}


def _held_to(form: Any) -> AfterValidator:
    """Return a check against a form that leaves a value as it is, whatever else it holds."""
    adapter: TypeAdapter[Any] = TypeAdapter(form)

    def check(value: Any) -> Any:
        adapter.validate_python(value)
        return value

    return AfterValidator(check)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    Attributes
    ----------
    at_ms
        Milliseconds since the question.
    """

    name: ClassVar[str] = ""

    at_ms: float

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form: the event's name and its fields."""
        return {"event": self.name, **asdict(self)}


@dataclass(frozen=True, slots=True)
class Asked(Event):
    """A question has arrived.

    Attributes
    ----------
    mode
        `open`, `reject`, `no-agent` or `evidence`.
    simple
        Whether it needs no decomposition.
    """

    name: ClassVar[str] = "asked"

    question: str
    mode: str
    simple: bool


@dataclass(frozen=True, slots=True)
class Rewritten(Event):
    """A follow-up question was made to stand for itself."""

    name: ClassVar[str] = "rewritten"

    question: str


@dataclass(frozen=True, slots=True)
class Decomposed(Event):
    """The question was taken apart.

    Attributes
    ----------
    sub_questions
        `{id, question, needs, types, kind}` each.
    notes
        What had to be mended.
    """

    name: ClassVar[str] = "decomposed"

    sub_questions: Annotated[list[dict[str, Any]], _held_to(list[_SubQuestion])]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class Retrieved(Event):
    """Something was looked up.

    Attributes
    ----------
    step
        The thought that it is for, from 1.
    queries
        What was looked up, side by side.
    chunk_ids
        What was found for them, best first, each once.
    n_new
        Passages that the model has not read yet, and facts that were not known before.
    ms
        How long it took.
    """

    name: ClassVar[str] = "retrieved"

    step: int
    queries: list[str]
    chunk_ids: list[str]
    n_new: int
    ms: float


@dataclass(frozen=True, slots=True)
class Called(Event):
    """A model was called.

    Attributes
    ----------
    stage
        `decompose`, `reason` or `judge`.
    purpose
        What for: `decompose`, `think`, `repair`, `judge`, `rewrite`.
    prompt_tokens, completion_tokens
        As the endpoint counts them, else as estimated.
    estimated_prompt_tokens
        Length of the prompt as it is held against the limit.
    ms
        How long it took.
    error
        Why it failed, where it did.
    """

    name: ClassVar[str] = "called"

    stage: str
    purpose: str
    prompt_tokens: int
    completion_tokens: int
    estimated_prompt_tokens: int
    ms: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class Thought(Event):
    """The model has read the evidence and decided.

    Attributes
    ----------
    step
        From 1.
    thought
        Its reason.
    decision
        `answer`, `search`, `refuse` or `unusable`.
    query
        What it wants to look up next.
    found
        Sub-questions that it answered: `{id, answer, chunk_ids}` each.
    chunk_ids
        The passages that it read.
    """

    name: ClassVar[str] = "thought"

    step: int
    thought: str
    decision: str
    query: str
    found: Annotated[list[dict[str, Any]], _held_to(list[_Finding])]
    chunk_ids: list[str]


@dataclass(frozen=True, slots=True)
class AnswerPiece(Event):
    """A piece of the answer, as it is written; it is checked only when it is complete."""

    name: ClassVar[str] = "answer_piece"

    text: str


@dataclass(frozen=True, slots=True)
class Checked(Event):
    """The answer was held against the evidence.

    Attributes
    ----------
    claims
        `{text, supported, own, chunk_ids}` each.
    removed
        Citations that were taken out: `{citation, reason}` each.
    query
        What is looked up for the unsupported claims, where something is.
    """

    name: ClassVar[str] = "checked"

    claims: Annotated[list[dict[str, Any]], _held_to(list[_Claim])]
    removed: Annotated[list[dict[str, str]], _held_to(list[_Removal])]
    query: str = ""


@dataclass(frozen=True, slots=True)
class Problem(Event):
    """Something went wrong that did not end the question."""

    name: ClassVar[str] = "problem"

    text: str


@dataclass(frozen=True, slots=True)
class Done(Event):
    """The answer is there: `answer` is the JSON form of `ytrag_core.agent.model.Answer`."""

    name: ClassVar[str] = "done"

    answer: Annotated[dict[str, Any], _held_to(_Answer)] = field(default_factory=dict)


EVENTS: dict[str, type[Event]] = {
    kind.name: kind
    for kind in (
        Asked,
        Rewritten,
        Decomposed,
        Retrieved,
        Called,
        Thought,
        AnswerPiece,
        Checked,
        Problem,
        Done,
    )
}
"""Events by their names."""

_FORMS: dict[str, TypeAdapter[Any]] = {name: TypeAdapter(kind) for name, kind in EVENTS.items()}


def event_from_json(record: dict[str, Any]) -> Event:
    """Return the event of a record.

    Raises
    ------
    ValueError
        When it is of no known form; the message says what is wrong with it.
    """
    name = record.get("event")
    if not isinstance(name, str) or name not in EVENTS:
        raise ValueError(f"no event is called {name!r}")
    values = {part.name: record[part.name] for part in fields(EVENTS[name]) if part.name in record}
    try:
        event: Event = _FORMS[name].validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{name}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    return event
