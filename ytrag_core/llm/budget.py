"""What a run may spend in tokens and money; nothing starts that could exceed it."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ytrag_core.llm.usage import Usage

__all__ = ["Budget", "Prices"]

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Prices:
    """What a million tokens cost, in and out; None where that is not known."""

    per_million_in: float | None = None
    per_million_out: float | None = None

    @property
    def are_known(self) -> bool:
        """Whether a cost can be told."""
        return self.per_million_in is not None and self.per_million_out is not None

    def cost(self, n_in: int, n_out: int) -> float:
        """Return what tokens cost; 0 where prices are not known."""
        return (n_in * (self.per_million_in or 0.0) + n_out * (self.per_million_out or 0.0)) / _MILLION


class Budget:
    """Tokens and money that are left, shared by threads.

    Parameters
    ----------
    prices
        For `max_cost`.
    max_tokens
        Tokens in and out; None for no bound.
    max_cost
        Money; None for no bound.
    """

    def __init__(
        self, prices: Prices | None = None, max_tokens: int | None = None, max_cost: float | None = None
    ) -> None:
        self.prices = prices or Prices()
        self._max_tokens = max_tokens
        self._max_cost = max_cost
        self._mutex = threading.Lock()
        self._n_in = self._n_out = 0
        self._held_in = self._held_out = 0

    def reserve(self, n_in: int, n_out: int) -> bool:
        """Hold back what a call may take at most; False, and nothing held back, where it is not there."""
        with self._mutex:
            all_in = self._n_in + self._held_in + n_in
            all_out = self._n_out + self._held_out + n_out
            if self._max_tokens is not None and all_in + all_out > self._max_tokens:
                return False
            if self._max_cost is not None and self.prices.cost(all_in, all_out) > self._max_cost:
                return False
            self._held_in += n_in
            self._held_out += n_out
            return True

    def settle(self, n_in: int, n_out: int, used: Usage) -> None:
        """Count what a call really took in place of what was held back for it."""
        with self._mutex:
            self._held_in -= n_in
            self._held_out -= n_out
            self._n_in += used.prompt_tokens
            self._n_out += used.completion_tokens

    def spent(self) -> tuple[int, int]:
        """Return the tokens in and out so far."""
        with self._mutex:
            return self._n_in, self._n_out

    def cost(self) -> float | None:
        """Return the money spent so far, None where prices are not known."""
        return self.prices.cost(*self.spent()) if self.prices.are_known else None
