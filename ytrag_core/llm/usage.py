"""What language models cost: calls and tokens, in sum and by stage."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from ytrag_core.errors import ReplyError
    from ytrag_core.llm.chat import Completion

__all__ = ["Usage", "UsageLedger"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Calls to a language model and the tokens that its endpoint counted; all zero without one."""

    llm_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @classmethod
    def of(cls, reply: Completion | ReplyError) -> Self:
        """Return what one reply, useful or not, cost: nothing where it came from a cache."""
        if getattr(reply, "cached", False):
            return cls()
        return cls(1, reply.prompt_tokens, reply.completion_tokens)

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.llm_calls + other.llm_calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )

    @property
    def total_tokens(self) -> int:
        """Tokens read and written."""
        return self.prompt_tokens + self.completion_tokens

    def to_json(self) -> dict[str, int]:
        """Return the JSON form."""
        return {
            "llm_calls": self.llm_calls,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
        }


class UsageLedger:
    """Usage by stage, written by any number of threads."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._by_stage: dict[str, Usage] = {}

    def add(self, stage: str, usage: Usage) -> None:
        """Add what a stage has used."""
        with self._mutex:
            self._by_stage[stage] = self._by_stage.get(stage, Usage()) + usage

    def by_stage(self) -> dict[str, Usage]:
        """Return the usage so far of every stage that used any, in order of first use."""
        with self._mutex:
            return dict(self._by_stage)

    def total(self) -> Usage:
        """Return the usage so far of all stages."""
        return sum(self.by_stage().values(), Usage())
