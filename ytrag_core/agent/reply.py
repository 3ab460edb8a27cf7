"""What a model decided, read out of whatever it wrote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ytrag_core.agent.nothing_said import says_nothing, without_placeholder
from ytrag_core.agent.state import Draft, Finding, Reply
from ytrag_core.errors import ReplyError
from ytrag_core.llm.chat import strip_reasoning
from ytrag_core.llm.forms import exactly, list_of
from ytrag_core.llm.structured import json_from_reply

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ytrag_core.agent.plan import Plan

__all__ = ["REFUSAL_MARKER", "direct_answer", "is_refusal", "plain_answer", "read_reply", "reply_schema"]

REFUSAL_MARKER = "INSUFFICIENT_EVIDENCE"
_REFUSAL = re.compile(rf"{REFUSAL_MARKER}|\A\W*insufficient[ _]evidence\W*\Z", re.IGNORECASE)
_LABEL = re.compile(
    r"\A\s*(?:\*\*|#+\s*)?(?:final answer|answer|最终答案|答案|回答)\s*[:：]\s*(?:\*\*)?", re.IGNORECASE
)
_FENCE = re.compile(r"\A```[a-z]*\n(.*)\n```\Z", re.DOTALL)
_LINE = re.compile(
    r"^\W*(?P<name>thought|decision|search|new query|query|final answer|answer"
    r"|思考|决定|检索|查询|最终答案|答案|回答)"
    r"\W*?[:：]\s*(?P<value>.*?)\s*$",
    re.IGNORECASE,
)
_NAMES = {
    "思考": "thought",
    "决定": "decision",
    "检索": "query",
    "查询": "query",
    "search": "query",
    "new query": "query",
    "答案": "answer",
    "回答": "answer",
    "最终答案": "answer",
    "final answer": "answer",
}
_DECISIONS = {
    "answer": ("answer", "final", "respond", "finish", "done", "回答", "答案"),
    "search": ("search", "query", "retrieve", "lookup", "look up", "continue", "检索", "查询", "搜索"),
    "refuse": ("refuse", "reject", "insufficient", "unknown", "cannot", "拒绝", "不足", "无法"),
}
_MAX_FOUND = 8
_MAX_QUERY = 400
_JSON_STARTS = ("{", "[{", '"{')


class _Found(BaseModel):
    model_config = ConfigDict(extra="ignore")

    id: int
    answer: str
    passages: list[int | str] = Field(default_factory=list)

    @field_validator("id", mode="before")
    @classmethod
    def _number(cls, value: Any) -> Any:
        digits = re.search(r"\d+", value) if isinstance(value, str) else None
        return int(digits.group()) if digits else value

    @field_validator("answer", mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        return str(value) if isinstance(value, int | float) else value

    @field_validator("passages", mode="before")
    @classmethod
    def _list(cls, value: Any) -> Any:
        return _references(value)


class _Thought(BaseModel):
    model_config = ConfigDict(extra="ignore")

    thought: str = ""
    found: list[_Found] = Field(default_factory=list)
    decision: str = ""
    query: str = ""
    answer: str = ""
    passages: list[int | str] = Field(default_factory=list)

    @field_validator("thought", "decision", "query", "answer", mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        if isinstance(value, list):
            return ", ".join(str(item) for item in value)
        return "" if value is None else str(value) if isinstance(value, int | float) else value

    @field_validator("found", mode="before")
    @classmethod
    def _usable(cls, value: Any) -> list[Any]:
        """Keep what can be read: one bad entry costs neither the others nor the decision."""
        if isinstance(value, dict):
            value = [{"id": key, "answer": answer} for key, answer in value.items()]
        usable = []
        for item in value if isinstance(value, list) else []:
            try:
                usable.append(_Found.model_validate(item))
            except ValidationError:
                continue
        return usable

    @field_validator("passages", mode="before")
    @classmethod
    def _list(cls, value: Any) -> Any:
        return _references(value)


def _references(value: Any) -> list[int | str]:
    """Return numbers and ids of passages, however they were written."""
    items = (
        value
        if isinstance(value, list)
        else re.split(r"[,;，；、]", value)
        if isinstance(value, str)
        else [value]
    )
    found: list[int | str] = []
    for item in items:
        text = str(item).strip().strip("[]【】# ") if isinstance(item, int | str) else ""
        if text:
            found.append(int(text) if text.isascii() and text.isdigit() and len(text) < 6 else text)
    return found


def reply_schema(plan: Plan) -> dict[str, Any]:
    """Return the JSON Schema of a reply to a thought's prompt."""
    numbers = list_of({"type": "integer"}, _MAX_FOUND)
    properties: dict[str, Any] = {"thought": {"type": "string"}}
    if not plan.is_simple:
        found = exactly(
            {
                "id": {"type": "integer", "enum": [sub.number for sub in plan.subs]},
                "answer": {"type": "string"},
                "passages": numbers,
            }
        )
        properties["found"] = list_of(found, len(plan.subs))
    properties |= {
        "decision": {"type": "string", "enum": ["answer", "search", "refuse"]},
        "query": {"type": "string"},
        "answer": {"type": "string"},
        "passages": numbers,
    }
    return exactly(properties)


def read_reply(text: str, chunk_ids: Sequence[str], *, is_cut: bool = False) -> Reply:
    """Return what a reply says.

    Parameters
    ----------
    text
        What the model wrote: JSON of `reply_schema` in any wrapping, lines `Decision: ...`, or an answer in
        plain text.
    chunk_ids
        The passages that it read: number n is `chunk_ids[n - 1]`.
    is_cut
        Whether it was cut off by its length.

    Returns
    -------
    Reply
        With decision `unusable` when nothing can be made of it.
    """
    bare = strip_reasoning(text)
    if not bare:
        return Reply("unusable")
    fields = _fields(bare)
    if fields is not None:
        try:
            thought = _Thought.model_validate(fields)
        except ValidationError:
            return Reply("unusable")
        return _decided(thought, chunk_ids)
    if _is_bare_json(bare):
        return Reply("unusable")
    lines = _labelled(bare)
    if lines:
        return _decided(_Thought.model_validate(lines), chunk_ids)
    answer = without_placeholder(plain_answer(text))
    if is_refusal(answer):
        return Reply("refuse")
    return (
        Reply("answer", draft=Draft(answer, tuple(chunk_ids))) if answer and not is_cut else Reply("unusable")
    )


def is_refusal(text: str) -> bool:
    """Return whether a plain reply says that the evidence does not suffice, and nothing else."""
    return _REFUSAL.search(text) is not None or (bool(without_placeholder(text)) and says_nothing(text))


def plain_answer(text: str) -> str:
    """Return the answer in a plain reply: no reasoning, no code fence around it, no label before it."""
    bare = strip_reasoning(text)
    fenced = _FENCE.match(bare)
    return _LABEL.sub("", fenced.group(1) if fenced else bare).strip()


def direct_answer(text: str) -> str | None:
    """Return the answer in a reply that was to be plain text.

    Parameters
    ----------
    text
        What the model wrote. Of JSON, as some models write it unasked, the field `answer` counts.

    Returns
    -------
    str or None
        Empty where there is nothing but reasoning; None where the reply is JSON without an answer.
    """
    answer = plain_answer(text)
    is_json = _is_bare_json(answer) or answer.endswith("}")
    fields = _fields(answer) if is_json else None
    if fields is not None and "answer" in fields:
        try:
            said = plain_answer(_Thought.model_validate({"answer": fields["answer"]}).answer)
        except ValidationError:
            return None
        return said or None
    return None if _is_bare_json(answer) else answer


def _is_bare_json(text: str) -> bool:
    """Return whether a reply is JSON, whole or cut off, and nothing that a reader should see."""
    return text == "null" or text.lstrip("`json \n").startswith(_JSON_STARTS)


def _fields(text: str) -> Mapping[str, Any] | None:
    """Return the object in a reply that has at least one of the fields, else None."""
    if "{" not in text:
        return None
    try:
        value = json_from_reply(text)
    except ReplyError:
        return None
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = value[0]
    if not isinstance(value, dict):
        return None
    fields = {str(name).strip().casefold(): item for name, item in value.items()}
    return fields if fields.keys() & {"decision", "answer", "query"} else None


def _labelled(text: str) -> dict[str, str]:
    """Return the values of lines such as `Decision: search`; empty unless a decision or query is labelled."""
    values: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            said = match["name"].casefold()
            name = _NAMES.get(said, said)
            values[name] = match["value"]
        elif name:
            values[name] += f"\n{line}"
    values = {name: value.strip().strip("*").strip() for name, value in values.items()}
    return values if values.keys() & {"decision", "query"} else {}


def _decided(thought: _Thought, chunk_ids: Sequence[str]) -> Reply:
    said = thought.decision.strip().casefold()
    answer = without_placeholder(plain_answer(thought.answer))
    query = without_placeholder(" ".join(thought.query.split()))[:_MAX_QUERY]
    decision = next((name for name, words in _DECISIONS.items() if any(word in said for word in words)), "")
    if not decision:
        decision = "answer" if answer else "search" if query else ""
    if decision == "answer" and is_refusal(answer):
        decision = "refuse"
    findings = tuple(_finding(found, chunk_ids) for found in thought.found if not says_nothing(found.answer))
    note = without_placeholder(" ".join(thought.thought.split()))
    draft = None
    if answer and not is_refusal(answer):
        draft = Draft(answer, tuple(chunk_ids), *_resolved(thought.passages, chunk_ids))
    if decision == "answer" and draft is not None:
        return Reply("answer", note, draft=draft, findings=findings)
    if decision == "refuse":
        return Reply("refuse", note, findings=findings)
    if decision == "search" and (query or findings or draft is not None):
        return Reply("search", note, query, draft, findings)
    if findings:
        return Reply("search", note, findings=findings)
    return Reply("unusable", note)


def _finding(found: _Found, chunk_ids: Sequence[str]) -> Finding:
    return Finding(found.id, " ".join(found.answer.split()), _resolved(found.passages, chunk_ids)[0])


def _resolved(
    references: Sequence[int | str], chunk_ids: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the chunks that are referred to, and the references to nothing."""
    known: dict[str, None] = {}
    unknown: dict[str, None] = {}
    for reference in references:
        if isinstance(reference, int) and 1 <= reference <= len(chunk_ids):
            known[chunk_ids[reference - 1]] = None
        elif reference in chunk_ids:
            known[str(reference)] = None
        else:
            unknown[str(reference)] = None
    return tuple(known), tuple(unknown)
