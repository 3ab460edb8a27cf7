"""What passages are ranked by: what is asked now, what is still open, the question behind it all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ytrag_core.agent.plan import filled, ready

if TYPE_CHECKING:
    from ytrag_core.agent.state import State

__all__ = ["Interest", "interests_of"]

_OPEN_WEIGHT = 0.4
_QUESTION_WEIGHT = 0.25


@dataclass(frozen=True, slots=True)
class Interest:
    """A query and how much it counts now.

    Attributes
    ----------
    query
        What was looked up.
    weight
        1 for what is asked now, less for what is still open or only in the background.
    is_new
        Whether its passages have not been read yet.
    """

    query: str
    weight: float
    is_new: bool = True


def interests_of(state: State) -> list[Interest]:
    """Return the queries that the next thought is about and those that are open, each once."""
    # A thought that is only asked for once more sees what the one before it did not.
    is_new = state.stop not in ("loop", "no progress")
    interests = {query: Interest(query, 1.0, is_new=is_new) for query in state.current}
    for sub in ready(state.plan, state.answers):
        query = filled(sub.question, state.answers)
        interests.setdefault(query, Interest(query, _OPEN_WEIGHT, is_new=False))
    interests.setdefault(state.question, Interest(state.question, _QUESTION_WEIGHT, is_new=False))
    return list(interests.values())
