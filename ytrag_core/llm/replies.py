"""What an endpoint sends back: a chat completion, or the events of a streamed one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import AliasChoices, BaseModel, Field, ValidationError, field_validator

from ytrag_core.llm.chat import Completion

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BrokenReplyError", "Gathered"]

_FIELDS = (b"data:", b":", b"event:", b"id:", b"retry:")
"""What a line of an event starts with."""

_END = "[DONE]"
_STATUS = re.compile(r'"error"\s*:\s*\{[^{}]*"(?:code|status)"\s*:\s*"?([45]\d\d)\b')


class BrokenReplyError(Exception):
    """What came is no chat completion, or not all of it; the message is what came.

    Attributes
    ----------
    status
        The HTTP status that an error told in the body has, where it has one, else 0.
    """

    def __init__(self, body: str) -> None:
        super().__init__(body)
        match = _STATUS.search(body)
        self.status = int(match[1]) if match else 0


class _Turn(BaseModel):
    content: str = ""
    refusal: str = ""
    reasoning: str = Field(default="", validation_alias=AliasChoices("reasoning_content", "reasoning"))

    @field_validator("content", mode="before")
    @classmethod
    def _join_parts(cls, content: Any) -> Any:
        """Accept null, and the list of typed parts that some servers send instead of a string."""
        if not isinstance(content, list):
            return "" if content is None else content
        texts = [part.get("text") if isinstance(part, dict) else part for part in content]
        return "".join(text for text in texts if isinstance(text, str))

    @property
    def text(self) -> str:
        """What is said: the content, or why there is none."""
        return self.content or self.refusal

    @field_validator("reasoning", "refusal", mode="before")
    @classmethod
    def _any(cls, text: Any) -> str:
        return text if isinstance(text, str) else ""


class _Choice(BaseModel):
    turn: _Turn = Field(default=_Turn(), validation_alias=AliasChoices("message", "delta"))
    finish_reason: str = ""

    @field_validator("turn", mode="before")
    @classmethod
    def _empty(cls, turn: Any) -> Any:
        return {} if turn is None else turn

    @field_validator("finish_reason", mode="before")
    @classmethod
    def _said(cls, reason: Any) -> str:
        return reason if isinstance(reason, str) else ""


class _Tokens(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @field_validator("*", mode="before")
    @classmethod
    def _count(cls, count: Any) -> int:
        """Accept anything: a miscounted reply is still a reply."""
        return count if isinstance(count, int) and count > 0 else 0


class _Reply(BaseModel):
    choices: list[_Choice] = Field(default_factory=list)
    usage: _Tokens = _Tokens()
    error: Any = None

    @field_validator("choices", mode="before")
    @classmethod
    def _none(cls, choices: Any) -> Any:
        return [] if choices is None else choices

    @field_validator("usage", mode="before")
    @classmethod
    def _known(cls, usage: Any) -> Any:
        return usage if isinstance(usage, dict) else {}


def _are_events(start: bytes) -> bool | None:
    """Return whether a body that starts so is made of events; None while that cannot be told."""
    if start.startswith(_FIELDS):
        return True
    return None if any(field.startswith(start) for field in _FIELDS) else False


class Gathered:
    """A reply as far as it has come.

    Attributes
    ----------
    text, reasoning
        What the model wrote, and what it thought where the endpoint keeps that apart.
    finish_reason
        Empty until the endpoint gives one.
    """

    def __init__(self) -> None:
        self.text = ""
        self.reasoning = ""
        self.finish_reason = ""
        self._usage = _Tokens()
        self._ended = False

    def read(self, pieces: Iterator[bytes]) -> Iterator[str]:
        """Take in a body, be it one JSON text or events, and yield the text as it comes.

        Raises
        ------
        BrokenReplyError
            When it is no chat completion, reports an error, or ends too early.
        """
        rest = b""
        as_events: bool | None = None
        for piece in pieces:
            rest += piece
            if as_events is None:
                as_events = _are_events(rest.lstrip())
            if as_events:
                *lines, rest = rest.replace(b"\r\n", b"\n").split(b"\n")
                for line in lines:
                    yield from self._event(line)
                if self._ended:
                    return
        if not as_events:
            yield from self._take(rest.decode(errors="replace"), whole=True)
            return
        yield from self._event(rest)
        if not (self._ended or self.finish_reason):
            raise BrokenReplyError("the stream ended")

    def completion(self) -> Completion:
        """Return what has come, as a completion."""
        usage = self._usage
        return Completion(self.text, usage.prompt_tokens, usage.completion_tokens, self.finish_reason)

    def _event(self, line: bytes) -> Iterator[str]:
        field, _, value = line.partition(b":")
        data = value.decode(errors="replace").strip()
        if field != b"data" or not data:
            return
        if data == _END:
            self._ended = True
        else:
            yield from self._take(data, whole=False)

    def _take(self, body: str, *, whole: bool) -> Iterator[str]:
        try:
            reply = _Reply.model_validate_json(body)
        except ValidationError:
            reply = None
        if reply is None or (not reply.choices and (whole or reply.error)):
            raise BrokenReplyError(body)
        if reply.usage.prompt_tokens or reply.usage.completion_tokens:
            self._usage = reply.usage
        for choice in reply.choices[:1]:
            self.finish_reason = choice.finish_reason or self.finish_reason
            self.reasoning += choice.turn.reasoning
            self.text += choice.turn.text
            if choice.turn.text:
                yield choice.turn.text
