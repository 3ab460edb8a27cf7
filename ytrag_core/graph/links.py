"""Links between names that mean one thing, and the groups that they make without breaking a rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

__all__ = ["Link", "Pair", "join_units", "pair_of"]

Pair = tuple[int, int]
"""Two units, the lower one first."""


@dataclass(frozen=True, slots=True)
class Link:
    """Two units that are taken for one thing.

    Attributes
    ----------
    first, second
        The units, the lower one first.
    kind
        `rule` where a person said so, `alias` where the text does, else how the names differ.
    score
        How sure, in (0, 1].
    evidence
        What speaks for it, in words.
    """

    first: int
    second: int
    kind: str
    score: float
    evidence: str


def pair_of(first: int, second: int) -> Pair:
    """Return two units as a pair."""
    return (first, second) if first < second else (second, first)


def join_units(
    n_units: int,
    links: Iterable[Link],
    apart: Iterable[Pair],
    may_join: Callable[[list[int], list[int]], bool],
    weight: NDArray[np.int64],
) -> tuple[NDArray[np.int32], list[Link]]:
    """Join linked units into groups, the surest link first.

    Parameters
    ----------
    n_units
        Number of units.
    links
        In any order; equally sure ones are taken by their units.
    apart
        Pairs that are never in one group.
    may_join
        Whether the members of two groups may become one; not asked of links by rule.
    weight
        (n_units,) how often each unit was named; the group goes by the unit named most (ties: the lower).

    Returns
    -------
    groups
        (n_units,) int32, the unit by which its group goes; a unit of no link is its own.
    joined
        The links that joined two groups, in the order in which they did.

    Notes
    -----
    Costs nothing for units without a link. A pair that is to stay apart stays apart whatever links there are
    by way of others: the least sure link between them gives way.
    """
    groups = np.arange(n_units, dtype=np.int32)
    members: dict[int, list[int]] = {}
    home: dict[int, int] = {}
    enemies: dict[int, set[int]] = {}
    for first, second in apart:
        enemies.setdefault(first, set()).add(second)
        enemies.setdefault(second, set()).add(first)
    joined: list[Link] = []
    for link in sorted(links, key=lambda link: (link.kind != "rule", -link.score, link.first, link.second)):
        a, b = home.get(link.first, link.first), home.get(link.second, link.second)
        if a == b:
            continue
        ours, theirs = members.get(a, [a]), members.get(b, [b])
        if _are_apart(ours, theirs, enemies) or (link.kind != "rule" and not may_join(ours, theirs)):
            continue
        both = [*ours, *theirs]
        members.pop(b, None)
        members[a] = both
        for unit in both:
            home[unit] = a
        joined.append(link)
    for group in members.values():
        groups[group] = min(group, key=lambda unit: (-int(weight[unit]), unit))
    return groups, joined


def _are_apart(ours: list[int], theirs: list[int], enemies: Mapping[int, set[int]]) -> bool:
    if not enemies:
        return False
    few, many = sorted((ours, theirs), key=len)
    others = set(many)
    return any(not enemies.get(unit, set()).isdisjoint(others) for unit in few)
