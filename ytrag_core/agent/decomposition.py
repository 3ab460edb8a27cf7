"""A question taken apart by a language model, within the types that the graph schema knows."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ytrag_core.agent.claims import words_of
from ytrag_core.agent.plan import Plan, SubQuestion, make_plan, placeholders
from ytrag_core.errors import ReplyError
from ytrag_core.llm.forms import exactly, list_of
from ytrag_core.llm.structured import json_from_reply
from ytrag_core.schema.model import type_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.agent.plan import Kind
    from ytrag_core.schema.model import GraphSchema

__all__ = ["MAX_SUB_QUESTIONS", "decomposition_schema", "nearest_type", "read_plan"]

MAX_SUB_QUESTIONS = 6
_MAX_TYPES = 4
_ALIKE = 0.75
_KINDS: dict[str, Kind] = {"node": "node", "triple": "triple", "community": "community"}
_NUMBERED = re.compile(
    r"^\s*(?:[-*•]\s*)?(?:#|Q|sub-?question\s*|子问题\s*)?(\d{1,2})\s*[.):：、]\s*(.+?)\s*$", re.IGNORECASE
)


class _Sub(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: int | None = None
    question: str
    needs: list[int] = Field(default_factory=list)
    types: list[str] = Field(default_factory=list)
    kind: str = ""

    @field_validator("id", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        digits = re.search(r"\d+", value) if isinstance(value, str) else None
        return int(digits.group()) if digits else value if isinstance(value, int) else None

    @field_validator("needs", mode="before")
    @classmethod
    def _numbers(cls, value: Any) -> list[int]:
        items = value if isinstance(value, list) else [] if value is None else [value]
        return [int(number) for item in items for number in re.findall(r"\d+", str(item))[:1]]

    @field_validator("types", mode="before")
    @classmethod
    def _names(cls, value: Any) -> list[str]:
        items = value if isinstance(value, list) else [value]
        return [item for item in items if isinstance(item, str) and item.strip()]

    @field_validator("kind", mode="before")
    @classmethod
    def _name(cls, value: Any) -> str:
        return value if isinstance(value, str) else ""


def decomposition_schema(schema: GraphSchema | None) -> dict[str, Any]:
    """Return the JSON Schema of a decomposition; types are bounded by the graph schema where there is one."""
    kind_names: dict[str, Any] = {"type": "string"}
    if schema is not None:
        kind_names["enum"] = [kind.name for kind in schema.entity_types]
    sub = exactly(
        {
            "id": {"type": "integer"},
            "question": {"type": "string"},
            "needs": list_of({"type": "integer"}, MAX_SUB_QUESTIONS),
            "types": list_of(kind_names, _MAX_TYPES),
            "kind": {"type": "string", "enum": list(_KINDS)},
        }
    )
    return exactly({"sub_questions": list_of(sub, MAX_SUB_QUESTIONS)})


def read_plan(text: str, schema: GraphSchema | None = None, question: str = "") -> Plan | None:
    """Return the plan in a reply.

    Parameters
    ----------
    text
        JSON of `decomposition_schema` in any wrapping, a bare list of it or of texts, or a numbered list in
        plain text.
    schema
        The types that there are; without one, no types are kept.
    question
        What was to be taken apart: a sub-question that repeats it or has nothing of it is dropped, as is
        what needs its answer. Empty for no such test.

    Returns
    -------
    Plan or None
        None when nothing can be made of the reply. What was dropped or mapped is in its notes.
    """
    items = _items(text)
    notes: list[str] = []
    subs: dict[int, SubQuestion] = {}
    for position, item in enumerate(items, 1):
        sub = _read(item)
        if sub is None:
            notes.append(f"entry {position} of the decomposition holds no question; it is dropped")
            continue
        if len(subs) == MAX_SUB_QUESTIONS:
            notes.append(f"more than {MAX_SUB_QUESTIONS} sub-questions; the rest is dropped")
            break
        if any(type_key(sub.question) == type_key(other.question) for other in subs.values()):
            notes.append(f"entry {position} of the decomposition repeats another; it is dropped")
            continue
        number = sub.id if sub.id is not None and 0 < sub.id < 100 and sub.id not in subs else _free(subs)
        types = _known_types(sub.types, schema, number, notes)
        kind = _KINDS.get(sub.kind.strip().casefold(), "node")
        subs[number] = SubQuestion(number, " ".join(sub.question.split()), tuple(sub.needs), types, kind)
    if question:
        kept = _of_question(subs, question, notes)
        if len(kept) < min(2, len(subs)):
            return None
        subs = kept
    return make_plan(list(subs.values()), notes) if subs else None


def nearest_type(name: str, schema: GraphSchema) -> str:
    """Return the schema's entity type that a name stands for, empty where none is near.

    Parameters
    ----------
    name
        As a model wrote it.
    schema
        The types that there are.

    Notes
    -----
    In this order: the same name whatever its case and number, one whose description speaks of it (a company
    is an organisation where that says "a company, school, ..."), one that is spelled alike.
    """
    key = type_key(name)
    exact = next((schema.entity_type(form) for form in (key, key.removesuffix("s"), f"{key}s") if form), None)
    if exact is not None:
        return exact.name
    word = re.compile(rf"(?<!\w){re.escape(key)}(?!\w)" if key.isascii() else re.escape(key))
    for kind in schema.entity_types:
        if key and word.search(type_key(kind.description)):
            return kind.name
    keys = {type_key(kind.name): kind.name for kind in schema.entity_types}
    alike = difflib.get_close_matches(key, keys, n=1, cutoff=_ALIKE)
    return keys[alike[0]] if alike else ""


def _of_question(subs: dict[int, SubQuestion], question: str, notes: list[str]) -> dict[int, SubQuestion]:
    """Return the sub-questions that are parts of a question.

    Small models put the whole question first and go on with what the prompt's examples ask.
    """
    asked = words_of(question).content
    lost: set[int] = set()
    for number, sub in subs.items():
        if len(subs) > 1 and _bare(sub.question) == _bare(question):
            notes.append(f"sub-question {number} repeats the question; it is dropped")
            lost.add(number)
        elif (
            asked and not sub.needs and "#" not in sub.question and not words_of(sub.question).content & asked
        ):
            notes.append(f"sub-question {number} has nothing of the question; it is dropped")
            lost.add(number)
    while True:
        leaning = {
            number
            for number, sub in subs.items()
            if number not in lost and lost & {*sub.needs, *placeholders(sub.question)}
        }
        if not leaning:
            break
        notes += [
            f"sub-question {number} needs one that was dropped; it is dropped" for number in sorted(leaning)
        ]
        lost |= leaning
    return {number: sub for number, sub in subs.items() if number not in lost}


def _bare(text: str) -> str:
    return "".join(character for character in text.casefold() if character.isalnum())


def _free(taken: dict[int, SubQuestion]) -> int:
    return next(number for number in range(1, 200) if number not in taken)


def _items(text: str) -> list[Any]:
    if "{" in text or "[" in text:
        try:
            value = json_from_reply(text)
        except ReplyError:
            value = None
        if isinstance(value, dict):
            lists = [item for item in value.values() if isinstance(item, list)]
            value = value.get("sub_questions") or (lists[0] if lists else [value])
        if isinstance(value, list) and value:
            return value
    matches = (_NUMBERED.match(line) for line in text.splitlines())
    return [{"id": match[1], "question": match[2]} for match in matches if match]


def _read(item: Any) -> _Sub | None:
    try:
        sub = _Sub.model_validate({"question": item} if isinstance(item, str) else item)
    except ValidationError:
        return None
    return sub if sub.question.strip() else None


def _known_types(
    names: Sequence[str], schema: GraphSchema | None, number: int, notes: list[str]
) -> tuple[str, ...]:
    if schema is None:
        return ()
    known: dict[str, None] = {}
    for name in names[: 2 * _MAX_TYPES]:
        nearest = nearest_type(name, schema)
        if not nearest:
            notes.append(f"sub-question {number}: the schema has no type like {name!r}; it is dropped")
        else:
            if type_key(nearest) != type_key(name):
                notes.append(f"sub-question {number}: type {name!r} is read as {nearest!r}")
            known[nearest] = None
    return tuple(known)[:_MAX_TYPES]
