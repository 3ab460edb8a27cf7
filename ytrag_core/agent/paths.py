"""Facts and chains of facts as one line of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.retrieval.model import TripleHit

__all__ = ["Hop", "chain", "fact_line", "node_name", "path_line"]

Node = tuple[str, str]
"""(name, hint): what tells nodes of one name apart."""

Hop = tuple[Node, str, bool, Node]
"""(from, relation, follows the fact's own direction, to)."""


def chain(triples: Sequence[TripleHit]) -> list[Hop]:
    """Return the facts as hops, each turned so that it leaves from where the one before arrived.

    Parameters
    ----------
    triples
        In the path's order. Where two neighbours share no node, the later one starts afresh.

    Returns
    -------
    list of Hop
        One for each triple.
    """
    hops: list[Hop] = []
    for position, triple in enumerate(triples):
        head, tail = (triple.head, triple.head_hint), (triple.tail, triple.tail_hint)
        if hops and hops[-1][3] in (head, tail):
            forward = hops[-1][3] == head
        elif not hops and position + 1 < len(triples):
            following = triples[position + 1]
            nexts = {(following.head, following.head_hint), (following.tail, following.tail_hint)}
            forward = tail in nexts or head not in nexts
        else:
            forward = True
        start, end = (head, tail) if forward else (tail, head)
        hops.append((start, triple.relation, forward, end))
    return hops


def node_name(node: Node) -> str:
    """Return a node's name, with its hint in brackets where it has one."""
    name, hint = node
    return f"{name} ({hint})" if hint else name


def path_line(triples: Sequence[TripleHit]) -> str:
    """Return a chain of facts, `A —relation→ B ←relation— C`; the arrow is the fact's own direction."""
    parts: list[str] = []
    at: Node | None = None
    for start, relation, forward, end in chain(triples):
        if start != at:
            parts.append(f"; {node_name(start)}" if parts else node_name(start))
        arrow = f" —{relation}→ " if forward else f" ←{relation}— "
        parts.append(f"{arrow}{node_name(end)}")
        at = end
    return "".join(parts)


def fact_line(triple: TripleHit) -> str:
    """Return one fact, `A —relation→ B`."""
    return path_line([triple])
