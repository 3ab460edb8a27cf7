"""What one question may cost, and a meter that keeps to it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict, Field

from ytrag_core.llm.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Budget", "BudgetReached", "Limit", "Meter"]

Limit = Literal["steps", "calls", "tokens", "seconds"]

_LEAST_REPLY = 32
"""A reply that may not even be this long is not worth asking for."""


class Budget(BaseModel):
    """The most that one question may cost.

    Attributes
    ----------
    max_steps : int
        Rounds of retrieval and thought.
    max_calls : int
        Calls to language models, retries of an endpoint's client not counted.
    max_tokens : int
        Tokens read and written in all calls together.
    max_seconds : float
        From the question to the answer; a call that is under way then is left to itself.
    context_tokens : int
        Longest prompt, everything in it counted, whatever was retrieved.
    reply_tokens : int
        Longest reply.
    history_tokens : int
        What of an earlier conversation a follow-up question may bring along.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_steps: int = Field(default=5, ge=1)
    max_calls: int = Field(default=12, ge=1)
    max_tokens: int = Field(default=60_000, ge=1)
    max_seconds: float = Field(default=300.0, gt=0.0)
    context_tokens: int = Field(default=3000, ge=1000)
    reply_tokens: int = Field(default=1024, ge=_LEAST_REPLY)
    history_tokens: int = Field(default=600, ge=0)


class BudgetReached(Exception):  # noqa: N818 - it steers, nothing went wrong
    """Raised before a call that would exceed the budget; never leaves the agent.

    Attributes
    ----------
    limit
        What is used up.
    """

    def __init__(self, limit: Limit) -> None:
        super().__init__(limit)
        self.limit: Limit = limit


class Meter:
    """Counts what a question has cost.

    Parameters
    ----------
    budget
        The most it may cost.
    clock
        Seconds, ascending.
    """

    def __init__(self, budget: Budget, clock: Callable[[], float] = time.monotonic) -> None:
        self.budget = budget
        self.usage = Usage()
        self._clock = clock
        self._start = clock()

    @property
    def seconds_left(self) -> float:
        """Seconds until the time is up; never negative."""
        return max(0.0, self._start + self.budget.max_seconds - self._clock())

    @property
    def elapsed_ms(self) -> float:
        """Milliseconds since the question."""
        return round((self._clock() - self._start) * 1e3, 3)

    @property
    def calls_left(self) -> int:
        """Calls that are left."""
        return self.budget.max_calls - self.usage.llm_calls

    def admit(self, prompt_tokens: int, wanted: int) -> int:
        """Return how long the reply to a prompt may be.

        Parameters
        ----------
        prompt_tokens
            Length of the prompt.
        wanted
            Longest reply that is of use.

        Raises
        ------
        BudgetReached
            One more call does not fit.
        """
        if self.calls_left < 1:
            raise BudgetReached("calls")
        if self.seconds_left <= 0.0:
            raise BudgetReached("seconds")
        spent = self.usage.prompt_tokens + self.usage.completion_tokens
        left = self.budget.max_tokens - spent - prompt_tokens
        if left < _LEAST_REPLY:
            raise BudgetReached("tokens")
        return min(left, wanted, self.budget.reply_tokens)

    def spend(self, usage: Usage) -> None:
        """Count what a call has cost."""
        self.usage = self.usage + usage
