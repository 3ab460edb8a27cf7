"""Names in a question, weighted by how much each tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ytrag_core.config import RetrievalSettings
    from ytrag_core.retrieval.lexicon import Lexicon

__all__ = ["Mention", "find_mentions"]


@dataclass(frozen=True, slots=True)
class Mention:
    """A name found in the question.

    Attributes
    ----------
    surface
        As written.
    nodes
        All nodes of that name, ascending.
    weight
        Share of the question's names, in [0, 1]; the weights of a question sum to 1.
    """

    surface: str
    nodes: tuple[int, ...]
    weight: float


def find_mentions(question: str, lexicon: Lexicon, settings: RetrievalSettings) -> list[Mention]:
    """Return the names in a question, in order of appearance, each node set once.

    A name weighs its rarest word's inverse document frequency to a power, so that "country" does not drown
    "Damerjog"; beside a capitalised name one in lower case counts little.
    """
    matches = lexicon.match(question)
    any_capital = any(match.surface != match.surface.lower() for match in matches)
    weights: dict[tuple[int, ...], float] = {}
    surfaces: dict[tuple[int, ...], str] = {}
    for match in matches:
        weight = lexicon.rarity(match.units) ** settings.mention_power
        if any_capital and match.surface == match.surface.lower() != match.surface.upper():
            weight *= settings.common_noun_factor
        surfaces.setdefault(match.nodes, match.surface)
        weights[match.nodes] = max(weights.get(match.nodes, 0.0), weight)
    total = sum(weights.values())
    if total <= 0.0:
        return []
    return [Mention(surfaces[nodes], nodes, weight / total) for nodes, weight in weights.items()]
