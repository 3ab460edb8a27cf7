"""A question as sub-questions that depend on one another."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Kind", "Plan", "SubQuestion", "filled", "last_of_chain", "make_plan", "placeholders", "ready"]

Kind = Literal["node", "triple", "community"]
"""What a sub-question asks for: a thing, how two things are related, or what a whole group has in common."""

_PLACEHOLDER = re.compile(r"#(\d{1,2})(?!\d)")


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """One step of a decomposed question.

    Attributes
    ----------
    number
        From 1, unique in its plan; `#number` in a later question stands for this one's answer.
    question
        The text; may hold placeholders.
    needs
        Numbers of the sub-questions whose answers it needs, ascending.
    types
        Names of the schema's entity types that an answer may have; empty for any.
    kind
        What it asks for.
    """

    number: int
    question: str
    needs: tuple[int, ...] = ()
    types: tuple[str, ...] = ()
    kind: Kind = "node"

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "id": self.number,
            "question": self.question,
            "needs": list(self.needs),
            "types": list(self.types),
            "kind": self.kind,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """Sub-questions in an order in which each comes after those that it needs.

    Attributes
    ----------
    subs
        The sub-questions; empty when the question stands for itself.
    notes
        What had to be mended: types that the schema does not know, cycles, references to nothing.
    """

    subs: tuple[SubQuestion, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_simple(self) -> bool:
        """Whether there is nothing to put together."""
        return len(self.subs) < 2


def make_plan(subs: Sequence[SubQuestion], notes: Sequence[str] = ()) -> Plan:
    """Return a plan that can be carried out.

    Parameters
    ----------
    subs
        In any order, with unique numbers. A placeholder counts as a need whether it is listed or not.
    notes
        What was mended before.

    Returns
    -------
    Plan
        Needs that name nothing or the sub-question itself are dropped; of each cycle the need of the lowest
        number on it that has one is dropped until none is left; the order is topological, lower numbers
        first. `notes` says what was dropped.
    """
    said = list(notes)
    known = {sub.number: sub for sub in subs}
    needs: dict[int, set[int]] = {}
    for sub in known.values():
        wanted = {*sub.needs, *placeholders(sub.question)}
        needs[sub.number] = {need for need in wanted if need in known and need != sub.number}
        said += (
            f"sub-question {sub.number} refers to #{lost}, which it cannot; the reference is dropped"
            for lost in sorted(wanted - needs[sub.number])
        )
    order: list[int] = []
    left = dict(sorted(needs.items()))
    while left:
        free = next((number for number, wants in left.items() if not wants - set(order)), None)
        if free is None:
            free = min(_on_a_cycle(left, set(order)))
            lost = sorted(left[free] - set(order))
            said.append(
                f"sub-question {free} and {', '.join(f'#{number}' for number in lost)} need each other; "
                f"{free} goes first"
            )
            needs[free] -= set(lost)
        order.append(free)
        del left[free]
    ordered = tuple(replace(known[number], needs=tuple(sorted(needs[number]))) for number in order)
    return Plan(ordered, tuple(said))


def placeholders(question: str) -> set[int]:
    """Return the numbers of the sub-questions whose answers stand in a sub-question."""
    return {int(number) for number in _PLACEHOLDER.findall(question)}


def _on_a_cycle(left: Mapping[int, set[int]], done: set[int]) -> set[int]:
    """Return the numbers that can be reached from themselves."""
    found = set()
    for start in left:
        seen: set[int] = set()
        stack = [start]
        while stack:
            for need in left.get(stack.pop(), set()) - done - seen:
                seen.add(need)
                stack.append(need)
        if start in seen:
            found.add(start)
    return found


def filled(question: str, answers: Mapping[int, str]) -> str:
    """Return a sub-question with the answers that are known in place of their placeholders."""

    def answer(match: re.Match[str]) -> str:
        return answers.get(int(match.group(1)), match.group())

    return " ".join(_PLACEHOLDER.sub(answer, question).split())


def ready(plan: Plan, answers: Mapping[int, str]) -> list[SubQuestion]:
    """Return the sub-questions that are open and need no further answer, in the plan's order."""
    return [
        sub for sub in plan.subs if sub.number not in answers and all(need in answers for need in sub.needs)
    ]


def last_of_chain(plan: Plan) -> int:
    """Return the number of the sub-question that all others lead to; 0 where there is none, or nothing leads.

    Its answer is that of the question: what is asked is asked last.
    """
    if plan.is_simple:
        return 0
    needs = {sub.number: set(sub.needs) for sub in plan.subs}
    last = plan.subs[-1].number
    reached, waiting = {last}, [last]
    while waiting:
        new = needs[waiting.pop()] - reached
        reached |= new
        waiting += new
    return last if reached == needs.keys() else 0
