"""A conversation with a language model, and the text that comes back from one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Completion", "LanguageModel", "Message", "strip_reasoning"]

_THINK = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_THINK_END = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote, and the tokens that its endpoint counted (0 where it does not say)."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


class LanguageModel(Protocol):
    """Whatever completes a conversation."""

    def complete(self, messages: Sequence[Message], *, max_tokens: int) -> Completion:
        """Return the next turn, at most `max_tokens` long; raise `LLMError` when there is none."""
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
