"""A conversation with a language model, and the text that comes back from one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

__all__ = ["Completion", "LanguageModel", "Message", "StreamingModel", "strip_reasoning"]

_THINK = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_THINK_END = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote.

    Attributes
    ----------
    text
        The reply.
    prompt_tokens, completion_tokens
        What the endpoint counted; 0 where it does not say, and where the reply came from a cache.
    finish_reason
        As the endpoint puts it: `stop`, or `length` where the reply was cut at `max_tokens`; may be empty.
    cached
        True when the reply was remembered and nothing was sent.
    estimated
        True when the tokens are an estimate, because the endpoint does not say.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    finish_reason: str = ""
    cached: bool = False
    estimated: bool = False


class LanguageModel(Protocol):
    """Whatever completes a conversation."""

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """Return the next turn, at most `max_tokens` long; raise `LLMError` when there is none.

        A model that can is held to `schema`, a JSON Schema of the reply; others ignore it.
        """
        ...


class StreamingModel(LanguageModel, Protocol):
    """A language model whose reply can be read while it is written."""

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Generator[str, None, Completion]:
        """Yield the next turn piece by piece and return all of it; raise `LLMError` when it breaks off.

        `schema` is as for `complete`.
        """
        ...


def strip_reasoning(text: str) -> str:
    """Return a reply without its `<think>` blocks, closed or cut off, and without surrounding white space.

    Parameters
    ----------
    text
        A model's reply. Where only the closing tag is there (the template opened the block), all before it
        is dropped.
    """
    return _THINK_END.sub("", _THINK.sub("", text), count=1).strip()
