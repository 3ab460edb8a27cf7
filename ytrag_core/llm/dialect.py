"""What an endpoint understands of the chat protocol, learnt from what it refuses."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ytrag_core.llm.chat import Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Call", "Dialect"]

_FORMS = ("strict", "schema", "object", "none")
_PLAIN = len(_FORMS) - 1
_MAX_REFUSED_SCHEMAS = 3
_FORMAT = re.compile(
    r"response_?format|json_?schema|json_?object|structured|grammar|guided|schema", re.IGNORECASE
)
_UNKNOWN_FORMAT = re.compile(
    r"(?:response_?format|json_?schema|json_?object|structured)[^.;]*"
    r"(?:support|unknown|unrecogni|unexpected|not permitted|extra|must be|only|unavailable|invalid type)"
    r"|(?:support|unknown|unrecogni|unexpected|not permitted|extra|unavailable)[^.;]*"
    r"(?:response_?format|json_?schema|json_?object|structured)",
    re.IGNORECASE,
)
_SYSTEM = re.compile(
    r"(?:system|developer)[ _-]*(?:role|prompt|message|instruction)|role[^.;]{0,40}['\"]?system|alternat",
    re.IGNORECASE,
)
_LENGTH = re.compile(r"context|too long|too large|maximum|exceed", re.IGNORECASE)
_REFUSALS = (400, 415, 422)
_OTHERS = (401, 403, 408, 429)


@dataclass(frozen=True, slots=True)
class Call:
    """What is asked of a model."""

    messages: Sequence[Message]
    max_tokens: int
    schema: Mapping[str, Any] | None = None
    stream: bool = False

    @property
    def schema_text(self) -> str:
        """The schema as one string, by which it is remembered; empty where there is none."""
        return json.dumps(self.schema, sort_keys=True) if self.schema else ""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One endpoint's way of putting things.

    Attributes
    ----------
    limit
        What the bound of a reply's length is called.
    temperature, usage_in_stream, system
        Whether it takes a temperature, the wish for usage in a stream, turns of the role `system`.
    form
        How replies are held to a schema: 0 strictly, 1 by it, 2 to any JSON object, 3 not at all.
    forms
        The same for single schemas that it did not take.
    """

    limit: str = "max_tokens"
    temperature: bool = True
    usage_in_stream: bool = True
    system: bool = True
    form: int = 0
    forms: Mapping[str, int] = field(default_factory=dict)

    def body(self, model: str, call: Call) -> dict[str, Any]:
        """Return the body of a request."""
        messages = call.messages if self.system else _folded(call.messages)
        body: dict[str, Any] = {
            "model": model,
            "messages": [{"role": message.role, "content": message.content} for message in messages],
        }
        if self.temperature:
            body["temperature"] = 0.0
        body[self.limit] = call.max_tokens
        form = self._form(call)
        if form <= 1 and call.schema is not None:
            named = {"name": "reply", "schema": call.schema}
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": named | ({"strict": True} if form == 0 else {}),
            }
        elif form == 2:
            body["response_format"] = {"type": "json_object"}
        if call.stream:
            body["stream"] = True
            if self.usage_in_stream:
                body["stream_options"] = {"include_usage": True}
        return body

    def after(self, status: int, complaint: str, call: Call) -> Dialect | None:
        """Return how to put a refused request instead; None where the refusal is about something else.

        Parameters
        ----------
        status, complaint
            The HTTP status, and what the endpoint said.
        call
            What was asked.
        """
        if status in _OTHERS:
            return None
        if self.limit == "max_tokens" and "max_completion_tokens" in complaint:
            return replace(self, limit="max_completion_tokens")
        if self.temperature and "temperature" in complaint:
            return replace(self, temperature=False)
        if call.stream and self.usage_in_stream and re.search("stream_options|include_usage", complaint):
            return replace(self, usage_in_stream=False)
        if self.system and _SYSTEM.search(complaint) and _folded(call.messages) != list(call.messages):
            return replace(self, system=False)
        form = self._form(call)
        about_form = bool(_FORMAT.search(complaint))
        if form < _PLAIN and (about_form or (status in _REFUSALS and not _LENGTH.search(complaint))):
            return self._next_form(form, complaint, call)
        return None

    def joined(self, other: Dialect) -> Dialect:
        """Return what two threads have learnt together."""
        return Dialect(
            limit=other.limit if other.limit != "max_tokens" else self.limit,
            temperature=self.temperature and other.temperature,
            usage_in_stream=self.usage_in_stream and other.usage_in_stream,
            system=self.system and other.system,
            form=max(self.form, other.form),
            forms={**self.forms, **other.forms},
        )

    def _form(self, call: Call) -> int:
        if call.schema is None:
            return _PLAIN
        first = 0 if _is_strict(call.schema) else 1
        return max(first, self.form, self.forms.get(call.schema_text, 0))

    def _next_form(self, form: int, complaint: str, call: Call) -> Dialect:
        if form >= 1 and (_UNKNOWN_FORMAT.search(complaint) or form == 2):
            return replace(self, form=form + 1)
        forms = {**self.forms, call.schema_text: form + 1}
        if len(forms) >= _MAX_REFUSED_SCHEMAS:
            return replace(self, form=form + 1, forms={})
        return replace(self, forms=forms)


def _folded(messages: Sequence[Message]) -> list[Message]:
    """Return the conversation without the role `system`: in its first turn, and with alternating turns."""
    system = "\n\n".join(message.content for message in messages if message.role == "system")
    turns = [message for message in messages if message.role != "system"]
    if system and (not turns or turns[0].role != "user"):
        turns.insert(0, Message("user", system))
    elif system:
        turns[0] = Message("user", f"{system}\n\n{turns[0].content}")
    folded: list[Message] = []
    for turn in turns:
        if folded and folded[-1].role == turn.role:
            folded[-1] = Message(turn.role, f"{folded[-1].content}\n\n{turn.content}")
        else:
            folded.append(turn)
    return folded


def _is_strict(schema: Any) -> bool:
    """Tell whether every object of a schema is closed and wants all of its fields."""
    if isinstance(schema, list):
        return all(_is_strict(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        properties = schema.get("properties", {})
        if schema.get("additionalProperties") is not False or set(schema.get("required", [])) != set(
            properties
        ):
            return False
    return all(_is_strict(part) for part in schema.values())
