"""Structured replies: asked for with a JSON Schema, read leniently, repaired once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from ytrag_core.errors import LLMError, ReplyError
from ytrag_core.llm.chat import Message
from ytrag_core.llm.fitting import fit
from ytrag_core.llm.json_text import json_from_reply
from ytrag_core.llm.language import question_language
from ytrag_core.llm.prompts import prompt
from ytrag_core.llm.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.llm.chat import Completion, LanguageModel

__all__ = ["Structured", "ask_for", "json_from_reply", "read_reply", "response_schema"]

T = TypeVar("T", bound=BaseModel)

_MAX_COMPLAINTS = 8
_SHOWN_REPLY = 6000
_SHOWN_SCHEMA = 4000


@dataclass(frozen=True, slots=True)
class Structured(Generic[T]):
    """What came of asking for a structured reply.

    Attributes
    ----------
    value
        The reply; None where nothing could be used, not even after the repair call.
    raw
        The text of the last reply, for whoever can make something of it.
    usage
        What the calls cost.
    complaints
        What was wrong with the replies, oldest first; empty where the first was right as it stood.
    cut
        True when the reply that `value` was read from was cut at `max_tokens`, so that its end is missing.
    """

    value: T | None
    raw: str
    usage: Usage
    complaints: tuple[str, ...] = ()
    cut: bool = False


def ask_for(
    llm: LanguageModel,
    messages: Sequence[Message],
    reply: type[T],
    *,
    max_tokens: int,
    repair: bool = True,
) -> Structured[T]:
    """Ask for a reply of a given form.

    Parameters
    ----------
    llm
        The model; one that can is held to the form by its JSON Schema.
    messages
        The conversation, which says in words what the form is.
    reply
        The form.
    max_tokens
        Upper bound of each reply's length.
    repair
        Ask once more, showing the reply and what is wrong with it, when it cannot be used or was cut. Where
        the second is no better, or `repair` is False, the fuller of the two is taken, without the items of
        lists that are wrong.

    Raises
    ------
    LLMError
        When the endpoint fails before anything usable came; not when its replies are unusable.
    """
    schema = response_schema(reply)
    usage = Usage()
    complaints: list[str] = []
    readings: list[_Reading[T]] = []
    turns = list(messages)
    for _ in range(2 if repair else 1):
        try:
            completion = llm.complete(turns, max_tokens=max_tokens, schema=schema)
        except ReplyError as error:
            usage += Usage.of(error)
            complaints.append(str(error))
            readings.append(_Reading(None, "", cut=False))
        except LLMError as error:
            if _fullest(readings, reply) is None:
                raise
            complaints.append(str(error))
            break
        else:
            usage += Usage.of(completion)
            reading, wrong = _read(completion, reply, max_tokens)
            complaints += wrong
            if reading.value is not None and not reading.cut:
                return Structured(reading.value, reading.raw, usage, tuple(complaints))
            readings.append(reading)
        turns = [*messages, *_correction(llm, messages, readings[-1].raw, complaints, schema)]
    best = _fullest(readings, reply)
    if best is None:
        return Structured(None, readings[-1].raw, usage, tuple(complaints))
    return Structured(best.value, best.raw, usage, tuple(complaints), best.cut)


@dataclass(frozen=True, slots=True)
class _Reading(Generic[T]):
    value: T | None
    raw: str
    cut: bool


def _read(completion: Completion, reply: type[T], max_tokens: int) -> tuple[_Reading[T], list[str]]:
    cut = completion.finish_reason == "length"
    value, wrong = read_reply(completion.text, reply)
    complaints = [f"the reply was cut at {max_tokens} tokens", *wrong] if cut else list(wrong)
    return _Reading(value, completion.text, cut), complaints


def _fullest(readings: Sequence[_Reading[T]], reply: type[T]) -> _Reading[T] | None:
    """Return the reading that says most, salvaged where it does not fit as a whole; None where none does."""
    best, most = None, -1
    for reading in readings:
        value = reading.value or read_reply(reading.raw, reply, salvage=True)[0]
        size = -1 if value is None else len(value.model_dump_json())
        if value is not None and size > most:
            best, most = _Reading(value, reading.raw, reading.cut), size
    return best


def read_reply(text: str, reply: type[T], *, salvage: bool = False) -> tuple[T | None, tuple[str, ...]]:
    """Return what a reply says in the form that was asked for, and what is wrong with it.

    Parameters
    ----------
    text
        The reply.
    reply
        The form.
    salvage
        Leave out items of lists that do not fit, instead of refusing the whole reply.

    Returns
    -------
    tuple
        The value, None where the reply does not fit; complaints, one a place, at most eight.
    """
    try:
        value = fit(json_from_reply(text), reply)
    except ReplyError as error:
        return None, (str(error),)
    complaints: tuple[str, ...] = ()
    while True:
        try:
            return reply.model_validate(value), complaints
        except ValidationError as error:
            complaints += _complaints(error)
            if not salvage or not _drop_items(value, error):
                return None, complaints[:_MAX_COMPLAINTS]


def response_schema(reply: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema that a model is held to: every field required, no other ones allowed."""
    schema: dict[str, Any] = reply.model_json_schema()
    _close(schema)
    return schema


def _close(schema: Any) -> None:
    if isinstance(schema, list):
        for part in schema:
            _close(part)
        return
    if not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    if schema.get("type") == "object" and isinstance(properties, dict):
        schema["required"] = list(properties)
        schema["additionalProperties"] = False
        for part in properties.values():
            _close(part)
    for word in ("title", "default"):
        schema.pop(word, None)
    for word, part in schema.items():
        if word != "properties":
            if word == "$defs":
                for definition in part.values():
                    _close(definition)
            else:
                _close(part)


def _complaints(error: ValidationError) -> tuple[str, ...]:
    wrong = error.errors(include_url=False, include_context=False, include_input=False)
    said = [f"{'.'.join(map(str, one['loc'])) or 'the reply'}: {one['msg']}" for one in wrong]
    if len(said) > _MAX_COMPLAINTS:
        said[_MAX_COMPLAINTS - 1 :] = [f"and {len(said) - _MAX_COMPLAINTS + 1} more"]
    return tuple(said)


def _drop_items(value: Any, error: ValidationError) -> bool:
    """Take the innermost list items that the errors lie in out of `value`; False where some lie in none."""
    doomed: set[tuple[int | str, ...]] = set()
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        place = one["loc"]
        ends = [n for n in range(len(place)) if _is_item(value, place[: n + 1])]
        if not ends:
            return False
        doomed.add(place[: ends[-1] + 1])
    for place in sorted(doomed, key=lambda place: [(isinstance(p, int), p) for p in place], reverse=True):
        del _at(value, place[:-1])[place[-1]]
    return True


def _is_item(value: Any, place: tuple[int | str, ...]) -> bool:
    holder = _at(value, place[:-1])
    return isinstance(holder, list) and isinstance(place[-1], int) and place[-1] < len(holder)


def _at(value: Any, place: tuple[int | str, ...]) -> Any:
    for step in place:
        if isinstance(value, list) and isinstance(step, int):
            value = value[step] if step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _correction(
    llm: LanguageModel,
    messages: Sequence[Message],
    raw: str,
    complaints: Sequence[str],
    schema: dict[str, Any],
) -> list[Message]:
    language = question_language(messages[-1].content if messages else "")
    form = json.dumps(schema, ensure_ascii=False)
    shown = raw if len(raw) <= _SHOWN_REPLY else f"{raw[:_SHOWN_REPLY]}..."
    said = prompt("repair", language, getattr(llm, "prompts", None)).format(
        error="\n".join(f"- {complaint}" for complaint in complaints),
        form=form if len(form) <= _SHOWN_SCHEMA else "-",
    )
    return [*([Message("assistant", shown)] if shown.strip() else []), Message("user", said)]
